/* What the link did: lines on standard error, and JSON. */
#ifndef LINK_SUMMARY_H
#define LINK_SUMMARY_H

#include "commands.h"
#include "options.h"
#include "relay.h"

/* As the options want it. 0, or -1 with a complaint. */
int summary_tell(const struct options *options, const struct relay *relay,
                 const struct commands *commands);

#endif
