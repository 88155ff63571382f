/* What random calls beside an array (property/units_in_transit_test.c) do not reach: how long a
 * walk is, and what ends the program. */
#include "core/sender/units_in_transit.h"

#include "../../support/suite.h"
#include "../../support/tables.h"
#include "core/wire/datagram.h"

#include <signal.h>

enum { CAPACITY = 1024, LENGTH = 1440 };

static struct transit_unit memory[CAPACITY];
static struct units_in_transit t;

static void setup_of(uint32_t capacity)
{
    units_in_transit_init(&t, table_of(memory, capacity, sizeof memory[0]), 0);
}

static void setup(void)
{
    setup_of(CAPACITY);
}

static void put(uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        struct transit_unit unit = {.message = 7, .offset = t.next, .length = LENGTH};
        uint64_t expected = t.next;
        ck_assert_uint_eq(units_in_transit_put(&t, &unit, 1), expected);
    }
    units_in_transit_check(&t);
}

static void take(uint64_t first, uint64_t last)
{
    for (uint64_t i = first; i < last; i++)
        units_in_transit_remove(&t, i);
    units_in_transit_check(&t);
}

/* What is found in [first, last); `last` when there is nothing. */
static uint64_t find(uint64_t first, uint64_t last)
{
    uint64_t seq = first;
    struct transit_unit *unit = units_in_transit_find(&t, &seq, last);
    ck_assert_int_eq(unit == NULL, seq == last);
    if (unit != NULL)
        ck_assert_uint_eq(unit->offset, seq);
    return seq;
}

/* The steps that the next find from `first` will make over entries that are gone. */
static uint64_t steps(uint64_t first)
{
    uint64_t count = 0;
    uint64_t seq = first;
    while (seq < t.next && !memory[seq & (t.capacity - 1)].is_in_transit) {
        seq += memory[seq & (t.capacity - 1)].skip;
        count++;
    }
    return count;
}

FIXTURE(setup, NULL)

TEST(units_in_transit_init__needs_a_power_of_two, .rows = 2, .signal = SIGABRT)
{
    setup_of(_i == 0 ? 0 : 24);
}

TEST(units_in_transit_put__keeps_the_unit)
{
    struct transit_unit unit = {.message = 5,
                                .offset = UINT64_C(1) << 33,
                                .sent = 77,
                                .length = 96,
                                .skip = 99,
                                .behind = 7,
                                .is_last = true};
    uint64_t seq = units_in_transit_put(&t, &unit, 1);
    const struct transit_unit *found = units_in_transit_find(&t, &seq, seq + 1);
    ck_assert_uint_eq(found->message, 5);
    ck_assert_uint_eq(found->offset, UINT64_C(1) << 33);
    ck_assert_int_eq(found->sent, 77);
    ck_assert_uint_eq(found->length, 96);
    ck_assert_uint_eq(found->behind, 7);
    ck_assert(found->is_last && !found->is_void);
}

TEST(units_in_transit_put__without_room, .signal = SIGABRT)
{
    setup_of(8);
    put(9);
}

/* Acknowledgements name the same interval again and again: from the first time on, the steps are
 * halved by each walk. */
TEST(units_in_transit_find__walks_what_is_gone_once)
{
    put(CAPACITY);
    take(1, CAPACITY - 1);
    uint64_t total = 0;
    for (int i = 0; i < 1000; i++) {
        total += steps(1);
        ck_assert_uint_eq(find(1, CAPACITY), CAPACITY - 1);
    }
    units_in_transit_check(&t);
    ck_assert_uint_eq(steps(1), 1);
    ck_assert_uint_le(total, 2 * CAPACITY + 1000);
}

/* The same while the interval grows, as it does behind one lost unit. */
TEST(units_in_transit_find__walks_a_growing_run)
{
    put(CAPACITY);
    uint64_t total = 0;
    for (uint64_t last = 2; last < CAPACITY; last++) {
        take(last - 1, last);
        total += steps(1);
        ck_assert_uint_eq(find(1, last), last);
    }
    ck_assert_uint_le(total, 4 * CAPACITY);
}

