/* The far ends: one that a remote shell has started, for one copy, and one that stands. */
#ifndef ZCRP_CP_FAR_H
#define ZCRP_CP_FAR_H

#include "zcrp-cp/user/options.h"

/* Serves the one copy that standard input tells of (meeting.h). The exit status. */
int far_run(void);

/* Serves whoever has the key, as many copies as come. The exit status; or never. */
int far_serve(const struct options *options);

#endif
