/* A lease says who receives for a link, and until when. A waiting user's thread takes it from the
 * library's threads: it receives, sends and keeps the time itself, so no thread has to wake another
 * between a datagram and the return from wait. While nobody waits, the library's threads do it all.
 *
 *                    take                     sleep
 *     WORKERS ----------------------> AWAKE ----------> ASLEEP, until
 *       ^  ^                          ^  |  <----------
 *       |  |                     take |  |    wake_up
 *       |  |      return in time      |  |
 *       |  \------------------------ KEPT, until
 *       |                                |
 *       \---------------- give ----------/
 *
 * A waiter that leaves gives the lease back, to the first of these:
 *
 *     another waiter sleeps               it is chosen, woken, and takes the lease
 *     the socket is armed                 WORKERS
 *     waiters usually come back later     WORKERS: the socket is armed, and the library receives
 *     they usually come back at once      KEPT, for LEASE_TERM: nobody receives meanwhile,
 *                                         but a waiter that glances at memory (rx_glance)
 *
 * An armed socket wakes the workers once after a waiter has taken the lease; they let it be. So a
 * program that waits again and again finds the socket as it left it and wakes no thread, and one
 * that computes between its waits loses no time. A kept lease that nobody has taken by its time
 * returns to the workers: the time is among the link's deadlines, which the timeout thread knows.
 *
 * This file keeps the books; the waiter's work is in wait.c, the workers' in rx.c. All functions
 * need the link's mutex, (m), unless they say otherwise. tests/model/link.pml has the rules. */
#ifndef ZCRP_WAITING_LEASE_H
#define ZCRP_WAITING_LEASE_H

#include "core/instant.h"
#include "platform/waking.h"

#include <stdatomic.h>
#include <stdbool.h>

#define LEASE_TERM (2 * MILLISECOND)      /* a waiter that has left is expected back for so long */
#define LEASE_AT_ONCE (100 * MICROSECOND) /* a waiter's absences up to that count as none */

enum lease_state {
    LEASE_WORKERS, /* the library's threads have it, and the socket is armed */
    LEASE_KEPT,    /* nobody has it, for a waiter's sake */
    LEASE_AWAKE,   /* a waiter has it, */
    LEASE_ASLEEP,  /* and waits for the channel */
};

/* A waiter that did not get the lease, asleep on its message's latch. On its stack. */
struct sleeper {
    struct latch *latch;
    bool is_chosen; /* (m) it is to take the lease */
    struct sleeper *next;
};

struct lease {
    _Atomic int state;            /* (a) enum lease_state; changed under (m) */
    _Atomic instant until;        /* (a) while KEPT or ASLEEP */
    _Atomic(struct wake *) owner; /* (a) gets the waiter who has, or had it last, out of its
                                     sleep: a waiter sleeps once, whatever it has leases of */
    bool is_armed;                /* (m) the socket, also while a waiter has the lease */
    bool is_closed;               /* (m) no waiter takes it any more */
    instant given;                /* (m) when a waiter last gave it back */
    duration absence;             /* (m) usually, until the next one takes it */
    duration brief;               /* (c) absences up to that count as none */
    struct sleeper *sleepers;     /* (m) */
};

/* The workers have it. Absences up to `brief` count as none, and longer ones as LEASE_LONG. */
void lease_init(struct lease *l, duration brief);
#define LEASE_LONG(brief) ((brief)*5 / 2)

/* Any thread, without a lock. */
static inline enum lease_state lease_state(const struct lease *l)
{
    return (enum lease_state)atomic_load(&l->state);
}

/* Has a waiter taken it? Any thread, without a lock. */
static inline bool lease_is_taken(const struct lease *l)
{
    return lease_state(l) >= LEASE_AWAKE;
}

/* When it returns to the workers; NEVER: it is not kept. */
static inline instant lease_returns_at(const struct lease *l)
{
    return lease_state(l) == LEASE_KEPT ? atomic_load(&l->until) : NEVER;
}

/* A waiter takes it; false if another one has it, or it is closed. Its wake is of the thread's
 * workspace, which lives until the last entity is closed: so a late lease_wake finds it. */
bool lease_take(struct lease *l, struct wake *waiter, instant now);

/* The waiter sleeps until then at the latest; it is awake again. */
void lease_set_asleep(struct lease *l, instant until);
void lease_set_awake(struct lease *l);

/* Gets the waiter out of its sleep, if it sleeps; the second, if it sleeps for longer than that.
 * Any thread, without a lock; a signal handler may call the first. */
void lease_wake(struct lease *l);
void lease_wake_before(struct lease *l, instant due);

/* A waiter goes to sleep on its latch, and is up again. */
void lease_add_sleeper(struct lease *l, struct sleeper *sleeper);
void lease_remove_sleeper(struct lease *l, struct sleeper *sleeper);

/* What is left to do without the mutex. */
struct handover {
    struct latch *chosen; /* for latch_wake: somebody sleeps at its address; NULL: nobody */
    bool must_arm;        /* the socket */
};

/* The waiter gives it back. */
struct handover lease_give(struct lease *l, instant now);

/* No waiter may have it (any more): a sleeper is chosen, or it goes to the workers, or is kept. */
struct handover lease_hand_over(struct lease *l);

/* The socket is not armed any more: something arrived, or a waiter has said that it looks itself.
 * True if a waiter will receive what comes; if not the workers have the lease. */
bool lease_on_disarmed(struct lease *l);

/* Returns it to the workers if it is kept, and its time has come. True if so: then the caller arms
 * the socket. */
bool lease_return_if_due(struct lease *l, instant now);

/* Returns it at once, if it is kept; the same. */
bool lease_return(struct lease *l);

/* No waiter takes it any more. */
void lease_close(struct lease *l);

#endif
