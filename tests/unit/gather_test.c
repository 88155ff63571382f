#include "../support/suite.h"
#include "entity/gather.h"

#include <signal.h>

enum { MUCH = 1 << 30, UNIT = 1000 };

static struct gather gather;

static void begin(void)
{
    gather_init(&gather);
    gather_check(&gather);
}

/* So many receives of a unit, then a rest, while much is on its way. */
static duration rest_after(uint32_t receives)
{
    for (uint32_t i = 0; i < receives; i++)
        gather_came(&gather, 1, UNIT);
    duration nap = gather_rest(&gather, MUCH);
    gather_check(&gather);
    return nap;
}

TEST(gather_rest__naps_while_more_is_on_its_way)
{
    begin();
    ck_assert_int_eq(rest_after(1), GATHER_LEAST);
    for (int i = 0; i < 10; i++)
        ck_assert_int_eq(rest_after(GATHER_FEW), GATHER_LEAST);
}

TEST(gather_rest__polls_if_nothing_is_foretold)
{
    begin();
    gather_came(&gather, 1, UNIT);
    ck_assert_int_eq(gather_rest(&gather, 0), 0);
    ck_assert_int_eq(rest_after(1), GATHER_LEAST);
}

TEST(gather_rest__is_longer_after_one_that_was_too_short)
{
    begin();
    rest_after(1);
    ck_assert_int_eq(rest_after(GATHER_FEW - 1), 2 * GATHER_LEAST);
    ck_assert_int_eq(rest_after(GATHER_FEW), 2 * GATHER_LEAST);
    ck_assert_int_eq(rest_after(0), 4 * GATHER_LEAST);
}

TEST(gather_rest__is_shorter_after_one_that_was_too_long)
{
    begin();
    rest_after(1);
    rest_after(0);
    ck_assert_int_eq(rest_after(GATHER_MANY), 2 * GATHER_LEAST);
    ck_assert_int_eq(rest_after(GATHER_MANY + 1), GATHER_LEAST);
    ck_assert_int_eq(rest_after(GATHER_MANY + 1), GATHER_LEAST);
}

/* A receive may bring many: that is a gain, not too many. */
TEST(gather_rest__is_as_long_after_one_receive_of_many)
{
    begin();
    rest_after(1);
    gather_came(&gather, 3 * GATHER_MANY, 3 * GATHER_MANY * UNIT);
    ck_assert_int_eq(gather_rest(&gather, MUCH), GATHER_LEAST);
    gather_came(&gather, 1, UNIT);
    ck_assert_int_eq(gather_rest(&gather, MUCH), 2 * GATHER_LEAST);
}

TEST(gather_rest__polls_on_a_slow_path_and_tries_again)
{
    duration nap = 1;
    int naps = 0, polls = 0;

    begin();
    for (; nap > 0 && naps<100; naps += nap> 0)
        nap = rest_after(1);
    ck_assert_int_eq(naps, 6); /* 50, 100 ... 1600 us */
    for (; nap == 0 && polls < 1000; polls++)
        nap = rest_after(1);
    ck_assert_int_eq(polls, GATHER_POLLS);
    ck_assert_int_eq(nap, GATHER_LEAST);
}

TEST(gather_rest__polls_when_two_naps_would_outlast_the_message)
{
    begin();
    rest_after(1);
    for (int i = 0; i < 4; i++)
        gather_came(&gather, 1, UNIT);
    ck_assert_int_eq(gather_rest(&gather, 2 * 4 * UNIT), 0);
    gather_came(&gather, 1, UNIT);
    ck_assert_int_eq(gather_rest(&gather, 2 * 4 * UNIT + 1), GATHER_LEAST);
}

/* Else nobody would notice that the path has become a slower one. */
TEST(gather_rest__what_a_nap_brought_is_believed_less_and_less)
{
    int polls = 0;

    begin();
    rest_after(1);
    for (int i = 0; i < 4; i++)
        gather_came(&gather, 1, UNIT);
    while (gather_rest(&gather, 4 * UNIT) == 0 && polls < 1000)
        polls++;
    ck_assert_int_gt(polls, 4);
    ck_assert_int_lt(polls, 32);
}

/* Each breaks the invariant; gather_check ends the process. */
TEST(gather_check__fires, .rows = 2, .signal = SIGABRT)
{
    static const struct gather wrong[] = {{.nap = GATHER_LEAST - 1}, {.nap = GATHER_MOST + 1}};

    gather_check(&wrong[_i]);
}
