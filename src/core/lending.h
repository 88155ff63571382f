/* Whether units are better lent to the kernel or copied (channel/socket_lend.h): decided by what is
 * acknowledged. Lending saves the sender a copy; but where the messages do not come out of the
 * cache, two cores that share the waiting for memory are faster than one that does it alone, and
 * nobody can know beforehand which it is. So both are tried, in rounds of some megabytes without a
 * pause; the better one is kept, and the other tried again now and then.
 *
 *     lend  copy  [ the better one, 32 rounds ]  [ the other, 1 round ]  [ the better one ...
 *
 * Lending is cheaper at the same rate, so it is given up only for one clearly higher. */
#ifndef ZCRP_CORE_LENDING_H
#define ZCRP_CORE_LENDING_H

#include "instant.h"

#include <stdbool.h>

struct lending {
    uint64_t rate[2]; /* bytes a millisecond while not lending, and while; 0: not tried */
    bool is_on;       /* what is done in this round */
    bool is_better;   /* what is thought to be better: lending? */
    uint32_t rounds;  /* until the other is tried */
    instant since;    /* when this round began to count */
    uint64_t skip;    /* bytes of the last round that have yet to be acknowledged */
    uint64_t bytes;   /* acknowledged since */
};

/* Lends to begin with. */
void lending_init(struct lending *l);

/* `bytes` were acknowledged, and `in_transit` bytes are still under way; 0 of them: what is not
 * sent without a pause says nothing, so the round begins anew. */
void lending_on_acknowledged(struct lending *l, instant now, uint64_t bytes, uint64_t in_transit);

#endif
