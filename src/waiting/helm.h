/* The helm: a waiting user's thread does the work of the library's threads. It borrows the socket
 * from the engine, and receives, sends and keeps the time itself. So no thread has to wake another
 * between a datagram and the return from wait. While nobody waits, the library's threads do it all.
 *
 *     FREE --take--> AWAKE --sleep--> ASLEEP --wake_up--> AWAKE --leave--> FREE
 *
 * A socket that is armed wakes the engine's thread once after it was borrowed; that thread finds
 * the helm taken and lets the socket be. A waiter that leaves hands over:
 *
 *     another waiter sleeps               it is called, and takes the helm
 *     waiters usually come back at once   nothing: the socket is looked at some ticks later
 *     they usually come back later        the socket is armed, and the library receives then
 *
 * So a program that waits again and again finds the socket as it left it and wakes no thread, and
 * one that computes between its waits loses no time. A look that finds a waiter at the helm is the
 * last until one leaves again, and a waiter that falls asleep there needs no look to find it. Looks
 * become later, up to HELM_LOOK_MOST, as long as they find one.
 *
 * This file keeps the helm's books; the waiter's work is in wait.c, the library's in rx.c. All
 * functions need the link's mutex, (m), unless they say otherwise. tests/model/link.pml has the
 * rules. */
#ifndef ZCRP_WAITING_HELM_H
#define ZCRP_WAITING_HELM_H

#include "core/instant.h"
#include "platform/waking.h"
#include "wait_policy.h"

#include <stdatomic.h>
#include <stdbool.h>

#define HELM_TICK (250 * MICROSECOND)    /* a waiter that has left is expected back for so long */
#define HELM_LOOK_MOST (4 * MILLISECOND) /* from leaving to a look at a socket that is let be */
#define HELM_AT_ONCE (100 * MICROSECOND) /* absences up to that count as none */

enum helm_state {
    HELM_FREE,   /* no waiter is at it */
    HELM_AWAKE,  /* one is */
    HELM_ASLEEP, /* and waits for the channel */
};

/* A waiter that did not get the helm, asleep on its message's latch. On its stack. */
struct sleeper {
    struct latch *latch;
    bool is_called; /* (m) it is to take the helm */
    struct sleeper *next;
};

struct helm {
    _Atomic int state;           /* (a) enum helm_state; changed under (m) */
    _Atomic instant due;         /* (a) what the waiter sleeps for at the latest */
    _Atomic(struct wake *) wake; /* (a) gets the waiter out of its sleep; its thread's */
    bool is_closed;              /* (m) nobody takes it any more */
    bool is_let_be;              /* (m) the socket is not armed, for the sake of waiters */
    instant look_at;  /* (m) when that is looked at; NEVER: armed, or a waiter is there */
    duration look;    /* (m) how long that is after a waiter has left */
    instant left;     /* (m) when a waiter left */
    duration absence; /* (m) between a waiter's leaving and the next one's coming, usually */
    struct spinning spinning; /* of the waiter that is at it */
    uint32_t turns;           /* of waiters, so far; of the waiter that is at it */
    struct sleeper *sleepers; /* (m) */
};

/* With the longest spin of a waiter. */
void helm_init(struct helm *helm, duration spin);

/* Any thread, without a lock. */
static inline enum helm_state helm_state(const struct helm *helm)
{
    return (enum helm_state)atomic_load(&helm->state);
}

/* Takes the helm; false if it is taken, or closed. `wake` is of the thread's workspace, which lives
 * until the last entity is closed: so a late helm_call finds it. */
bool helm_take(struct helm *helm, struct wake *wake);

/* The waiter sleeps until `due` at the latest; it is awake again; it leaves. */
void helm_sleep(struct helm *helm, instant due);
void helm_wake_up(struct helm *helm);
void helm_leave(struct helm *helm);

/* Gets the waiter out of its sleep, if it sleeps. Any thread, without a lock; a signal handler may
 * call it. */
void helm_call(struct helm *helm);

/* Gets it out if it sleeps for longer than that. Any thread, without a lock. */
void helm_call_before(struct helm *helm, instant due);

/* Will a waiter who is awake, or has only just left, see to what has to be sent? */
bool helm_is_attended(const struct helm *helm);

/* A waiter goes to sleep on its latch, and is up again. */
void helm_add_sleeper(struct helm *helm, struct sleeper *sleeper);
void helm_remove_sleeper(struct helm *helm, struct sleeper *sleeper);

/* What is left to do without the mutex. */
struct handover {
    struct latch *called; /* for latch_wake: somebody sleeps at its address; NULL: nobody */
    bool must_arm;        /* the socket */
};

/* The helm may just have become free: calls a sleeper, or has the socket armed. */
struct handover helm_hand_over(struct helm *helm);

/* Something arrived, and the socket is not armed any more. True if a waiter will receive it. */
bool helm_lets_be(struct helm *helm);

/* Looks at a socket that is let be, if it is time to. True if nobody comes any more: then the
 * caller arms it. */
bool helm_arms(struct helm *helm, instant now);

/* Nobody takes the helm any more. */
void helm_close(struct helm *helm);

#endif
