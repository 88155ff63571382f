/* wrap: futex_wait futex_wake_all clock_now */
#include "platform/waking.h"

#include "../support/mock.h"
#include "platform/sleep.h"
#include "platform/system.h"

#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

static struct latch *latch; /* has a page of its own */
static int sleeps, wakes;
static bool opens_in_sleep, is_freed_in_wake;
static instant now, asked_deadline;

bool __wrap_futex_wait(const _Atomic uint32_t *word, uint32_t value, instant deadline)
{
    assert_ptr_equal(word, &latch->state);
    assert_int_equal(value, LATCH_SLEEPERS);
    assert_int_equal(atomic_load(word), LATCH_SLEEPERS);
    asked_deadline = deadline;
    sleeps++;
    if (opens_in_sleep)
        atomic_store(&latch->state, LATCH_OPEN);
    return mock_type(int);
}

void __wrap_futex_wake_all(const _Atomic uint32_t *word)
{
    assert_ptr_equal(word, &latch->state);
    wakes++;
    if (is_freed_in_wake)
        munmap(latch, (size_t)sysconf(_SC_PAGESIZE));
}

/* Each reading is a microsecond later than the last. */
instant __wrap_clock_now(void)
{
    return now += MICROSECOND;
}

static void setup(void)
{
    latch = mmap(NULL, (size_t)sysconf(_SC_PAGESIZE), PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(latch, MAP_FAILED);
    latch_reset(latch);
    sleeps = wakes = 0;
    opens_in_sleep = is_freed_in_wake = false;
    now = 0;
}

static void teardown(void)
{
    if (!is_freed_in_wake)
        assert_int_equal(munmap(latch, (size_t)sysconf(_SC_PAGESIZE)), 0);
}

FIXTURE(setup, teardown)

TEST(latch_reset__closes)
{
    assert_false(latch_is_open(latch));
    latch_open(latch);
    assert_true(latch_is_open(latch));
    latch_reset(latch);
    assert_false(latch_is_open(latch));
}

TEST(latch_open__nobody_sleeps)
{
    latch_open(latch);
    latch_open(latch);
    assert_int_equal(wakes, 0);
}

TEST(latch_open__wakes_sleepers_once)
{
    atomic_store(&latch->state, LATCH_SLEEPERS);
    latch_open(latch);
    latch_open(latch);
    assert_int_equal(wakes, 1);
}

/* More than can be noted are woken at once. */
TEST(latch_open_under_mutex__notes_sleepers)
{
    struct wakes due = {.count = 0};

    latch_open_under_mutex(latch, &due);
    assert_int_equal(due.count, 0);
    for (uint32_t i = 0; i <= LATCH_WAKES; i++) {
        assert_int_equal(wakes, 0);
        atomic_store(&latch->state, LATCH_SLEEPERS);
        latch_open_under_mutex(latch, &due);
        assert_true(latch_is_open(latch));
    }
    assert_int_equal(due.count, LATCH_WAKES);
    assert_int_equal(wakes, 1);
    wakes_run(&due);
    assert_int_equal(wakes, 1 + LATCH_WAKES);
}

/* The waiter may free the latch the moment it is open: here, before the wake-up call returns. */
TEST(latch_open__leaves_the_memory_alone)
{
    atomic_store(&latch->state, LATCH_SLEEPERS);
    is_freed_in_wake = true;
    latch_open(latch);
    assert_int_equal(wakes, 1);
}

TEST(latch_wait__open_already)
{
    latch_open(latch);
    assert_true(latch_wait(latch, 0, 0, NULL, 0));
    assert_true(latch_wait(latch, NEVER, SECOND, NULL, 0));
    assert_int_equal(sleeps, 0);
}

TEST(latch_wait__sleeps_until_open)
{
    opens_in_sleep = true;
    will_return(__wrap_futex_wait, true);
    assert_true(latch_wait(latch, NEVER, 0, NULL, 0));
    assert_int_equal(sleeps, 1);
    assert_int_equal(asked_deadline, NEVER);
}

/* Two sleeps end for no reason (a signal, a wake-up meant for others), the third in time. */
TEST(latch_wait__sleeps_again)
{
    will_return_count(__wrap_futex_wait, true, 2);
    will_return(__wrap_futex_wait, false);
    assert_false(latch_wait(latch, SECOND, 0, NULL, 0));
    assert_int_equal(sleeps, 3);
    assert_int_equal(asked_deadline, SECOND);
    assert_int_equal(atomic_load(&latch->state), LATCH_SLEEPERS);
}

TEST(latch_wait__opens_at_the_deadline)
{
    opens_in_sleep = true;
    will_return(__wrap_futex_wait, false);
    assert_true(latch_wait(latch, SECOND, 0, NULL, 0));
}

TEST(latch_wait__spins_first)
{
    will_return(__wrap_futex_wait, false);
    assert_false(latch_wait(latch, SECOND, 20 * MICROSECOND, NULL, 0));
    assert_int_equal(now / MICROSECOND, 21); /* the first reading, and the one that ended it */
    assert_int_equal(sleeps, 1);
}

TEST(latch_wait__spins_no_longer_than_the_deadline)
{
    will_return(__wrap_futex_wait, false);
    assert_false(latch_wait(latch, 5 * MICROSECOND, SECOND, NULL, 0));
    assert_int_equal(now / MICROSECOND, 5);
}

/* A waiter that spins hears what ends its sleep, too: that it is roused, or the other word. */
TEST(latch_wait__spins_no_longer_than_it_is_to_wait)
{
    const _Atomic uint32_t others[] = {0, 1};

    for (int i = 0; i < 2; i++) {
        latch_reset(latch);
        assert_false(i == 0 && latch_rouse(latch));
        now = 0;
        assert_false(latch_wait(latch, NEVER, SECOND, &others[i], 0));
        assert_in_range(now / MICROSECOND, 1, 10);
        assert_int_equal(sleeps, 0);
    }
}
