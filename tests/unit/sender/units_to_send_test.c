/* What is cut from messages, in their order. Repeats are in units_to_repeat_test.c. */
#include "units_to_send_rig.h"

#include "../../support/counter_starts.h"
#include "../../support/suite.h"

#include <signal.h>

FIXTURE(setup, NULL)

TEST(units_to_send_init__is_empty, .rows = COUNTER_STARTS)
{
    setup_at(counter_start(_i));
    expect_nothing();
}

TEST(units_to_send_init__needs_a_power_of_two, .rows = 2, .signal = SIGABRT)
{
    units_to_send_init(&u, &messages, memory, _i == 0 ? 0 : 3, 0);
}

TEST(units_to_send_head__cuts_messages_in_order, .rows = COUNTER_STARTS)
{
    setup_at(counter_start(_i));
    struct message_out *first = add(100);
    struct message_out *empty = add(0);
    struct message_out *whole = add(MAX);
    expect_unit(0, 0, 64, false);
    ck_assert(!first->is_cut);
    expect_unit(0, 64, 36, true);
    ck_assert(first->is_cut);
    ck_assert_uint_eq(first->units_out, 2);
    expect_unit(1, 0, 0, true);
    ck_assert(empty->is_cut);
    ck_assert_uint_eq(empty->units_out, 1);
    expect_unit(2, 0, 64, true);
    ck_assert_uint_eq(whole->units_out, 1);
    expect_nothing();
}

TEST(units_to_send_head__takes_nothing)
{
    add(100);
    expect_head(0, 0, 64, false);
    expect_head(0, 0, 64, false);
}

TEST(units_to_send_head__waits_for_the_buffer)
{
    static const uint8_t buffer[1];
    messages_out_add(&messages, NULL, buffer, 10);
    messages_out_add(&messages, NULL, buffer, 20);
    messages_out_announce(&messages, 1, 20);
    expect_nothing(); /* message 0 comes first */
    messages_out_announce(&messages, 0, 10);
    expect_unit(0, 0, 10, true);
    expect_unit(1, 0, 20, true);
    expect_nothing();
}

TEST(units_to_send_head__size_may_change_in_between)
{
    struct fragment head;
    add(200);
    expect_unit(0, 0, 64, false);
    ck_assert(units_to_send_head(&u, 96, &head));
    ck_assert_uint_eq(head.length, 96);
    units_to_send_take(&u, &head, 1);
    expect_unit(0, 160, 40, true);
}

TEST(units_to_send_head__void_is_one_empty_unit)
{
    struct fragment head;
    struct message_out *message = add(200);
    expect_unit(0, 0, 64, false);
    messages_out_refuse(&messages, message, VOID_CANCELLED, OUTCOME_CANCELLED);
    ck_assert(units_to_send_head(&u, MAX, &head));
    ck_assert(head.is_void);
    ck_assert(head.is_last);
    ck_assert_uint_eq(head.length, 0);
    units_to_send_take(&u, &head, 1);
    ck_assert(message->is_cut);
    ck_assert_uint_eq(message->units_out, 1);
    expect_nothing();
}

TEST(units_to_send_head__passes_over_what_has_ended)
{
    struct message_out *first = add(200);
    add(10);
    messages_out_end(&messages, first, OUTCOME_SILENT);
    expect_unit(1, 0, 10, true);
    expect_nothing();
}

/* How many units the head of a message of so many bytes makes a row with. */
static const struct {
    uint64_t size;
    uint32_t row;
} rows[] = {{0, 1},   {1, 1},   {64, 1},  {65, 1},
            {128, 1}, {129, 2}, {192, 2}, {MESSAGE_BYTES_MAX, MESSAGE_BYTES_MAX / MAX - 1}};
enum { ROWS = sizeof rows / sizeof rows[0] };

TEST(units_to_send_row__leaves_the_last, .rows = ROWS)
{
    struct fragment head;
    add(rows[_i].size);
    ck_assert(units_to_send_head(&u, MAX, &head));
    ck_assert_uint_eq(units_to_send_row(&head), rows[_i].row);
}

TEST(units_to_send_take__a_row)
{
    struct fragment head;
    struct message_out *message = add(300);
    ck_assert(units_to_send_head(&u, MAX, &head));
    ck_assert_uint_eq(units_to_send_row(&head), 4);
    units_to_send_take(&u, &head, 3);
    ck_assert_uint_eq(message->units_out, 3);
    ck_assert(units_to_send_head(&u, MAX, &head));
    ck_assert_uint_eq(units_to_send_row(&head), 1);
    expect_unit(0, 192, 64, false);
    expect_unit(0, 256, 44, true);
    ck_assert(message->is_cut);
    expect_nothing();
}

TEST(units_to_send_reset__passes_over_all)
{
    add(100);
    expect_unit(0, 0, 64, false);
    repeat(0, 0, 64, false);
    add(100);
    units_to_send_reset(&u);
    expect_nothing();
    add(10);
    expect_unit(2, 0, 10, true);
}
