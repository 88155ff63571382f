/* What main runs: the near end, which the user has started, or a far end, that a remote shell has
 * started for one copy or that stands. Each returns the exit status. */
#ifndef ZCRP_CP_ENDS_H
#define ZCRP_CP_ENDS_H

#include "zcrp-cp/user/options.h"

/* Copies what the words say. */
int near_run(const struct options *options, int count, char **words);

/* Serves the one copy that standard input tells of (meeting.h). */
int far_run(void);

/* Serves whoever has the key, as many copies as come. Or never returns. */
int far_serve(const struct options *options);

#endif
