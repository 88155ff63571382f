#include "congestion_bbr_rig.h"

#include <signal.h>

FIXTURE(setup, NULL)

/* The draft's percents, of a path of known rate and round trip. */
TEST(bbr_cycle__rates)
{
    run_until(BBR_CRUISE);
    ck_assert_uint_eq(b.rate, RATE);
    queueing = TRIP / 10;
    run_round(RATE);
    ck_assert_int_eq(b.phase, BBR_CRUISE);
    ck_assert_uint_eq(b.rate, RATE / 100 * 99); /* so that it drains */
    queueing = 0;
    run_until(BBR_UP);
    ck_assert_uint_ge(b.rate, RATE / 100 * 123);
    ck_assert_uint_ge(b.window, 200 * UNIT);
}

/* Threads that wake late let the path look faster than it is. */
TEST(bbr_cycle__drains_a_queue)
{
    run_until(BBR_CRUISE);
    uint64_t rate = b.rate;
    queueing = TRIP / 2;
    run_round(RATE);
    ck_assert_int_eq(b.phase, BBR_DOWN);
    ck_assert_uint_lt(b.rate, rate);
    queueing = 0;
    run_round(RATE);
    ck_assert_int_eq(b.phase, BBR_CRUISE);
    ck_assert_uint_eq(b.rate, rate);
}

/* What came back is what was sent less what chance took: the path has room for that, too. */
TEST(bbr_cycle__makes_up_for_chance)
{
    run_until(BBR_CRUISE);
    lose(1);
    run_round(RATE);
    ck_assert_int_eq(b.phase, BBR_CRUISE);
    ck_assert_uint_gt(b.rate, RATE / 1000 * 1005);
    lose(9);
    run_round(RATE);
    ck_assert_uint_le(b.rate, RATE / 100 * 101); /* a hundredth at most */
}

/* A long path's probe leaves it time to drain. */
TEST(bbr_cycle__waits_for_four_round_trips)
{
    queueing = SECOND - TRIP; /* from the beginning: so it is the path's */
    run_until(BBR_DOWN);
    ck_assert_int_ge(b.wait, 4 * SECOND);
}

/* One in twenty without a queue is no congestion; with one it is. */
TEST(bbr_cycle__loss_counts_with_a_queue)
{
    run_until(BBR_CRUISE);
    uint64_t rate = b.rate;
    for (int i = 0; i < 3; i++) {
        lose(5);
        run_round(RATE);
    }
    ck_assert_uint_eq(b.rate_low, UINT64_MAX);
    ck_assert_uint_ge(b.rate, rate);
    run_until(BBR_CRUISE);
    queueing = TRIP / 4;
    for (int i = 0; i < 3 && b.phase <= BBR_CRUISE; i++) {
        lose(8);
        run_round(RATE / 2);
    }
    ck_assert_uint_lt(b.rate_low, RATE);
    ck_assert_uint_lt(b.rate, RATE);
}

TEST(bbr_cycle__much_loss_counts_without_a_queue)
{
    run_until(BBR_UP);
    lose((uint32_t)(b.window / UNIT / 5));
    ck_assert_int_eq(b.phase, BBR_DOWN);
    ck_assert_uint_lt(b.inflight_high, UINT64_MAX);
}

TEST(bbr_on_marked__lowers_the_bounds)
{
    run_until(BBR_CRUISE);
    bbr_on_marked(&b);
    run_round(RATE / 2);
    bbr_on_marked(&b);
    run_round(RATE / 2);
    ck_assert_uint_lt(b.rate_low, RATE);
}

TEST(bbr_on_spurious__lifts_the_bounds)
{
    run_until(BBR_UP);
    lose((uint32_t)(b.window / UNIT / 5));
    uint64_t high = b.inflight_high;
    bbr_on_spurious(&b);
    ck_assert_uint_ge(b.inflight_high, high);
    ck_assert_uint_eq(b.rate_low, UINT64_MAX);
}

/* What the path carries is known when it is over, and is looked for at once. */
TEST(bbr_probe_rtt__keeps_the_rate)
{
    run_until(BBR_CRUISE);
    queueing = TRIP / 10;
    run_until(BBR_PROBE_RTT);
    queueing = 0;
    for (int i = 0; i < 10 && b.phase == BBR_PROBE_RTT; i++)
        run_round(RATE);
    ck_assert_int_eq(b.phase, BBR_REFILL);
    ck_assert_uint_ge(b.rate, RATE / 100 * 97);
    run_round(RATE);
    ck_assert_int_eq(b.phase, BBR_UP);
}

/* A path that became longer is noticed, after the path was nearly empty for a moment. */
TEST(bbr_probe_rtt__after_five_seconds)
{
    run_until(BBR_CRUISE);
    queueing = TRIP / 10;
    for (int i = 0; i < 100 && b.phase != BBR_PROBE_RTT; i++)
        run_round(RATE);
    ck_assert_int_eq(b.phase, BBR_PROBE_RTT);
    ck_assert_uint_le(b.window, 60 * UNIT);
    for (int i = 0; i < 10 && b.phase == BBR_PROBE_RTT; i++)
        run_round(RATE);
    ck_assert_int_ne(b.phase, BBR_PROBE_RTT);
}

/* While round trips near the lowest are seen it is looked for half as often. */
TEST(bbr_probe_rtt__later_on_an_empty_path)
{
    run_until(BBR_CRUISE);
    queueing = TRIP / 80;
    while (now < 9 * SECOND) {
        run_round(RATE);
        ck_assert_int_ne(b.phase, BBR_PROBE_RTT);
        ck_assert_int_eq(b.lowest, TRIP); /* it does not creep */
    }
    for (int i = 0; i < 20 && b.phase != BBR_PROBE_RTT; i++)
        run_round(RATE);
    ck_assert_int_eq(b.phase, BBR_PROBE_RTT);
}

TEST(bbr_on_persistent__least_and_back)
{
    run_until(BBR_CRUISE);
    bbr_on_persistent(&b);
    ck_assert_uint_eq(b.window, 4 * UNIT);
    for (int i = 0; i < 8; i++)
        run_round(RATE);
    ck_assert_uint_ge(b.window, 100 * UNIT);
}

TEST(bbr_on_not_persistent__as_it_was)
{
    run_until(BBR_CRUISE);
    uint64_t window = b.window;
    bbr_on_persistent(&b);
    bbr_on_not_persistent(&b);
    ck_assert_uint_eq(b.window, window);
}

TEST(bbr_check__fires, .rows = 3, .signal = SIGABRT)
{
    uint64_t *wrong[] = {&b.window, &b.inflight_high, &b.inflight_low};
    *wrong[_i] = 4 * UNIT - 1;
    bbr_check(&b);
}
