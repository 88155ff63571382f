/* The near end: the process that the user has started. */
#ifndef ZCRP_CP_NEAR_H
#define ZCRP_CP_NEAR_H

#include "zcrp-cp/user/options.h"

/* Copies. The exit status. */
int near_run(const struct options *options, int count, char **words);

#endif
