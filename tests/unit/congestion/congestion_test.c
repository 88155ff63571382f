/* A window, Reno's if nothing else is said, and what the sender tells it. */
#include "../../support/suite.h"
#include "core/congestion/congestion.h"

#include <signal.h>

enum { UNIT = 1000, MOST = 1000 * UNIT };

static struct congestion c;

static void init(enum congestion_kind kind, uint64_t most)
{
    congestion_init(&c, kind, UNIT, most, 1);
}

static void setup(void)
{
    init(CONGESTION_RENO, MOST);
}

static void acknowledge_as(uint64_t bytes, instant sent, bool was_limited)
{
    struct congestion_ack ack = {.now = sent + 1,
                                 .bytes = bytes,
                                 .recent = sent >= c.recovery ? bytes : 0,
                                 .was_limited = was_limited};
    congestion_on_acknowledged(&c, &ack);
    congestion_check(&c);
}

static void acknowledge(uint64_t bytes, instant sent)
{
    acknowledge_as(bytes, sent, true);
}

static void lose(instant now, instant sent)
{
    struct congestion_loss loss = {.now = now, .sent = sent, .bytes = UNIT};
    congestion_on_lost(&c, &loss);
    congestion_check(&c);
}

static void persist(instant now)
{
    congestion_on_persistent(&c, now, now - 1);
    congestion_check(&c);
}

FIXTURE(setup, NULL)

TEST(congestion_init__window)
{
    static const struct {
        enum congestion_kind kind;
        uint64_t most, expected;
    } row[] = {
        {CONGESTION_RENO, MOST, 10 * UNIT},       {CONGESTION_RENO, 5 * UNIT, 5 * UNIT},
        {CONGESTION_RENO, UNIT, 2 * UNIT},        {CONGESTION_RENO, 0, 2 * UNIT},
        {CONGESTION_RENO, UINT64_MAX, 10 * UNIT}, {CONGESTION_NONE, MOST, MOST},
        {CONGESTION_NONE, UNIT, 2 * UNIT},        {CONGESTION_NONE, UINT64_MAX, UINT64_MAX},
    };
    for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
        init(row[i].kind, row[i].most);
        congestion_check(&c);
        ck_assert_uint_eq(c.window, row[i].expected);
    }
}

TEST(congestion_on_acknowledged__slow_start_doubles)
{
    for (uint64_t window = 10 * UNIT; window <= 640 * UNIT; window *= 2) {
        ck_assert_uint_eq(c.window, window);
        for (uint64_t sum = 0; sum < window; sum += UNIT)
            acknowledge(UNIT, 0);
    }
    ck_assert_uint_eq(c.window, MOST);
}

TEST(congestion_on_acknowledged__not_limited_does_not_grow)
{
    acknowledge_as(5 * UNIT, 0, false);
    ck_assert_uint_eq(c.window, 10 * UNIT);
    lose(10, 0);
    acknowledge_as(50 * UNIT, 10, false);
    ck_assert_uint_eq(c.window, 5 * UNIT);
}

TEST(congestion_on_acknowledged__avoidance_adds_a_unit_a_window)
{
    lose(10, 0);
    for (uint64_t window = 5 * UNIT; window < 12 * UNIT; window += UNIT) {
        acknowledge(window - 1, 10);
        ck_assert_uint_eq(c.window, window);
        acknowledge(1, 10);
        ck_assert_uint_eq(c.window, window + UNIT);
    }
}

TEST(congestion_on_acknowledged__avoidance_stops_at_most)
{
    init(CONGESTION_RENO, 10 * UNIT);
    lose(10, 0);
    acknowledge(200 * UNIT, 10);
    ck_assert_uint_eq(c.window, 10 * UNIT);
}

/* Units that are acknowledged together count as if one came after the other. */
TEST(congestion_on_acknowledged__ends_slow_start_between_two_units)
{
    persist(10);
    persist(11);
    struct congestion together = c;
    for (int i = 0; i < 40; i++)
        acknowledge(UNIT, 20);
    struct congestion one_by_one = c;
    c = together;
    acknowledge(40 * UNIT, 20);
    ck_assert_uint_eq(c.window, one_by_one.window);
    ck_assert_uint_eq(c.credit, one_by_one.credit);
    ck_assert_uint_gt(c.window, c.threshold);
    ck_assert_uint_lt(c.window, 40 * UNIT);
}

TEST(congestion_on_acknowledged__slow_start_ends_at_the_threshold)
{
    persist(10);
    acknowledge(4 * UNIT, 10);
    ck_assert_uint_eq(c.window, 5 * UNIT);
    ck_assert_uint_eq(c.credit, UNIT);
}

TEST(congestion_on_acknowledged__sent_before_the_reduction)
{
    lose(10, 0);
    acknowledge(100 * UNIT, 9);
    ck_assert_uint_eq(c.window, 5 * UNIT);
    acknowledge(5 * UNIT, 10);
    ck_assert_uint_eq(c.window, 6 * UNIT);
}

TEST(congestion_on_lost__halves)
{
    lose(10, 0);
    ck_assert_uint_eq(c.window, 5 * UNIT);
    ck_assert_uint_eq(c.threshold, 5 * UNIT);
}

