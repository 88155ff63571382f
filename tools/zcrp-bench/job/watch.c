#include "zcrp-bench/job/watch.h"

#include <errno.h>
#include <sys/resource.h>
#include <time.h>

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
