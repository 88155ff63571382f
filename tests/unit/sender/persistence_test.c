#include "core/sender/persistence.h"

#include "../../support/suite.h"

#include <signal.h>

enum { STEP = 5 };

static struct persistence p;
static struct persistence_search search;

/* Numbers 10 to 15 are sent ten apart, from 100 on. */
static void setup(void)
{
    persistence_init(&p);
    for (uint64_t seq = 10; seq < 16; seq++)
        persistence_on_sent(&p, seq, 100 + 10 * (instant)(seq - 10), STEP);
    persistence_check(&p);
}

/* An acknowledgement of [first, 16) at 1000, in which [gap, end) is not. */
static enum persistence_verdict judge(uint64_t known, uint64_t first, uint64_t gap, uint64_t end)
{
    search = (struct persistence_search){.known = known, .newest = 15, .overdue = 900, .least = 25};
    if (gap < end)
        persistence_on_gap(&p, &search, (struct interval){gap, end});
    return persistence_conclude(&p, &search, first);
}

FIXTURE(setup, NULL)

TEST(persistence__must_be_longer_than_that)
{
    ck_assert_int_eq(judge(0, 0, 10, 12), PERSISTENCE_NO_NEWS);
    ck_assert_int_eq(judge(0, 0, 10, 13), PERSISTENCE_NO_NEWS);
    ck_assert_int_eq(judge(0, 0, 10, 14), PERSISTENCE_FOUND);
    ck_assert_int_eq(search.end, 130);
}

/* Only what was not known before counts. */
TEST(persistence__once_for_each_time)
{
    ck_assert_int_eq(judge(9, 0, 10, 15), PERSISTENCE_FOUND);
    ck_assert_int_eq(judge(15, 0, 10, 15), PERSISTENCE_NO_NEWS);
    ck_assert_int_eq(judge(11, 0, 10, 15), PERSISTENCE_NO_NEWS);
    ck_assert_int_eq(judge(10, 0, 10, 15), PERSISTENCE_FOUND);
}

/* Without a round trip there are no marks. */
TEST(persistence__not_before_the_first_mark)
{
    ck_assert_int_eq(judge(0, 0, 0, 13), PERSISTENCE_NO_NEWS);
    ck_assert_int_eq(judge(0, 0, 0, 14), PERSISTENCE_FOUND);
    persistence_init(&p);
    ck_assert_int_eq(judge(0, 0, 0, 14), PERSISTENCE_NO_NEWS);
}

TEST(persistence__what_may_still_arrive_does_not_count)
{
    search = (struct persistence_search){.newest = 15, .overdue = 125, .least = 25};
    persistence_on_gap(&p, &search, (struct interval){10, 15});
    ck_assert_int_eq(persistence_conclude(&p, &search, 0), PERSISTENCE_NO_NEWS);
}

/* A number between two marks may have been sent a step later than the first. */
TEST(persistence__no_longer_than_it_was)
{
    persistence_init(&p);
    persistence_on_sent(&p, 10, 100, STEP);
    persistence_on_sent(&p, 11, 104, STEP);
    persistence_on_sent(&p, 12, 130, STEP);
    ck_assert_uint_eq(p.marks, 2);
    ck_assert_int_eq(judge(0, 0, 11, 13), PERSISTENCE_NO_NEWS); /* 130 - 105 */
    ck_assert_int_eq(judge(0, 0, 10, 13), PERSISTENCE_FOUND);
}

/* 16 and 17 never leave, however often: 18 is the first that does, long afterwards. */
TEST(persistence__of_what_never_left)
{
    for (uint64_t seq = 16; seq < 18; seq++) {
        persistence_on_sent(&p, seq, 200 + 100 * (instant)(seq - 16), STEP);
        persistence_on_unsent(&p, seq, seq + 1);
        persistence_check(&p);
    }
    persistence_on_sent(&p, 18, 400, STEP);
    search = (struct persistence_search){.known = 15, .newest = 20, .overdue = 900, .least = 25};
    persistence_on_gap(&p, &search, (struct interval){16, 18});
    persistence_on_gap(&p, &search, (struct interval){16, 19});
    ck_assert_int_eq(persistence_conclude(&p, &search, 0), PERSISTENCE_NO_NEWS);
    search.known = 14; /* 15 is lost, too, which left at 150 */
    persistence_on_gap(&p, &search, (struct interval){15, 18});
    ck_assert_int_eq(persistence_conclude(&p, &search, 0), PERSISTENCE_NO_NEWS);
    persistence_on_gap(&p, &search, (struct interval){15, 19});
    ck_assert_int_eq(persistence_conclude(&p, &search, 0), PERSISTENCE_FOUND);
    ck_assert_int_eq(search.end, 400);
}

