/* The helm: a user's thread that waits for a message does itself what it would otherwise wait for.
 * It receives, sends and keeps the time, and the library's threads stay out of its way; no thread
 * has to be woken by another between a datagram and the return from wait. While nobody waits, the
 * library's threads do it all.
 *
 *     waiter    ----take [ turn, turn, rest, turn ] leave----          take [ ...
 *     arriving  ...parked, looks up now and then....................|  receives again
 *                                                    <- 4 ms at most ->
 *
 * After the helm is left it counts as minded for one more tick, if the arriving thread is parked: a
 * program that waits again and again finds it as it left it, and one that goes away to compute is
 * soon replaced. Parked, the arriving thread looks up after a tick, then after two, and from the
 * fifth look on every four milliseconds.
 *
 * If whoever is at the helm has slept for all of such a time, the arriving thread sleeps, too,
 * and is called when that is over: a program that waits for long costs nothing.
 *
 * Lock letters as in entity.h. */
#ifndef ZCRP_ENTITY_HELM_H
#define ZCRP_ENTITY_HELM_H

#include "core/instant.h"
#include "platform/thread.h"
#include "platform/waking.h"
#include "spin.h"

#include <stdatomic.h>
#include <stdbool.h>

struct zcrp_entity;
struct message;

struct helm {
    bool is_taken;           /* (m) a waiter is at it */
    _Atomic bool sleeps;     /* (a) and waits for the channel; set under (m) */
    uint64_t naps;           /* (m) how often it has begun to; from 1 on once it has */
    instant due;             /* (m) what it sleeps for at the latest */
    instant left;            /* (m) when it was last left */
    struct wake wake;        /* gets it out of its sleep */
    struct spin spin;        /* of whoever is at it: whether to look for a while before it sleeps */
    bool is_parked;          /* (m) the arriving thread looks up soon, and finds what is due */
    bool parks_long;         /* (m) or only when it is called, because the helm sleeps */
    struct condition parked; /* where it does */
    _Atomic int guests;      /* (a) waiters that are within the entity */
};

/* With the longest spin of a waiter. 0, or the system's negative error number. */
__attribute__((warn_unused_result)) int helm_init(struct helm *helm, duration spin);
void helm_fini(struct helm *helm);

enum helm_end { HELM_ENDED, HELM_TIMEOUT, HELM_INTERRUPTED };

/* Waits for the message, at the helm if it is free: until its latch is open, or the deadline, or
 * zcrp_interrupt. The entity may be closed meanwhile: then the message has ended before. */
enum helm_end helm_wait(struct message *message, instant deadline);

/* The entity of a message in flight, which then stays until helm_depart, also if it is closed; NULL
 * if the message has ended. For calls that know of their entity by the message alone. */
struct zcrp_entity *helm_visit(struct message *message);
void helm_depart(struct zcrp_entity *e);

/* In a child: nobody is about to enter. */
void helm_after_fork(void);

/* Waits until nobody is within the entity that way; all its messages have ended. */
void helm_await_guests(struct helm *helm);

/* Somebody at the helm, awake, or only just gone, will see to what has to be sent. Locked. */
bool helm_is_minded(const struct zcrp_entity *e);

/* The arriving thread stays out of the way for as long as the helm is minded. Locked. */
void helm_park(struct zcrp_entity *e);

#endif
