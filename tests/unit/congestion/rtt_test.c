#include "core/congestion/rtt.h"

#include "../../support/suite.h"

#define MS MILLISECOND

static struct rtt rtt;

static void setup(void)
{
    rtt_init(&rtt, 100 * MS);
}

FIXTURE(setup, NULL)

TEST(rtt_init__assumes)
{
    ck_assert(!rtt.has_sample);
    ck_assert_int_eq(rtt_probe_timeout(&rtt, 0, 0), 300 * MS);
    ck_assert_int_eq(rtt_loss_delay(&rtt), 100 * MS * 9 / 8);
}

TEST(rtt_sample__first_replaces_what_was_assumed)
{
    rtt_sample(&rtt, 8 * MS, 5 * MS);
    ck_assert(rtt.has_sample);
    ck_assert_int_eq(rtt.latest, 8 * MS);
    ck_assert_int_eq(rtt.smoothed, 8 * MS);
    ck_assert_int_eq(rtt.variation, 4 * MS);
    ck_assert_int_eq(rtt.lowest, 8 * MS);
}

/* RFC 6298, 2.3: variation by the old smoothed, then smoothed. */
TEST(rtt_sample__second_is_smoothed)
{
    rtt_sample(&rtt, 8 * MS, 0);
    rtt_sample(&rtt, 16 * MS, 0);
    ck_assert_int_eq(rtt.latest, 16 * MS);
    ck_assert_int_eq(rtt.smoothed, 9 * MS);
    ck_assert_int_eq(rtt.variation, 5 * MS);
    ck_assert_int_eq(rtt.lowest, 8 * MS);
}

TEST(rtt_sample__shorter_one)
{
    rtt_sample(&rtt, 16 * MS, 0);
    rtt_sample(&rtt, 8 * MS, 0);
    ck_assert_int_eq(rtt.smoothed, 15 * MS);
    ck_assert_int_eq(rtt.variation, 8 * MS);
    ck_assert_int_eq(rtt.lowest, 8 * MS);
}

TEST(rtt_sample__held_is_subtracted)
{
    rtt_sample(&rtt, 8 * MS, 0);
    rtt_sample(&rtt, 24 * MS, 16 * MS); /* down to the lowest, just */
    ck_assert_int_eq(rtt.latest, 24 * MS);
    ck_assert_int_eq(rtt.smoothed, 8 * MS);
    ck_assert_int_eq(rtt.variation, 3 * MS);
}

TEST(rtt_sample__held_is_not_believed_below_the_lowest)
{
    rtt_sample(&rtt, 8 * MS, 0);
    rtt_sample(&rtt, 16 * MS, 8 * MS + 1);
    ck_assert_int_eq(rtt.smoothed, 9 * MS);
    rtt_sample(&rtt, 17 * MS, INT64_MAX);
    ck_assert_int_eq(rtt.smoothed, 10 * MS);
}

TEST(rtt_sample__not_positive_is_ignored)
{
    rtt_sample(&rtt, 0, 0);
    rtt_sample(&rtt, -1, 0);
    ck_assert(!rtt.has_sample);
    rtt_sample(&rtt, 8 * MS, 0);
    rtt_sample(&rtt, -8 * MS, 0);
    ck_assert_int_eq(rtt.latest, 8 * MS);
    ck_assert_int_eq(rtt.lowest, 8 * MS);
}

TEST(rtt_sample__converges)
{
    rtt_sample(&rtt, 500 * MS, 0);
    for (int i = 0; i < 200; i++)
        rtt_sample(&rtt, 20 * MS, 0);
    ck_assert_int_le(rtt.smoothed - 20 * MS, MICROSECOND);
    ck_assert_int_le(rtt.variation, MICROSECOND);
}

TEST(rtt_probe_timeout__least_margin)
{
    rtt_sample(&rtt, 80 * MICROSECOND, 0);
    ck_assert_int_eq(rtt_probe_timeout(&rtt, 0, 0), 1080 * MICROSECOND);
}

TEST(rtt_probe_timeout__table)
{
    static const struct {
        duration held_most;
        unsigned backoff;
        duration expected;
    } row[] = {
        {0, 0, 24 * MS},       {5 * MS, 0, 29 * MS},         {0, 1, 48 * MS},
        {5 * MS, 3, 232 * MS}, {0, 11, 2048 * 24 * MS},      {0, 12, 60 * SECOND},
        {0, 64, 60 * SECOND},  {0, UINT32_MAX, 60 * SECOND}, {90 * SECOND, 0, 60 * SECOND},
    };
    rtt_sample(&rtt, 8 * MS, 0);
    for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++)
        ck_assert_int_eq(rtt_probe_timeout(&rtt, row[i].held_most, row[i].backoff),
                         row[i].expected);
}

TEST(rtt_loss_delay__of_the_larger)
{
    rtt_sample(&rtt, 8 * MS, 0);
    ck_assert_int_eq(rtt_loss_delay(&rtt), 9 * MS);
    rtt_sample(&rtt, 16 * MS, 0);
    ck_assert_int_eq(rtt_loss_delay(&rtt), 18 * MS);
    rtt_sample(&rtt, 1 * MS, 0);
    ck_assert_int_eq(rtt_loss_delay(&rtt), 9 * MS);
}

TEST(rtt_loss_delay__at_least_1_ms)
{
    rtt_sample(&rtt, 80 * MICROSECOND, 0);
    ck_assert_int_eq(rtt_loss_delay(&rtt), MS);
}