/* A part of a burst left: its mark stays. */
TEST(persistence__of_a_burst_that_left_in_part)
{
    persistence_on_sent(&p, 16, 200, STEP);
    persistence_on_unsent(&p, 17, 20);
    persistence_on_unsent(&p, 20, 20);
    persistence_on_sent(&p, 20, 400, STEP);
    persistence_check(&p);
    search = (struct persistence_search){.known = 16, .newest = 21, .overdue = 900, .least = 25};
    persistence_on_gap(&p, &search, (struct interval){17, 21});
    ck_assert_int_eq(persistence_conclude(&p, &search, 0), PERSISTENCE_NO_NEWS);
    search.known = 15;
    persistence_on_gap(&p, &search, (struct interval){16, 21});
    ck_assert_int_eq(persistence_conclude(&p, &search, 0), PERSISTENCE_FOUND);
}

/* Marks that are withdrawn bring back none of those that gave way to them. */
TEST(persistence__keeps_fewer_marks_behind_what_never_left)
{
    uint64_t seq = 16;
    for (; seq < 10 + PERSISTENCE_MARKS; seq++)
        persistence_on_sent(&p, seq, 100 + 10 * (instant)(seq - 10), STEP);
    for (int i = 0; i < 3; i++, seq++) {
        persistence_on_sent(&p, seq, 2000 + 10 * i, STEP);
        persistence_on_unsent(&p, seq, seq + 1);
        persistence_check(&p);
    }
    search = (struct persistence_search){.newest = seq, .overdue = 9000, .least = 25};
    persistence_on_gap(&p, &search, (struct interval){0, 15});
    ck_assert_int_eq(persistence_conclude(&p, &search, 0), PERSISTENCE_FOUND);
    ck_assert_int_eq(search.end, 140);
}

TEST(persistence__not_when_the_rest_is_too_short)
{
    ck_assert_int_eq(judge(0, 0, 10, 15), PERSISTENCE_FOUND);
    ck_assert_int_eq(judge(15, 0, 10, 14), PERSISTENCE_NO_NEWS);
    ck_assert_int_eq(judge(15, 0, 11, 13), PERSISTENCE_NOT);
    ck_assert_int_eq(judge(15, 0, 11, 13), PERSISTENCE_NO_NEWS);
}

/* Who does not say, because the receiver reports only so much, does not say that it arrived. */
TEST(persistence__of_which_nothing_is_said)
{
    ck_assert_int_eq(judge(0, 0, 10, 15), PERSISTENCE_FOUND);
    ck_assert_int_eq(judge(15, 11, 0, 0), PERSISTENCE_NO_NEWS);
    ck_assert_int_eq(judge(15, 10, 0, 0), PERSISTENCE_NOT);
}

TEST(persistence__keeps_the_last_marks)
{
    for (uint64_t seq = 16; seq < 16 + PERSISTENCE_MARKS; seq++)
        persistence_on_sent(&p, seq, 100 + 10 * (instant)(seq - 10), STEP);
    persistence_check(&p);
    ck_assert_int_eq(judge(0, 0, 10, 15), PERSISTENCE_NO_NEWS);
    search = (struct persistence_search){.newest = 79, .overdue = 1000, .least = 25};
    persistence_on_gap(&p, &search, (struct interval){0, 20});
    ck_assert_int_eq(persistence_conclude(&p, &search, 0), PERSISTENCE_FOUND);
    ck_assert_int_eq(search.end, 190);
}

/* A gap that is told again when its marks are gone takes nothing back. */
TEST(persistence__is_not_taken_back_later)
{
    ck_assert_int_eq(judge(9, 0, 10, 15), PERSISTENCE_FOUND);
    for (uint64_t seq = 16; seq < 16 + PERSISTENCE_MARKS; seq++)
        persistence_on_sent(&p, seq, 100 + 10 * (instant)(seq - 10), STEP);
    ck_assert_int_eq(judge(15, 0, 10, 15), PERSISTENCE_NO_NEWS);
    persistence_check(&p);
}

TEST(persistence_check__fires, .rows = 2, .signal = SIGABRT)
{
    if (_i == 0)
        p.mark[2].seq = p.mark[1].seq;
    else
        p.mark[2].at = p.mark[1].at - 1;
    persistence_check(&p);
}
