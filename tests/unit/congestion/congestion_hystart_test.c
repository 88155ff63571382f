#include "core/congestion/hystart.h"

#include "../../support/suite.h"

static struct hystart h;
static uint64_t delivered;

static void setup(void)
{
    hystart_init(&h);
    delivered = 0;
}

/* A round of four measurements; what the last of them says. */
static enum hystart_verdict round_of(duration round_trip)
{
    enum hystart_verdict verdict = HYSTART_GROW;
    uint64_t prior = delivered;
    for (int i = 0; i < 4; i++)
        verdict = hystart_on_round_trip(&h, round_trip, prior, ++delivered);
    return verdict;
}

FIXTURE(setup, NULL)

TEST(hystart__grows_while_round_trips_stay)
{
    for (int i = 0; i < 20; i++)
        ck_assert_int_eq(round_of(40 * MILLISECOND + i % 4 * MILLISECOND), HYSTART_GROW);
}

TEST(hystart__stops_after_five_slow_rounds)
{
    round_of(40 * MILLISECOND);
    for (int i = 0; i < 5; i++)
        ck_assert_int_eq(round_of(45 * MILLISECOND), HYSTART_SLOW);
    ck_assert_int_eq(round_of(45 * MILLISECOND), HYSTART_STOP);
}

TEST(hystart__goes_on_when_it_was_noise)
{
    round_of(40 * MILLISECOND);
    ck_assert_int_eq(round_of(50 * MILLISECOND), HYSTART_SLOW);
    ck_assert_int_eq(round_of(49 * MILLISECOND), HYSTART_GROW);
    ck_assert_int_eq(round_of(49 * MILLISECOND), HYSTART_GROW);
}

/* What was noise does not count among the slow rounds that follow. */
TEST(hystart__counts_slow_rounds_anew)
{
    round_of(40 * MILLISECOND);
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(round_of(50 * MILLISECOND), HYSTART_SLOW);
    ck_assert_int_eq(round_of(45 * MILLISECOND), HYSTART_GROW);
    for (int i = 0; i < 5; i++)
        ck_assert_int_eq(round_of(60 * MILLISECOND), HYSTART_SLOW);
    ck_assert_int_eq(round_of(60 * MILLISECOND), HYSTART_STOP);
}

TEST(hystart__threshold)
{
    static const struct {
        duration before, now;
        enum hystart_verdict expected;
    } row[] = {
        {MILLISECOND, 5 * MILLISECOND - 1, HYSTART_GROW},
        {MILLISECOND, 5 * MILLISECOND, HYSTART_SLOW},
        {80 * MILLISECOND, 90 * MILLISECOND - 1, HYSTART_GROW},
        {80 * MILLISECOND, 90 * MILLISECOND, HYSTART_SLOW},
        {SECOND, 1016 * MILLISECOND - 1, HYSTART_GROW},
        {SECOND, 1016 * MILLISECOND, HYSTART_SLOW},
    };
    for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
        setup();
        round_of(row[i].before);
        ck_assert_int_eq(round_of(row[i].now), row[i].expected);
    }
}

/* One slow datagram makes no slow round. */
TEST(hystart__few_measurements)
{
    round_of(40 * MILLISECOND);
    uint64_t prior = delivered;
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(hystart_on_round_trip(&h, 90 * MILLISECOND, prior, ++delivered),
                         HYSTART_GROW);
}
