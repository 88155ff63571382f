/* The two ends of a run. The connecting end goes through the measurements that the options ask for,
 * tells the other end what to do, and reports. The listening end obeys what it hears over the
 * control connection, and tells what it measured. */
#ifndef BENCH_ENDS_H
#define BENCH_ENDS_H

#include "zcrp-bench/command/options.h"

/* Both ends on this machine: the listening end is a child process, over loopback or, with --netns,
 * over a virtual ethernet link. 0, or -1 with a complaint. The child has ended by then. */
int alone_run(const struct options *options);

/* Runs everything against the listening end at `address`. 0, or -1 with a complaint if anything
 * failed or arrived wrong; in the latter case the report is written all the same. */
int sending_end_run(const struct options *options, const struct address *address);

/* Serves one connecting end, from its control connection `fd`, which `listener` has accepted, to
 * its goodbye. Closes `fd`. 0, or -1 with a complaint, which the connecting end is told, too. */
int receiving_end_serve(const struct options *options, int listener, int fd);

#endif
