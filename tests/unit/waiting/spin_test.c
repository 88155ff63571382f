#include "../../support/suite.h"
#include "waiting/wait_policy.h"

#include <signal.h>

#define MOST (50 * MICROSECOND)

static struct spin spin;

static void learn(int times, duration waited)
{
    for (int i = 0; i < times; i++) {
        spin_learn(&spin, waited);
        spin_check(&spin);
    }
}

static void begin(void)
{
    spin_init(&spin, MOST);
    spin_check(&spin);
}

/* Waits in vain until it sleeps. */
static void begin_asleep(void)
{
    begin();
    learn(SPIN_CREDIT / SPIN_LONG_COST + 1, MOST);
    ck_assert_int_eq(spin_limit(&spin), 0);
}

TEST(spin_init__spins)
{
    begin();
    ck_assert_int_eq(spin_limit(&spin), MOST);
}

TEST(spin_learn__short_waits_go_on_spinning)
{
    begin();
    learn(1000, MOST - 1);
    ck_assert_int_eq(spin_limit(&spin), MOST);
}

TEST(spin_learn__long_waits_end_it_when_the_credit_is_used_up)
{
    begin();
    learn((SPIN_CREDIT - 1) / SPIN_LONG_COST, MOST);
    ck_assert_int_eq(spin_limit(&spin), MOST);
    learn(1, MOST);
    ck_assert_int_eq(spin_limit(&spin), 0);
}

/* In rounds of some short waits and a long one. */
TEST(spin_learn__one_long_wait_in_so_many, .rows = 5)
{
    static const struct {
        int short_waits;
        bool spins;
    } rows[] = {{0, false}, {2, false}, {4, false}, {5, true}, {20, true}};

    begin();
    for (int round = 0; round < 100; round++) {
        learn(rows[_i].short_waits, MOST / 2);
        learn(1, 10 * MOST);
    }
    ck_assert_int_eq(spin_limit(&spin), rows[_i].spins ? MOST : 0);
}

TEST(spin_learn__asleep_it_stays_while_waits_are_long)
{
    begin_asleep();
    learn(1000, SPIN_ASLEEP * MOST);
    ck_assert_int_eq(spin_limit(&spin), 0);
}

/* A message is waited for, and comes in some pieces: the paced stream. */
TEST(spin_learn__asleep_it_stays_while_one_in_six_is_long)
{
    begin_asleep();
    for (int message = 0; message < 1000; message++) {
        learn(4, MOST / 4);
        learn(1, 10 * MOST);
        ck_assert_int_eq(spin_limit(&spin), 0);
    }
}

TEST(spin_learn__tries_again_after_so_many_short_waits)
{
    begin_asleep();
    learn(SPIN_CREDIT - 1, SPIN_ASLEEP * MOST - 1);
    ck_assert_int_eq(spin_limit(&spin), 0);
    learn(1, SPIN_ASLEEP * MOST - 1);
    ck_assert_int_eq(spin_limit(&spin), MOST);
}

/* Waits that are a little too long for the spin, awake or asleep: most of them sleep. */
TEST(spin_learn__tries_are_rare_where_they_fail)
{
    int spun = 0;

    begin();
    for (int i = 0; i < 1000; i++) {
        spun += spin_limit(&spin) > 0;
        learn(1, MOST + MOST / 2);
    }
    ck_assert_int_gt(spun, 0);
    ck_assert_int_lt(spun, 1000 / 5);
}

TEST(spin_learn__no_spin_at_all)
{
    spin_init(&spin, 1);
    learn(1000, 5);
    ck_assert_int_le(spin_limit(&spin), 1);
}

TEST(spin_learn__the_longest_wait_and_spin)
{
    spin_init(&spin, INT64_MAX);
    learn(100, INT64_MAX - 1);
    ck_assert_int_eq(spin_limit(&spin), INT64_MAX);
    begin();
    learn(100, INT64_MAX);
    ck_assert_int_eq(spin_limit(&spin), 0);
}

/* ---- the kinds of waits ---- */

static struct spinning spinning;

static void wait_for(bool is_amid, duration waited, int times)
{
    for (int i = 0; i < times; i++) {
        spinning_begin(&spinning, is_amid ? WAITING_FOR_REST : WAITING_FOR_NEXT);
        spinning_learn(&spinning, waited);
    }
}

static duration limit(bool is_amid)
{
    spinning_begin(&spinning, is_amid ? WAITING_FOR_REST : WAITING_FOR_NEXT);
    return spinning_limit(&spinning);
}

/* A paced stream: the many short waits amid messages do not pay for the pauses. */
TEST(spinning__pauses_behind_messages_end_it_for_both)
{
    spinning_init(&spinning, MOST);
    for (int i = 0; i < 20; i++) {
        wait_for(true, 1, 16);
        wait_for(false, 100 * MOST, 1);
    }
    ck_assert_int_eq(limit(false), 0);
    ck_assert_int_eq(limit(true), 0);
}

/* A slow path: a short pause behind each message, and long waits amid them. */
TEST(spinning__long_waits_amid_messages_end_it_for_themselves)
{
    spinning_init(&spinning, MOST);
    for (int i = 0; i < 20; i++) {
        wait_for(true, 100 * MOST, 16);
        wait_for(false, 1, 1);
    }
    ck_assert_int_eq(limit(false), MOST);
    ck_assert_int_eq(limit(true), 0);
}

/* A sender waits longer for a target than for other things. It learns each time by itself. */
TEST(spinning__to_push)
{
    spinning_init(&spinning, MOST);
    wait_for(false, 100 * MOST, 20);
    spinning_begin(&spinning, WAITING_TO_PUSH);
    ck_assert_int_eq(spinning_limit(&spinning), 2 * MOST);
    for (int i = 0; i < 20; i++)
        spinning_learn(&spinning, 2 * MOST);
    ck_assert_int_eq(spinning_limit(&spinning), 0);
    spinning_init(&spinning, INT64_MAX);
    spinning_begin(&spinning, WAITING_TO_PUSH);
    ck_assert_int_eq(spinning_limit(&spinning), INT64_MAX);
}

/* Each breaks an invariant; spin_check ends the process. */
TEST(spin_check__fires, .rows = 4, .signal = SIGABRT)
{
    static const struct spin wrong[] = {
        {.most = MOST, .credit = -1},
        {.most = MOST, .credit = SPIN_CREDIT + 1, .spins = true},
        {.most = MOST, .credit = 0, .spins = true},
        {.most = MOST, .credit = SPIN_CREDIT, .spins = false},
    };

    spin_check(&wrong[_i]);
}
