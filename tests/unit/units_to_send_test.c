#include "core/units_to_send.h"

#include "../support/counter_starts.h"
#include "core/control.h"
#include "core/datagram.h"

#include <check.h>
#include <signal.h>
#include <stdlib.h>

enum { MESSAGES = 8, REPEATS = 4, MAX = 64 };

static struct message_out ring[MESSAGES];
static uint64_t posted[MESSAGES * MESSAGES_OUT_AHEAD];
static uint64_t ready[MESSAGES];
static struct fragment memory[REPEATS];
static struct messages_out messages;
static struct units_to_send u;
static uint64_t start; /* message numbers in the tests count from here */

static void setup_at(uint64_t first)
{
    start = first;
    messages_out_init(&messages, ring, posted, ready, MESSAGES, first);
    units_to_send_init(&u, &messages, memory, REPEATS, first);
}

static void setup(void)
{
    setup_at(0);
}

/* A message whose buffer is known. */
static struct message_out *add(uint64_t size)
{
    static const uint8_t buffer[1];
    messages_out_announce(&messages, messages.next, size);
    return messages_out_add(&messages, NULL, buffer, size);
}

static void expect_head(uint64_t index, uint64_t offset, uint32_t length, bool is_last)
{
    struct fragment head;
    ck_assert(units_to_send_head(&u, MAX, &head));
    ck_assert_uint_eq(head.message, start + index);
    ck_assert_uint_eq(head.offset, offset);
    ck_assert_uint_eq(head.length, length);
    ck_assert_int_eq(head.is_last, is_last);
}

static void expect_unit(uint64_t index, uint64_t offset, uint32_t length, bool is_last)
{
    struct fragment head;
    expect_head(index, offset, length, is_last);
    units_to_send_head(&u, MAX, &head);
    units_to_send_take(&u, &head, 1);
}

static void expect_nothing(void)
{
    struct fragment head;
    ck_assert(!units_to_send_head(&u, MAX, &head));
}

static void repeat(uint64_t index, uint64_t offset, uint32_t length, bool is_last)
{
    struct fragment fragment = {.message = start + index,
                                .offset = offset,
                                .length = length,
                                .is_last = is_last,
                                .is_repeat = true};
    units_to_send_repeat(&u, &fragment);
}

START_TEST(units_to_send_init__is_empty)
{
    setup_at(counter_start(_i));
    expect_nothing();
}
END_TEST

START_TEST(units_to_send_init__needs_a_power_of_two)
{
    units_to_send_init(&u, &messages, memory, _i == 0 ? 0 : 3, 0);
}
END_TEST

START_TEST(units_to_send_head__cuts_messages_in_order)
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
END_TEST

START_TEST(units_to_send_head__takes_nothing)
{
    add(100);
    expect_head(0, 0, 64, false);
    expect_head(0, 0, 64, false);
}
END_TEST

START_TEST(units_to_send_head__waits_for_the_buffer)
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
END_TEST

START_TEST(units_to_send_head__size_may_change_in_between)
{
    struct fragment head;
    add(200);
    expect_unit(0, 0, 64, false);
    ck_assert(units_to_send_head(&u, 96, &head));
    ck_assert_uint_eq(head.length, 96);
    units_to_send_take(&u, &head, 1);
    expect_unit(0, 160, 40, true);
}
END_TEST

START_TEST(units_to_send_head__void_is_one_empty_unit)
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
END_TEST

START_TEST(units_to_send_head__passes_over_what_has_ended)
{
    struct message_out *first = add(200);
    add(10);
    messages_out_end(&messages, first, OUTCOME_SILENT);
    expect_unit(1, 0, 10, true);
    expect_nothing();
}
END_TEST

/* How many units the head of a message of so many bytes makes a row with. */
static const struct {
    uint64_t size;
    uint32_t row;
} rows[] = {{0, 1},   {1, 1},   {64, 1},  {65, 1},
            {128, 1}, {129, 2}, {192, 2}, {MESSAGE_BYTES_MAX, MESSAGE_BYTES_MAX / MAX - 1}};
enum { ROWS = sizeof rows / sizeof rows[0] };

START_TEST(units_to_send_row__leaves_the_last)
{
    struct fragment head;
    add(rows[_i].size);
    ck_assert(units_to_send_head(&u, MAX, &head));
    ck_assert_uint_eq(units_to_send_row(&head), rows[_i].row);
}
END_TEST

