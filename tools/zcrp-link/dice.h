/* Chance, from a seeded stream. */
#ifndef LINK_DICE_H
#define LINK_DICE_H

#include <stdbool.h>

#include "core/adt/random.h"

/* A number in [0, 1). */
static inline double dice_number(uint64_t *random)
{
    return (double)(random_next(random) >> 11) * 0x1p-53;
}

/* True in a share of the cases. One number is drawn whatever the share. */
static inline bool dice(uint64_t *random, double share)
{
    return dice_number(random) < share;
}

#endif
