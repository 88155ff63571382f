/* What tests draw from the seeded stream of core/random.h. */
#ifndef ZCRP_TESTS_SUPPORT_RANDOM_H
#define ZCRP_TESTS_SUPPORT_RANDOM_H

#include "core/adt/random.h"

#include <stdbool.h>

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

#endif
