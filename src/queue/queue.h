/* A completion queue: what has happened to any number of entities, connections and listeners, told
 * in one place.
 *
 *     messages end, offers, links, callers --> [ completions ] --take--> the user
 *                                                                          | looks
 *     datagrams --------------------------------> [ sockets ] <------------/
 *
 * The links that are in the queue are received by its takers, in the place of the engine. A
 * lease says which thread looks at their sockets, one for all links together (waiting/lease.h): a
 * taker has it, or it is kept for the next one, or nobody has taken for LEASE_TERM, and the
 * engine's thread looks. The engine waits for the set's epoll, so to hand over all sockets takes
 * one call.
 *
 *     queue.c   open and close, and how threads wake     add.c    what enters and leaves
 *     look.c    the lease                                take.c   what is told, and how takers wait
 *
 * The queue's places are in its members, so it needs no memory for a completion. Lock letters: (c)
 * from open to close; (q) the queue's mutex; (k) the completions'; (a) atomic. */
#ifndef ZCRP_QUEUE_QUEUE_H
#define ZCRP_QUEUE_QUEUE_H

#include "waiting/completions.h"
#include "waiting/lease.h"
#include "waiting/wait_policy.h"
#include "workers/engine.h"
#include "workers/sockets.h"
#include "zcrp.h"

/* The longest time that a taker polls before it sleeps, as options.spin_ns of one entity. */
#define QUEUE_SPIN (50 * MICROSECOND)

/* A taker that comes back within that has used what it took: as LEASE_AT_ONCE. */
#define QUEUE_AT_ONCE MILLISECOND

/* A taker that glances, or is told something, looks at the sockets so often, too. One that was away
 * for so long does not spin. */
#define QUEUE_LOOK_EVERY (200 * MICROSECOND)

struct zcrp_queue {
    uint32_t generation; /* (c) of the process that opened it */
    struct completions completions;
    struct interrupt interrupt;
    _Atomic uint32_t news;   /* (a) a futex: there may be something to take, or to look at */
    _Atomic int sleepers;    /* (a) takers that sleep on it */
    _Atomic int takers;      /* (a) calls of take that are under way */
    _Atomic bool is_closing; /* (a) no taker waits any more */

    struct sockets sockets;
    struct engine_member member; /* that looks at them in the takers' absence */
    struct mutex mutex;
    struct lease lease;       /* (q) */
    instant due;              /* (q) what the engine was told; NEVER: nothing since its turn */
    uint32_t wish;            /* (q) the number of times that it was told */
    struct spinning spinning; /* of the taker that has the lease */
    uint32_t vain;            /* the same: looks in a row, of one that spins, that found nothing */
    _Atomic uint32_t glances; /* (a) of takers without the lease */

    _Atomic bool is_on;        /* (a) the descriptor was asked for */
    int descriptor;            /* (c) an epoll, for the user: of the wake, */
    bool has_sockets;          /* (q) and of the sockets, while the engine does not look at them */
    struct wake wake;          /* readable while there is something to take */
    _Atomic bool is_rung;      /* (a) it is, or is about to be */
    _Atomic bool is_signalled; /* (a) it was written to, and not cleared since */
};

/* ---- waking ---- */

/* Wakes those who sleep in take. Any thread, also in a signal handler. */
void queue_wake_takers(struct zcrp_queue *q);

/* Makes the descriptor readable, if it is on; the same. And not readable any more, unless there is
 * something: by a taker who has found nothing. */
void queue_ring_descriptor(struct zcrp_queue *q);
void queue_clear_descriptor(struct zcrp_queue *q);

/* Rings if there is something: by a taker who leaves. */
void queue_ring_for_rest(struct zcrp_queue *q);

/* ---- members ---- */

/* The entity of a place that is none of a listener's. Locked, (k); or, visited, it stays until
 * entity_depart, also if another thread closes it: a close leaves the queue first. */
struct zcrp_entity *queue_entity(struct place *p);
struct zcrp_entity *queue_visit(struct place *p);

/* All that is in it leaves. Nobody takes meanwhile. */
void queue_empty(struct zcrp_queue *q);

/* ---- looking ---- */

/* Begins, with nobody in it; ends, once all have left. 0, or the system's negative error number. */
__attribute__((warn_unused_result)) int queue_begin_looking(struct zcrp_queue *q);
void queue_end_looking(struct zcrp_queue *q);

/* In a child: closes the copies of its descriptors. */
void queue_abandon_looking(struct zcrp_queue *q);

/* A taker takes the lease; false: another one has it. */
bool queue_take_lease(struct zcrp_queue *q);
void queue_give_lease(struct zcrp_queue *q);

/* The user polls the descriptor from now on: a lease that is kept for the next taker would let it
 * wait. */
void queue_begin_showing(struct zcrp_queue *q);

/* When a taker last gave it back. Any thread. */
instant queue_was_looked_at(const struct zcrp_queue *q);

/* With the lease: looks once; true if there was anything. */
bool queue_look(struct zcrp_queue *q);

/* With the lease: sleeps until something comes, the takers are woken, or the deadline. `seen` are
 * the news by the time that the taker found nothing. */
void queue_sleep(struct zcrp_queue *q, uint32_t seen, instant deadline);

#endif
