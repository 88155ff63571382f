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

/* One round in which a megabyte takes `pace`, without a pause. */
static void round_of(duration pace)
{
    bool was_on = l.is_on;
    uint32_t rounds = l.rounds;
    for (int i = 0; i < 100 && l.is_on == was_on && l.rounds == rounds; i++) {
        now += pace;
        lending_on_acknowledged(&l, now, STEP, STEP);
    }
}

/* Both tried once, lending first; then what was found better. */
static void try_both(duration lent, duration copied)
{
    round_of(lent);
    ck_assert(!l.is_on);
    round_of(copied);
}

START_TEST(lending_init__lends)
{
    ck_assert(l.is_on);
}
END_TEST

START_TEST(lending_on_acknowledged__keeps_the_better)
{
    static const struct {
        duration lent, copied;
        bool is_on;
    } row[] = {
        {100, 100, true}, {100, 200, true}, {200, 100, false}, {100, 96, true}, {100, 90, false},
    };
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        setup();
        try_both(row[i].lent * MICROSECOND, row[i].copied * MICROSECOND);
        ck_assert_msg(l.is_on == row[i].is_on, "row %zu", i);
    }
}
END_TEST

START_TEST(lending_on_acknowledged__tries_the_other_again)
{
    try_both(200 * MICROSECOND, 100 * MICROSECOND);
    for (int i = 0; i < 32; i++) {
        ck_assert(!l.is_on);
        round_of(100 * MICROSECOND);
    }
    ck_assert(l.is_on);
    round_of(20 * MICROSECOND); /* the mean of the old and this is better now */
    round_of(20 * MICROSECOND);
    ck_assert(!l.is_on || l.is_better);
}
END_TEST

START_TEST(lending_on_acknowledged__a_pause_begins_the_round_anew)
{
    for (int i = 0; i < 100; i++) {
        lending_on_acknowledged(&l, ++now, STEP, STEP);
        lending_on_acknowledged(&l, ++now, STEP, 0);
    }
    ck_assert(l.is_on);
    ck_assert_uint_eq(l.bytes, 0);
}
END_TEST

START_TEST(lending_on_acknowledged__what_was_sent_before_does_not_count)
{
    round_of(100 * MICROSECOND);
    uint64_t skip = l.skip;
    ck_assert_uint_gt(skip, 0);
    lending_on_acknowledged(&l, now + 1, skip, STEP);
    ck_assert_uint_eq(l.bytes, 0);
    ck_assert_int_eq(l.since, now + 1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("lending");
    TCase *tcase = tcase_create("core");
    tcase_add_checked_fixture(tcase, setup, NULL);
    tcase_add_test(tcase, lending_init__lends);
    tcase_add_test(tcase, lending_on_acknowledged__keeps_the_better);
    tcase_add_test(tcase, lending_on_acknowledged__tries_the_other_again);
    tcase_add_test(tcase, lending_on_acknowledged__a_pause_begins_the_round_anew);
    tcase_add_test(tcase, lending_on_acknowledged__what_was_sent_before_does_not_count);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
