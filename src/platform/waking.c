#include "waking.h"

#include "core/check.h"
#include "sleep.h"
#include "system.h"

#include <errno.h>
#include <stddef.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

void latch_reset(struct latch *latch)
{
    atomic_store_explicit(&latch->state, LATCH_CLOSED, memory_order_relaxed);
}

/* Behind the exchange the latch is somebody else's: only its address is left to us. */
static bool has_sleepers_when_opened(struct latch *latch)
{
    return atomic_exchange(&latch->state, LATCH_OPEN) == LATCH_SLEEPERS;
}

void latch_open(struct latch *latch)
{
    if (has_sleepers_when_opened(latch))
        latch_wake(latch);
}

void latch_open_under_mutex(struct latch *latch, struct wakes *wakes)
{
    if (!has_sleepers_when_opened(latch))
        return;
    if (wakes->count < LATCH_WAKES)
        wakes->latch[wakes->count++] = latch;
    else
        latch_wake(latch);
}

void wakes_run(const struct wakes *wakes)
{
    for (uint32_t i = 0; i < wakes->count; i++)
        latch_wake(wakes->latch[i]);
}

bool latch_is_open(const struct latch *latch)
{
    return atomic_load(&latch->state) == LATCH_OPEN;
}

/* Looks until what would end a sleep: the latch is open or roused, or the other word has changed.
 */
static bool spins_open(const struct latch *latch, instant end, const _Atomic uint32_t *other,
                       uint32_t begun)
{
    do {
        if (atomic_load(&latch->state) >= LATCH_ROUSED)
            break;
        if (other != NULL && atomic_load_explicit(other, memory_order_relaxed) != begun)
            break;
        processor_relax();
    } while (clock_now() < end);
    return latch_is_open(latch);
}

/* Declares a sleeper; false if the latch is open, or somebody has roused it. */
static bool enter(struct latch *latch)
{
    uint32_t state = LATCH_CLOSED;

    if (atomic_compare_exchange_strong(&latch->state, &state, LATCH_SLEEPERS) ||
        state == LATCH_SLEEPERS)
        return true;
    state = LATCH_ROUSED;
    (void)atomic_compare_exchange_strong(&latch->state, &state, LATCH_CLOSED);
    return false;
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
    if (spin > 0 && spins_open(latch, instant_earlier(clock_now() + spin, deadline), other, begun))
        return true;
    while (enter(latch))
        if (!sleep_on(latch, deadline, other, begun))
            break;
    return latch_is_open(latch);
}

bool latch_rouse(struct latch *latch)
{
    uint32_t state = atomic_load(&latch->state);

    while (state != LATCH_OPEN)
        if (atomic_compare_exchange_weak(&latch->state, &state, LATCH_ROUSED))
            return state == LATCH_SLEEPERS;
    return false;
}

void latch_wake(const struct latch *latch)
{
    futex_wake_all(&latch->state);
}

static struct {
    _Atomic uint32_t rings;     /* (a) counts, and wraps around */
    _Atomic uint32_t listeners; /* (a) */
} bell;

uint32_t bell_listen(void)
{
    atomic_fetch_add(&bell.listeners, 1);
    return atomic_load(&bell.rings);
}

bool bell_wait(uint32_t *heard, instant deadline)
{
    uint32_t rings;

    while ((rings = atomic_load(&bell.rings)) == *heard)
        if (!futex_wait(&bell.rings, *heard, deadline))
            return false;
    *heard = rings;
    return true;
}

void bell_leave(void)
{
    atomic_fetch_sub(&bell.listeners, 1);
}

bool bell_is_heard(void)
{
    return atomic_load(&bell.listeners) > 0;
}

void bell_ring(void)
{
    if (!bell_is_heard())
        return;
    atomic_fetch_add(&bell.rings, 1);
    futex_wake_all(&bell.rings);
}

void bell_after_fork(void)
{
    atomic_store(&bell.listeners, 0);
}

int wake_init(struct wake *w)
{
    w->fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    return w->fd < 0 ? -errno : 0;
}

void wake_fini(struct wake *w)
{
    (void)close(w->fd);
    w->fd = -1;
}

int wake_fd(const struct wake *w)
{
    return w->fd;
}

/* EAGAIN: the counter is full, hence readable, which is all we want. */
void wake_signal(struct wake *w)
{
    const uint64_t one = 1;
    ssize_t put;

    do
        put = write(w->fd, &one, sizeof(one));
    while (put < 0 && errno == EINTR);
    CHECK(put == (ssize_t)sizeof(one) || errno == EAGAIN);
}

/* EAGAIN: nobody had signalled. */
void wake_clear(struct wake *w)
{
    uint64_t signals;
    ssize_t got;

    do
        got = read(w->fd, &signals, sizeof(signals));
    while (got < 0 && errno == EINTR);
    CHECK(got == (ssize_t)sizeof(signals) || errno == EAGAIN);
}

int alarm_init(struct alarm *a)
{
    a->fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
    return a->fd < 0 ? -errno : 0;
}

void alarm_fini(struct alarm *a)
{
    (void)close(a->fd);
    a->fd = -1;
}

/* To the kernel a time of 0 means never. */
void alarm_set(struct alarm *a, instant at)
{
    struct itimerspec when = {.it_value = clock_timespec(at > 0 ? at : 1)};

    if (at == NEVER)
        when.it_value = (struct timespec){.tv_sec = 0};
    (void)timerfd_settime(a->fd, TFD_TIMER_ABSTIME, &when, NULL);
}

void alarm_wait(struct alarm *a)
{
    uint64_t rings;

    (void)!read(a->fd, &rings, sizeof(rings));
}

static _Atomic uint64_t interrupts;

void interrupt_raise(struct interrupt *i)
{
    uint64_t at = atomic_fetch_add(&interrupts, 1) + 1, before = atomic_load(&i->at);

    /* `raised` first: a wait that tells of it, and the next one, count this interrupt already. */
    atomic_fetch_add(&i->raised, 1);
    while (before < at && !atomic_compare_exchange_weak(&i->at, &before, at))
        ;
    futex_wake_all(&i->raised);
}

/* Another wait may have told of later ones. */
void interrupt_tell(struct interrupt *i)
{
    uint32_t told = atomic_load(&i->told), raised = atomic_load(&i->raised);

    while ((int32_t)(raised - told) > 0 && !atomic_compare_exchange_weak(&i->told, &told, raised))
        ;
}

uint64_t interrupts_so_far(void)
{
    return atomic_load(&interrupts);
}
