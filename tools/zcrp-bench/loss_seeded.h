/* A filter of sockets that counts packets, and loses some numbers. */
#ifndef BENCH_LOSS_SEEDED_H
#define BENCH_LOSS_SEEDED_H

#include <stdint.h>

/* A program of the kernel for SO_ATTACH_BPF. It numbers the packets of its socket from 0, and keeps
 * number n if a figure of 32 bits, which comes from n and the seed alone, is at or above
 * `threshold`. A descriptor, or -1: errno says why. */
int loss_seeded_open(uint32_t threshold, uint64_t seed);

#endif
