/* --parallel: flows at once. Each has a control connection, channels, memory and a thread of its
 * own at either end; `options->parallel` of them, usually one, lie in an array, and the first
 * decides for all. */
#ifndef BENCH_FLOWS_H
#define BENCH_FLOWS_H

#include "zcrp-bench/ends/measurement.h"

/* Closed flows; the caller frees them. NULL with a complaint. */
struct sending_end *flows_create(const struct options *options);

/* Connects all to the receiving end, opens their channels and warms them up. The first one's input
 * is everybody's. 0, or -1 with a complaint; then flows_close is left. */
int flows_open(struct sending_end *ends, const struct address *address);

/* The lanes of the first are everybody's. */
void flows_follow(struct sending_end *ends);

/* One measurement with messages of this size over contender `which`, in all flows at once: *run is
 * what they come to together. What arrived wrong is noted in the first. 0, or -1 with a complaint.
 */
int flows_measure(struct sending_end *ends, size_t which, uint64_t size, struct run *run);

/* 0, or -1 with a complaint. */
int flows_say_bye(struct sending_end *ends);

void flows_close(struct sending_end *ends);

/* Runs of one measurement in `count` flows as one: sums; the longest time; the process's work once.
 */
struct run flows_sum(const struct run *runs, size_t count);

#endif
