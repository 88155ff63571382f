/* The library's threads: each has a name, takes no signal that is sent to the application,
 * and is joined. */
#ifndef ZCRP_PLATFORM_THREAD_H
#define ZCRP_PLATFORM_THREAD_H

#include <pthread.h>

enum { THREAD_NAME_MAX = 15 }; /* characters; the kernel keeps no more */

typedef void (*thread_run)(void *context);

/* In the caller's memory, from start until join; must not move. */
struct thread {
    pthread_t handle;
    const char *name; /* (c) borrowed until join */
    thread_run run;   /* (c) */
    void *context;    /* (c) */
};

/* Starts `run(context)` in a new thread with every signal blocked but SIGBUS and SIGSEGV, which are
 * of the thread itself. `name` has at most THREAD_NAME_MAX characters (CHECKed). 0, or the system's
 * negative error number (-EAGAIN: no more threads): then there is nothing to join. The caller's
 * signal mask stays what it was. */
__attribute__((warn_unused_result)) int thread_start(struct thread *t, const char *name,
                                                     thread_run run, void *context);

/* Waits, without limit, for `run` to return. Once for each start, and not by the thread itself. */
void thread_join(struct thread *t);

#endif
