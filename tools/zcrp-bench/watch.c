#include "watch.h"

#include <sys/resource.h>
#include <time.h>

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
