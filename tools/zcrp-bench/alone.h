/* Both ends on this machine: the receiving end is a child process, over loopback or, with --netns,
 * over a virtual ethernet link. */
#ifndef BENCH_ALONE_H
#define BENCH_ALONE_H

#include "options.h"

/* 0, or -1 with a complaint. The child has ended by then. */
int alone_run(const struct options *options);

#endif
