/* What this process takes from the heap: the linker sends every call of the allocator in the
 * program and in the library through here (--wrap, see tools/bench.mk). What the C library
 * allocates for itself is not seen. */
#ifndef BENCH_ALLOCATIONS_H
#define BENCH_ALLOCATIONS_H

#include <stdint.h>

struct allocations {
    uint64_t calls;      /* allocations since allocations_begin */
    uint64_t peak_bytes; /* most that was in use at once since then, in use before included */
};

/* Starts to count from 0. Any thread; the counts of all threads are one. */
void allocations_begin(void);

struct allocations allocations_read(void);

#endif
