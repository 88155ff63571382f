/* Eight bytes as a number, low byte first, whatever the machine; so that content is the same
 * at both ends. */
#ifndef BENCH_WORDS_H
#define BENCH_WORDS_H

#include <stddef.h>
#include <stdint.h>

enum { WORD_BYTES = 8 };

static inline uint64_t word_load(const uint8_t *at)
{
    return (uint64_t)at[0] | (uint64_t)at[1] << 8 | (uint64_t)at[2] << 16 | (uint64_t)at[3] << 24 |
           (uint64_t)at[4] << 32 | (uint64_t)at[5] << 40 | (uint64_t)at[6] << 48 |
           (uint64_t)at[7] << 56;
}

static inline void word_store(uint8_t *at, uint64_t word)
{
    at[0] = (uint8_t)word;
    at[1] = (uint8_t)(word >> 8);
    at[2] = (uint8_t)(word >> 16);
    at[3] = (uint8_t)(word >> 24);
    at[4] = (uint8_t)(word >> 32);
    at[5] = (uint8_t)(word >> 40);
    at[6] = (uint8_t)(word >> 48);
    at[7] = (uint8_t)(word >> 56);
}

#endif
