/* The engine: the one place where the library's threads wait. It has the paper's threads once in a
 * process, however many entities there are, and they do the entities' turns:
 *
 *     senders' engine       zcrp-update     waits for datagrams (epoll), then `arrive`
 *                           zcrp-sending    waits for a member that is ready, then `send`
 *                           zcrp-timeout    waits for the earliest deadline, then `expire`
 *     receivers' engine     zcrp-receiving  as zcrp-update
 *                           zcrp-timeout    as above
 *
 *                   +----------------------------------------+
 *     engine_join ->| arm, ready, due: what is wanted next   |-> engine_stop, engine_leave
 *                   | arrive, writable, send, expire: a turn |
 *                   +----------------------------------------+
 *
 * The first member that joins an engine starts its threads, and the last that leaves ends them.
 *
 * A socket stays armed while the engine's thread receives from it, which saves a call for each
 * wake-up. A turn that naps, or finds a waiting user at the socket, has it disarmed. So no thread
 * wakes for a socket that a user looks after, but for one datagram at most. Whoever arms a socket
 * during such a turn has the last word. The nap is taken in any case: the turn may have found
 * something that the socket does not tell of.
 *
 * Where epoll takes no more sockets (max_user_watches, no memory) the arriving thread looks every
 * ENGINE_LOOK instead: as at the end of a nap. With each look epoll is asked again.
 *
 * I1  A turn runs only between join and stop. Stop waits for the turns that run.
 * I2  One thread at a time runs each kind of turn of one member.
 * I3  What was wanted before a turn began may be forgotten by it: a turn looks at everything, and
 *     says again what is wanted.
 *
 * Locks. The engine's mutex guards its table, heap and queue; it is the last in the lock order but
 * for the collections', and is held for a few instructions. Duties run without it. */
#ifndef ZCRP_WORKERS_ENGINE_H
#define ZCRP_WORKERS_ENGINE_H

#include "deadlines.h"

#include <stdbool.h>
#include <stdint.h>

enum engine_role { ENGINE_SENDERS, ENGINE_RECEIVERS };

/* How often the engine polls a socket that epoll cannot watch. */
#define ENGINE_LOOK (5 * MILLISECOND)

/* What `arrive` may return instead of an instant. */
#define ENGINE_ARM NEVER          /* wake me when something arrives */
#define ENGINE_LEAVE_BE INT64_MIN /* somebody else looks after the socket, and will arm it */

/* The turns of a member. Each is called by one of the engine's threads, with no lock held. */
struct engine_duties {
    /* Something arrived. Returns what to do next: an instant at which to be called again, whether
     * or not anything arrives until then (a nap), or one of the two above. */
    instant (*arrive)(void *client);
    void (*writable)(void *client); /* the socket has room again */
    void (*send)(void *client);     /* senders only */
    void (*expire)(void *client);
    void (*peer_ended)(void *client); /* says a descriptor of engine_watch_peer */
};

/* A descriptor that the engine waits for. Letters: (c) from join to leave, (e) the engine's mutex.
 */
struct engine_watch {
    int fd;          /* (c) -1: none */
    uint32_t events; /* (e) that it is armed for */
    bool is_known;   /* (e) to epoll */
};

struct engine_member {
    const struct engine_duties *duties; /* (c) */
    void *client;                       /* (c) */
    struct engine *engine;              /* (c) NULL: it has not joined */
    struct engine_watch watch[3];       /* to receive, to send if elsewhere, the peer's process */
    uint32_t slot;                      /* (c) in the engine's table */
    uint32_t turns;                     /* (e) that run now */
    struct deadline deadline;           /* (e) of `expire` */
    uint32_t wish;                      /* (e) the member's last that was heard */
    struct deadline nap;                /* (e) of `arrive`, or of `writable` */
    uint32_t awaited;                   /* (e) which of them: EPOLLIN, EPOLLOUT */
    _Atomic uint32_t unwatched;         /* (a) times that epoll did not take a socket */
    struct engine_member *next_ready;   /* (e) */
    bool is_ready;                      /* (e) in the queue */
    bool was_armed;                     /* (e) by somebody else, since its arriving turn began */
    bool is_leaving;                    /* (e) no turn begins any more */
};

/* Joins an engine of the role, and starts its threads if there are none. `in` is where datagrams
 * arrive (-1: another member receives for this one), `out` where they leave. Nothing is armed yet.
 * 0, or the system's negative error number (-EMFILE, -EAGAIN, -ENOMEM). */
__attribute__((warn_unused_result)) int engine_join(struct engine_member *m, enum engine_role role,
                                                    const struct engine_duties *duties,
                                                    void *client, int in, int out);

/* No turn of the member runs when this returns, and none will. Calls from other threads are still
 * legal, and do nothing. Not within a turn of this member. Within a turn of another member only if
 * nobody stops that one within a turn of this: a listener stops connections, which stop nobody. */
void engine_stop(struct engine_member *m);

/* Leaves, after engine_stop or with it; nobody calls for this member any more. The last member ends
 * the engine's threads. Fine for one that never joined. */
void engine_leave(struct engine_member *m);

/* Arms the socket: `arrive` is called once something has arrived, or `writable` once there is room,
 * or so it is hoped if epoll cannot watch it; that is counted. At most one system call, then two.
 * Any thread. */
void engine_arm(struct engine_member *m);
void engine_arm_writable(struct engine_member *m);

/* `arrive` is called soon, because something has come that the socket does not tell of. Two system
 * calls. Any thread. */
void engine_arrive(struct engine_member *m);

/* `peer_ended` is called, once, when that descriptor becomes readable. The engine closes it then,
 * or in engine_stop, or now if that was called; and it closes an earlier one now. Two system calls.
 * Any thread. */
void engine_watch_peer(struct engine_member *m, int file);

/* `expire` is called at that instant, and not before (NEVER: not at all). The member counts its
 * wishes, under its own mutex: one that comes here behind a later one does nothing. The count
 * begins with 1. */
void engine_due(struct engine_member *m, instant at, uint32_t wish);

/* `send` is called soon. */
void engine_ready(struct engine_member *m);

/* In a child: there are no engines; the members of the parent's are not to be touched, but to be
 * abandoned. */
void engine_after_fork(void);
void engine_abandon(struct engine_member *m);

#endif
