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

bool __wrap_futex_wait(const _Atomic uint32_t *word, uint32_t value, instant deadline);
void __wrap_futex_wake_all(const _Atomic uint32_t *word);
instant __wrap_clock_now(void);

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

static int setup(void **state)
{
    (void)state;
    latch = mmap(NULL, (size_t)sysconf(_SC_PAGESIZE), PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    latch_reset(latch);
    sleeps = wakes = 0;
    opens_in_sleep = is_freed_in_wake = false;
    now = 0;
    return latch == MAP_FAILED;
}

static int teardown(void **state)
{
    (void)state;
    return is_freed_in_wake ? 0 : munmap(latch, (size_t)sysconf(_SC_PAGESIZE));
}

static void latch_reset__closes(void **state)
{
    (void)state;
    assert_false(latch_is_open(latch));
    latch_open(latch);
    assert_true(latch_is_open(latch));
    latch_reset(latch);
    assert_false(latch_is_open(latch));
}

static void latch_open__nobody_sleeps(void **state)
{
    (void)state;
    latch_open(latch);
    latch_open(latch);
    assert_int_equal(wakes, 0);
}

static void latch_open__wakes_sleepers_once(void **state)
{
    (void)state;
    atomic_store(&latch->state, LATCH_SLEEPERS);
    latch_open(latch);
    latch_open(latch);
    assert_int_equal(wakes, 1);
}

/* The waiter may free the latch the moment it is open: here, before the wake-up call returns. */
static void latch_open__leaves_the_memory_alone(void **state)
{
    (void)state;
    atomic_store(&latch->state, LATCH_SLEEPERS);
    is_freed_in_wake = true;
    latch_open(latch);
    assert_int_equal(wakes, 1);
}

static void latch_wait__open_already(void **state)
{
    (void)state;
    latch_open(latch);
    assert_true(latch_wait(latch, 0, 0, NULL, 0));
    assert_true(latch_wait(latch, NEVER, SECOND, NULL, 0));
    assert_int_equal(sleeps, 0);
}

static void latch_wait__sleeps_until_open(void **state)
{
    (void)state;
    opens_in_sleep = true;
    will_return(__wrap_futex_wait, true);
    assert_true(latch_wait(latch, NEVER, 0, NULL, 0));
    assert_int_equal(sleeps, 1);
    assert_int_equal(asked_deadline, NEVER);
}

/* Two sleeps end for no reason (a signal, a wake-up meant for others), the third in time. */
static void latch_wait__sleeps_again(void **state)
{
    (void)state;
    will_return_count(__wrap_futex_wait, true, 2);
    will_return(__wrap_futex_wait, false);
    assert_false(latch_wait(latch, SECOND, 0, NULL, 0));
    assert_int_equal(sleeps, 3);
    assert_int_equal(asked_deadline, SECOND);
    assert_int_equal(atomic_load(&latch->state), LATCH_SLEEPERS);
}

static void latch_wait__opens_at_the_deadline(void **state)
{
    (void)state;
    opens_in_sleep = true;
    will_return(__wrap_futex_wait, false);
    assert_true(latch_wait(latch, SECOND, 0, NULL, 0));
}

static void latch_wait__spins_first(void **state)
{
    (void)state;
    will_return(__wrap_futex_wait, false);
    assert_false(latch_wait(latch, SECOND, 20 * MICROSECOND, NULL, 0));
    assert_int_equal(now / MICROSECOND, 21); /* the first reading, and the one that ended it */
    assert_int_equal(sleeps, 1);
}

static void latch_wait__spins_no_longer_than_the_deadline(void **state)
{
    (void)state;
    will_return(__wrap_futex_wait, false);
    assert_false(latch_wait(latch, 5 * MICROSECOND, SECOND, NULL, 0));
    assert_int_equal(now / MICROSECOND, 5);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
    const struct CMUnitTest test[] = {
        TEST(latch_reset__closes),
        TEST(latch_open__nobody_sleeps),
        TEST(latch_open__wakes_sleepers_once),
        TEST(latch_open__leaves_the_memory_alone),
        TEST(latch_wait__open_already),
        TEST(latch_wait__sleeps_until_open),
        TEST(latch_wait__sleeps_again),
        TEST(latch_wait__opens_at_the_deadline),
        TEST(latch_wait__spins_first),
        TEST(latch_wait__spins_no_longer_than_the_deadline),
    };
    return cmocka_run_group_tests_name("latch", test, NULL, NULL);
}
