/* A protocol entity: a pure machine, the channels it speaks through, the threads that drive it, and
 * the messages of the user that it has.
 *
 *     user's threads   submit  cancel  close       (submit.c, cancel.c, close.c)
 *                           \    |    /
 *     sending, update ---  the machine, under one mutex  --- timeout
 *     or receiving               |
 *                        endings, told once the mutex is free: collection, latch, bell
 *
 * Every locked section goes from entity_enter to entity_leave. Leave does all that a change may
 * call for, whatever the change was: it drains the machine's events, moves the backlog up, and
 * wakes whom it concerns. So no caller can forget to, and wake-ups need no other rule.
 * docs/threads.md has the predicates.
 *
 * Lock letters: (c) constant from open to close; (m) the mutex; (o) whoever set is_sending;
 * (i) whoever set is_arriving. */
#ifndef ZCRP_ENTITY_ENTITY_H
#define ZCRP_ENTITY_ENTITY_H

#include "backlog.h"
#include "collection.h"
#include "gather.h"
#include "helm.h"
#include "machine.h"
#include "openings.h"
#include "platform/system.h"
#include "platform/thread.h"
#include "platform/waking.h"
#include "registry.h"

enum { WORKERS_MOST = 3 };

/* One of the library's threads (worker.c). */
struct worker {
    struct thread thread;
    const struct duty *duty;
    struct zcrp_entity *entity;
};

struct zcrp_entity {
    struct zcrp_options options; /* (c) complete */
    uint32_t generation;         /* (c) of the process that opened it (platform/forked.h) */
    struct registry_entry registry;
    int given[2];               /* (c) the user's descriptors, and */
    int owned[2];               /* (c) duplicates of them; the same twice if they are one socket */
    struct channel channels[2]; /* (c) one of them is used if the channel is duplex */
    struct channel *in, *out;   /* (c) where the peer's datagrams come from, and ours go to */
    struct collection collection; /* has a mutex of its own */
    struct wake stop;             /* (c) readable once all threads shall end */
    struct helm helm;             /* the user's thread that does the work while it waits */
    struct interrupt interrupt;   /* of its waits */

    struct mutex mutex;
    struct machine machine;   /* (m) */
    struct backlog backlog;   /* (m) */
    uint64_t messages;        /* (m) that ended well, and */
    uint64_t failures;        /* (m) that did not; */
    uint64_t bytes;           /* (m) of those that ended well */
    struct zcrp_stats traced; /* (m) as the user's trace knows them */
    bool is_broken;           /* (m) the channel is of no use any more */
    bool is_closing;          /* (m) nothing is submitted any more */
    bool is_over;             /* (m) nothing enters the machine any more: the backlog fails */
    bool is_stopping;         /* (m) the threads shall end */
    uint64_t hints, refusals; /* (m) of the channels, that the machine knows of */
    uint32_t faults;          /* (m) in a row, of memory that turned out to be fine */

    bool is_sending;                 /* (m) somebody has a burst out */
    enum channel_verdict is_blocked; /* (m) why the next burst has to wait; OK: it has not */
    bool sending_sleeps;             /* (m) the sending thread waits for `sending_due` */
    struct condition sending_due;
    struct burst burst; /* (o) */

    instant timeout_at; /* (m) what the timeout thread sleeps for; INT64_MIN: it is awake */
    struct condition timeout_due;
    struct condition progress; /* something changed while is_closing */

    bool is_arriving;         /* (m) somebody receives */
    struct gather gather;     /* (m) whether who receives naps */
    struct landing landing;   /* (i) receiver only */
    struct openings openings; /* (m) receiver only */
    uint8_t *arrivals;        /* (i) memory of the landing, or for one datagram */
    size_t arrival_bytes;     /* (c) */

    struct worker workers[WORKERS_MOST]; /* (c) */
    int worker_count;                    /* (c) of them that run */
};

/* Begins a locked section. */
void entity_enter(struct zcrp_entity *e);

/* Ends it, as described above. Messages end here: their users go on before this returns. */
void entity_leave(struct zcrp_entity *e);

/* The channel does not work any more: every message fails, the close will not wait. Locked. */
void entity_break(struct zcrp_entity *e);

/* Has the sending thread something to do? Locked. */
bool entity_is_sending_due(struct zcrp_entity *e);

/* Tells the machine of what the system has hinted at since the last time. Locked. */
void entity_pass_hints(struct zcrp_entity *e);

/* Memory of the burst, or of the plan, that is out could not be accessed: its messages fail.
 * Locked. */
void entity_on_burst_fault(struct zcrp_entity *e);
void entity_on_plan_fault(struct zcrp_entity *e);

/* When the timeout thread has something to do. Locked. */
instant entity_deadline(const struct zcrp_entity *e);

/* Frees an entity whose threads have ended and whose messages are over. (open.c) */
void entity_destroy(struct zcrp_entity *e);

/* In a child: frees this process's copy of an entity of its parent's. (open.c) */
void entity_abandon(struct zcrp_entity *e);

/* The user's descriptor of one of the entity's channels. (open.c) */
int entity_given(const struct zcrp_entity *e, const struct channel *c);

/* Does it belong to the parent of this process? */
static inline bool entity_is_forked(const struct zcrp_entity *e)
{
    return e->generation != forked_generation();
}

#endif
