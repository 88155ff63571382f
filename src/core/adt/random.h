/* A seeded stream of numbers (splitmix64, Steele et al. 2014), for what need not be secret: the
 * waits of congestion control, faults to be simulated. What an attacker must not know is drawn from
 * a secret (secret.h). */
#ifndef ZCRP_CORE_RANDOM_H
#define ZCRP_CORE_RANDOM_H

#include <stdint.h>

static inline uint64_t random_next(uint64_t *state)
{
    uint64_t z = (*state += UINT64_C(0x9E3779B97F4A7C15));
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

#endif
