/* The library's threads, and what they share memory with: the mutex and the condition.
 *
 * A thread has a name, takes no signal that is sent to the application, and is joined, or left.
 * Misuse of a mutex or a condition ends the process where it can be seen (CHECKed). */
#ifndef ZCRP_PLATFORM_THREAD_H
#define ZCRP_PLATFORM_THREAD_H

#include "core/instant.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { THREAD_NAME_MAX = 15 }; /* characters; the kernel keeps no more */

typedef void (*thread_run)(void *context);

/* In the caller's memory, from start until join; must not move. */
struct thread {
    pthread_t handle;
    const char *name; /* (c) borrowed until join */
    thread_run run;   /* (c) */
    void *context;    /* (c) */
};

/* Starts `run(context)` in a new thread that blocks every signal but SIGBUS and SIGSEGV, which its
 * own accesses raise. `name` has at most THREAD_NAME_MAX characters (CHECKed). 0, or the system's
 * negative error number (-EAGAIN: no more threads): then there is nothing to join. The caller's
 * signal mask stays as it was. */
__attribute__((warn_unused_result)) int thread_start(struct thread *t, const char *name,
                                                     thread_run run, void *context);

/* Waits, without limit, for `run` to return. Once for each start, and not by the thread itself. */
void thread_join(struct thread *t);

/* Nobody will join it. Instead of join; `t` has to last until `run` ends, or until both this is
 * over and `run` frees it. */
void thread_leave(struct thread *t);

/* Mutual exclusion. Not recursive. A lock waits without limit, so nothing holds a mutex over a
 * system call, a wait, or user code. One that nobody else wants costs one exchange to lock, and one
 * to unlock. All zero: nobody holds it. */
struct mutex {
    _Atomic uint32_t state;       /* (a) enum mutex_state; a futex */
    _Atomic(const void *) holder; /* (a) a thread; NULL: nobody */
};

enum mutex_state { MUTEX_FREE, MUTEX_HELD, MUTEX_WANTED /* others sleep */ };

void mutex_init(struct mutex *m);
void mutex_fini(struct mutex *m); /* nobody holds it */

void mutex_lock(struct mutex *m);
void mutex_unlock(struct mutex *m);

/* Does this thread hold it? */
bool mutex_is_held(const struct mutex *m);

/* Does no thread hold it? In a child: did none of the parent's? */
bool mutex_is_free(const struct mutex *m);

/* Waiting for a change of what a mutex guards, with a deadline on the monotonic clock. */
struct condition {
    _Atomic uint32_t signals; /* (a) so far; a futex */
    _Atomic uint32_t waiters; /* (a) */
};

void condition_init(struct condition *c);
void condition_fini(struct condition *c); /* nobody waits */

/* Releases the mutex, which the caller holds, waits, and locks it again. False once the deadline
 * has passed (NEVER: no limit). True says nothing: test the predicate again. */
bool condition_wait(struct condition *c, struct mutex *m, instant deadline);

/* Wakes one waiter; all of them. */
void condition_signal(struct condition *c);
void condition_broadcast(struct condition *c);

#endif
