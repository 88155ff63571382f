/* What the link did: lines on standard error, and JSON. */
#ifndef LINK_SUMMARY_H
#define LINK_SUMMARY_H

#include "commands.h"
#include "options.h"
#include "relay.h"

/* Before the commands run, for theirs may be a long time: whether the JSON can be written where the
 * options want it. 0, or -1 with a complaint. */
int summary_check(const struct options *options);

/* As the options want it. 0, or -1 with a complaint. */
int summary_tell(const struct options *options, const struct relay *relay,
                 const struct commands *commands);

#endif
