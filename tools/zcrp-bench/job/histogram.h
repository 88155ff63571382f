/* How often which duration occurred, to within 1.6 %, in constant memory: buckets of equal width
 * between one power of two and the next.
 *
 *      0 1 2 ... 63 | 64 65 ... 127 | 128 130 ... 254 | 256 260 ... 508 | ...
 *       64 of 1 ns  |   64 of 1 ns  |     64 of 2 ns  |    64 of 4 ns   */
#ifndef BENCH_HISTOGRAM_H
#define BENCH_HISTOGRAM_H

#include <stdbool.h>
#include <stdint.h>

enum {
    HISTOGRAM_PART = 64,
    HISTOGRAM_POWERS = 36,
    HISTOGRAM_BUCKETS = HISTOGRAM_PART * HISTOGRAM_POWERS
};

struct histogram {
    uint64_t count;
    uint64_t least; /* exact, as `most`; meaningless while there is none */
    uint64_t most;
    uint64_t bucket[HISTOGRAM_BUCKETS];
};

void histogram_init(struct histogram *histogram);

/* Longer ones than fit, over half an hour, count as the longest that does. */
void histogram_add(struct histogram *histogram, uint64_t ns);

/* The middle of the bucket below or in which a share (0 .. 1) of all durations lies. There has to
 * be one. */
uint64_t histogram_quantile(const struct histogram *histogram, double share);

/* A part of the durations: eight make a power of two, which is enough to print. */
struct histogram_part {
    unsigned bucket; /* behind it; 0: none yet */
    uint64_t from, to, count;
};

/* Moves *part on, from one of zeros, to the next in which durations occurred, shortest first: those
 * from `from` on and below `to`. False if there are no more. */
bool histogram_next(const struct histogram *histogram, struct histogram_part *part);

#endif
