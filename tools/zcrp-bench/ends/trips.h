/* Round trips, one after the other or by a schedule.
 *
 *      one after the other    ask 0 ... hear 0, ask 1 ... hear 1, ...
 *      by a schedule          ask 0     ask 1     ask 2 ...   a thread; n is due at n x interval
 *                                  hear 0    hear 1 ...       this thread
 *
 * By a schedule a round trip counts from when its message was due, so a message that had to wait
 * for others ahead of it shows what they cost. No more messages are under way than the job's depth,
 * for which its memory has two slots each.
 *
 * Messages go by `there` and come by `back`, which is the same channel unless that is simplex. All
 * is prepared. Each function returns 0, or -1 with a complaint. */
#ifndef BENCH_TRIPS_H
#define BENCH_TRIPS_H

#include "zcrp-bench/results/results.h"
#include "zcrp-bench/transports/transport.h"

/* The end that asks: does the job while the other end answers, and adds each round trip. */
int trips_ask(struct transport *there, struct transport *back, const struct job *job,
              struct histogram *trips);

/* The end that answers: makes room for the first questions, before the other end is told that it
 * may ask; */
int trips_expect(struct transport *there, const struct job *job);

/* and sends each message back. */
int trips_answer(struct transport *there, struct transport *back, const struct job *job);

#endif
