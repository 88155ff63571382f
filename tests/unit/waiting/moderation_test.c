#include "../../support/suite.h"
#include "waiting/wait_policy.h"

#include <signal.h>

enum { MUCH = 1 << 30, UNIT = 1000 };

static struct moderation moderation;

static void begin(void)
{
    moderation_init(&moderation);
    moderation_check(&moderation);
}

/* So many receives of a unit, then a rest, while much is on its way. */
static duration rest_after(uint32_t receives)
{
    for (uint32_t i = 0; i < receives; i++)
        moderation_on_arrivals(&moderation, 1, UNIT);
    duration nap = moderation_rest(&moderation, MUCH, 0);
    moderation_check(&moderation);
    return nap;
}

TEST(moderation_rest__naps_while_more_is_on_its_way)
{
    begin();
    ck_assert_int_eq(rest_after(1), MODERATION_LEAST);
    for (int i = 0; i < 10; i++)
        ck_assert_int_eq(rest_after(MODERATION_FEW), MODERATION_LEAST);
}

TEST(moderation_rest__polls_if_nothing_is_foretold)
{
    begin();
    moderation_on_arrivals(&moderation, 1, UNIT);
    ck_assert_int_eq(moderation_rest(&moderation, 0, 0), 0);
    ck_assert_int_eq(rest_after(1), MODERATION_LEAST);
}

TEST(moderation_rest__is_longer_after_one_that_was_too_short)
{
    begin();
    rest_after(1);
    ck_assert_int_eq(rest_after(MODERATION_FEW - 1), 2 * MODERATION_LEAST);
    ck_assert_int_eq(rest_after(MODERATION_FEW), 2 * MODERATION_LEAST);
    ck_assert_int_eq(rest_after(0), 4 * MODERATION_LEAST);
}

TEST(moderation_rest__is_shorter_after_one_that_was_too_long)
{
    begin();
    rest_after(1);
    rest_after(0);
    ck_assert_int_eq(rest_after(MODERATION_MANY), 2 * MODERATION_LEAST);
    ck_assert_int_eq(rest_after(MODERATION_MANY + 1), MODERATION_LEAST);
    ck_assert_int_eq(rest_after(MODERATION_MANY + 1), MODERATION_LEAST);
}

/* A receive may bring many: that is a gain, not too many. */
TEST(moderation_rest__is_as_long_after_one_receive_of_many)
{
    begin();
    rest_after(1);
    moderation_on_arrivals(&moderation, 3 * MODERATION_MANY, 3 * MODERATION_MANY * UNIT);
    ck_assert_int_eq(moderation_rest(&moderation, MUCH, 0), MODERATION_LEAST);
    moderation_on_arrivals(&moderation, 1, UNIT);
    ck_assert_int_eq(moderation_rest(&moderation, MUCH, 0), 2 * MODERATION_LEAST);
}

TEST(moderation_rest__polls_on_a_slow_path_and_tries_again)
{
    duration nap = 1;
    int naps = 0, polls = 0;

    begin();
    for (; nap > 0 && naps<100; naps += nap> 0)
        nap = rest_after(1);
    ck_assert_int_eq(naps, 6); /* 50, 100 ... 1600 us */
    for (; nap == 0 && polls < 1000; polls++)
        nap = rest_after(1);
    ck_assert_int_eq(polls, MODERATION_POLLS);
    ck_assert_int_eq(nap, MODERATION_LEAST);
}

/* A nap grows until it gathers many, up to half of the round trip, and shrinks with that. */
TEST(moderation_rest__is_longer_on_a_long_path)
{
    duration nap = 0;

    begin();
    for (int i = 0; i < 20; i++) {
        moderation_on_arrivals(&moderation, MODERATION_FEW, UNIT);
        nap = moderation_rest(&moderation, MUCH, 15 * MILLISECOND);
    }
    ck_assert_int_eq(nap, 6400 * MICROSECOND);
    for (int i = 0; i < 20; i++) {
        moderation_on_arrivals(&moderation, MODERATION_FEW, UNIT);
        nap = moderation_rest(&moderation, MUCH, 200 * MILLISECOND);
    }
    ck_assert_int_eq(nap, MODERATION_FAR);
    moderation_on_arrivals(&moderation, MODERATION_ENOUGH, UNIT);
    ck_assert_int_eq(moderation_rest(&moderation, MUCH, 200 * MILLISECOND), nap);
    for (int i = 0; i < 20; i++) {
        moderation_on_arrivals(&moderation, MODERATION_FEW, UNIT);
        nap = moderation_rest(&moderation, MUCH, MILLISECOND);
    }
    ck_assert_int_eq(nap, MODERATION_MOST);
}

/* Behind a nap of 200 us that brought four units. */
static void bring_four(void)
{
    begin();
    rest_after(1);
    rest_after(1);
    ck_assert_int_eq(rest_after(1), 4 * MODERATION_LEAST);
    for (int i = 0; i < 4; i++)
        moderation_on_arrivals(&moderation, 1, UNIT);
}

/* Less than two naps bring is waited for with shorter ones, and at last awake. */
TEST(moderation_rest__is_shorter_when_two_naps_would_outlast_the_message)
{
    static const struct {
        uint64_t expected;
        duration nap;
    } row[] = {
        {2 * 4 * UNIT + 1, 4 * MODERATION_LEAST},
        {2 * 4 * UNIT, 4 * MODERATION_LEAST},
        {4 * UNIT, 2 * MODERATION_LEAST},
        {2 * UNIT, MODERATION_LEAST},
        {2 * UNIT - 1, 0},
        {1, 0},
    };
    for (int i = 0; i < ROWS(row); i++) {
        bring_four();
        ck_assert_int_eq(moderation_rest(&moderation, row[i].expected, 0), row[i].nap);
    }
}

/* Such a short nap says nothing about long ones. */
TEST(moderation_rest__nothing_is_learnt_from_a_short_one)
{
    bring_four();
    ck_assert_int_eq(moderation_rest(&moderation, 2 * UNIT, 0), MODERATION_LEAST);
    ck_assert_int_eq(rest_after(0), 4 * MODERATION_LEAST);
}

/* Else nobody would notice that the path has become a slower one. */
TEST(moderation_rest__what_a_nap_brought_is_believed_less_and_less)
{
    int polls = 0;

    begin();
    rest_after(1);
    for (int i = 0; i < 4; i++)
        moderation_on_arrivals(&moderation, 1, UNIT);
    while (moderation_rest(&moderation, 3 * UNIT, 0) == 0 && polls < 1000)
        polls++;
    ck_assert_int_gt(polls, 4);
    ck_assert_int_lt(polls, 32);
}

/* Each breaks the invariant; moderation_check ends the process. */
TEST(moderation_check__fires, .rows = 2, .signal = SIGABRT)
{
    static const struct moderation wrong[] = {{.nap = MODERATION_LEAST - 1},
                                              {.nap = MODERATION_FAR + 1}};

    moderation_check(&wrong[_i]);
}
