/* A link: what a process has with one peer. One mutex guards all of it: a sender, or a receiver, or
 * the two halves of a connection, which share a socket. The receiver reads for both.
 *
 *     handle over descriptors   a link with one half
 *     connection                a link with both
 *
 * A locked section (entity_enter, entity_leave) may change either half. Each half that it may have
 * changed is *touched*, and the end of the section does for it whatever the change needs.
 *
 * The *straight way* is what a small message takes while nothing is unusual about its half. A
 * section that finds that out opens the way (wholes_tend, and submit_joining in api/calls.c), and
 * one that touches the half closes it: so a message need not find it out for itself.
 *
 * Lock letters: (c) constant once the halves are made; (m) the mutex. */
#ifndef ZCRP_LINK_LINK_H
#define ZCRP_LINK_LINK_H

#include "core/check.h"
#include "handshake/tls_handshake.h"
#include "machine.h"
#include "platform/thread.h"
#include "waiting/lease.h"
#include "waiting/wait_policy.h"
#include "workers/sockets.h"
#include "workers/workspace.h"

struct own_move;
struct peer_move;
struct zcrp_entity;

enum { LINK_HALVES = 2 };

/* How the reader receives, whoever does. */
struct rx {
    bool is_claimed;              /* (m) a thread receives */
    uint32_t unheard;             /* (m) turns in a row in which messages landed as a whole */
    bool are_whole;               /* (m) the last message in memory, either way, went as a whole */
    _Atomic int receives;         /* (a) of a sender's or taker's arriving turn, at most, */
    _Atomic bool has_left;        /* (a) which ended before all was received. Two turns may meet, as
                                     the link joins a queue, or leaves it */
    struct moderation moderation; /* (m) of the thread that waits for arrivals */
    struct openings openings;     /* (m) of a receiver */
    struct spinning spinning;     /* of the waiter that has the lease */
    uint32_t turns;               /* of waiters, so far; the same */
    _Atomic instant heard;        /* (a) when a worker, or one who asks, last found something */
    _Atomic instant asked;        /* (a) when a user last asked in vain, */
    _Atomic uint32_t asks;        /* (a) and how often he has, again and again */
    bool is_for_taker;            /* (m) the turn is a taker's, and the taker may answer */
};

struct link {
    struct mutex mutex;
    struct zcrp_entity *half[LINK_HALVES]; /* (c) by role; NULL: there is none */
    uint32_t touched;                      /* (m) halves, a bit each */
    uint32_t straight;                     /* (m) those whose straight way is open, the same */
    instant read_at;                       /* (m) the newest time that a section has read */
    bool is_broken;                        /* (m) the socket cannot be used any more */
    struct session_keys *session_keys;     /* (m) what the halves seal with, all zero until their
                                        handshake is over; NULL: nothing is sealed */
    struct peer_move *peer_move;           /* (c) where the peer is; NULL: it cannot move, */
    struct own_move *own_move;             /* (c) or this side cannot */
    struct rx rx;
    struct lease lease;            /* who receives, and until when */
    struct sockets_member sockets; /* of the queue whose takers receive in the workers' place */
};

/* Without halves; the options are complete, and of each of them. `session_keys` is what the peer
 * has shown, and the link's from now on, also on failure; NULL: nothing yet. NULL: no memory. */
struct link *link_create(const struct zcrp_options *options, struct session_keys *session_keys);

/* A section has read the clock: what it does until it ends is as of then. Locked. */
static inline instant link_note_time(struct link *l, instant now)
{
    l->read_at = instant_later(l->read_at, now);
    return now;
}

/* Gives it another half. Before anybody else knows that half. */
void link_add(struct link *l, enum machine_role role, struct zcrp_entity *half);

/* The half goes away, unless it was never there. The last one frees the link. Nobody else knows
 * that half any more. */
void link_remove(struct link *l, enum machine_role role);

/* The same in a child, where a thread that is not there may hold the mutex. */
void link_abandon(struct link *l, enum machine_role role);

/* The half that reads the socket. */
static inline struct zcrp_entity *link_reader(const struct link *l)
{
    struct zcrp_entity *receiver = l->half[MACHINE_RECEIVER];

    return receiver != NULL ? receiver : l->half[MACHINE_SENDER];
}

/* The other half of a connection; NULL: there is none. */
static inline struct zcrp_entity *link_other(const struct link *l, enum machine_role role)
{
    return l->half[role == MACHINE_SENDER ? MACHINE_RECEIVER : MACHINE_SENDER];
}

/* Locked, as all of these. Is the half's straight way open? */
static inline bool link_is_straight(const struct link *l, enum machine_role role)
{
    return (l->straight & UINT32_C(1) << role) != 0;
}

static inline void link_set_straight(struct link *l, enum machine_role role, bool is_straight)
{
    uint32_t bit = UINT32_C(1) << role;

    l->straight = is_straight ? l->straight | bit : l->straight & ~bit;
}

/* The half may be changed by this section. */
static inline void link_touch(struct link *l, enum machine_role role)
{
    CHECK(mutex_is_held(&l->mutex));
    l->touched |= UINT32_C(1) << role;
    link_set_straight(l, role, false);
}

/* Whichever section ends next does for the half what it needs: nothing of it has become unusual. */
static inline void link_note(struct link *l, enum machine_role role)
{
    l->touched |= UINT32_C(1) << role;
}

#endif
