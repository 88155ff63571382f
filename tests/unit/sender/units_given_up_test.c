/* What random calls beside an array (property/units_given_up_test.c) do not reach. */
#include "core/sender/units_given_up.h"

#include "../../support/suite.h"

#include <signal.h>

enum { CAPACITY = 4 };

static struct unit_given_up memory[CAPACITY];
static struct units_given_up g;

static void setup(void)
{
    units_given_up_init(&g, memory, CAPACITY);
}

static const struct unit_part whole = {.message = 1, .offset = 64, .length = 64};

/* Message 1's bytes from 64 to 128, which went before as `was`. */
static void put(uint64_t seq, uint64_t was)
{
    struct unit_given_up unit = {.seq = seq, .predecessor = was, .part = whole, .arrived = 1};
    units_given_up_put(&g, &unit);
    units_given_up_check(&g);
}

static bool has_brought(uint64_t seq)
{
    uint32_t looks = UINT32_MAX;
    return units_given_up_has_brought(&g, seq, &whole, &looks);
}

FIXTURE(setup, NULL)

TEST(units_given_up_init__needs_a_power_of_two, .rows = 2, .signal = SIGABRT)
{
    units_given_up_init(&g, memory, _i == 0 ? 0 : 3);
}

TEST(units_given_up_put__has_not_arrived)
{
    put(7, UNIT_NEVER_SENT);
    ck_assert(!has_brought(7));
}

TEST(units_given_up_clear__forgets_all)
{
    put(5, UNIT_NEVER_SENT);
    uint64_t seq = 5;
    ck_assert_ptr_nonnull(units_given_up_arrive(&g, &seq, 6));
    units_given_up_clear(&g);
    units_given_up_check(&g);
    seq = 0;
    ck_assert_ptr_null(units_given_up_arrive(&g, &seq, 100));
    ck_assert(!has_brought(5));
}

/* 9 repeats 7, and 7 repeats 5. Where the first of them is forgotten nobody knows. */
TEST(units_given_up_are_from__the_whole_chain)
{
    put(5, UNIT_NEVER_SENT);
    put(7, 5);
    put(9, 7);
    ck_assert(units_given_up_are_from(&g, 9, 5));
    ck_assert(!units_given_up_are_from(&g, 9, 6));
    ck_assert(!units_given_up_are_from(&g, 9, 10));
    ck_assert(units_given_up_are_from(&g, 5, 5));
    ck_assert(units_given_up_are_from(&g, UNIT_NEVER_SENT, 100));
    ck_assert(!units_given_up_are_from(&g, 8, 0));
    put(11, 9);
    ck_assert(units_given_up_are_from(&g, 11, 5));
    put(13, 11);
    ck_assert(!units_given_up_are_from(&g, 13, 0));
    ck_assert(!units_given_up_are_from(&g, 7, 0));
}

/* 7 repeats 5, and is more by now: a neighbour's repeat has joined it. 5 has arrived: whether that
 * repeat's original has, nobody knows. */
TEST(units_given_up_are_from__one_that_has_arrived)
{
    uint64_t seq = 5;
    put(5, UNIT_NEVER_SENT);
    put(7, 5);
    ck_assert_ptr_nonnull(units_given_up_arrive(&g, &seq, 6));
    ck_assert(!units_given_up_are_from(&g, 7, 5));
    ck_assert(!units_given_up_are_from(&g, 5, 5));
}

/* Where few of many are settled they stay, change nothing, and are forgotten in their turn. */
TEST(units_given_up_settle__few_of_many)
{
    enum { MANY = 1024 };
    static struct unit_given_up many[MANY];
    uint64_t seq = 5;

    units_given_up_init(&g, many, MANY);
    for (uint64_t i = 0; i < MANY; i++)
        put(i, UNIT_NEVER_SENT);
    ck_assert_ptr_nonnull(units_given_up_arrive(&g, &seq, 6));
    units_given_up_settle(&g);
    units_given_up_check(&g);
    ck_assert_uint_eq(g.count, MANY);
    seq = 5;
    ck_assert_ptr_null(units_given_up_arrive(&g, &seq, 6));
    ck_assert_ptr_null(units_given_up_find(&g, 5));
    for (uint64_t i = 0; i < 6; i++)
        put(MANY + i, UNIT_NEVER_SENT);
    ck_assert_uint_eq(g.settled, 0);
    ck_assert_uint_eq(g.count, MANY);
}

/* A chain that is longer than any is on a path that works is not followed to its end. */
TEST(units_given_up_has_brought__of_a_long_chain)
{
    enum { LONG = 512 };
    static struct unit_given_up chain[LONG];
    uint64_t seq = 0;

    units_given_up_init(&g, chain, LONG);
    for (uint64_t i = 0; i < LONG; i++)
        put(i, i == 0 ? UNIT_NEVER_SENT : i - 1);
    ck_assert_ptr_nonnull(units_given_up_arrive(&g, &seq, 1));
    ck_assert(has_brought(255));
    ck_assert(!has_brought(256));
    uint32_t looks = 100;
    ck_assert(units_given_up_has_brought(&g, 59, &whole, &looks));
    ck_assert_uint_eq(looks, 41);
    ck_assert(!units_given_up_has_brought(&g, 59, &whole, &looks));
    ck_assert_uint_eq(looks, 0);
}

/* Each breaks one invariant. */
TEST(units_given_up_check__fires, .rows = 5, .signal = SIGABRT)
{
    put(5, UNIT_NEVER_SENT);
    put(7, 5);
    switch (_i) {
    case 0:
        g.count = CAPACITY + 1;
        break;
    case 1:
        memory[1].seq = 5;
        break;
    case 2:
        memory[1].predecessor = 7;
        break;
    case 3:
        g.arrived = 1;
        break;
    default:
        g.settled = 1;
        break;
    }
    units_given_up_check(&g);
}
