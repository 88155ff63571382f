/* A protocol entity: a pure machine, the channels it speaks through, the threads that drive it, and
 * the messages of the user that it has.
 *
 *     user's threads   submit  cancel (calls.c)   wait (wait.c)   close (life.c)
 *                           \    |    /
 *     sending, update ---  the machine, under one mutex  --- timeout          (tx.c, rx.c)
 *     or receiving               |
 *                        endings: collection, latch; told once the mutex is free: bell
 *
 * The library's threads are the engine's (workers/engine.h), of which the entity is a member. A
 * locked section that changes a machine goes from entity_enter to entity_leave. For each half that
 * was touched leave does all that a change may need, whatever the change was: it drains the
 * machine's events, moves the backlog up, and wakes the threads that have to act.
 * docs/internals/threads.md has the rules.
 *
 * A user's call that knows its entity by a message alone visits the entity: it stays until the
 * visit is over, also if another thread closes it.
 *
 * Lock letters: (c) constant from open to close; (m) the link's mutex; (a) atomic. */
#ifndef ZCRP_LINK_ENTITY_H
#define ZCRP_LINK_ENTITY_H

#include "backlog.h"
#include "channels.h"
#include "collection.h"
#include "copies.h"
#include "flush.h"
#include "keyed.h"
#include "link.h"
#include "machine.h"
#include "notice.h"
#include "platform/system.h"
#include "platform/thread.h"
#include "platform/waking.h"
#include "transport/transport.h"
#include "ways.h"
#include "workers/engine.h"
#include "workers/workspace.h"

/* How long a call waits for a late peer (transport_look_late), or for a system call. */
#define ENTITY_BUSY_AFTER (100 * MILLISECOND)

/* Where an entity stands. It only moves on, by entity_move. */
enum entity_life {
    ENTITY_OPEN,     /* messages are submitted */
    ENTITY_DRAINING, /* none is submitted any more; the backlog still enters the machine */
    ENTITY_FAILING,  /* none enters the machine any more: the backlog fails */
    ENTITY_STOPPING, /* it leaves the engine */
};

/* How often the system has hinted at something that anybody on the network may have caused. */
struct hints {
    uint64_t too_bigs;     /* a datagram did not fit somewhere, */
    uint64_t refusals;     /* or got nowhere; */
    uint64_t closed_ports; /* of these, because nobody listens at the peer's port, */
    uint64_t homeless;     /* or because the socket's own address is gone, or leads nowhere */
};

struct zcrp_entity {
    struct zcrp_options options;  /* (c) complete */
    uint32_t generation;          /* (c) of the process that opened it (platform/system.h) */
    struct channels channels;     /* (c) */
    struct link *link;            /* (c) */
    struct collection collection; /* has a mutex of its own */
    struct engine_member member;  /* whose threads do the turns */
    struct interrupt interrupt;   /* of its waits */
    _Atomic int visitors;         /* (a) calls that are within by way of a message */

    enum entity_life life;    /* (m) */
    int close_code;           /* (m) what close has found out about the peer, once FAILING */
    struct machine machine;   /* (m) */
    struct backlog backlog;   /* (m) */
    struct list ended;        /* (m) messages that have ended, to be put in the collection */
    struct wakes opened;      /* (m) who sleeps on others that have ended, and */
    bool has_opened;          /* (m) whether any have: waiters for several are to be told */
    uint64_t wrapped;         /* (m) messages in flight in memory that the user brought, and */
    uint64_t unseen;          /* (m) those for which message_is_unseen is true */
    struct copies copies;     /* (m) in flight */
    uint64_t messages;        /* (m) that ended well, and */
    uint64_t failures;        /* (m) that did not; */
    uint64_t bytes;           /* (m) of those that ended well */
    struct zcrp_stats traced; /* (m) as the user's trace knows them */
    struct hints hints;       /* (m) of the channels, as the machine knows them */

    struct transport *transport; /* (c) over the channels */
    struct keyed keyed;
    struct notice notice;
    struct answering answering;   /* (m) a connection's receiver only */
    struct flush flush;           /* (m) delayed sending */
    bool is_sending;              /* (m) a thread has a burst out */
    uint64_t sends;               /* (m) calls that send, begun so far */
    bool is_ready;                /* (m) the engine was asked to send */
    enum channel_verdict blocked; /* (m) why the next burst has to wait; OK: it has not */
    bool awaits_room;             /* (m) the engine was asked to say when the socket has room */
    instant unblock_at;        /* (m) when the next burst is tried, whatever blocked it; or NEVER */
    instant due;               /* (m) what the engine was told; NEVER: nothing since its turn */
    uint32_t wish;             /* (m) the number of times that it was told */
    instant put_off_at;        /* (m) when it was last told of a later one */
    enum peer_link peer_link;  /* (m) to the peer, as was told */
    bool has_told_close;       /* (m) that a receiver's peer has closed was told */
    enum outcome lost;         /* (m) why a receiver has no peer any more; OK: it may have one */
    uint64_t offers;           /* (m) that came, as was told */
    _Atomic uint32_t changes;  /* (a) of the link, and offers; a futex */
    struct condition progress; /* something changed since the life is no longer OPEN */
};

