/* wrap: futex_wait futex_wake_all */
#include "platform/waking.h"

#include "../support/mock.h"
#include "platform/sleep.h"

static int sleeps, wakes;
static bool rings_in_sleep;

bool __wrap_futex_wait(const _Atomic uint32_t *word, uint32_t value, instant deadline)
{
    assert_int_equal(*word, value);
    assert_int_equal(deadline, SECOND);
    sleeps++;
    if (rings_in_sleep)
        bell_ring();
    return mock_type(int);
}

void __wrap_futex_wake_all(const _Atomic uint32_t *word)
{
    (void)word;
    wakes++;
}

static void setup(void)
{
    sleeps = wakes = 0;
    rings_in_sleep = false;
}

FIXTURE(setup, NULL)

TEST(bell_ring__nobody_listens)
{
    bell_ring();
    uint32_t heard = bell_listen();
    bell_leave();
    bell_ring();
    assert_int_equal(bell_listen(), heard);
    bell_leave();
    assert_int_equal(wakes, 0);
}

TEST(bell_wait__rung_meanwhile)
{
    uint32_t heard = bell_listen();
    bell_ring();
    assert_true(bell_wait(&heard, SECOND));
    assert_int_equal(wakes, 1);
    assert_int_equal(sleeps, 0);
    will_return(__wrap_futex_wait, false); /* one ring does not end two waits */
    assert_false(bell_wait(&heard, SECOND));
    bell_leave();
}

TEST(bell_wait__sleeps_until_rung)
{
    uint32_t heard = bell_listen();
    rings_in_sleep = true;
    will_return(__wrap_futex_wait, true);
    assert_true(bell_wait(&heard, SECOND));
    assert_int_equal(sleeps, 1);
    bell_leave();
}

TEST(bell_wait__sleeps_again)
{
    uint32_t heard = bell_listen();
    will_return_count(__wrap_futex_wait, true, 2);
    will_return(__wrap_futex_wait, false);
    assert_false(bell_wait(&heard, SECOND));
    assert_int_equal(sleeps, 3);
    bell_leave();
}
