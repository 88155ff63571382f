/* How many of the units are lent to the kernel, and how many copied (channel/socket_lend.h):
 * decided by what is acknowledged. Lending saves the sender a copy, and where the messages come out
 * of the cache that is all there is to it. Where they do not, the receiver's core alone waits for
 * the memory of a lent unit, while a copied one shares the waiting between two cores; then a
 * mixture is fastest. Nobody can know which beforehand. So the share is varied by a quarter, in
 * rounds of some megabytes without a pause, and follows what carries more.
 *
 *     share   4/4  3/4  [ the better, 16 rounds ]  one step to a side  [ the better ...
 *
 * Lending is cheaper at the same rate, so a smaller share has to be clearly faster. And where the
 * sender pauses it is not the rate that is short: all is lent until a round without a pause is
 * over.
 *
 * What was lent changes with the message's memory until it is read. Of a message that ends well
 * nothing is left to be read, or it is dropped as a duplicate. Of one that failed the receiver is
 * told, and drops what is left. If it cannot be told, then it may have stood still with units in
 * its socket; so it drops what has waited there for longer than LENDING_STALE (the channel does:
 * channel.h), and the sender keeps the memory for LENDING_KEPT. A peer that is not heard of is lent
 * nothing, so that failure by silence need not wait. */
#ifndef ZCRP_CORE_LENDING_H
#define ZCRP_CORE_LENDING_H

#include "instant.h"

#include <stdbool.h>

enum { LENDING_PARTS = 4 };

#define LENDING_STALE SECOND      /* the longest that a unit may wait in the receiver's socket */
#define LENDING_KEPT (2 * SECOND) /* that, and what it may have waited in the sender's queues */

struct lending {
    uint64_t rate[LENDING_PARTS + 1]; /* bytes a millisecond by share; 0: not tried */
    int share;                        /* parts of LENDING_PARTS lent in this round */
    int best;                         /* what was found to carry most */
    int step;                         /* -1, 1: the side that is tried next */
    uint32_t rounds;                  /* until then */
    bool pauses;                      /* there was one in this round: all is lent */
    uint32_t units;                   /* asked about so far */
    instant since;                    /* when this round began to count */
    uint64_t skip;                    /* bytes of the last round that are not acknowledged yet */
    uint64_t bytes;                   /* acknowledged since */
    instant kept;                     /* until then memory that was lent may be read */
};

/* Lends all to begin with. */
void lending_init(struct lending *l);

/* Shall the next unit be lent, if the peer was last heard of at `heard`? */
bool lending_take(struct lending *l, instant now, instant heard);

/* Something was lent. */
void lending_on_lent(struct lending *l, instant now);

/* `bytes` were acknowledged, and `in_transit` bytes are still under way; 0 of them: a pause.
 * What is not sent without one says nothing, so the round begins anew. */
void lending_on_acknowledged(struct lending *l, instant now, uint64_t bytes, uint64_t in_transit);

#endif
