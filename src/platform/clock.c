#include "clock.h"

#include "core/check.h"

static instant read_clock(clockid_t clock)
{
    struct timespec t;

    CHECK(clock_gettime(clock, &t) == 0);
    return (instant)t.tv_sec * SECOND + t.tv_nsec;
}

instant clock_now(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

instant clock_date(void)
{
    return read_clock(CLOCK_REALTIME);
}

struct timespec clock_timespec(instant t)
{
    if (t < 0)
        t = 0;
    return (struct timespec){.tv_sec = (time_t)(t / SECOND), .tv_nsec = (long)(t % SECOND)};
}
