#include "clock.h"

#include "core/check.h"

instant clock_now(void)
{
    struct timespec t;

    CHECK(clock_gettime(CLOCK_MONOTONIC, &t) == 0);
    return (instant)t.tv_sec * SECOND + t.tv_nsec;
}

struct timespec clock_timespec(instant t)
{
    if (t < 0)
        t = 0;
    return (struct timespec){.tv_sec = (time_t)(t / SECOND), .tv_nsec = (long)(t % SECOND)};
}
