#include "congestion_bbr_rig.h"

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

FIXTURE(setup, NULL)

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
    ck_assert_uint_le(b.window, 220 * UNIT);
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

TEST(bbr_startup__bears_some_loss)
{
    run_round(RATE);
    lose(1);
    run_round(RATE);
    ck_assert_int_eq(b.phase, BBR_STARTUP);
}
