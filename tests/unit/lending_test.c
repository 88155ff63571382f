#include "core/lending.h"

#include "../support/suite.h"

enum { STEP = 1 << 20 };

static struct lending l;
static instant now;

static void setup(void)
{
    lending_init(&l);
    now = 0;
}

/* So many rounds without a pause, in which a megabyte takes what the share of that round says. */
static void rounds(int count, const duration pace[LENDING_PARTS + 1])
{
    while (count > 0) {
        now += pace[l.share] * MICROSECOND;
        uint64_t before = l.bytes;
        lending_on_acknowledged(&l, now, STEP, STEP);
        count -= l.bytes < before;
    }
}

START_TEST(lending_init__lends_all)
{
    for (int i = 0; i < 10; i++)
        ck_assert(lending_take(&l, now, now));
}
END_TEST

START_TEST(lending_take__spreads_the_share)
{
    for (l.share = 0; l.share <= LENDING_PARTS; l.share++) {
        int lent = 0;
        for (int i = 0; i < 10 * LENDING_PARTS; i++)
            lent += lending_take(&l, now, now);
        ck_assert_int_eq(lent, 10 * l.share);
    }
}
END_TEST

START_TEST(lending_on_acknowledged__finds_the_best)
{
    static const struct {
        duration pace[LENDING_PARTS + 1];
        int best;
    } row[] = {
        {{100, 100, 100, 100, 100}, 4},                                /* no difference: lend */
        {{200, 180, 160, 140, 120}, 4},                                /* as in the cache */
        {{100, 110, 120, 130, 140}, 0}, {{110, 100, 90, 110, 130}, 2}, /* as beyond it */
        {{100, 100, 100, 99, 100}, 4},                                 /* not clearly faster */
    };
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        setup();
        rounds(60, row[i].pace);
        ck_assert_msg(l.best == row[i].best, "row %zu: %d", i, l.best);
    }
}
END_TEST

START_TEST(lending_take__lends_all_where_the_sender_pauses)
{
    static const duration beyond[] = {220, 200, 180, 220, 260};
    rounds(200, beyond);
    ck_assert_int_eq(l.best, 2);
    lending_on_acknowledged(&l, now, STEP, 0);
    for (int i = 0; i < 10; i++)
        ck_assert(lending_take(&l, now, now));
    rounds(1, beyond);
    int lent = 0;
    for (int i = 0; i < 10 * LENDING_PARTS; i++)
        lent += lending_take(&l, now, now);
    ck_assert_int_lt(lent, 10 * LENDING_PARTS);
    ck_assert_int_eq(l.best, 2);
}
END_TEST

START_TEST(lending_on_acknowledged__follows_a_change)
{
    static const duration cached[] = {200, 180, 160, 140, 120};
    static const duration beyond[] = {220, 200, 180, 220, 260};
    rounds(100, cached);
    ck_assert_int_eq(l.best, 4);
    rounds(200, beyond);
    ck_assert_int_eq(l.best, 2);
    rounds(200, cached);
    ck_assert_int_eq(l.best, 4);
}
END_TEST

START_TEST(lending_on_acknowledged__keeps_to_the_best_most_of_the_time)
{
    static const duration pace[] = {110, 100, 90, 110, 130};
    int trials = 0;
    rounds(60, pace);
    for (int i = 0; i < 170; i++) {
        trials += l.share != l.best;
        rounds(1, pace);
    }
    ck_assert_int_le(trials, 10);
}
END_TEST

START_TEST(lending_on_acknowledged__a_pause_begins_the_round_anew)
{
    for (int i = 0; i < 100; i++) {
        lending_on_acknowledged(&l, ++now, STEP, STEP);
        lending_on_acknowledged(&l, ++now, STEP, 0);
    }
    ck_assert_int_eq(l.share, LENDING_PARTS);
    ck_assert_uint_eq(l.bytes, 0);
}
END_TEST

START_TEST(lending_on_acknowledged__what_was_sent_before_does_not_count)
{
    static const duration pace[] = {100, 100, 100, 100, 100};
    rounds(1, pace);
    uint64_t skip = l.skip;
    ck_assert_uint_gt(skip, 0);
    lending_on_acknowledged(&l, now + 1, skip, STEP);
    ck_assert_uint_eq(l.bytes, 0);
    ck_assert_int_eq(l.since, now + 1);
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("core");
    tcase_add_checked_fixture(tcase, setup, NULL);
    tcase_add_test(tcase, lending_init__lends_all);
    tcase_add_test(tcase, lending_take__spreads_the_share);
    tcase_add_test(tcase, lending_on_acknowledged__finds_the_best);
    tcase_add_test(tcase, lending_take__lends_all_where_the_sender_pauses);
    tcase_add_test(tcase, lending_on_acknowledged__follows_a_change);
    tcase_add_test(tcase, lending_on_acknowledged__keeps_to_the_best_most_of_the_time);
    tcase_add_test(tcase, lending_on_acknowledged__a_pause_begins_the_round_anew);
    tcase_add_test(tcase, lending_on_acknowledged__what_was_sent_before_does_not_count);
    return suite_run("lending", tcase);
}