START_TEST(units_to_send_row__of_a_repeat_is_one)
{
    struct fragment head;
    add(1000);
    expect_unit(0, 0, 64, false);
    repeat(0, 0, 64, false);
    ck_assert(units_to_send_head(&u, MAX, &head));
    ck_assert_uint_eq(units_to_send_row(&head), 1);
}
END_TEST

START_TEST(units_to_send_take__a_row)
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
END_TEST

START_TEST(units_to_send_repeat__goes_first_in_its_order)
{
    struct message_out *message = add(200);
    expect_unit(0, 0, 64, false);
    expect_unit(0, 64, 64, false);
    repeat(0, 64, 64, false);
    repeat(0, 0, 64, false);
    expect_unit(0, 64, 64, false);
    expect_unit(0, 0, 64, false);
    ck_assert_uint_eq(message->units_out, 2); /* out already */
    expect_unit(0, 128, 64, false);
    ck_assert_uint_eq(message->units_out, 3);
}
END_TEST

START_TEST(units_to_send_repeat__is_cut_when_units_have_shrunk)
{
    struct fragment head;
    struct message_out *message = add(100);
    ck_assert(units_to_send_head(&u, 128, &head));
    units_to_send_take(&u, &head, 1);
    ck_assert_uint_eq(message->units_out, 1);
    repeat(0, 0, 100, true);
    expect_unit(0, 0, 64, false);
    expect_unit(0, 64, 36, true);
    ck_assert_uint_eq(message->units_out, 2);
    expect_nothing();
}
END_TEST

START_TEST(units_to_send_rejoin__what_was_cut)
{
    struct fragment head;
    struct message_out *message = add(100);
    ck_assert(units_to_send_head(&u, 128, &head));
    ck_assert(!units_to_send_is_part(&u, &head));
    units_to_send_take(&u, &head, 1);
    repeat(0, 0, 100, true);
    ck_assert(units_to_send_head(&u, MAX, &head));
    ck_assert(units_to_send_is_part(&u, &head));
    units_to_send_take(&u, &head, 1);
    ck_assert(units_to_send_rejoin(&u, &head));
    ck_assert_uint_eq(message->units_out, 1);
    ck_assert_uint_eq(u.count, 1);
    ck_assert(units_to_send_head(&u, 128, &head));
    ck_assert_uint_eq(head.offset, 0);
    ck_assert_uint_eq(head.length, 100);
    ck_assert(head.is_last);
}
END_TEST

START_TEST(units_to_send_rejoin__only_what_goes_on)
{
    add(1000);
    struct fragment part = {.message = 0, .offset = 64, .length = 64};
    ck_assert(!units_to_send_rejoin(&u, &part)); /* nothing there */
    repeat(0, 192, 64, false);
    ck_assert(!units_to_send_rejoin(&u, &part)); /* a gap between */
    part.offset = 192;
    ck_assert(!units_to_send_rejoin(&u, &part)); /* the same */
    part.message = 1;
    part.offset = 128;
    ck_assert(!units_to_send_rejoin(&u, &part)); /* another message's */
    ck_assert_uint_eq(u.count, 1);
}
END_TEST

START_TEST(units_to_send_repeat__of_what_is_over_is_dropped)
{
    struct message_out *first = add(64);
    struct message_out *second = add(64);
    struct message_out *third = add(64);
    for (uint64_t i = 0; i < 3; i++)
        expect_unit(i, 0, 64, true);
    for (uint64_t i = 0; i < 3; i++)
        repeat(i, 0, 64, true);
    messages_out_end(&messages, first, OUTCOME_SILENT);
    messages_out_refuse(&messages, second, VOID_CANCELLED, OUTCOME_CANCELLED);
    second->is_cut = true; /* its void unit is elsewhere */
    expect_unit(2, 0, 64, true);
    ck_assert_uint_eq(third->units_out, 1);
    expect_nothing();
}
END_TEST

START_TEST(units_to_send_repeat__without_room)
{
    add(64);
    for (int i = 0; i <= REPEATS; i++)
        repeat(0, 0, 64, true);
}
END_TEST

