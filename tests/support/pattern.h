/* Bytes that are told apart from any others: each place of each seed has its own. */
#ifndef ZCRP_TESTS_SUPPORT_PATTERN_H
#define ZCRP_TESTS_SUPPORT_PATTERN_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static inline uint64_t pattern_word(uint64_t seed, uint64_t index)
{
    return (seed * 0x9E3779B97F4A7C15u + index + 1) * 0xBF58476D1CE4E5B9u;
}

static inline void pattern_fill(uint8_t *bytes, uint64_t size, uint64_t seed)
{
    for (uint64_t at = 0; at < size; at += 8) {
        uint64_t word = pattern_word(seed, at / 8);
        memcpy(bytes + at, &word, size - at < 8 ? size - at : 8);
    }
}

static inline bool pattern_holds(const uint8_t *bytes, uint64_t size, uint64_t seed)
{
    for (uint64_t at = 0; at < size; at += 8) {
        uint64_t word = pattern_word(seed, at / 8);
        if (memcmp(bytes + at, &word, size - at < 8 ? size - at : 8) != 0)
            return false;
    }
    return true;
}

/* True if all bytes are `value`: the zones around a buffer that nobody may touch. */
static inline bool pattern_is_even(const uint8_t *bytes, uint64_t size, uint8_t value)
{
    for (uint64_t i = 0; i < size; i++)
        if (bytes[i] != value)
            return false;
    return true;
}

#endif
