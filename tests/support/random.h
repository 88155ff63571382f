/* What tests draw from the seeded stream of core/random.h. */
#ifndef ZCRP_TESTS_SUPPORT_RANDOM_H
#define ZCRP_TESTS_SUPPORT_RANDOM_H

#include "core/adt/random.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* A number in [0, limit); limit is not 0. */
static inline uint64_t random_below(uint64_t *state, uint64_t limit)
{
    return random_next(state) % limit;
}

/* True `percent` times out of a hundred. */
static inline bool random_chance(uint64_t *state, unsigned percent)
{
    return random_below(state, 100) < percent;
}

static inline void random_fill(uint64_t *state, uint8_t *bytes, size_t count)
{
    for (size_t i = 0; i < count; i += sizeof(uint64_t)) {
        uint64_t number = random_next(state);
        size_t left = count - i;
        memcpy(bytes + i, &number, left < sizeof number ? left : sizeof number);
    }
}

#endif
