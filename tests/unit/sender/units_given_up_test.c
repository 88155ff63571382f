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
    struct unit_given_up unit = {
        .seq = seq, .predecessor = was, .part = whole, .has_arrived = true};
    units_given_up_put(&g, &unit);
    units_given_up_check(&g);
}

/* [first, last) have arrived, and with it the only one, or none, of these. */
static void arrive(uint64_t first, uint64_t last, uint64_t expected)
{
    uint64_t seq = first;
    const struct unit_given_up *unit = units_given_up_arrive(&g, &seq, last);
    if (expected == UNIT_NEVER_SENT) {
        ck_assert_ptr_null(unit);
        return;
    }
    ck_assert_uint_eq(unit->seq, expected);
    ck_assert_uint_eq(seq, expected + 1);
    ck_assert_ptr_null(units_given_up_arrive(&g, &seq, last));
    units_given_up_check(&g);
}

FIXTURE(setup, NULL)

TEST(units_given_up_init__needs_a_power_of_two, .rows = 2, .signal = SIGABRT)
{
    units_given_up_init(&g, memory, _i == 0 ? 0 : 3);
}

TEST(units_given_up_put__has_not_arrived)
{
    put(7, UNIT_NEVER_SENT);
    ck_assert(!units_given_up_has_brought(&g, 7, &whole));
}

TEST(units_given_up_put__in_any_order)
{
    put(7, UNIT_NEVER_SENT);
    put(3, UNIT_NEVER_SENT);
    put(5, UNIT_NEVER_SENT);
    arrive(5, 6, 5);
    arrive(0, 4, 3);
    arrive(0, 100, 7);
}

TEST(units_given_up_put__forgets_the_oldest)
{
    for (uint64_t seq = 0; seq < CAPACITY; seq++)
        put(seq, UNIT_NEVER_SENT);
    arrive(0, 1, 0);
    put(CAPACITY, UNIT_NEVER_SENT); /* which is forgotten with 0 */
    ck_assert_uint_eq(g.count, CAPACITY);
    ck_assert_uint_eq(g.arrived, 0);
    arrive(0, 2, 1);
    ck_assert(!units_given_up_has_brought(&g, 0, &whole));
}

TEST(units_given_up_arrive__ends_are_half_open)
{
    put(5, UNIT_NEVER_SENT);
    arrive(0, 5, UNIT_NEVER_SENT);
    arrive(6, 100, UNIT_NEVER_SENT);
    arrive(5, 6, 5);
    arrive(5, 6, UNIT_NEVER_SENT); /* once each */
    ck_assert_uint_eq(g.arrived, 1);
}

TEST(units_given_up_has_brought__by_any_that_it_repeats, .rows = 3)
{
    static const uint64_t number[] = {2, 5, 9};
    put(2, UNIT_NEVER_SENT);
    put(5, 2);
    put(9, 5);
    arrive(number[_i], number[_i] + 1, number[_i]);
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(units_given_up_has_brought(&g, number[i], &whole), i >= _i);
    ck_assert(!units_given_up_has_brought(&g, 4, &whole));
    ck_assert(!units_given_up_has_brought(&g, UNIT_NEVER_SENT, &whole));
}

static const struct {
    struct unit_part part;
    bool is_brought;
} parts[] = {
    {{.message = 1, .offset = 64, .length = 64}, true},
    {{.message = 1, .offset = 64, .length = 32}, true},
    {{.message = 1, .offset = 96, .length = 32}, true},
    {{.message = 1, .offset = 32, .length = 64}, false},
    {{.message = 1, .offset = 96, .length = 64}, false},
    {{.message = 2, .offset = 64, .length = 64}, false},
    {{.message = 1, .offset = 64, .length = 64, .is_void = true}, false},
};
enum { PARTS = sizeof parts / sizeof parts[0] };

TEST(units_given_up_has_brought__parts_of_it, .rows = PARTS)
{
    put(5, UNIT_NEVER_SENT);
    arrive(5, 6, 5);
    ck_assert_int_eq(units_given_up_has_brought(&g, 5, &parts[_i].part), parts[_i].is_brought);
}

TEST(units_given_up_remove_arrived__keeps_the_others)
{
    for (uint64_t seq = 0; seq < CAPACITY; seq++)
        put(seq, UNIT_NEVER_SENT);
    arrive(1, 2, 1);
    arrive(3, 4, 3);
    units_given_up_remove_arrived(&g);
    units_given_up_check(&g);
    ck_assert_uint_eq(g.count, 2);
    arrive(1, 2, UNIT_NEVER_SENT);
    arrive(0, 2, 0);
    arrive(2, 4, 2);
}

TEST(units_given_up_clear__forgets_all)
{
    put(5, UNIT_NEVER_SENT);
    arrive(5, 6, 5);
    units_given_up_clear(&g);
    units_given_up_check(&g);
    arrive(0, 100, UNIT_NEVER_SENT);
    ck_assert(!units_given_up_has_brought(&g, 5, &whole));
}

/* Each breaks one invariant. */
TEST(units_given_up_check__fires, .rows = 4, .signal = SIGABRT)
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
    default:
        g.arrived = 1;
        break;
    }
    units_given_up_check(&g);
}
