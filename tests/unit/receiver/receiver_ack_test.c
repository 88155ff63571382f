#include "core/receiver/receiver_ack.h"

#include "../../support/suite.h"
#include "../../support/tables.h"
#include "core/wire/burst.h"

#include <stdio.h>

enum { CAPACITY = 16, FIRST = 5 };

static struct interval memory[CAPACITY];
static struct receiver_ack a;
static bool is_positive; /* the first interval of the last acknowledgement */

static void setup(void)
{
    receiver_ack_init(&a, TABLE_OF(memory), FIRST);
}

static void teardown(void)
{
    receiver_ack_check(&a);
}

static void add(uint64_t first, uint32_t units, bool is_newest, bool is_in_order)
{
    struct ack_order order = receiver_ack_add(&a, SECOND, first, units);
    ck_assert_int_eq(order.is_newest, is_newest);
    ck_assert_int_eq(order.is_in_order, is_in_order);
    receiver_ack_check(&a);
}

/* The bounds of the next acknowledgement, as text. */
static void expect(bool is_last, const char *bounds)
{
    uint8_t out[CONTROL_BYTES];
    struct block_ack header = {.capacity = 0};
    char text[256] = "";
    receiver_ack_write(&a, 2 * SECOND, is_last, out, &header);
    ck_assert_uint_eq(header.delay_us, a.arrived.count > 0 ? 1000000 : 0);
    is_positive = header.first_is_positive;
    for (uint32_t i = 0; header.length > 0 && i <= header.length; i++)
        sprintf(text + strlen(text), "%s%u", i == 0 ? "" : " ", ack_bound(&header, i));
    ck_assert_str_eq(text, bounds);
}

FIXTURE(setup, teardown)

TEST(add__order)
{
    add(FIRST, 1, true, true);
    add(FIRST + 1, 3, true, true);   /* a row */
    add(FIRST + 5, 1, true, true);   /* one may have been left out, */
    add(FIRST + 8, 1, true, false);  /* and not two */
    add(FIRST + 7, 1, false, false); /* late */
    add(FIRST + 7, 1, false, false); /* known */
    ck_assert_uint_eq(a.newest, FIRST + 8);
    ck_assert_uint_eq(receiver_ack_expand(&a, FIRST + 9), FIRST + 9);
}

TEST(add__first_is_not_the_first_sent)
{
    add(FIRST + 2, 1, true, false);
    expect(false, "5 7 8");
}

TEST(write__nothing)
{
    expect(false, "");
    ck_assert(is_positive);
}

/* Each interval is told ACK_REPORTS times, the newest always, and all of them at the last. */
TEST(write__tells_three_times)
{
    add(FIRST, 1, true, true);
    add(FIRST + 3, 1, true, false);
    for (int i = 0; i < ACK_REPORTS; i++)
        expect(false, "5 6 8 9");
    expect(false, "8 9");
    expect(true, "5 6 8 9");
    add(FIRST + 1, 1, false, false); /* what lies around a late one is told again */
    expect(false, "5 7 8 9");
}

/* When half of the table is in use what was told often enough goes. */
TEST(write__forgets_what_was_told)
{
    for (uint32_t i = 0; i < CAPACITY - 2; i++)
        receiver_ack_add(&a, SECOND, FIRST + 3 * i, 1);
    for (int i = 0; i < ACK_REPORTS; i++) {
        uint8_t out[CONTROL_BYTES];
        struct block_ack header = {.capacity = 0};
        receiver_ack_write(&a, SECOND, false, out, &header);
        ck_assert_uint_eq(header.delay_us, 0);
    }
    ck_assert_uint_eq(a.arrived.count, CAPACITY / 2);
    ck_assert_uint_gt(a.floor, FIRST);
}

/* A number comes late where others were forgotten: in the last acknowledgement it would say of
 * these that they did not come. */
TEST(write__the_last_tells_from_where_nothing_was_forgotten)
{
    add(FIRST, 3, true, true);
    add(FIRST + 5, 2, true, false);
    add(FIRST + 9, 1, true, false);
    for (int i = 0; i < ACK_REPORTS; i++)
        expect(false, "5 8 10 12 14 15");
    receiver_ack_rest(&a);
    add(FIRST + 1, 1, false, false);
    expect(false, "6 7 14 15");
    expect(true, "14 15");
    add(FIRST + 12, 1, true, false);
    expect(true, "14 15 17 18");
    add(FIRST + 7, 1, false, false); /* next to what is forgotten, and above it */
    expect(true, "12 13 14 15 17 18");
}

/* The same for want of room. */
TEST(write__the_last_tells_from_where_there_was_room)
{
    for (uint32_t i = 0; i < CAPACITY + 2; i++)
        receiver_ack_add(&a, SECOND, FIRST + 3 * i, 1);
    ck_assert_uint_eq(a.floor, FIRST + 6);
    receiver_ack_add(&a, SECOND, FIRST + 1, 1); /* has no room, either */
    ck_assert_uint_eq(a.floor, FIRST + 6);
    receiver_ack_add(&a, SECOND, FIRST + 3 * CAPACITY + 1, 1);
    receiver_ack_add(&a, SECOND, FIRST + 3 * CAPACITY + 2, 1); /* joins two: there is room */
    receiver_ack_add(&a, SECOND, FIRST + 1, 1);
    ck_assert_uint_eq(a.arrived.interval[0].first, FIRST + 1);
    uint8_t out[CONTROL_BYTES];
    struct block_ack header = {.capacity = 0};
    receiver_ack_write(&a, SECOND, true, out, &header);
    ck_assert_uint_eq(ack_bound(&header, 0), FIRST + 6);
}