START_TEST(units_to_send_forget__table)
{
    add(1000);
    for (uint64_t i = 0; i < 6; i++)
        expect_unit(0, 64 * i, 64, false);
    repeat(0, 0, 64, false); /* so that the queue wraps */
    expect_unit(0, 0, 64, false);
    for (uint64_t i = 0; i < REPEATS; i++)
        repeat(0, 64 * i, 64, false);
    struct fragment fragment = {.message = 0, .offset = 64 * (uint64_t)_i, .length = 64};
    uint32_t length = 0;
    ck_assert(units_to_send_forget(&u, &fragment, &length));
    ck_assert_uint_eq(length, 64);
    ck_assert(!units_to_send_forget(&u, &fragment, &length));
    for (int i = 0; i < REPEATS; i++)
        if (i != _i)
            expect_unit(0, 64 * (uint64_t)i, 64, false);
    expect_unit(0, 6 * 64, 64, false);
}
END_TEST

START_TEST(units_to_send_forget__only_just_these_bytes)
{
    add(1000);
    repeat(0, 64, 64, false);
    struct fragment other[] = {{.message = 1, .offset = 64, .length = 64},
                               {.message = 0, .offset = 0, .length = 64},
                               {.message = 0, .offset = 64, .length = 32},
                               {.message = 0, .offset = 64, .length = 64, .is_void = true}};
    uint32_t length;
    for (int i = 0; i < 4; i++)
        ck_assert(!units_to_send_forget(&u, &other[i], &length));
    ck_assert_uint_eq(u.count, 1);
}
END_TEST

START_TEST(units_to_send_forget__each_part)
{
    add(1000);
    repeat(0, 64, 64, false);
    repeat(0, 192, 32, false);
    repeat(0, 256, 64, false);
    struct fragment all = {.message = 0, .offset = 64, .length = 160};
    uint32_t length = 0;
    ck_assert(units_to_send_forget(&u, &all, &length));
    ck_assert_uint_eq(length, 64);
    ck_assert(units_to_send_forget(&u, &all, &length));
    ck_assert_uint_eq(length, 32);
    ck_assert(!units_to_send_forget(&u, &all, &length));
    expect_unit(0, 256, 64, false);
}
END_TEST

START_TEST(units_to_send_reset__passes_over_all)
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
END_TEST

static void add_tests_of_repeats(TCase *tcase)
{
    tcase_add_test(tcase, units_to_send_repeat__goes_first_in_its_order);
    tcase_add_test(tcase, units_to_send_repeat__is_cut_when_units_have_shrunk);
    tcase_add_test(tcase, units_to_send_rejoin__what_was_cut);
    tcase_add_test(tcase, units_to_send_rejoin__only_what_goes_on);
    tcase_add_test(tcase, units_to_send_repeat__of_what_is_over_is_dropped);
    tcase_add_test_raise_signal(tcase, units_to_send_repeat__without_room, SIGABRT);
    tcase_add_loop_test(tcase, units_to_send_forget__table, 0, REPEATS);
    tcase_add_test(tcase, units_to_send_forget__only_just_these_bytes);
    tcase_add_test(tcase, units_to_send_forget__each_part);
}

int main(void)
{
    Suite *suite = suite_create("units_to_send");
    TCase *tcase = tcase_create("units_to_send");
    tcase_add_checked_fixture(tcase, setup, NULL);
    tcase_add_loop_test(tcase, units_to_send_init__is_empty, 0, COUNTER_STARTS);
    tcase_add_loop_test_raise_signal(tcase, units_to_send_init__needs_a_power_of_two, SIGABRT, 0,
                                     2);
    tcase_add_loop_test(tcase, units_to_send_head__cuts_messages_in_order, 0, COUNTER_STARTS);
    tcase_add_test(tcase, units_to_send_head__takes_nothing);
    tcase_add_test(tcase, units_to_send_head__waits_for_the_buffer);
    tcase_add_test(tcase, units_to_send_head__size_may_change_in_between);
    tcase_add_test(tcase, units_to_send_head__void_is_one_empty_unit);
    tcase_add_test(tcase, units_to_send_head__passes_over_what_has_ended);
    tcase_add_loop_test(tcase, units_to_send_row__leaves_the_last, 0, ROWS);
    tcase_add_test(tcase, units_to_send_row__of_a_repeat_is_one);
    tcase_add_test(tcase, units_to_send_take__a_row);
    add_tests_of_repeats(tcase);
    tcase_add_test(tcase, units_to_send_reset__passes_over_all);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
