#include "core/adt/intervals.h"

#include "../../support/counter_starts.h"
#include "../../support/suite.h"
#include "../../support/tables.h"

#include <signal.h>

enum { CAPACITY = 4 };

static struct interval memory[CAPACITY];
static struct intervals set;
static uint64_t start; /* numbers in the tests count from here */

static void setup(void)
{
    intervals_init(&set, TABLE_OF(memory));
    start = 0;
}

static bool add(uint64_t number)
{
    bool is_new = intervals_add(&set, start + number);
    intervals_check(&set);
    return is_new;
}

static void add_all(const uint64_t *number, int count)
{
    for (int i = 0; i < count; i++)
        ck_assert(add(number[i]));
}

static void expect(uint32_t index, uint64_t first, uint64_t last)
{
    ck_assert_uint_lt(index, set.count);
    ck_assert_uint_eq(set.interval[index].first, start + first);
    ck_assert_uint_eq(set.interval[index].last, start + last);
}

FIXTURE(setup, NULL)

TEST(intervals_init__is_empty)
{
    ck_assert_uint_eq(set.count, 0);
    ck_assert(!intervals_has(&set, 0));
    intervals_check(&set);
}

TEST(intervals_init__needs_capacity, .signal = SIGABRT)
{
    intervals_init(&set, table_of(memory, 0, sizeof memory[0]));
}

TEST(intervals_add__in_order_from_each_start, .rows = COUNTER_STARTS)
{
    start = counter_start(_i);
    for (uint64_t i = 0; i < 10; i++)
        ck_assert(add(i));
    ck_assert_uint_eq(set.count, 1);
    expect(0, 0, 10);
}

TEST(intervals_add__backwards, .rows = COUNTER_STARTS)
{
    start = counter_start(_i);
    for (uint64_t i = 10; i-- > 0;)
        ck_assert(add(i));
    ck_assert_uint_eq(set.count, 1);
    expect(0, 0, 10);
}

TEST(intervals_add__again_is_not_new)
{
    add_all((const uint64_t[]){3, 4, 5, 8}, 4);
    ck_assert(!add(3));
    ck_assert(!add(4));
    ck_assert(!add(5));
    ck_assert(!add(8));
    ck_assert_uint_eq(set.count, 2);
}

TEST(intervals_add__fills_the_gap, .rows = COUNTER_STARTS)
{
    start = counter_start(_i);
    add_all((const uint64_t[]){0, 1, 3, 4, 9}, 5);
    ck_assert_uint_eq(set.count, 3);
    ck_assert(add(2));
    ck_assert_uint_eq(set.count, 2);
    expect(0, 0, 5);
    expect(1, 9, 10);
}

TEST(intervals_add__extends_either_end)
{
    add_all((const uint64_t[]){10, 20}, 2);
    ck_assert(add(11));
    expect(0, 10, 12);
    ck_assert(add(9));
    expect(0, 9, 12);
    ck_assert(add(19));
    expect(1, 19, 21);
}

TEST(intervals_add__full_forgets_the_lowest)
{
    add_all((const uint64_t[]){0, 2, 4, 6}, CAPACITY);
    ck_assert_uint_eq(set.forgotten, 0);
    ck_assert(add(8));
    ck_assert_uint_eq(set.forgotten, 1);
    ck_assert_uint_eq(set.count, CAPACITY);
    expect(0, 2, 3);
    expect(3, 8, 9);
}

TEST(intervals_add__full_in_the_middle)
{
    add_all((const uint64_t[]){0, 2, 4, 10}, CAPACITY);
    ck_assert(add(7));
    expect(0, 2, 3);
    expect(1, 4, 5);
    expect(2, 7, 8);
    expect(3, 10, 11);
}

TEST(intervals_add__full_keeps_none_below_all)
{
    add_all((const uint64_t[]){10, 12, 14, 16}, CAPACITY);
    ck_assert(!add(2));
    ck_assert(!intervals_has(&set, 2));
    ck_assert_uint_eq(set.forgotten, 1);
    expect(0, 10, 11);
}

TEST(intervals_add__full_still_joins)
{
    add_all((const uint64_t[]){10, 12, 14, 16}, CAPACITY);
    ck_assert(add(9));
    ck_assert(add(11));
    ck_assert_uint_eq(set.forgotten, 0);
    ck_assert_uint_eq(set.count, 3);
    expect(0, 9, 13);
}

TEST(intervals_add__capacity_of_one)
{
    intervals_init(&set, table_of(memory, 1, sizeof memory[0]));
    ck_assert(add(5));
    ck_assert(add(7));
    ck_assert_uint_eq(set.count, 1);
    expect(0, 7, 8);
    ck_assert(!add(5));
}

TEST(intervals_extend__the_upper_end, .rows = COUNTER_STARTS)
{
    start = counter_start(_i);
    add_all((const uint64_t[]){0, 3}, 2);
    intervals_extend(&set, 4);
    intervals_check(&set);
    ck_assert_uint_eq(set.count, 2);
    expect(0, 0, 1);
    expect(1, 3, 8);
    ck_assert(!add(7));
    ck_assert(add(8));
}

TEST(intervals_extend__of_nothing, .signal = SIGABRT)
{
    intervals_extend(&set, 1);
}

TEST(intervals_has__ends_are_half_open, .rows = COUNTER_STARTS)
{
    start = counter_start(_i) + 1;
    add_all((const uint64_t[]){0, 1, 2, 5}, 4);
    ck_assert(!intervals_has(&set, start - 1));
    ck_assert(intervals_has(&set, start));
    ck_assert(intervals_has(&set, start + 2));
    ck_assert(!intervals_has(&set, start + 3));
    ck_assert(!intervals_has(&set, start + 4));
    ck_assert(intervals_has(&set, start + 5));
    ck_assert(!intervals_has(&set, start + 6));
}

TEST(intervals_remove_below__table)
{
    static const struct {
        uint64_t below;
        uint32_t count;
        uint64_t first; /* of what is left */
    } row[] = {
        {0, 2, 2}, {2, 2, 2}, {3, 2, 3},  {4, 2, 4},  {5, 1, 8},
        {8, 1, 8}, {9, 1, 9}, {10, 0, 0}, {99, 0, 0},
    };
    for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
        setup();
        add_all((const uint64_t[]){2, 3, 4, 8, 9}, 5);
        intervals_remove_below(&set, row[i].below);
        intervals_check(&set);
        ck_assert_uint_eq(set.count, row[i].count);
        if (set.count > 0)
            ck_assert_uint_eq(set.interval[0].first, row[i].first);
    }
}

TEST(intervals_remove_below__of_nothing)
{
    intervals_remove_below(&set, 7);
    ck_assert_uint_eq(set.count, 0);
}

TEST(intervals_remove_below__the_greatest_number)
{
    add_all((const uint64_t[]){2, 8}, 2);
    ck_assert(!intervals_has(&set, UINT64_MAX));
    intervals_remove_below(&set, UINT64_MAX);
    ck_assert_uint_eq(set.count, 0);
}

/* Each breaks one invariant; intervals_check ends the process. */
TEST(intervals_check__fires, .rows = 3, .signal = SIGABRT)
{
    add_all((const uint64_t[]){2, 8}, 2);
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
