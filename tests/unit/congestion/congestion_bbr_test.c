/* A path of known rate and round trip, as BBR sees it. */
#include "../../support/suite.h"
#include "core/congestion/congestion.h"

#include <signal.h>

enum { UNIT = 1000, RATE = 1000000 }; /* a unit a millisecond */

#define TRIP (100 * MILLISECOND) /* so 100 units fill the path */

static struct bbr b;
static instant now;
static uint64_t delivered, lost;
static duration queueing; /* added to the round trip */

static void setup(void)
{
    bbr_init(&b, UNIT, 10 * UNIT, 1);
    now = 0;
    delivered = lost = 0;
    queueing = 0;
}

/* Bytes that the window and the pace let into transit. */
static uint64_t paced(void)
{
    uint64_t bytes = b.rate / 1000 * (uint64_t)((TRIP + queueing) / MILLISECOND);
    return bytes < b.window ? bytes : b.window;
}

/* A round trip in which the path carries at most `rate`, told by ten acknowledgements. */
static void run_round(uint64_t rate)
{
    uint64_t prior = delivered;
    uint64_t sent = paced();
    uint64_t most = rate / 1000 * (uint64_t)((TRIP + queueing) / MILLISECOND);
    uint64_t carried = sent < most ? sent : most;
    for (int i = 0; i < 10; i++) {
        now += (TRIP + queueing) / 10;
        delivered += carried / 10;
        struct congestion_ack ack = {
            .now = now,
            .bytes = carried / 10,
            .in_transit = sent,
            .delivered = delivered,
            .round_trip = TRIP + queueing,
            .smoothed = TRIP + queueing,
            .was_limited = true,
            .sample = {.rate = carried * 1000 / (uint64_t)((TRIP + queueing) / MILLISECOND),
                       .bytes = carried,
                       .lost = lost,
                       .prior = prior,
                       .in_transit = sent,
                       .is_valid = true},
        };
        bbr_on_acknowledged(&b, &ack);
        bbr_check(&b);
    }
    lost = 0;
}

/* `units` of what is in transit are lost. */
static void lose(uint32_t units)
{
    for (uint32_t i = 0; i < units; i++) {
        lost += UNIT;
        struct congestion_loss loss = {
            .now = now,
            .sent = now - TRIP,
            .bytes = UNIT,
            .sample = {.lost = lost, .prior = delivered, .in_transit = b.window, .is_valid = true}};
        bbr_on_lost(&b, &loss);
        bbr_check(&b);
    }
}

static void run_until(enum bbr_phase phase)
{
    for (int i = 0; i < 200 && b.phase != phase; i++)
        run_round(RATE);
    ck_assert_int_eq(b.phase, phase);
}

FIXTURE(setup, NULL)

/* ---- the cycle */

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

/* A slow path's window has room for the time that an acknowledgement is held back, as a fast
 * one's. */
