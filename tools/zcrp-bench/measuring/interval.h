/* The lines of --interval: how a measurement goes, one line at each interval, on standard output.
 * What the receiving end has to add comes in pulses (record.h). */
#ifndef BENCH_INTERVAL_H
#define BENCH_INTERVAL_H

#include "zcrp-bench/measuring/measurement.h"
#include "zcrp-bench/measuring/record.h"

/* All that has happened so far, over all flows. */
struct reading {
    uint64_t bytes, repeated;
    uint64_t units, in_place;
    uint64_t sender_cpu_ns, receiver_cpu_ns;
    uint64_t pulses; /* of the first flow: the intervals behind what the receiving ends say */
};

struct interval {
    struct ticker ticker;
    struct sending_end *ends; /* of the flows */
    size_t count;
    size_t which;       /* contender of each */
    uint64_t size;      /* of its messages */
    struct beat *beats; /* of each flow, the last */
    struct reading last;
    bool has_lines; /* some were written */
};

/* Before a job over the contender `which` of each of `count` ends: from now on a line at each
 * interval, below headings. Nothing of this where the options do not ask for it, or standard output
 * is for something else. 0, or -1 with a complaint. */
int interval_begin(struct interval *interval, struct sending_end *ends, size_t count, size_t which,
                   uint64_t size);

/* When the job is over, however it ended; only after a begin that worked. */
void interval_end(struct interval *interval);

#endif
