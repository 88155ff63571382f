/* What a channel counts at one end: the library's statistics under their own names, COUNT_units and
 * so on. ZCRP knows all of them, udp-limit a few, TCP none. */
#ifndef BENCH_COUNTS_H
#define BENCH_COUNTS_H

#include <stdbool.h>
#include <stdint.h>

#include "zcrp.h"

enum count {
#define COUNT_INDEX(name, text) COUNT_##name,
    ZCRP_STATS(COUNT_INDEX)
#undef COUNT_INDEX
        COUNTS
};

struct counts {
    bool is_known;
    uint64_t value[COUNTS];
};

/* The library's statistics as counts. */
struct counts counts_of_stats(const struct zcrp_stats *stats);

/* What was counted since `before`; of what is not a count but a state (window, size of units,
 * round-trip times, why memory is refused) the present. */
struct counts counts_since(const struct counts *now, const struct counts *before);

/* Adds another flow's. What the path is like, its round-trip times and the size of units on it,
 * stays what `sum` has. */
void counts_add(struct counts *sum, const struct counts *counts);

/* A count's name, and what it means. */
const char *counts_name(enum count which);
const char *counts_text(enum count which);

/* What this process takes from the heap, if somebody counts: a preloaded library that has the two
 * functions zcrp_allocations_... (tools/guard/allocations.c). */

#define ALLOCATIONS_UNKNOWN UINT64_MAX

struct allocations {
    uint64_t calls;      /* since allocations_begin; ALLOCATIONS_UNKNOWN: nobody counts */
    uint64_t peak_bytes; /* most in use at once since then; what was in use before is included */
};

/* Starts to count from 0. The counts of all threads are one. */
void allocations_begin(void);

struct allocations allocations_read(void);

#endif