TEST(congestion_on_lost__once_a_round_trip)
{
    lose(10, 0);
    lose(11, 5);
    lose(19, 9);
    ck_assert_uint_eq(c.window, 5 * UNIT);
    lose(25, 12);
    ck_assert_uint_eq(c.window, 5 * UNIT / 2);
    lose(30, 24);
    ck_assert_uint_eq(c.window, 5 * UNIT / 2);
}

/* A unit sent in the same turn as the reduction was sent after it. */
TEST(congestion_on_lost__sent_at_the_reduction)
{
    lose(10, 0);
    lose(20, 10);
    ck_assert_uint_eq(c.window, 5 * UNIT / 2);
}

TEST(congestion_on_lost__not_below_least)
{
    for (instant now = 0; now < 10; now++)
        lose(now + 1, now);
    ck_assert_uint_eq(c.window, 2 * UNIT);
    ck_assert_uint_eq(c.threshold, 2 * UNIT);
}

/* The caller's clock may start anywhere; the first loss counts. */
TEST(congestion_on_lost__before_the_epoch)
{
    lose(-10, -20);
    ck_assert_uint_eq(c.window, 5 * UNIT);
}

TEST(congestion_on_lost__forgets_credit)
{
    lose(10, 0);
    acknowledge(5 * UNIT - 1, 10);
    lose(20, 11);
    acknowledge(UNIT, 20);
    ck_assert_uint_eq(c.window, 5 * UNIT / 2);
}

TEST(congestion_on_persistent__starts_again_slowly)
{
    persist(10);
    ck_assert_uint_eq(c.window, 2 * UNIT);
    ck_assert_uint_eq(c.threshold, 5 * UNIT);
    acknowledge(2 * UNIT, 10);
    ck_assert_uint_eq(c.window, 4 * UNIT);
    acknowledge(UNIT, 11);
    ck_assert_uint_eq(c.window, 5 * UNIT);
    acknowledge(UNIT, 12);
    ck_assert_uint_eq(c.window, 5 * UNIT);
}

TEST(congestion_on_persistent__the_loss_reduces_once)
{
    lose(10, 0);
    lose(10, 9);
    persist(10);
    lose(11, 9); /* what was sent before is no news */
    ck_assert_uint_eq(c.window, 2 * UNIT);
    ck_assert_uint_eq(c.threshold, 5 * UNIT);
}

TEST(congestion_on_marked__as_a_loss)
{
    congestion_on_marked(&c, 10, 0);
    ck_assert_uint_eq(c.window, 5 * UNIT);
    congestion_on_marked(&c, 19, 9);
    ck_assert_uint_eq(c.window, 5 * UNIT);
    congestion_on_marked(&c, 25, 10);
    ck_assert_uint_eq(c.window, 5 * UNIT / 2);
    congestion_on_spurious(&c, 5);
    ck_assert_uint_eq(c.window, 5 * UNIT / 2);
}

TEST(congestion_rate__follows_the_window)
{
    struct congestion_ack ack = {
        .now = 20, .bytes = UNIT, .recent = UNIT, .smoothed = 10 * MILLISECOND};
    ck_assert_uint_eq(c.rate, 0);
    congestion_on_acknowledged(&c, &ack);
    ck_assert_uint_eq(c.rate, 2 * 10 * UNIT * UINT64_C(100));
    lose(10, 0);
    congestion_on_acknowledged(&c, &ack);
    ck_assert_uint_eq(c.rate, 5 * UNIT * UINT64_C(100) * 5 / 4);
}

TEST(congestion_limit__cuts_and_lifts)
{
    congestion_limit(&c, 6 * UNIT);
    ck_assert_uint_eq(c.window, 6 * UNIT);
    congestion_limit(&c, 8 * UNIT);
    ck_assert_uint_eq(c.window, 6 * UNIT);
    acknowledge(6 * UNIT, 0);
    ck_assert_uint_eq(c.window, 8 * UNIT);
    congestion_limit(&c, 0);
    ck_assert_uint_eq(c.window, 2 * UNIT);
    congestion_check(&c);
}

TEST(congestion_set_unit__least_and_growth_follow)
{
    lose(10, 0);
    congestion_set_unit(&c, UNIT / 4);
    congestion_check(&c);
    ck_assert_uint_eq(c.window, 5 * UNIT);
    acknowledge(5 * UNIT, 10);
    ck_assert_uint_eq(c.window, 5 * UNIT + UNIT / 4);
    persist(20);
    ck_assert_uint_eq(c.window, UNIT / 2);
    congestion_set_unit(&c, UNIT);
    congestion_check(&c);
    ck_assert_uint_eq(c.window, 2 * UNIT);
}

/* The same units a second^3 from where the window is; nothing jumps. */
TEST(congestion_set_unit__a_curve_begins_anew)
{
    init(CONGESTION_CUBIC, MOST);
    lose(10, 0);
    acknowledge(UNIT, 10);
    congestion_set_unit(&c, UNIT / 4);
    acknowledge(7 * UNIT, 11);
    ck_assert_uint_ge(c.window, 7 * UNIT);
    ck_assert_uint_le(c.window, 7 * UNIT + UNIT / 2);
}

