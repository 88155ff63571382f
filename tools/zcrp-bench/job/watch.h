/* A stop watch for time and for this process's work: user and system time of all its threads. */
#ifndef BENCH_WATCH_H
#define BENCH_WATCH_H

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

#endif
