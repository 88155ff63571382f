/* A set of sockets that one thread looks at together: a taker of a completion queue, or the
 * engine's thread in its absence. What the engine does for a socket that is in no set, whoever
 * looks does for those in it: it waits for datagrams (epoll), and does the members' turns.
 *
 *                  +-------------------------------------+
 *     add -------->| arm: look at the socket from now on |------> remove
 *     look ------->| arrive, glance, rest: a turn        |
 *                  +-------------------------------------+
 *
 * The set's epoll can itself be waited for: it is readable while a socket is that is armed.
 *
 * A member whose datagrams come through memory is *polled*: each look glances at it, without a
 * system call, until it has had nothing for as long as it says. Then, or before the looker sleeps,
 * it *rests*: its peer wakes it through the socket.
 *
 * I1  A turn begins only between add and remove. Remove waits for the turn that runs, but not for
 *     one that takes long: a turn may sleep in a peer's memory. Then the member is in the set until
 *     that turn ends, which takes it out.
 * I2  One thread at a time runs a turn of one member, whoever looks.
 *
 * Locks. A member's mutex guards which set it enters, the set's mutex all else. Both are last in
 * the lock order, the member's first. Duties run without them. */
#ifndef ZCRP_WORKERS_SOCKETS_H
#define ZCRP_WORKERS_SOCKETS_H

#include "deadlines.h"
#include "platform/thread.h"
#include "platform/waking.h"

#include <stdbool.h>
#include <stdint.h>

/* How long a remove waits for a turn. */
#define SOCKETS_AWAIT (100 * MILLISECOND)

/* What a turn may return instead of an instant, until which it naps. */
#define SOCKETS_ARM NEVER            /* look at the socket */
#define SOCKETS_LEAVE_BE INT64_MIN   /* somebody else looks after it, and will arm it */
#define SOCKETS_POLL (INT64_MIN + 1) /* look at the socket, and glance at memory */

struct sockets_duties {
    instant (*arrive)(void *client); /* something arrived, or a nap is over */
    bool (*glance)(void *client);    /* false: nothing is in memory */
    bool (*rest)(void *client);      /* false: something is there, so it cannot */
    bool (*holds)(void *client);     /* something is held back for the user's answer; a look */
    void (*resume)(void *client);    /* the user does not answer: what is held goes */
    void (*left)(void *client);      /* the end of a turn that its remove did not wait for */
};

enum sockets_turn {
    TURN_RUNS = 1,
    TURN_IS_LAST = 2,   /* whoever ends it takes the member out of the set */
    TURN_IS_MISSED = 4, /* a nap ended since it began; set and cleared under (s) */
};

/* Letters: (c) while it is in a set; (n) its own mutex; (s) the set's. */
struct sockets_member {
    struct mutex mutex;
    _Atomic(struct sockets *) set; /* (n) NULL: none; (s) back to NULL. Also read without, a look */
    struct sockets *home;          /* (c) the same, also while it enters and leaves */
    uint32_t users;                /* (n) that added it there */
    const struct sockets_duties *duties; /* (c) */
    void *client;                        /* (c) */
    duration patience;                   /* (c) how long it is polled in vain */
    int fd;                              /* (c) */
    uint32_t slot;                       /* (c) in the set's table */
    uint32_t events;                     /* (s) that epoll waits for */
    _Atomic uint32_t turn; /* (a) bits of enum sockets_turn; a turn begins under (s) */
    bool was_armed;        /* (s) somebody else armed the socket since it began */
    bool is_leaving;       /* (s) no turn begins any more */
    bool is_polled;        /* (s) in the list, */
    instant polled_since;  /* in vain, if it was, and how often; of its turn */
    uint32_t vain;
    struct deadline nap;                    /* (s) of `arrive` */
    struct sockets_member *previous, *next; /* (s) of those that are polled */
    bool has_held;                          /* (s) in the list of those that may hold something */
    struct sockets_member *next_held;       /* (s) */
};

struct sockets_slot {
    struct sockets_member *member; /* NULL: free */
    uint32_t generation;
};