/* Begins a locked section of the entity's link, which touches this entity. */
void entity_enter(struct zcrp_entity *e);

/* The section touches the other half, too. Locked. */
static inline void entity_touch(struct zcrp_entity *e)
{
    link_touch(e->link, e->machine.role);
}

static inline bool entity_is_sender(const struct zcrp_entity *e)
{
    return e->machine.role == MACHINE_SENDER;
}

/* The other half of its connection; NULL: it has none. */
static inline struct zcrp_entity *entity_other(const struct zcrp_entity *e)
{
    return link_other(e->link, e->machine.role);
}

/* The half that reads the socket for it: itself, or its connection's receiver. */
static inline struct zcrp_entity *entity_reader(const struct zcrp_entity *e)
{
    return link_reader(e->link);
}

/* Ends it, as described above, for this entity and all that was touched. Messages end here: their
 * users go on before this returns. */
void entity_leave(struct zcrp_entity *e);

/* Ends a locked section in which a message only joined others: no deadline was brought forward, and
 * nothing ended. So at most the sending thread is to be woken. */
void entity_leave_joined(struct zcrp_entity *e);

/* Ends a locked section in which messages at most ended, of either half: nothing else has changed
 * that anybody has to be told of. If something may have, it ends the section as entity_leave does.
 */
void entity_leave_ended(struct zcrp_entity *e);

/* Leaves the section for a call of the transport: entity_enter goes on with it. Messages that
 * have ended are told at once, and a peer on this host is met before it learns of the session. All
 * other news is told at the end of the section. */
void entity_leave_to_send(struct zcrp_entity *e);

/* Has the section ended messages that are to be told of? Locked. */
static inline bool entity_has_ended(const struct zcrp_entity *e)
{
    return e->has_opened || e->ended.first != NULL;
}

/* Does anybody take what ends in this section? A thread that begins to passes the mutex behind
 * that (collection.h): so the answer is good until the section leaves the mutex. Locked. */
static inline bool entity_has_taker(const struct zcrp_entity *e)
{
    return collection_has_taker(&e->collection);
}

/* A message that is neither in the machine nor in the backlog any more ends so. Its latch opens, or
 * it is freed, if it is a copy: it may be gone when this returns. If it is to be collected, because
 * the section `has_taker`, that waits for the end of the section. Locked. */
void entity_end(struct zcrp_entity *e, struct message *m, int code, nlong length, bool has_taker);

/* The entity moves on, or stays (CHECKed: it never moves back). Locked. */
void entity_move(struct zcrp_entity *e, enum entity_life life);

/* The channel does not work any more: every message fails, the close will not wait. Locked. */
void entity_break(struct zcrp_entity *e);

/* A message in memory that the user brought costs a system call if it crosses as a whole, and less
 * in a burst of many. So both ends do so while there are few. */
enum { FEW_WRAPPED = 2 };

static inline bool entity_wraps_few(const struct zcrp_entity *e)
{
    return e->wrapped <= FEW_WRAPPED;
}

/* Does nothing enter the machine any more? Locked. */
static inline bool entity_is_failing(const struct zcrp_entity *e)
{
    return e->link->is_broken || e->life >= ENTITY_FAILING;
}

/* When the machine has something to do by the time. Locked. */
instant entity_deadline(const struct zcrp_entity *e);

/* The entity of a message in flight, which then stays until entity_depart, also if another thread
 * closes it; NULL if the message has ended. */
struct zcrp_entity *entity_visit(struct message *message);
void entity_depart(struct zcrp_entity *e);

/* Somebody waits for messages of this entity, or of the one that has this message in flight, and
 * does not take the lease for it: what the peer has read by now has ended, and what it reads from
 * now on ends soon. */
void entity_say_awaited(struct zcrp_entity *e);
void entity_say_message_awaited(struct message *message);

/* Waits until nobody visits the entity; all its messages have ended. */
void entity_await_visitors(struct zcrp_entity *e);

/* In a child: nobody is about to visit any entity. */
void entity_after_fork(void);

#endif
