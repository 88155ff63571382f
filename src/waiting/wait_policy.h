/* How a thread waits for arrivals: whether it spins before it sleeps (spin), whether arrivals may
 * end its sleep at once (interrupt moderation), and whether the acknowledgement of what it waited
 * for may wait for the user's answer (answering). All learn from the waits before.
 *
 * Pure; of one thread at a time. */
#ifndef ZCRP_WAITING_WAIT_POLICY_H
#define ZCRP_WAITING_WAIT_POLICY_H

#include "core/instant.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* ---- spin ----
 *
 * Does a waiter look again and again before it sleeps? That depends on how long its waits were.
 *
 *     SPINS --- credit is used up: too many waits outlasted the spin ------------> SLEEPS
 *       ^                                                                            |
 *       \----- credit is full again: hardly a wait has been long for a while --------/
 *
 * A wait that is over within the spin earns one credit. A longer one costs several, because all of
 * its spin was in vain. So spinning goes on while at most one wait in six outlasts it: question and
 * answer, or a stream at full speed. If a stream pauses after each message, the waiter sleeps and
 * frees the CPU.
 *
 * A sleeping waiter finds all waits longer: waking it takes time, waking its peer takes time, too,
 * which may sleep for the same reason. So while it sleeps only waits of several times the spin
 * count as long, and it tries to spin again every few dozen waits. Two peers that answer each other
 * thus find back to spinning.
 *
 * I1  0 <= credit <= SPIN_CREDIT
 * I2  credit > 0 while it spins, credit < SPIN_CREDIT while it sleeps */
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

/* A wait lasted this long, spinning and sleeping together, until something came. */
void spin_learn(struct spin *spin, duration waited);

/* Asserts the invariants. */
void spin_check(const struct spin *spin);

/* ---- spinning ----
 *
 * A waiter waits for the next message to begin, or amid one for the rest of it. In a stream that
 * pauses behind each message the waits amid them are short, and many; they must not pay for
 * spinning through the pauses. So each kind learns by itself. Where the waits for the next message
 * are too long to spin, the stream is slower than its receiver: then nobody spins amid messages
 * either, and what comes may gather.
 *
 * A sender that has pushed to a peer on its host since it slept waits for more to push. That is
 * there when the peer has ended a landing and begun the next one, so this spin is twice as long. */
enum waiting { WAITING_FOR_NEXT, WAITING_FOR_REST, WAITING_TO_PUSH, WAITINGS };

struct spinning {
    struct spin of[WAITINGS];
    enum waiting now; /* what the present wait is for */
};

/* With the longest spin. */
void spinning_init(struct spinning *s, duration most);

/* A wait begins. */
void spinning_begin(struct spinning *s, enum waiting now);

/* How long it may spin. */
duration spinning_limit(const struct spinning *s);

/* It lasted this long, until something came. */
void spinning_learn(struct spinning *s, duration waited);

/* ---- interrupt moderation ----
 *
 * Does a receiving thread nap before it waits for the next arrival? A wait for arrivals ends with
 * the first of them, and the next one comes when that has been handled. So each arrival costs a
 * sleep, a call of the scheduler and a look. While more of a message is surely on its way, a nap
 * that nothing ends lets some of it gather, and one wake-up handles several arrivals.
 *
 *     arrivals  |   |   |   |   |   |   |   |   |   |    |
 *     polling   ^   ^   ^   ^   ^   ^   ^   ^   ^   ^    ^
 *     napping   ^               ^               ^   ^    ^     polls at the message's end, so
 *               <----- nap ----->                              that it is not late
 *
 * If a nap or two would bring the whole message, naps are shorter, and at last the thread polls.
 *
 * The last nap tells how long the next one is. If clearing it took many receives, it was too long;
 * if it gathered nothing, too short. Where even the longest nap is too short the path is a slow
 * one, and the thread polls. A receiver delays an acknowledgement by little less than the longest
 * nap, anyway.
 *
 * On a long path a nap of up to half of the round trip delays nothing that matters, and it
 * gathers many arrivals.
 *
 * I1  MODERATION_LEAST <= nap <= MODERATION_FAR */
#define MODERATION_LEAST (50 * MICROSECOND)
#define MODERATION_MOST (1600 * MICROSECOND) /* on a short path */
#define MODERATION_FAR (12800 * MICROSECOND) /* on any */

enum {
    MODERATION_FEW = 2,     /* arrivals after a nap; fewer: it was too short */
    MODERATION_ENOUGH = 32, /* the same of naps that are short beside the round trip */
    MODERATION_PART = 2,    /* of a round trip, that a nap may last */
    MODERATION_MANY = 8,    /* receives; more: it was too long */
    MODERATION_POLLS = 64,  /* waits without a nap, after the longest was too short */
};

struct moderation {
    duration nap;      /* the next one */
    uint64_t usual;    /* bytes that a nap brings, as far as is known */
    uint64_t bytes;    /* that arrived since the last rest, */
    uint32_t arrivals; /* in this number of arrivals, */
    uint32_t calls;    /* in this number of receives */
    uint32_t polls;    /* rests without a nap that are to come */
    bool has_napped;
};

void moderation_init(struct moderation *m);

/* A receive brought `arrivals` arrivals, datagrams or bursts that the kernel had joined, of `bytes`
 * bytes together. */
void moderation_on_arrivals(struct moderation *m, uint32_t arrivals, uint64_t bytes);

/* Nothing is there any more: how long to nap, 0 for a wait as usual. `expected` bytes of the
 * present message are on their way without another request; `round_trip` is the path's, or less (0:
 * not known). */
duration moderation_rest(struct moderation *m, uint64_t expected, duration round_trip);

/* Asserts the invariant. */
void moderation_check(const struct moderation *m);

/* ---- answering ----
 *
 * Does the user of a connection answer each message that it waited for, before it waits for the
 * next one? Then the acknowledgement is held until the answer has been sent. The peer waits for the
 * answer, so one datagram less is on the way to it. It is sent earlier if the user waits for
 * something else meanwhile, such as the end of a message of its own.
 *
 *     a message has come --> the user answers             count + 1: once ANSWERS_USUAL, it is held
 *                       \--> it waits for the next one,   count = 0
 *                            or FLUSH_MOST is over (link/flush.h)
 *
 * A queue's user that takes again may wait for anything: then what is held goes, and the count ends
 * with the next message.
 *
 * I1  0 <= count <= ANSWERS_USUAL */
enum { ANSWERS_USUAL = 4 };

struct answering {
    int count;            /* messages in a row that were answered */
    _Atomic bool is_open; /* one has come, and was not answered yet */
};

void answering_on_message(struct answering *a);
void answering_on_answer(struct answering *a);
void answering_on_wait(struct answering *a);

/* The answer took too long. */
void answering_on_late(struct answering *a);

/* Has a message come that was not answered yet? Any thread may ask. */
bool answering_is_open(const struct answering *a);

/* Is an answer to the next message likely? */
bool answering_is_usual(const struct answering *a);

/* Asserts the invariant. */
void answering_check(const struct answering *a);

#endif
