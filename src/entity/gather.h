/* Whether who receives naps before it waits for the next arrival. A wait for arrivals ends with the
 * first of them, and the next one comes when that has been seen to, so each costs a sleep, a call
 * of the scheduler and a look. While more of a message is surely on its way, a nap that nothing
 * ends lets some of it gather.
 *
 *     arrivals  |   |   |   |   |   |   |   |   |   |    |
 *     polling   ^   ^   ^   ^   ^   ^   ^   ^   ^   ^    ^
 *     napping   ^               ^               ^   ^    ^     polls at the message's end, so
 *               <----- nap ----->                              that it is not late
 *
 * A message that a nap or two would bring whole is polled for.
 *
 * How long a nap is, the last one tells: one that took many receives to clear was too long, one
 * that gathered nothing too short. Where even the longest is too short the path is a slow one, and
 * polled. The longest is not much more than what a receiver delays an acknowledgement by, anyway.
 *
 * I1  GATHER_LEAST <= nap <= GATHER_MOST
 *
 * Pure; of one thread at a time. */
#ifndef ZCRP_ENTITY_GATHER_H
#define ZCRP_ENTITY_GATHER_H

#include "core/instant.h"

#include <stdbool.h>
#include <stdint.h>

#define GATHER_LEAST (50 * MICROSECOND)
#define GATHER_MOST (1600 * MICROSECOND)

enum {
    GATHER_FEW = 2,    /* arrivals after a nap; fewer: it was too short */
    GATHER_MANY = 8,   /* receives; more: it was too long */
    GATHER_POLLS = 64, /* waits without a nap, after the longest was too short */
};

struct gather {
    duration nap;   /* the next one */
    uint64_t usual; /* bytes that a nap brings, as far as is known */
    uint64_t bytes; /* that came since the last rest, */
    uint32_t came;  /* so many, */
    uint32_t calls; /* in so many receives */
    uint32_t polls; /* rests without a nap that are to come */
    bool has_napped;
};

void gather_init(struct gather *g);

/* A receive brought so many arrivals, datagrams or bursts that the kernel had joined, of so many
 * bytes together. */
void gather_came(struct gather *g, uint32_t arrivals, uint64_t bytes);

/* Nothing is there any more: how long to nap, 0 for a wait as usual. So many bytes of the present
 * message are on their way unasked. */
duration gather_rest(struct gather *g, uint64_t expected);

/* Asserts the invariant. */
void gather_check(const struct gather *g);

#endif
