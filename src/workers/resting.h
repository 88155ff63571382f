/* How long the timeout thread rests: when its alarm is to ring. Setting the alarm is a system call,
 * and one that rings too early does no harm but to wake the thread. So it is set seldom:
 *
 *     something is due earlier       at once
 *     nothing is due before later    once in RESTING_PUT_OFF at most
 *
 * A stream of messages at a steady pace would set it twice for each: earlier when a message leaves,
 * and later when it has arrived. So the next message is foreseen. The alarm is put off no further
 * than to where that will want it, and then nobody makes it earlier. If no message comes the thread
 * wakes once for nothing.
 *
 *     wanted                          wanted   alarm   due
 *        |------------- period ----------->|------|-------|
 *                                            lead / 2
 *
 * Pure. The engine's mutex guards it. */
#ifndef ZCRP_WORKERS_RESTING_H
#define ZCRP_WORKERS_RESTING_H

#include "core/instant.h"

#include <stdbool.h>

/* Where messages follow each other more closely, to let the alarm ring now and then costs less. */
#define RESTING_PUT_OFF (4 * MILLISECOND)

/* All zero, but for `at`: the thread is awake. */
struct resting {
    instant at;        /* when the alarm rings; RESTING_AWAKE: the thread is awake */
    instant put_off;   /* when that was last made later */
    const void *whose; /* deadline was the last that came before it, */
    instant wanted;    /* told then; */
    duration lead;     /* so long before it is due, */
    duration period;   /* and usually so long after the one before, */
    bool is_steady;    /* as this time */
};

#define RESTING_AWAKE INT64_MIN

/* Something of `whose` is due. True if the alarm is to be set (to resting->at). */
bool resting_on_due(struct resting *r, const void *whose, instant at, instant now);

/* Nothing is due before `at` any more. True as above. */
bool resting_on_later(struct resting *r, instant at, instant now);

#endif
