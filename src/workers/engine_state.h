/* An engine from inside, for the two files that it is made of:
 *
 *     engine.c     its threads, and what they are asked for: sockets, deadlines, the queue
 *     engines.c    which engines there are, their threads' beginning and end, and their members
 *
 * Letters: (c) constant while the engine lives; (e) its mutex. */
#ifndef ZCRP_WORKERS_ENGINE_STATE_H
#define ZCRP_WORKERS_ENGINE_STATE_H

#include "engine.h"

#include "platform/thread.h"
#include "platform/waking.h"

enum {
    SLOT_WAKE = 0, /* in the table: nobody; its event only wakes the arriving thread */
    WATCH_IN = 0,  /* of a member's descriptors */
    WATCH_OUT = 1,
    WATCH_PEER = 2,
    WATCH_BITS = 2,
    LOOPS_MOST = 3,
};

/* The timeout thread does not wait for its alarm. */
#define ENGINE_AWAKE INT64_MIN

/* A place in the table. An event names the place and its generation, so that one which was taken
 * from epoll before its member left finds nobody. */
struct slot {
    struct engine_member *member; /* NULL: free */
    uint32_t generation;
};

struct engine {
    enum engine_role role; /* (c) */
    int epoll;             /* (c) */
    struct wake wake;      /* of the arriving thread; in epoll, as slot 0 */
    struct thread threads[LOOPS_MOST];
    int thread_count;

    struct mutex mutex;
    struct slot *table;                             /* (e) */
    uint32_t slots;                                 /* (e) */
    uint32_t members;                               /* (e), and changed by one thread at a time */
    bool is_stopping;                               /* (e) */
    struct condition is_left;                       /* a turn ended while its member leaves */
    struct deadlines deadlines;                     /* (e) of `expire` */
    struct alarm alarm;                             /* (e) that the timeout thread waits for, */
    instant rings_at;                               /* (e) or ENGINE_AWAKE */
    struct deadlines naps;                          /* (e) of `arrive` */
    struct engine_member *first_ready, *last_ready; /* (e) */
    struct condition has_ready;
    bool sending_sleeps; /* (e) */
};

/* What the threads do, until engine_end_threads. The context is the engine. */
void engine_run_arriving(void *context);
void engine_run_sending(void *context);
void engine_run_timeout(void *context);

/* The threads return soon. */
void engine_end_threads(struct engine *engine);

#endif
