/* The lease's books: who may take it, whom a waiter that gives it back hands it to, and when it
 * returns to the library's threads. */
#include "../support/mock.h"
#include "waiting/lease.h"

static struct lease lease;
static struct wake wake;
static instant now;

static void begin(void)
{
    now = SECOND;
    lease_init(&lease, LEASE_AT_ONCE);
}

FIXTURE(begin, NULL)

/* A sleeper whose message is in flight. */
static void fall_asleep(struct sleeper *s, struct latch *latch)
{
    latch_reset(latch);
    *s = (struct sleeper){.latch = latch};
    lease_add_sleeper(&lease, s);
}

static bool take(void)
{
    return lease_take(&lease, &wake, now);
}

/* Somebody waits, leaves, and comes back so much later, again and again. */
static void come_and_go(duration absence, int times)
{
    for (int i = 0; i < times; i++) {
        assert_true(take());
        (void)lease_give(&lease, now);
        now += absence;
    }
    assert_true(take());
}

TEST(lease_take__by_one)
{
    assert_false(lease_is_taken(&lease));
    assert_true(take());
    assert_false(take());
    lease_set_asleep(&lease, NEVER);
    assert_int_equal(lease_state(&lease), LEASE_ASLEEP);
    assert_false(take());
    lease_set_awake(&lease);
    assert_false(lease_give(&lease, now).must_arm);
    assert_true(take());
    (void)lease_give(&lease, now);
    lease_close(&lease);
    assert_false(take());
}

/* The workers' socket wakes them once. They receive, unless a waiter has the lease. */
TEST(lease_on_disarmed__while_somebody_is_there)
{
    assert_false(lease_on_disarmed(&lease));
    assert_int_equal(lease_state(&lease), LEASE_WORKERS);
    assert_true(take());
    assert_true(lease_on_disarmed(&lease));
    assert_int_equal(lease_state(&lease), LEASE_AWAKE);
}

/* Waiters come back at once: the lease is kept until none has come for its term. */
TEST(lease_return_if_due__in_time)
{
    come_and_go(LEASE_AT_ONCE / 2, 20);
    assert_true(lease_on_disarmed(&lease));
    assert_int_equal(lease_returns_at(&lease), NEVER); /* while it is taken */
    assert_false(lease_give(&lease, now).must_arm);
    assert_int_equal(lease_state(&lease), LEASE_KEPT);
    assert_int_equal(lease_returns_at(&lease), now + LEASE_TERM);
    assert_false(lease_return_if_due(&lease, now + LEASE_TERM - 1));
    assert_true(lease_return_if_due(&lease, now + LEASE_TERM));
    assert_int_equal(lease_state(&lease), LEASE_WORKERS);
    assert_false(lease_return_if_due(&lease, now + LEASE_TERM)); /* once */
}

/* They compute before they come back: the library receives meanwhile. */
TEST(lease_give__arms_for_those_who_compute)
{
    come_and_go(2 * LEASE_AT_ONCE, 20);
    assert_true(lease_on_disarmed(&lease));
    assert_true(lease_give(&lease, now).must_arm);
    assert_int_equal(lease_state(&lease), LEASE_WORKERS);
    assert_int_equal(lease_returns_at(&lease), NEVER);
    assert_false(lease_hand_over(&lease).must_arm);
}

/* It does not return while a waiter has it, and each one that gives it back begins a new term. */
TEST(lease_return_if_due__not_while_it_is_taken)
{
    come_and_go(0, 20);
    assert_true(lease_on_disarmed(&lease));
    for (int i = 0; i < 3; i++) {
        assert_false(lease_give(&lease, now).must_arm);
        assert_int_equal(lease_returns_at(&lease), now + LEASE_TERM);
        now += LEASE_AT_ONCE / 2;
        assert_true(take());
        assert_false(lease_return_if_due(&lease, now + SECOND));
        lease_set_asleep(&lease, now + SECOND);
        assert_int_equal(lease_returns_at(&lease), NEVER);
        assert_false(lease_return_if_due(&lease, now + 2 * SECOND));
        lease_set_awake(&lease);
    }
}

/* Something came while the lease was kept, and the workers received it: they have it. */
TEST(lease_on_disarmed__what_is_kept)
{
    come_and_go(0, 20);
    assert_true(lease_on_disarmed(&lease));
    assert_false(lease_give(&lease, now).must_arm);
    assert_false(lease_on_disarmed(&lease));
    assert_int_equal(lease_state(&lease), LEASE_WORKERS);
    assert_false(lease_return_if_due(&lease, now + LEASE_TERM));
}

/* The workers have not seen the waiter: their socket is armed still. */
TEST(lease_give__what_is_armed)
{
    assert_true(take());
    assert_false(lease_give(&lease, now).must_arm);
    assert_int_equal(lease_state(&lease), LEASE_WORKERS);
    assert_false(lease_return_if_due(&lease, now + SECOND));
}

TEST(lease_give__to_who_slept_longest)
{
    struct sleeper first, second;
    struct latch latch[2];

    assert_true(take());
    fall_asleep(&first, &latch[0]);
    fall_asleep(&second, &latch[1]);
    assert_null(lease_hand_over(&lease).chosen); /* it is not free */
    assert_null(lease_give(&lease, now).chosen); /* nobody sleeps in the kernel yet */
    assert_true(first.is_chosen);
    assert_false(second.is_chosen);
    assert_int_equal(atomic_load(&latch[0].state), LATCH_ROUSED);
    assert_null(lease_hand_over(&lease).chosen); /* one is enough */
    assert_false(second.is_chosen);
}

/* Its message has ended meanwhile, so it goes; the next one is chosen. */
TEST(lease_hand_over__is_passed_on)
{
    struct sleeper first, second;
    struct latch latch[2];

    fall_asleep(&first, &latch[0]);
    fall_asleep(&second, &latch[1]);
    atomic_store(&latch[1].state, LATCH_SLEEPERS);
    latch_open(&latch[0]);
    assert_null(lease_hand_over(&lease).chosen);
    assert_true(first.is_chosen);
    lease_remove_sleeper(&lease, &first);
    assert_ptr_equal(lease_hand_over(&lease).chosen, &latch[1]);
    assert_true(second.is_chosen);
    lease_remove_sleeper(&lease, &second);
    assert_null(lease.sleepers);
}

/* Somebody else was quicker: one that was chosen in vain is chosen again. */
TEST(lease_hand_over__again_after_the_lease_was_taken)
{
    struct sleeper sleeper;
    struct latch latch;

    fall_asleep(&sleeper, &latch);
    assert_null(lease_hand_over(&lease).chosen);
    assert_true(take());
    assert_false(sleeper.is_chosen);
    atomic_store(&latch.state, LATCH_SLEEPERS);
    assert_ptr_equal(lease_give(&lease, now).chosen, &latch);
}

TEST(lease_hand_over__to_nobody_when_closed)
{
    struct sleeper sleeper;
    struct latch latch;

    fall_asleep(&sleeper, &latch);
    lease_close(&lease);
    assert_null(lease_hand_over(&lease).chosen);
    assert_false(sleeper.is_chosen);
}
