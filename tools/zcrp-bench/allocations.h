/* What this process takes from the heap, if somebody counts: a preloaded library that has the two
 * functions zcrp_allocations_... (tools/guard/allocations.c). */
#ifndef BENCH_ALLOCATIONS_H
#define BENCH_ALLOCATIONS_H

#include <stdint.h>

#define ALLOCATIONS_UNKNOWN UINT64_MAX

struct allocations {
    uint64_t calls;      /* since allocations_begin; ALLOCATIONS_UNKNOWN: nobody counts */
    uint64_t peak_bytes; /* most in use at once since then; what was in use before is included */
};

/* Starts to count from 0. The counts of all threads are one. */
void allocations_begin(void);

struct allocations allocations_read(void);

#endif