TEST(units_in_transit_remove__not_in_transit, .rows = 4, .signal = SIGABRT)
{
    static const uint64_t wrong[] = {0, 2, 4, UINT64_MAX}; /* below base, gone, not sent yet */
    put(4);
    take(0, 1);
    take(2, 3);
    units_in_transit_remove(&t, wrong[_i]);
}

/* Each breaks one invariant; units_in_transit_check ends the process. */
TEST(units_in_transit_check__fires, .rows = 6, .signal = SIGABRT)
{
    setup_of(8);
    put(8);
    take(2, 4);
    switch (_i) {
    case 0:
        t.next++;
        break;
    case 1:
        t.base = 2;
        break;
    case 2:
        t.units++;
        break;
    case 3:
        t.bytes--;
        break;
    case 4:
        memory[2].skip = 0;
        break;
    default:
        memory[3].skip = 2;
        break;
    }
    units_in_transit_check(&t);
}

/* Units 0 to 5 in transit, of which number 3 differs from the others, or is gone. */
static const struct {
    struct transit_unit third;
    bool is_gone;
} breaks[] = {
    {.third = {.message = 8, .sent = 1, .length = 64}},
    {.third = {.message = 7, .sent = 2, .length = 64}},
    {.third = {.message = 7, .sent = 1, .length = 32}},
    {.third = {.message = 7, .sent = 1, .length = 64, .is_void = true}},
    {.third = {.message = 7, .sent = 1, .length = 64, .is_cut = true}},
    {.third = {.message = 7, .sent = 1, .length = 64}, .is_gone = true},
};
enum { BREAKS = sizeof breaks / sizeof breaks[0] };

/* Three whole messages, the end of a longer one, and one that does not follow. */
TEST(units_in_transit_remove_row__of_messages)
{
    const struct transit_unit whole = {.message = 7, .length = 64, .is_last = true};
    const struct transit_unit rest = {.message = 10, .offset = 64, .length = 64, .is_last = true};
    const struct transit_unit later = {.message = 12, .length = 64, .is_last = true};
    static const uint32_t units[] = {3, 1, 1};
    static const uint64_t messages[] = {7, 10, 12};
    struct transit_row row;
    uint64_t seq = 0;
    units_in_transit_put(&t, &whole, 3);
    units_in_transit_put(&t, &rest, 1);
    units_in_transit_put(&t, &later, 1);
    for (int i = 0; i < 3; i++) {
        ck_assert(units_in_transit_remove_row(&t, &seq, 5, &row));
        ck_assert_uint_eq(row.units, units[i]);
        ck_assert_uint_eq(row.message, messages[i]);
        ck_assert(row.are_messages == (i != 1));
        units_in_transit_check(&t);
    }
    ck_assert_uint_eq(t.units, 0);
}

static void setup_break(int i)
{
    const struct transit_unit like = {.message = 7, .sent = 1, .length = 64};
    units_in_transit_put(&t, &like, 3);
    units_in_transit_put(&t, &breaks[i].third, 1);
    units_in_transit_put(&t, &like, 2);
    if (breaks[i].is_gone)
        units_in_transit_remove(&t, 3);
}

TEST(units_in_transit_remove_row__ends_at_a_difference, .rows = BREAKS)
{
    struct transit_row row;
    uint64_t seq = 0;
    setup_break(_i);
    ck_assert(units_in_transit_remove_row(&t, &seq, 6, &row));
    units_in_transit_check(&t);
    ck_assert_uint_eq(seq, 3);
    ck_assert_uint_eq(row.units, 3);
    ck_assert_uint_eq(row.message, 7);
    ck_assert_uint_eq(row.length, 64);
    ck_assert_int_eq(row.sent, 1);
    ck_assert(!row.is_void);
    ck_assert_uint_eq(t.base, breaks[_i].is_gone ? 4 : 3);
}