TEST(bbr_cycle__room_on_a_slow_path)
{
    const uint64_t slow = RATE / 10 * 9; /* bytes a second: 5 ms hold 4.5 units */
    for (int i = 0; i < 200 && b.phase != BBR_CRUISE; i++)
        run_round(slow);
    for (int i = 0; i < 3; i++)
        run_round(slow);
    ck_assert_int_eq(b.phase, BBR_CRUISE);
    uint64_t full = 2 * 90 * UNIT, bursts = 3 * 2 * UNIT, lump = 9 * UNIT, held = 9 * UNIT / 2;
    ck_assert_uint_eq(b.window, full + bursts + lump + held);
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

/* Behind a pause the path is empty in any case: its first round trip is a measurement. */
TEST(bbr_probe_rtt__not_behind_a_pause)
{
    run_until(BBR_CRUISE);
    now += 20 * SECOND;
    bbr_on_begin(&b);
    for (instant end = now + 5 * SECOND; now < end;) {
        run_round(RATE);
        ck_assert_int_ne(b.phase, BBR_PROBE_RTT);
    }
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

/* ---- the start */

/* A unit of what was sent in this round is acknowledged. */
static void acknowledge_some(void)
{
    now += MILLISECOND;
    delivered += UNIT;
    struct congestion_ack ack = {.now = now,
                                 .bytes = UNIT,
                                 .in_transit = b.window,
                                 .delivered = delivered,
                                 .round_trip = TRIP,
                                 .smoothed = TRIP,
                                 .was_limited = true,
                                 .sample = {.prior = b.round_end - 1, .is_valid = true}};
    bbr_on_acknowledged(&b, &ack);
    bbr_check(&b);
}

/* A train of 160 units comes back: as densely as it was sent, or at most at this rate. */
static void run_train(uint64_t sent_rate, uint64_t back_rate, instant sent)
{
    for (int i = 0; i < 20; i++) {
        uint64_t bytes = 8 * UNIT;
        now += (duration)(bytes * SECOND / (sent_rate < back_rate ? sent_rate : back_rate));
        sent += (duration)(bytes * SECOND / sent_rate);
        delivered += bytes;
        struct congestion_ack ack = {
            .now = now,
            .sent = sent,
            .bytes = bytes,
            .in_transit = b.window,
            .delivered = delivered,
            .round_trip = TRIP,
            .smoothed = TRIP,
            .was_limited = true,
            .sample = {.rate = RATE / 10, .bytes = bytes, .is_valid = true}};
        bbr_on_acknowledged(&b, &ack);
        bbr_check(&b);
    }
}

TEST(bbr_startup__grows_while_the_rate_does)
{
    uint64_t window = b.window;
    for (int i = 0; i < 3; i++) {
        run_round(RATE);
        ck_assert_int_eq(b.phase, BBR_STARTUP);
        ck_assert_uint_gt(b.window, window);
        window = b.window;
    }
}

/* What the clock shows when the first round trip is over says nothing of how old it is. */
TEST(bbr_startup__at_any_time)
{
    now = 10000 * SECOND;
    run_round(RATE);
    ck_assert_int_eq(b.phase, BBR_STARTUP);
}

TEST(bbr_startup__ends_when_the_rate_stays)
{
    for (int i = 0; i < 6; i++)
        run_round(RATE);
    ck_assert_int_eq(b.phase, BBR_STARTUP); /* no queue: may be a late thread's doing */
    queueing = TRIP / 4;
    for (int i = 0; i < 3; i++)
        run_round(RATE);
    ck_assert(b.is_full);
    ck_assert_uint_le(b.rate, RATE);
    ck_assert_uint_le(b.window, 225 * UNIT);
}

TEST(bbr_startup__ends_without_a_queue)
{
    for (int i = 0; i < 16; i++)
        run_round(RATE);
    ck_assert(b.is_full);
}

TEST(bbr_startup__ends_on_much_loss)
{
    run_round(RATE);
    for (int i = 0; i < 4 && b.phase == BBR_STARTUP; i++) {
        lose((uint32_t)(b.window / UNIT / 4));
        run_round(RATE);
    }
    ck_assert(b.is_full);
    ck_assert_uint_lt(b.inflight_high, UINT64_MAX);
}

/* A small window may lose a tenth by chance. */
TEST(bbr_startup__bears_chance_in_a_small_window)
{
    run_round(RATE);
    lose(3);
    run_round(RATE);
    ck_assert_int_eq(b.phase, BBR_STARTUP);
}

/* What is lost of a window that is too large is not waited for to the end of the round. */
TEST(bbr_startup__ends_within_the_round)
{
    for (int i = 0; i < 4; i++)
        run_round(RATE);
    ck_assert_int_eq(b.phase, BBR_STARTUP);
    lose((uint32_t)(b.window / UNIT / 4));
    acknowledge_some();
    ck_assert(!b.is_round_start);
    ck_assert(b.is_full);
    ck_assert_uint_lt(b.inflight_high, UINT64_MAX);
}

TEST(bbr_train__that_comes_back_opens_the_window)
{
    run_round(RATE / 10);
    uint64_t window = b.window;
    run_train(10 * RATE, 20 * RATE, now);
    ck_assert_int_eq(b.phase, BBR_STARTUP);
    ck_assert_uint_ge(b.proven, 9 * RATE);
    ck_assert_uint_ge(bbr_path(&b), 9 * RATE);
    ck_assert_uint_gt(b.window, window + 80 * UNIT); /* more than what was acknowledged */
    ck_assert_uint_le(b.rate, 20 * RATE);
}

TEST(bbr_train__that_is_squeezed_tells_the_rate)
{
    run_round(RATE / 10);
    run_train(10 * RATE, 5 * RATE, now);
    ck_assert(b.is_full);
    ck_assert_uint_ge(bbr_path(&b), 49 * RATE / 10);
    ck_assert_uint_le(bbr_path(&b), 51 * RATE / 10);
    ck_assert_uint_ge(b.window, 500 * UNIT); /* what fills the path */
}

/* On a short path a thread that wakes late looks the same. */
TEST(bbr_train__not_on_a_short_path)
{
    run_round(RATE / 10);
    b.lowest = TRIP / 2;
    run_train(10 * RATE, 5 * RATE, now);
    ck_assert_int_eq(b.phase, BBR_STARTUP);
    ck_assert_uint_eq(b.proven, 0);
}
