/* The helm: a waiting user's thread does the work of the library's threads. It receives, sends and
 * keeps the time itself, and those threads stay out of its way. So no thread has to wake another
 * between a datagram and the return from wait. While nobody waits, the library's threads do it all.
 *
 *     waiter    ----take [ turn, turn, rest, turn ] leave----          take [ ...
 *     arriving  ...parked, looks up now and then....................|  receives again
 *                                                    <- 4 ms at most ->
 *
 * The helm has a state, and so has the arriving thread, which parks while the helm is attended:
 *
 *     FREE --take--> AWAKE --sleep--> ASLEEP --wake_up--> AWAKE --leave--> FREE
 *
 * After the waiter has left, the helm counts as attended for one more tick, if the arriving thread
 * is parked. So a program that waits again and again finds the helm as it left it, and one that
 * goes away to compute is soon replaced. The parked thread looks up after a tick, then after two,
 * and from the fifth look on every four milliseconds.
 *
 * If the waiter has slept for all of such a time, the arriving thread sleeps, too, and the waiter
 * calls it on waking: a program that waits for long costs nothing.
 *
 * This file keeps the helm's books; the waiter's work is in wait.c, the library's in turns.c. All
 * functions need the entity's mutex, (m), unless they say otherwise. */
#ifndef ZCRP_ENTITY_HELM_H
#define ZCRP_ENTITY_HELM_H

#include "core/instant.h"
#include "platform/thread.h"
#include "platform/waking.h"
#include "wait_policy.h"

#include <stdatomic.h>
#include <stdbool.h>

enum helm_state {
    HELM_FREE,   /* no waiter is at it */
    HELM_AWAKE,  /* one is */
    HELM_ASLEEP, /* and waits for the channel */
};

enum parking {
    PARKING_NONE,  /* the arriving thread does not park */
    PARKING_LOOKS, /* it looks up soon, and finds what is due */
    PARKING_LONG,  /* it looks up when it is called, because the waiter sleeps */
};

struct helm {
    _Atomic int state;       /* (a) enum helm_state; changed under (m) */
    bool is_closed;          /* (m) nobody takes it any more */
    uint64_t sleeps;         /* (m) how often a waiter has begun to sleep */
    instant due;             /* (m) what it sleeps for at the latest */
    instant left;            /* (m) when it was last left */
    struct wake wake;        /* gets the waiter out of its sleep */
    struct spin spin;        /* of the waiter that is at it */
    enum parking parking;    /* (m) of the arriving thread */
    struct condition parked; /* where it parks */
};

/* With the longest spin of a waiter. 0, or the system's negative error number. */
__attribute__((warn_unused_result)) int helm_init(struct helm *helm, duration spin);
void helm_fini(struct helm *helm);

/* Any thread, without a lock. */
static inline enum helm_state helm_state(const struct helm *helm)
{
    return (enum helm_state)atomic_load(&helm->state);
}

/* Takes the helm; false if it is taken, or closed. */
bool helm_take(struct helm *helm);

/* The waiter sleeps until `due` at the latest; it is awake again, and calls the arriving thread if
 * that parks for long; it leaves. */
void helm_sleep(struct helm *helm, instant due);
void helm_wake_up(struct helm *helm);
void helm_leave(struct helm *helm);

/* Gets the waiter out of its sleep, if it sleeps. Any thread, without a lock; a signal handler may
 * call it. */
void helm_call(struct helm *helm);

/* Will a waiter who is awake, or has only just left, see to what has to be sent? */
bool helm_is_attended(const struct helm *helm);

/* The arriving thread parks for as long as the helm is attended, and not closed. Leaves the mutex
 * and locks it again. */
void helm_park(struct helm *helm, struct mutex *mutex);

/* Nobody takes the helm any more, and the arriving thread goes on. */
void helm_close(struct helm *helm);

#endif
