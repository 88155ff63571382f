#include "entropy.h"

#include <errno.h>
#include <stdatomic.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

static uint64_t reading(clockid_t clock)
{
    struct timespec t = {0};

    (void)clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * UINT64_C(1000000000) + (uint64_t)t.tv_nsec;
}

/* Every bit of either goes into many of the result (multiplier: 2^64 by the golden ratio). */
static uint64_t mix(uint64_t state, uint64_t value)
{
    state = (state ^ value) * UINT64_C(0x9E3779B97F4A7C15);
    return state ^ (state >> 32);
}

/* The counter tells apart two calls within one tick of the clocks. */
static uint64_t mixture(void)
{
    static _Atomic uint64_t calls;
    uint64_t state = mix(0, reading(CLOCK_REALTIME));

    state = mix(state, reading(CLOCK_MONOTONIC));
    state = mix(state, (uint64_t)getpid());
    state = mix(state, (uint64_t)(uintptr_t)&state);
    return mix(state, atomic_fetch_add(&calls, 1));
}

uint64_t entropy_seed(void)
{
    uint64_t seed;
    ssize_t got;

    do
        got = getrandom(&seed, sizeof(seed), GRND_NONBLOCK);
    while (got < 0 && errno == EINTR);
    return got == (ssize_t)sizeof(seed) ? seed : mixture();
}
