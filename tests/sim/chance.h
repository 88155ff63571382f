/* Dice: every decision of a simulated world comes from one seeded state, so that a seed replays a
 * run exactly. */
#ifndef ZCRP_TESTS_SIM_CHANCE_H
#define ZCRP_TESTS_SIM_CHANCE_H

#include "core/adt/random.h"

#include <stdbool.h>

/* Below `n`; 0 if n is 0. */
static inline uint64_t chance_below(uint64_t *state, uint64_t n)
{
    return n == 0 ? 0 : random_next(state) % n;
}

/* True once in `n` times; never if n is 0. */
static inline bool chance_one_in(uint64_t *state, uint64_t n)
{
    return n != 0 && chance_below(state, n) == 0;
}

/* True in `permille` of 1000 cases. */
static inline bool chance_permille(uint64_t *state, uint32_t permille)
{
    return permille != 0 && chance_below(state, 1000) < permille;
}

/* A number that depends on its two arguments alone. */
static inline uint64_t chance_of(uint64_t seed, uint64_t index)
{
    uint64_t state = seed ^ index * UINT64_C(0xD1342543DE82EF95);
    random_next(&state);
    return random_next(&state);
}

#endif
