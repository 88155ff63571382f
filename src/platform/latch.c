#include "latch.h"

#include "clock.h"
#include "futex.h"

#include <stdatomic.h>

void latch_reset(struct latch *latch)
{
    atomic_store_explicit(&latch->state, LATCH_CLOSED, memory_order_relaxed);
}

void latch_open(struct latch *latch)
{
    /* Behind the exchange the latch is somebody else's: only its address is left to us. */
    if (atomic_exchange(&latch->state, LATCH_OPEN) == LATCH_SLEEPERS)
        futex_wake_all(&latch->state);
}

bool latch_is_open(const struct latch *latch)
{
    return atomic_load(&latch->state) == LATCH_OPEN;
}

/* Tells the processor that this is a loop of waiting, and to leave the core to its sibling. */
static inline void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static bool spins_open(const struct latch *latch, instant end)
{
    do {
        if (latch_is_open(latch))
            return true;
        relax();
    } while (clock_now() < end);
    return latch_is_open(latch);
}

/* Declares a sleeper; false if the latch is open. */
static bool enter(struct latch *latch)
{
    uint32_t state = LATCH_CLOSED;

    return atomic_compare_exchange_strong(&latch->state, &state, LATCH_SLEEPERS) ||
           state == LATCH_SLEEPERS;
}

static bool sleep_on(struct latch *latch, instant deadline, const _Atomic uint32_t *other,
                     uint32_t begun)
{
    if (other == NULL)
        return futex_wait(&latch->state, LATCH_SLEEPERS, deadline);
    return futex_wait_either(&latch->state, LATCH_SLEEPERS, other, begun, deadline) &&
           atomic_load(other) == begun;
}

bool latch_wait(struct latch *latch, instant deadline, duration spin, const _Atomic uint32_t *other,
                uint32_t begun)
{
    if (latch_is_open(latch))
        return true;
    if (spin > 0 && spins_open(latch, instant_earlier(clock_now() + spin, deadline)))
        return true;
    while (enter(latch))
        if (!sleep_on(latch, deadline, other, begun))
            return latch_is_open(latch);
    return true;
}
