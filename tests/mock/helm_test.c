/* The helm's books: who may take it, whom a waiter that leaves hands over to, and when the socket
 * is armed again. */
/* wrap: clock_now */
#include "../support/mock.h"
#include "platform/system.h"
#include "waiting/helm.h"

static struct helm helm;
static struct wake wake;
static instant now;

instant __wrap_clock_now(void)
{
    return now;
}

static void begin(void)
{
    now = SECOND;
    helm_init(&helm, 0);
}

FIXTURE(begin, NULL)

/* A sleeper whose message is in flight. */
static void fall_asleep(struct sleeper *s, struct latch *latch)
{
    latch_reset(latch);
    *s = (struct sleeper){.latch = latch};
    helm_add_sleeper(&helm, s);
}

TEST(helm_take__by_one)
{
    assert_true(helm_take(&helm, &wake));
    assert_false(helm_take(&helm, &wake));
    helm_sleep(&helm, NEVER);
    assert_int_equal(helm_state(&helm), HELM_ASLEEP);
    assert_false(helm_take(&helm, &wake));
    helm_wake_up(&helm);
    helm_leave(&helm);
    assert_true(helm_take(&helm, &wake));
    helm_leave(&helm);
    helm_close(&helm);
    assert_false(helm_take(&helm, &wake));
}

TEST(helm_lets_be__while_somebody_is_there)
{
    assert_false(helm_lets_be(&helm));
    assert_false(helm.is_let_be);
    assert_true(helm_take(&helm, &wake));
    assert_true(helm_lets_be(&helm));
    assert_true(helm.is_let_be);
}

/* Somebody waits, leaves, and comes back so much later, again and again. */
static void come_and_go(duration absence, int times)
{
    for (int i = 0; i < times; i++) {
        assert_true(helm_take(&helm, &wake));
        helm_leave(&helm);
        now += absence;
    }
    assert_true(helm_take(&helm, &wake));
}

/* Waiters come back at once: the socket is let be until none came for a tick. */
TEST(helm_arms__a_tick_later)
{
    come_and_go(HELM_AT_ONCE / 2, 20);
    assert_true(helm_lets_be(&helm));
    assert_int_equal(helm.look_at, NEVER); /* while it is taken */
    helm_leave(&helm);
    assert_false(helm_hand_over(&helm).must_arm);
    assert_int_equal(helm.look_at, now + HELM_TICK);
    assert_true(helm_is_attended(&helm));
    assert_false(helm_arms(&helm, now));
    now += HELM_TICK;
    assert_false(helm_is_attended(&helm));
    assert_true(helm_arms(&helm, now));
    assert_false(helm.is_let_be);
    assert_false(helm_arms(&helm, now)); /* once */
}

/* They compute before they come back: the library receives meanwhile. */
TEST(helm_hand_over__arms_for_those_who_compute)
{
    come_and_go(2 * HELM_AT_ONCE, 20);
    assert_true(helm_lets_be(&helm));
    helm_leave(&helm);
    assert_true(helm_hand_over(&helm).must_arm);
    assert_false(helm.is_let_be);
    assert_int_equal(helm.look_at, NEVER);
    assert_false(helm_hand_over(&helm).must_arm);
    assert_false(helm_is_attended(&helm));
}

/* A look that finds a waiter is the last until one leaves, and looks become later. */
TEST(helm_arms__not_while_it_is_taken)
{
    static const int expected_us[] = {250, 500, 1000, 2000, 4000, 4000};

    come_and_go(0, 20);
    assert_true(helm_lets_be(&helm));
    for (int i = 0; i < 6; i++) {
        helm_leave(&helm);
        assert_false(helm_hand_over(&helm).must_arm);
        assert_int_equal(helm.look_at - now, expected_us[i] * MICROSECOND);
        assert_true(helm_take(&helm, &wake));
        now = helm.look_at;
        assert_false(helm_arms(&helm, now));
        assert_int_equal(helm.look_at, NEVER);
    }
    helm.absence = 0;
    helm_leave(&helm);
    assert_false(helm_hand_over(&helm).must_arm);
    now = helm.look_at;
    assert_true(helm_arms(&helm, now));
}

