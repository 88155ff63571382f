/* The lines of --interval: how a measurement goes, as the sending end sees it, one line at each
 * interval on standard output. A thread writes them.
 *
 *      begin    line 1     line 2     line 3  end
 *      |----------|----------|----------|------| */
#ifndef BENCH_INTERVAL_H
#define BENCH_INTERVAL_H

#include <pthread.h>
#include <semaphore.h>

#include "zcrp-bench/ends/measurement.h"

/* All that has happened so far, over all flows. */
struct reading {
    uint64_t bytes, repeated, cpu_ns;
};

struct interval {
    pthread_t thread;
    sem_t over;               /* the job is */
    struct sending_end *ends; /* of the flows; NULL: no lines are wanted */
    size_t count;
    size_t which;  /* contender of each */
    uint64_t size; /* of its messages */
    int64_t start_ns;
    struct reading last;
    bool has_lines; /* some were written */
};

/* Before a job over the contender `which` of each of `count` ends: from now on a line at each
 * interval, below headings. Nothing of this where the options do not ask for it, or standard output
 * is for something else. 0, or -1 with a complaint. Not to be moved until its end. */
int interval_begin(struct interval *interval, struct sending_end *ends, size_t count, size_t which,
                   uint64_t size);

/* When the job is over, however it ended; only after a begin that worked. */
void interval_end(struct interval *interval);

#endif
