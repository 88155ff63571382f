/* Round trips, at the end that asks: one after the other, or by a schedule.
 *
 *      one after the other    ask 0 ... hear 0, ask 1 ... hear 1, ...
 *      by a schedule          ask 0    ask 1    ask 2 ...     a thread; message n is due at n x
 * interval hear 0   hear 1 ...        this thread
 *
 * By a schedule a round trip counts from when its message was due, so a message that had to wait
 * for others ahead of it shows what they cost. No more messages are under way than the job's depth.
 */
#ifndef BENCH_PING_H
#define BENCH_PING_H

#include "zcrp-bench/transports/transport.h"

/* Does the job over a channel there and, if the kind is simplex, one back; all is prepared, and the
 * other end answers. Adds each round trip to *trips. 0, or -1 with a complaint. */
int ping_run(struct transport *there, struct transport *back, const struct job *job,
             struct histogram *trips);

#endif
