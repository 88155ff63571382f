/* Repeats: in which order, in which parts, and which are forgotten. */
#include "units_to_send_rig.h"

#include "../../support/suite.h"

#include <signal.h>

FIXTURE(setup, NULL)

TEST(units_to_send_row__of_a_repeat_is_one)
{
    struct fragment head;
    add(1000);
    expect_unit(0, 0, 64, false);
    repeat(0, 0, 64, false);
    ck_assert(units_to_send_head(&u, MAX, &head));
    ck_assert_uint_eq(units_to_send_row(&head), 1);
}

TEST(units_to_send_repeat__goes_first_in_its_order)
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

TEST(units_to_send_repeat__is_cut_when_units_have_shrunk)
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

TEST(units_to_send_rejoin__what_was_cut)
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

TEST(units_to_send_rejoin__only_what_goes_on)
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

TEST(units_to_send_repeat__of_what_is_over_is_dropped)
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

TEST(units_to_send_repeat__without_room, .signal = SIGABRT)
{
    add(64);
    for (int i = 0; i <= REPEATS; i++)
        repeat(0, 0, 64, true);
}

TEST(units_to_send_pop__the_oldest)
{
    add(1000);
    repeat(0, 0, 64, false); /* so that the queue wraps */
    expect_unit(0, 0, 64, false);
    for (uint64_t i = 0; i < REPEATS; i++)
        repeat(0, 64 * i, 64, false);
    for (uint64_t i = 0; i < REPEATS; i++) {
        struct fragment oldest = units_to_send_pop(&u);
        ck_assert_uint_eq(oldest.offset, 64 * i);
        if (i % 2 == 0)
            units_to_send_repeat(&u, &oldest);
    }
    for (uint64_t i = 0; i < REPEATS; i += 2)
        expect_unit(0, 64 * i, 64, false);
    ck_assert_uint_eq(u.count, 0);
}

TEST(units_to_send_pop__of_none, .signal = SIGABRT)
{
    units_to_send_pop(&u);
}
