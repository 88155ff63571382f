#include "zcrp-bench/job/watch.h"

#include <errno.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "common/complain.h"

enum { NS_A_SECOND = 1000000000 };

static int64_t ns_of_timeval(struct timeval t)
{
    return (int64_t)t.tv_sec * 1000000000 + (int64_t)t.tv_usec * 1000;
}

int64_t watch_now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

void watch_sleep_until(int64_t ns)
{
    struct timespec until = {.tv_sec = ns / NS_A_SECOND, .tv_nsec = ns % NS_A_SECOND};

    if (ns <= watch_now_ns())
        return;
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
        ;
}

struct watch watch_read(void)
{
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    return (struct watch){
        .wall_ns = watch_now_ns(),
        .cpu_ns = ns_of_timeval(usage.ru_utime) + ns_of_timeval(usage.ru_stime),
    };
}

struct watch watch_since(struct watch start)
{
    struct watch now = watch_read();

    return (struct watch){
        .wall_ns = now.wall_ns - start.wall_ns,
        .cpu_ns = now.cpu_ns - start.cpu_ns,
    };
}

/* False once it is over. */
static bool wait_until(struct ticker *ticker, int64_t ns)
{
    struct timespec until = {.tv_sec = ns / NS_A_SECOND, .tv_nsec = ns % NS_A_SECOND};
    int error = 0;
    bool is_over;

    pthread_mutex_lock(&ticker->mutex);
    while (!ticker->is_over && error == 0)
        error = pthread_cond_timedwait(&ticker->over, &ticker->mutex, &until);
    is_over = ticker->is_over;
    pthread_mutex_unlock(&ticker->mutex);
    return !is_over;
}

static void *run(void *argument)
{
    struct ticker *ticker = argument;

    for (uint64_t n = 1; wait_until(ticker, ticker->start_ns + (int64_t)n * ticker->interval_ns);
         n++)
        ticker->tick(ticker->context, n);
    return NULL;
}

int ticker_begin(struct ticker *ticker, int64_t interval_ns,
                 void (*tick)(void *context, uint64_t n), void *context)
{
    pthread_condattr_t attributes;

    *ticker = (struct ticker){
        .start_ns = watch_now_ns(),
        .interval_ns = interval_ns,
        .tick = tick,
        .context = context,
    };
    if (interval_ns == 0)
        return 0;
    pthread_mutex_init(&ticker->mutex, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&ticker->over, &attributes);
    pthread_condattr_destroy(&attributes);
    int error = pthread_create(&ticker->thread, NULL, run, ticker);
    if (error == 0)
        return 0;
    pthread_cond_destroy(&ticker->over);
    pthread_mutex_destroy(&ticker->mutex);
    return complain("cannot start a thread: %s", strerror(error));
}

void ticker_end(struct ticker *ticker)
{
    if (ticker->interval_ns == 0)
        return;
    pthread_mutex_lock(&ticker->mutex);
    ticker->is_over = true;
    pthread_cond_signal(&ticker->over);
    pthread_mutex_unlock(&ticker->mutex);
    pthread_join(ticker->thread, NULL);
    pthread_cond_destroy(&ticker->over);
    pthread_mutex_destroy(&ticker->mutex);
}
