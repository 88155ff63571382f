/* A stop watch for time and for this process's work: user and system time of all its threads. */
#ifndef BENCH_WATCH_H
#define BENCH_WATCH_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct watch {
    int64_t wall_ns; /* monotonic clock */
    int64_t cpu_ns;
};

/* The present readings. */
struct watch watch_read(void);

/* The monotonic clock alone: cheap. */
int64_t watch_now_ns(void);

/* Sleeps until the monotonic clock says ns; not at all if it does already. */
void watch_sleep_until(int64_t ns);

/* What passed since `start`. */
struct watch watch_since(struct watch start);

/* A thread that does something at regular times, counted from the beginning, until it is stopped.
 *
 *      begin    tick 1     tick 2     tick 3  end
 *      |----------|----------|----------|------| */

struct ticker {
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t over;
    bool is_over;
    int64_t start_ns, interval_ns;
    void (*tick)(void *context, uint64_t n); /* in the thread; n counts from 1 */
    void *context;
};

/* Starts; an interval of 0 never ticks. 0, or -1 with a complaint. Not to be moved until its end.
 */
int ticker_begin(struct ticker *ticker, int64_t interval_ns,
                 void (*tick)(void *context, uint64_t n), void *context);

/* No tick is under way or comes any more. Only after a begin that worked. */
void ticker_end(struct ticker *ticker);

#endif
