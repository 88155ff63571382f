#include "core/persistence.h"

#include "../support/suite.h"

#include <signal.h>

enum { LEAST = 30 };

static struct persistence p;

/* Numbers [10, 15) are lost, sent ten apart from 100 on. */
static void setup(void)
{
    persistence_init(&p);
    for (uint64_t seq = 10; seq < 15; seq++)
        persistence_on_lost(&p, seq, 100 + 10 * (instant)(seq - 10));
}

static bool arrives(uint64_t seq)
{
    bool was_not = persistence_on_arrived(&p, seq, 100 + 10 * (instant)(seq - 10));
    persistence_check(&p);
    return was_not;
}

START_TEST(persistence_find__must_be_longer_than_that)
{
    ck_assert(!persistence_find(&p, 15, 40));
    ck_assert(persistence_find(&p, 15, 39));
    ck_assert_int_eq(p.found.end, 140);
}
END_TEST

START_TEST(persistence_find__once_for_a_run)
{
    ck_assert(persistence_find(&p, 15, LEAST));
    ck_assert(!persistence_find(&p, 15, LEAST));
    persistence_on_lost(&p, 15, 150);
    ck_assert(!persistence_find(&p, 16, LEAST));
    persistence_on_lost(&p, 17, 160);
    persistence_on_lost(&p, 18, 200);
    ck_assert(persistence_find(&p, 19, LEAST));
}
END_TEST

START_TEST(persistence_find__of_what_is_known_to_be_lost)
{
    ck_assert(!persistence_find(&p, 14, LEAST));
    ck_assert(persistence_find(&p, 15, LEAST));
}
END_TEST

START_TEST(persistence_find__not_across_what_arrived)
{
    persistence_init(&p);
    ck_assert(!persistence_find(&p, 100, 0));
    persistence_on_lost(&p, 10, 100);
    persistence_on_lost(&p, 12, 500);
    persistence_on_lost(&p, 13, 520);
    ck_assert(!persistence_find(&p, 14, LEAST));
}
END_TEST

/* Each one that arrives, and what is left of the run then. */
START_TEST(persistence_on_arrived__keeps_the_longer_part)
{
    static const struct {
        uint64_t seq, first, last;
        instant begin, end;
    } row[] = {
        {9, 10, 15, 100, 140},  {10, 11, 15, 100, 140}, {11, 12, 15, 110, 140},
        {12, 13, 15, 120, 140}, {13, 10, 13, 100, 130}, {14, 10, 14, 100, 140},
        {15, 10, 15, 100, 140},
    };
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        setup();
        ck_assert(!arrives(row[i].seq));
        ck_assert_uint_eq(p.run.first, row[i].first);
        ck_assert_uint_eq(p.run.last, row[i].last);
        ck_assert_int_eq(p.run.begin, row[i].begin);
        ck_assert_int_eq(p.run.end, row[i].end);
    }
}
END_TEST

START_TEST(persistence_on_arrived__says_when_it_was_not)
{
    ck_assert(persistence_find(&p, 15, 25));
    ck_assert(!arrives(9));
    ck_assert(!arrives(11)); /* [12, 15) spans 30 */
    ck_assert(arrives(12));
    ck_assert(!arrives(13));
    ck_assert(!persistence_find(&p, 15, 25));
}
END_TEST

START_TEST(persistence_on_arrived__of_all_leaves_nothing)
{
    ck_assert(persistence_find(&p, 15, 0));
    for (uint64_t seq = 10; seq < 14; seq++)
        ck_assert(!arrives(seq));
    ck_assert(arrives(14));
    ck_assert(!persistence_find(&p, 15, 0));
    persistence_on_lost(&p, 15, 500);
    ck_assert_int_eq(p.run.begin, 500);
}
END_TEST

/* What was found is remembered when the next run begins. */
START_TEST(persistence_on_arrived__of_a_run_before)
{
    ck_assert(persistence_find(&p, 15, LEAST));
    persistence_on_lost(&p, 17, 200);
    ck_assert(arrives(12));
    ck_assert_uint_eq(p.run.first, 17);
}
END_TEST

START_TEST(persistence_check__fires)
{
    struct lost_run *run = _i % 2 == 0 ? &p.run : &p.found;
    *run = (struct lost_run){.first = 10, .last = 11, .begin = 100, .end = 99};
    if (_i >= 2)
        *run = (struct lost_run){.first = 10, .last = 9};
    persistence_check(&p);
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("core");
    tcase_add_checked_fixture(tcase, setup, NULL);
    tcase_add_test(tcase, persistence_find__must_be_longer_than_that);
    tcase_add_test(tcase, persistence_find__once_for_a_run);
    tcase_add_test(tcase, persistence_find__of_what_is_known_to_be_lost);
    tcase_add_test(tcase, persistence_find__not_across_what_arrived);
    tcase_add_test(tcase, persistence_on_arrived__keeps_the_longer_part);
    tcase_add_test(tcase, persistence_on_arrived__says_when_it_was_not);
    tcase_add_test(tcase, persistence_on_arrived__of_all_leaves_nothing);
    tcase_add_test(tcase, persistence_on_arrived__of_a_run_before);
    tcase_add_loop_test_raise_signal(tcase, persistence_check__fires, SIGABRT, 0, 4);
    return suite_run("persistence", tcase);
}
