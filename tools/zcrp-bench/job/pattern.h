/* Pseudo-random content: every message of every measurement has its own, and both ends can compute
 * it. Displaced, swapped, stale and missing bytes all show. */
#ifndef BENCH_PATTERN_H
#define BENCH_PATTERN_H

#include <stddef.h>
#include <stdint.h>

/* What does not differ has this for a first difference. */
#define PATTERN_SAME SIZE_MAX

/* Fills a message of `size` bytes. */
void pattern_fill(uint8_t *bytes, size_t size, uint64_t seed, uint64_t message);

/* The first byte that is not the pattern's, or PATTERN_SAME. */
size_t pattern_difference(const uint8_t *bytes, size_t size, uint64_t seed, uint64_t message);

#endif