TEST(congestion_set_unit__of_bbr)
{
    init(CONGESTION_BBR, MOST);
    congestion_set_unit(&c, UNIT / 4);
    persist(10);
    congestion_check(&c);
    ck_assert_uint_eq(c.window, UNIT);
    congestion_set_unit(&c, UNIT);
    congestion_check(&c);
    ck_assert_uint_eq(c.window, 4 * UNIT);
}

TEST(congestion_none__window_is_most)
{
    init(CONGESTION_NONE, MOST);
    lose(10, 0);
    persist(20);
    acknowledge(50 * UNIT, 30);
    ck_assert_uint_eq(c.window, MOST);
    congestion_limit(&c, 6 * UNIT);
    ck_assert_uint_eq(c.window, 6 * UNIT);
    congestion_limit(&c, MOST);
    ck_assert_uint_eq(c.window, MOST);
}

/* Each breaks the invariant; congestion_check ends the process. */
TEST(congestion_check__fires, .rows = 3, .signal = SIGABRT)
{
    if (_i == 2)
        init(CONGESTION_NONE, MOST);
    static const uint64_t wrong[] = {2 * UNIT - 1, MOST + 1, MOST - 1};
    c.window = wrong[_i];
    congestion_check(&c);
}

/* ---- reductions that were for nothing, and are taken back */

TEST(congestion_on_not_persistent__the_loss_remains)
{
    lose(10, 0);
    persist(10);
    congestion_on_not_persistent(&c);
    congestion_check(&c);
    ck_assert_uint_eq(c.window, 5 * UNIT);
    congestion_on_spurious(&c, 0);
    ck_assert_uint_eq(c.window, 10 * UNIT);
}

TEST(congestion_on_not_persistent__nothing_was_lost)
{
    persist(10);
    congestion_on_not_persistent(&c);
    ck_assert_uint_eq(c.window, 10 * UNIT);
    ck_assert_uint_eq(c.threshold, UINT64_MAX);
}

TEST(congestion_on_not_persistent__after_another_reduction)
{
    persist(10);
    acknowledge(4 * UNIT, 10);
    lose(20, 11);
    uint64_t window = c.window;
    congestion_on_not_persistent(&c);
    ck_assert_uint_eq(c.window, window);
}

TEST(congestion_on_spurious__undoes_when_all_had_arrived, .rows = 2)
{
    init(_i == 0 ? CONGESTION_RENO : CONGESTION_CUBIC, MOST);
    lose(10, 1);
    lose(10, 2);
    congestion_on_spurious(&c, 1);
    ck_assert_uint_lt(c.window, 10 * UNIT);
    congestion_on_spurious(&c, 2);
    ck_assert_uint_eq(c.window, 10 * UNIT);
    ck_assert_uint_eq(c.threshold, UINT64_MAX);
    lose(20, 3);
    ck_assert_uint_lt(c.window, 10 * UNIT);
}

/* What was lost of an earlier reduction's time says nothing about the last one. */
TEST(congestion_on_spurious__of_another_time)
{
    lose(10, 1);
    congestion_on_spurious(&c, 11);
    ck_assert_uint_eq(c.window, 5 * UNIT);
    congestion_on_spurious(&c, 1);
    congestion_on_spurious(&c, 1);
    ck_assert_uint_eq(c.window, 10 * UNIT);
}

/* Nor does it take back what was really lost. */
TEST(congestion_on_spurious__of_an_earlier_time)
{
    lose(10, 1);
    lose(20, 11);
    uint64_t window = c.window;
    congestion_on_spurious(&c, 1);
    ck_assert_uint_eq(c.window, window);
    congestion_on_spurious(&c, 11);
    ck_assert_uint_eq(c.window, 5 * UNIT);
    lose(30, 21);
    congestion_on_spurious(&c, 1);
    ck_assert_uint_eq(c.window, window);
}

/* The round trip grows, and goes on so: a queue builds, and slow start ends without a loss. */
TEST(congestion__hystart_ends_slow_start)
{
    enum { ROUNDS = 8, SLOW_FROM = 2, A_ROUND = 4 };
    uint64_t delivered = 0;

    init(CONGESTION_CUBIC, MOST);
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t prior = delivered;
        ck_assert(round > SLOW_FROM || c.threshold > MOST);
        for (int i = 0; i < A_ROUND; i++) {
            delivered += UNIT;
            struct congestion_ack ack = {.now = SECOND + round,
                                         .bytes = UNIT,
                                         .recent = UNIT,
                                         .was_limited = true,
                                         .round_trip = (round == 0 ? 40 : 45) * MILLISECOND,
                                         .delivered = delivered,
                                         .sample = {.is_valid = true, .prior = prior}};
            congestion_on_acknowledged(&c, &ack);
            congestion_check(&c);
        }
    }
    ck_assert_uint_le(c.threshold, c.window);
    ck_assert_uint_lt(c.window, MOST);
}
