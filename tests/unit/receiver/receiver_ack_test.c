#include "core/receiver/receiver_ack.h"

#include "../../support/suite.h"
#include "../../support/tables.h"
#include "core/wire/burst.h"

#include <stdio.h>

enum { CAPACITY = 16, FIRST = 5 };

static struct interval memory[CAPACITY];
static struct receiver_ack a;

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
    ck_assert(a.is_trimmed);
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

TEST(check__fires, .rows = 3, .signal = 6)
{
    receiver_ack_add(&a, SECOND, FIRST, 1);
    if (_i == 0)
        a.arrived.interval[0].last = a.arrived.interval[0].first;
    else if (_i == 1)
        a.newest++;
    else
        a.told[1] = a.newest + 2;
    receiver_ack_check(&a);
}
