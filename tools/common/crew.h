/* Threads for what takes long: jobs begin in the order in which they were added. A job never waits
 * for the end of another one while there may be more threads. */
#ifndef COMMON_CREW_H
#define COMMON_CREW_H

#include <pthread.h>
#include <stdbool.h>

enum { CREW_THREADS_MOST = 128 };

/* The caller's; in the crew's hands from crew_add until it is done. */
struct crew_job {
    struct crew_job *next;
    void (*work)(struct crew_job *job);
    bool is_done; /* under the lock */
};

struct crew {
    pthread_mutex_t lock;
    pthread_cond_t added, done;
    struct crew_job *first, **last; /* not begun yet */
    int waiting_jobs, idle_threads;
    pthread_t threads[CREW_THREADS_MOST];
    int thread_count, threads_most;
    const char *name; /* of the threads: at most 15 letters */
    bool is_over;
    /* The last that the crew does with a job, in its thread, under the lock. May be NULL. */
    void (*on_done)(struct crew_job *job);
};

/* Starts one thread; more, up to `threads_most`, when jobs would wait. 0, or -1 with errno. */
int crew_init(struct crew *crew, const char *name, int threads_most);

/* Waits for what is under way; what has not begun never does. */
void crew_fini(struct crew *crew);

void crew_add(struct crew *crew, struct crew_job *job);

/* Waits until the job is done. Again is fine. */
void crew_wait(struct crew *crew, struct crew_job *job);

/* Is a job that was added done? */
bool crew_is_done(struct crew *crew, const struct crew_job *job);

#endif
