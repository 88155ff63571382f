/* Which packets are lost: each on its own, or in rows.
 *
 *              enter                     The model of Gilbert (1960): every packet of a burst is
 *      ( good ) ---> ( burst )           lost, no other. A row of losses is 1 / leave packets long
 *           <-------                     on average, and enter / (enter + leave) of all are lost.
 *              leave
 */
#ifndef LINK_LOSS_H
#define LINK_LOSS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/adt/random.h"

struct loss {
    double enter; /* chance that a packet after one that passed is lost */
    double leave; /* chance that a packet after one that was lost passes */
    bool is_in_burst;
    uint64_t random;
};

/* Loses `share` of the packets, in rows of `burst` on average; with 0 each on its own. The pair has
 * to be possible. */
void loss_init(struct loss *loss, double share, double burst, uint64_t seed);

/* Is there such a pair? Rows of one cannot lose more than every second packet. */
bool loss_is_possible(double share, double burst);

/* Is the next packet lost? */
bool loss_next(struct loss *loss);

/* Chance, from a seeded stream. */

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
