/* How many of the units are lent to the kernel, and how many copied (channel/socket_lend.h):
 * decided by what is acknowledged. Lending saves the sender a copy, and where the messages come out
 * of the cache that is all there is to it. Where they do not, the receiver's core alone waits for
 * the memory of a lent unit, while a copied one shares the waiting between two cores; then a
 * mixture is fastest. Nobody can know which beforehand. So the share is varied by a quarter, in
 * rounds of some megabytes without a pause, and follows what carries more.
 *
 *     share   4/4  3/4  [ the better, 16 rounds ]  one step to a side  [ the better ...
 *
 * Lending is cheaper at the same rate, so a smaller share has to be clearly faster. */
#ifndef ZCRP_CORE_LENDING_H
#define ZCRP_CORE_LENDING_H

#include "instant.h"

#include <stdbool.h>

enum { LENDING_PARTS = 4 };

struct lending {
    uint64_t rate[LENDING_PARTS + 1]; /* bytes a millisecond by share; 0: not tried */
    int share;                        /* parts of LENDING_PARTS lent in this round */
    int best;                         /* what was found to carry most */
    int step;                         /* -1, 1: the side that is tried next */
    uint32_t rounds;                  /* until then */
    uint32_t units;                   /* asked about so far */
    instant since;                    /* when this round began to count */
    uint64_t skip;                    /* bytes of the last round that are not acknowledged yet */
    uint64_t bytes;                   /* acknowledged since */
};

/* Lends all to begin with. */
void lending_init(struct lending *l);

/* Shall the next unit be lent? */
bool lending_take(struct lending *l);

/* `bytes` were acknowledged, and `in_transit` bytes are still under way; 0 of them: what is not
 * sent without a pause says nothing, so the round begins anew. */
void lending_on_acknowledged(struct lending *l, instant now, uint64_t bytes, uint64_t in_transit);

#endif