/* Beside a neighbour each waiter says that the socket is let be: that makes no look earlier. */
TEST(helm_lets_be__once)
{
    come_and_go(0, 20);
    for (int i = 0; i < 2; i++) {
        assert_true(helm_lets_be(&helm));
        helm_leave(&helm);
        assert_false(helm_hand_over(&helm).must_arm);
        assert_int_equal(helm.look_at - now, (i + 1) * HELM_TICK);
        assert_true(helm_take(&helm, &wake));
        now = helm.look_at;
        assert_false(helm_arms(&helm, now));
    }
}

/* A waiter that falls asleep is what a look would find: none is due, and the next one is later. */
TEST(helm_sleep__needs_no_look)
{
    come_and_go(0, 20);
    assert_true(helm_lets_be(&helm));
    helm_leave(&helm);
    assert_false(helm_hand_over(&helm).must_arm);
    assert_true(helm_take(&helm, &wake));
    assert_int_equal(helm.look_at, now + HELM_TICK); /* it may be gone again at once */
    helm_sleep(&helm, NEVER);
    assert_int_equal(helm.look_at, NEVER);
    helm_wake_up(&helm);
    helm_leave(&helm);
    assert_false(helm_hand_over(&helm).must_arm);
    assert_int_equal(helm.look_at, now + 2 * HELM_TICK);
}

/* It was left just before the look: a tick is waited for all the same. */
TEST(helm_arms__not_who_has_just_left)
{
    come_and_go(0, 20);
    assert_true(helm_lets_be(&helm));
    helm_leave(&helm);
    assert_false(helm_hand_over(&helm).must_arm);
    now = helm.look_at - 1;
    assert_true(helm_take(&helm, &wake));
    helm_leave(&helm);
    assert_false(helm_arms(&helm, ++now));
    assert_int_equal(helm.look_at, helm.left + HELM_TICK);
    assert_true(helm_arms(&helm, helm.look_at));
}

TEST(helm_arms__not_what_is_armed)
{
    assert_true(helm_take(&helm, &wake));
    helm_leave(&helm);
    assert_false(helm_hand_over(&helm).must_arm);
    assert_false(helm_is_attended(&helm));
    assert_false(helm_arms(&helm, now + SECOND));
}

TEST(helm_hand_over__calls_who_slept_longest)
{
    struct sleeper first, second;
    struct latch latch[2];

    assert_true(helm_take(&helm, &wake));
    fall_asleep(&first, &latch[0]);
    fall_asleep(&second, &latch[1]);
    assert_null(helm_hand_over(&helm).called); /* it is not free */
    helm_leave(&helm);
    assert_null(helm_hand_over(&helm).called); /* nobody sleeps in the kernel yet */
    assert_true(first.is_called);
    assert_false(second.is_called);
    assert_int_equal(atomic_load(&latch[0].state), LATCH_CALLED);
    assert_null(helm_hand_over(&helm).called); /* one call is enough */
    assert_false(second.is_called);
}

/* Its message has ended meanwhile, so it goes; the next one is called. */
TEST(helm_hand_over__is_passed_on)
{
    struct sleeper first, second;
    struct latch latch[2];

    fall_asleep(&first, &latch[0]);
    fall_asleep(&second, &latch[1]);
    atomic_store(&latch[1].state, LATCH_SLEEPERS);
    latch_open(&latch[0]);
    assert_null(helm_hand_over(&helm).called);
    assert_true(first.is_called);
    helm_remove_sleeper(&helm, &first);
    assert_ptr_equal(helm_hand_over(&helm).called, &latch[1]);
    assert_true(second.is_called);
    helm_remove_sleeper(&helm, &second);
    assert_null(helm.sleepers);
}

/* Somebody else was quicker: a call that came to nothing is made again. */
TEST(helm_hand_over__again_after_the_helm_was_taken)
{
    struct sleeper sleeper;
    struct latch latch;

    fall_asleep(&sleeper, &latch);
    assert_null(helm_hand_over(&helm).called);
    assert_true(helm_take(&helm, &wake));
    assert_false(sleeper.is_called);
    atomic_store(&latch.state, LATCH_SLEEPERS);
    helm_leave(&helm);
    assert_ptr_equal(helm_hand_over(&helm).called, &latch);
}

TEST(helm_hand_over__calls_nobody_when_closed)
{
    struct sleeper sleeper;
    struct latch latch;

    fall_asleep(&sleeper, &latch);
    helm_close(&helm);
    assert_null(helm_hand_over(&helm).called);
    assert_false(sleeper.is_called);
}
