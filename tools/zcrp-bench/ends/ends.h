/* The two ends of a run. The connecting end goes through the measurements that the options ask for
 * and tells the other end what to do. The listening end obeys what it hears over the control
 * connection, and tells what it measured. */
#ifndef BENCH_ENDS_H
#define BENCH_ENDS_H

#include "common/complain.h"
#include "zcrp-bench/command/options.h"
#include "zcrp-bench/results/results.h"

/* The connecting end: measures all that the results are to hold against the listening end at
 * `address`. 0, or -1 with a complaint if anything failed. */
int sending_end_measure(const struct address *address, const struct results *results);

/* The same between two processes of this machine: the listening end is a child, over loopback or,
 * with --netns, over a virtual ethernet link. The child has ended by then. */
int alone_measure(const struct results *results);

/* The first size once over the first transport, between two processes of its own, both silent: so
 * their threads and their memory are the channel's. What the sending one complained of is left in
 * `complaint` if it failed. 0 or -1. */
int alone_try(const struct options *options, struct run *run, char complaint[COMPLAIN_ROOM]);

/* --peers: each measurement so. */
int alone_measure_peers(const struct results *results);

/* The listening end: serves one connecting end, from its control connection `fd`, which `listener`
 * has accepted, to its goodbye. Closes `fd`. 0, or -1 with a complaint, which the connecting end is
 * told, too. */
int receiving_end_serve(const struct options *options, int listener, int fd);

#endif