TEST(forget__begins_anew)
{
    add(FIRST, 4, true, true);
    a.marks = 3;
    receiver_ack_forget(&a);
    ck_assert_uint_eq(a.marks, 0);
    expect(false, "");
    add(FIRST, 1, true, true);
}

TEST(check__fires, .rows = 4, .signal = 6)
{
    receiver_ack_add(&a, SECOND, FIRST, 1);
    if (_i == 0)
        a.arrived.interval[0].last = a.arrived.interval[0].first;
    else if (_i == 1)
        a.newest++;
    else if (_i == 2)
        a.floor = a.newest + 1;
    else
        a.told[1] = a.newest + 2;
    receiver_ack_check(&a);
}

/* What was told often enough is of no use to one that rests. The newest stays. */
TEST(rest__forgets_what_was_told)
{
    add(FIRST, 1, true, true);
    add(FIRST + 3, 1, true, false);
    add(FIRST + 6, 1, true, false);
    expect(false, "5 6 8 9 11 12");
    receiver_ack_rest(&a); /* it was told once */
    for (int i = 1; i < ACK_REPORTS; i++)
        expect(false, "5 6 8 9 11 12");
    receiver_ack_rest(&a);
    ck_assert_uint_eq(a.arrived.count, 1);
    expect(true, "11 12");
    ck_assert(is_positive);
}

TEST(rest__of_nothing)
{
    receiver_ack_rest(&a);
    expect(false, "");
}

/* The next session tells from its start again, whatever found no room in this one. */
TEST(forget__what_found_no_room)
{
    for (uint32_t i = 0; i < 2 * CAPACITY; i++)
        (void)receiver_ack_add(&a, SECOND, FIRST + 2 * i, 1);
    ck_assert_uint_gt(a.arrived.forgotten, 0);
    receiver_ack_forget(&a);
    (void)receiver_ack_add(&a, SECOND, FIRST + 1, 1);
    expect(false, "5 6 7");
    ck_assert(!is_positive);
}

/* Numbers of the wire are near the newest, or near the first while there is none. */
TEST(expand__near_what_is_known)
{
    const uint64_t high = UINT64_C(7) << 32;
    receiver_ack_init(&a, TABLE_OF(memory), high);
    ck_assert_uint_eq(receiver_ack_expand(&a, 3), high + 3);
    ck_assert_uint_eq(receiver_ack_expand(&a, UINT32_MAX), high - 1);
    (void)receiver_ack_add(&a, SECOND, high + (UINT64_C(3) << 32), 1);
    ck_assert_uint_eq(receiver_ack_expand(&a, 3), high + (UINT64_C(3) << 32) + 3);
    (void)receiver_ack_add(&a, SECOND, high + (UINT64_C(4) << 32), 1);
    ck_assert_uint_eq(receiver_ack_expand(&a, 3), high + (UINT64_C(4) << 32) + 3);
}

/* Bounds lie less than 2^31 apart, so what is further below the newest is not told. */
TEST(write__no_further_back_than_numbers_reach, .rows = 4)
{
    static const uint64_t gaps[] = {1000, UINT64_C(1) << 31, UINT64_C(1) << 33, 0xC0000000};
    uint8_t out[CONTROL_BYTES];
    struct block_ack header = {.capacity = 0};
    (void)receiver_ack_add(&a, SECOND, FIRST, 1);
    (void)receiver_ack_add(&a, SECOND, FIRST + 2, 1);
    (void)receiver_ack_add(&a, SECOND, FIRST + 2 + gaps[_i], 1);
    receiver_ack_write(&a, SECOND, true, out, &header);
    ck_assert_uint_eq(header.length, _i == 0 ? 5 : 1);
    ck_assert(header.first_is_positive);
    uint32_t span = ack_bound(&header, header.length) - ack_bound(&header, 0);
    ck_assert_uint_lt(span, UINT64_C(1) << 31);
}

/* An interval may reach below that: its part above is told. */
TEST(write__a_part_of_an_interval)
{
    uint8_t out[CONTROL_BYTES];
    struct block_ack header = {.capacity = 0};
    (void)receiver_ack_add(&a, SECOND, FIRST, UINT32_MAX);
    (void)receiver_ack_add(&a, SECOND, FIRST + 1 + UINT64_C(0xFFFFFFFF), 1);
    receiver_ack_write(&a, SECOND, true, out, &header);
    ck_assert_uint_eq(header.length, 3);
    ck_assert_uint_lt(ack_bound(&header, 3) - ack_bound(&header, 0), UINT64_C(1) << 31);
}

/* ---- room ---- */

enum { MANY = 1024, BODY = CONTROL_BYTES - TRAILER_BYTES };

static struct interval many[MANY];

/* As many of the newest intervals as a datagram holds, and no byte behind them. */
TEST(write__as_many_as_there_is_room_for, .rows = 2)
{
    uint8_t out[2 * CONTROL_BYTES];
    struct block_ack header = {.capacity = 0};
    memset(out, 0xA5, sizeof out);
    receiver_ack_init(&a, TABLE_OF(many), FIRST);
    for (uint32_t i = 0; i < MANY; i++)
        (void)receiver_ack_add(&a, SECOND, FIRST + 1 + 2 * i, 1);
    receiver_ack_write(&a, SECOND, _i == 1, out, &header);
    uint32_t bytes = (header.length + 1u) * ACK_BOUND_BYTES;
    ck_assert_uint_le(bytes, BODY);
    ck_assert_uint_gt(bytes, BODY - 4 * ACK_BOUND_BYTES);
    ck_assert_uint_eq(ack_bound(&header, header.length), FIRST + 2 * MANY);
    for (size_t i = BODY; i < sizeof out; i++)
        ck_assert_uint_eq(out[i], 0xA5);
}
