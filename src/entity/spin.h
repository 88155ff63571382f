/* Whether a waiter looks again and again before it sleeps, learned from how long its waits were.
 *
 *     SPINS --- credit is used up: too many waits outlasted the spin ------------> SLEEPS
 *       ^                                                                            |
 *       \----- credit is full again: hardly a wait has been long for a while --------/
 *
 * A wait that is over within the spin earns one credit; a longer one costs several, because all of
 * its spin was in vain. So spinning goes on while at most one wait in six outlasts it: question and
 * answer, or a stream at full speed. A stream that pauses after each message is waited for asleep,
 * and leaves the processor to others.
 *
 * Who sleeps finds all waits longer, by what it takes to wake it, and to wake its peer, which may
 * be asleep for the same reason. So while it sleeps only waits of several times the spin count as
 * long, and spinning is tried again every few dozen waits: two peers that answer each other find
 * back to it.
 *
 * I1  0 <= credit <= SPIN_CREDIT
 * I2  credit > 0 while it spins, credit < SPIN_CREDIT while it sleeps
 *
 * Pure; of one thread at a time. */
#ifndef ZCRP_ENTITY_SPIN_H
#define ZCRP_ENTITY_SPIN_H

#include "core/instant.h"

#include <stdbool.h>

enum {
    SPIN_CREDIT = 32,   /* most of it */
    SPIN_LONG_COST = 5, /* of a long wait; a short one earns one */
    SPIN_ASLEEP = 4,    /* spins that a wait may last to be short, while it sleeps */
};

struct spin {
    duration most; /* (c) longest spin */
    int credit;
    bool spins;
};

/* Spins, with all credit: the first waits are likely to be short. */
void spin_init(struct spin *spin, duration most);

/* How long the next wait may spin; 0: sleep at once. */
duration spin_limit(const struct spin *spin);

/* A wait took so long, spinning and sleeping together, until something came. */
void spin_learn(struct spin *spin, duration waited);

/* Asserts the invariants. */
void spin_check(const struct spin *spin);

#endif