struct sockets {
    int epoll;        /* (c) */
    struct wake wake; /* ends a look that sleeps; in epoll, as slot 0 */
    struct mutex mutex;
    struct condition is_left;                          /* a member has left, or a waiter has */
    uint32_t waiters;                                  /* (s) for that */
    struct sockets_slot *table;                        /* (s) */
    uint32_t slots;                                    /* (s) */
    _Atomic uint32_t members;                          /* (s) Also read without, for a look */
    struct deadlines naps;                             /* (s) */
    struct sockets_member *first_polled, *last_polled; /* (s) */
    _Atomic uint32_t polled;                           /* (a) how many */
    struct sockets_member *_Atomic first_held;         /* (s) Also read without, for a look */
    _Atomic uint32_t looks;                            /* (a) that may do without epoll */
    _Atomic bool is_users; /* (a) a user's thread looks; its owner says so */
    _Atomic bool is_alone; /* (a) and found little: what it is told it may answer at once */
};

/* ---- the set ---- */

/* Nobody is in it. 0, or the system's negative error number (-EMFILE, -ENFILE, -ENOMEM). */
__attribute__((warn_unused_result)) int sockets_init(struct sockets *s);

/* Waits until those that leave have left. */
void sockets_fini(struct sockets *s);

/* In a child: closes the copies of its descriptors. */
void sockets_abandon(struct sockets *s);

/* Does the turns of those that have something, one of each. Waits for it until then (NEVER: no
 * limit; one in the past only asks), unless memory has something. At most one system call for up to
 * 64 that have something, but for what the turns do; none, mostly, if it only asks while members
 * are polled, or if a user's thread asks and there is one member: that has its turn, mostly.
 * True if there was anything, or the wake was signalled, as far as epoll was asked. Any thread,
 * also several. */
bool sockets_look(struct sockets *s, instant until);

/* If members are polled, the next look asks epoll, too. */
void sockets_hear(struct sockets *s);

/* Glances at those that are polled, and looks at no socket. True if one of them has something. */
bool sockets_glance(struct sockets *s);

/* A user comes back to look: whoever has held something back since the last time holds it no more.
 */
void sockets_resume(struct sockets *s);

/* Has those rest that are polled. False if one of them has something, or its turn. */
bool sockets_rest(struct sockets *s);

static inline bool sockets_are_polled(const struct sockets *s)
{
    return atomic_load_explicit(&s->polled, memory_order_relaxed) > 0;
}

/* Are all of them? Then their sockets have little to tell. */
static inline bool sockets_are_all_polled(const struct sockets *s)
{
    return atomic_load_explicit(&s->polled, memory_order_relaxed) ==
           atomic_load_explicit(&s->members, memory_order_relaxed);
}

/* When the first nap is over; NEVER: there is none. */
instant sockets_due(struct sockets *s);

/* ---- a member ---- */

/* It is in no set. */
void sockets_member_init(struct sockets_member *m);
void sockets_member_fini(struct sockets_member *m);

/* Which socket a set looks at, and for which client. */
struct sockets_client {
    const struct sockets_duties *duties;
    void *client;
    int fd;
    duration patience;
};

/* Adds it, armed. In the set already: one more user. False if it is in another one, or the system
 * has no room: then nothing has changed. */
bool sockets_add(struct sockets *s, struct sockets_member *m, const struct sockets_client *client);

/* One user of it less, if it is in this set; the last one removes it. True if it did: then no turn
 * begins any more, and somebody else has to look at the socket. It is in the set still, for as long
 * as a turn runs that takes longer than SOCKETS_AWAIT. Not within a turn. */
bool sockets_remove(struct sockets *s, struct sockets_member *m);

/* Arms its socket. False if it is in no set. Any thread. */
bool sockets_arm(struct sockets_member *m);

/* Its turn comes soon, because something has come that the socket does not tell of. False if
 * it is in no set. Any thread. */
bool sockets_arrive(struct sockets_member *m);

/* Within a turn: is it of a set that a user's thread looks at just now? That thread hears of it at
 * once, because few others have anything. */
static inline bool sockets_are_users(const struct sockets_member *m)
{
    return atomic_load_explicit(&m->home->is_users, memory_order_relaxed) &&
           atomic_load_explicit(&m->home->is_alone, memory_order_relaxed);
}

/* Any thread, a look. */
static inline bool sockets_member_is_in(const struct sockets_member *m)
{
    return atomic_load(&m->set) != NULL;
}

#endif
