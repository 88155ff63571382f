/* What completion queues have to tell. A *place* is where things end or begin that a user wants to
 * hear of: an entity's collection, a listener's backlog. It is in one queue's completions at most,
 * and ready there while it has facts that nobody took.
 *
 *     place_note --> [ ready places, first in, first out ] --take--> the user
 *                          ^-- a place that has more goes to the end: so none starves
 *
 * A fact is a bit of the place, so nothing is allocated, and a completion cannot fail. What a fact
 * consists of is with the place's owner: messages in a list, callers in a backlog.
 *
 * Places, ready lists, and the messages of all collections share one mutex, (k), which outlives
 * every queue and every entity. It is the last in the lock order, and held for a few instructions.
 *
 * I1  a place is ready exactly while it is in a queue and has facts.
 * I2  a ring is under way, or has been, for each time that a queue has had nothing and got
 *     something: so whoever found nothing, and sleeps, wakes.
 * I3  a place is busy only while it is in a queue. */
#ifndef ZCRP_WAITING_COMPLETIONS_H
#define ZCRP_WAITING_COMPLETIONS_H

#include "platform/waking.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum fact {
    FACT_ENDED = 1,  /* messages have ended */
    FACT_OFFER = 2,  /* the peer has said how large a message is */
    FACT_LINK = 4,   /* how the link to the peer stands has changed */
    FACT_CALLER = 8, /* `callers` have come */
};

struct sockets;

struct place {
    _Atomic(struct completions *) in; /* (k); NULL: none. Also read without, for a first look */
    _Atomic(void *) context; /* (k) the user's. As the next one, also read without, by a taker */
    _Atomic(void *) owner;   /* (k) whose it is, as the queue knows it; NULL */
    bool is_backlog;         /* (k) a listener's; else an entity's collection */
    int told;                /* (k) how the link stands, as was told */
    uint32_t facts;          /* (k) bits of enum fact */
    uint32_t callers;        /* (k) that were not told yet */
    struct place *previous, *next;             /* (k) of all in the queue */
    struct place *ready_before, *ready_behind; /* (k) of those that are ready */
    struct place *next_busy;                   /* (k) of those whose user is busy */
    bool is_busy;                              /* (k) it is one of them */
};

struct completions {
    struct place *all; /* (k) in any order */
    struct place *_Atomic first,
        *last; /* (k) that are ready; the first also read without, for a look */
    struct place *_Atomic first_busy; /* (k) whose user is busy; the same */
    _Atomic int ringers;              /* (a) threads that are about to wake a taker */
    void (*ring)(void *queue);        /* (c) wakes those who wait for completions */
    void *queue;                      /* (c) */
    struct sockets *sockets;          /* (c) that the takers look at (workers/sockets.h) */
};

/* ---- the mutex ---- */

void completions_lock(void);
void completions_unlock(void);

/* In a child: nobody has it. */
void completions_after_fork(void);

/* ---- the queue's side ---- */

/* Nothing is there. `ring` is called, without a lock, when something is; any thread. */
void completions_init(struct completions *c, void (*ring)(void *queue), void *queue,
                      struct sockets *sockets);

/* No place is in it any more; waits until no thread rings. */
void completions_fini(struct completions *c);

/* The place joins, with what the queue knows of it (context, owner, is_backlog, told), and these
 * facts, for which it rings. False: it is in a queue already, and nothing has changed. */
bool completions_add(struct completions *c, struct place *p, const struct place *as);

/* The same of two, of which the other one (NULL: none) is told of later. Both join, or neither. */
bool completions_add_both(struct completions *c, struct place *p, struct place *other,
                          const struct place *as);

/* Locked, (k): the place that is the first to be told of; NULL: there is none. Then, its facts are
 * these from now on, and it goes to the end if it has any. */
struct place *completions_first(const struct completions *c);
void completions_put_back(struct completions *c, struct place *p, uint32_t facts);

/* Is any ready? Any thread, a look. */
static inline bool completions_are_ready(const struct completions *c)
{
    return atomic_load_explicit(&c->first, memory_order_relaxed) != NULL;
}

/* ---- busy users ----
 *
 * A taker that was told of several messages is busy with them, and likely to submit as many: until
 * it is back, or another one comes. */

/* Locked, (k): the user of this place, which is in the queue, is busy from now on. */
void completions_note_busy(struct completions *c, struct place *p);

/* Locked, (k): takes one out of the busy ones, of which there is no more to tell, or `any`. NULL:
 * there is none. */
struct place *completions_take_busy(struct completions *c, bool any);

/* Locked, (k): how many are busy. Others may become so while the mutex is free. */
uint32_t completions_count_busy(const struct completions *c);

/* Is any busy? Any thread, a look. */
static inline bool completions_have_busy(const struct completions *c)
{
    return atomic_load_explicit(&c->first_busy, memory_order_relaxed) != NULL;
}

/* ---- a taker that looks ----
 *
 * What ends by a taker's own hand while it looks it is told of at once, if its queue has nothing
 * that was there before. So that passes neither the mutex nor a list. */
struct taker {
    struct completions *of;
    int left; /* that it has room for */
    void (*tell)(struct taker *t, struct place *p, void *message, int code);
};

/* This thread looks as this taker from now on; NULL: it does no more. */
void completions_look_as(struct taker *t);

/* The taker that this thread looks as, if the place is in its queue, it has room, and nothing is
 * ready there; else NULL. */
struct taker *completions_taker(const struct place *p);

/* ---- the place's side ---- */

/* Any thread, a look. */
static inline bool place_is_in_queue(const struct place *p)
{
    return atomic_load(&p->in) != NULL;
}

/* Something has happened, bits of enum fact; nothing if the place is in no queue. Wakes takers. Not
 * locked. */
void place_note(struct place *p, uint32_t facts);

/* The same. Locked, (k): then completions_ring is due for the result, if it is not NULL, once the
 * mutex is free. The queue stays until then. */
struct completions *place_note_locked(struct place *p, uint32_t facts);
void completions_ring(struct completions *c);

/* `callers` more have come. */
void place_note_callers(struct place *p, uint32_t callers);

/* The place leaves the queue that it is in; what was not taken is told no more. True if it was in
 * one. Locked, (k). */
bool place_leave(struct place *p);

#endif
