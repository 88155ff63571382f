/* What random calls beside a bitmap (property/intervals_test.c) do not reach: the greatest number,
 * and what ends the program. */
#include "core/adt/intervals.h"

#include "../../support/suite.h"
#include "../../support/tables.h"

#include <signal.h>

enum { CAPACITY = 4 };

static struct interval memory[CAPACITY];
static struct intervals set;
static void setup(void)
{
    intervals_init(&set, TABLE_OF(memory));
}

static void add_both(uint64_t first, uint64_t second)
{
    ck_assert(intervals_add(&set, first) && intervals_add(&set, second));
}

FIXTURE(setup, NULL)

TEST(intervals_init__needs_capacity, .signal = SIGABRT)
{
    intervals_init(&set, table_of(memory, 0, sizeof memory[0]));
}

TEST(intervals_extend__of_nothing, .signal = SIGABRT)
{
    intervals_extend(&set, 1);
}

TEST(intervals_remove_below__the_greatest_number)
{
    add_both(2, 8);
    ck_assert_uint_eq(intervals_find(&set, UINT64_MAX), set.count);
    intervals_remove_below(&set, UINT64_MAX);
    ck_assert_uint_eq(set.count, 0);
}

/* Each breaks one invariant; intervals_check ends the process. */
TEST(intervals_check__fires, .rows = 3, .signal = SIGABRT)
{
    add_both(2, 8);
    switch (_i) {
    case 0:
        set.count = CAPACITY + 1;
        break;
    case 1:
        set.interval[1].last = set.interval[1].first;
        break;
    default:
        set.interval[1].first = set.interval[0].last;
        break;
    }
    intervals_check(&set);
}
