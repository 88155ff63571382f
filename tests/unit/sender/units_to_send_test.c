/* What random calls beside a list (property/units_to_send_test.c) do not reach. The peer's buffers
 * are known, and each as large as its message. */
#include "core/sender/units_to_send.h"

#include "../../support/suite.h"
#include "../../support/tables.h"
#include "core/wire/control.h"
#include "core/wire/datagram.h"

#include <signal.h>

enum { MESSAGES = 8, REPEATS = 4, MAX = 64 };

static struct message_out ring[MESSAGES];
static uint64_t posted[MESSAGES * MESSAGES_OUT_AHEAD];
static struct fragment memory[REPEATS];
static struct messages_out messages;
static struct units_to_send u;

static void setup(void)
{
    messages_out_init(&messages, TABLE_OF(ring), TABLE_OF(posted), 0);
    units_to_send_init(&u, &messages, memory, REPEATS, 0);
}

/* A message whose buffer is known. */
static struct message_out *add(uint64_t size)
{
    static const uint8_t buffer[1];
    messages_out_announce(&messages, messages.next, size);
    return messages_out_add(&messages, NULL, buffer, size);
}

static void expect_unit(uint64_t index, uint64_t offset, uint32_t length, bool is_last)
{
    struct fragment head;
    ck_assert(units_to_send_head(&u, MAX, &head));
    ck_assert_uint_eq(head.message, index);
    ck_assert_uint_eq(head.offset, offset);
    ck_assert_uint_eq(head.length, length);
    ck_assert_int_eq(head.is_last, is_last);
    units_to_send_take(&u, &head, 1);
}

static void expect_nothing(void)
{
    struct fragment head;
    ck_assert(!units_to_send_head(&u, MAX, &head));
}

static void repeat(uint64_t index, uint64_t offset, uint32_t length, bool is_last)
{
    struct fragment fragment = {.message = index,
                                .offset = offset,
                                .length = length,
                                .is_last = is_last,
                                .is_repeat = true};
    units_to_send_repeat(&u, &fragment);
}

FIXTURE(setup, NULL)

TEST(units_to_send_init__needs_a_power_of_two, .rows = 2, .signal = SIGABRT)
{
    units_to_send_init(&u, &messages, memory, _i == 0 ? 0 : 3, 0);
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

/* Five messages of 64 bytes, of which the fourth is larger, refused, or not announced: three go
 * together, and the cursor passes over them. */
TEST(units_to_send_messages__ends_at_another_kind, .rows = 3)
{
    struct fragment head;
    for (int i = 0; i < 5; i++) {
        struct message_out *message = add(i == 3 && _i == 0 ? 65 : 64);
        if (i == 3 && _i == 1)
            messages_out_refuse(&messages, message, VOID_CANCELLED, OUTCOME_CANCELLED);
    }
    if (_i == 2)
        messages.requested = 3;
    ck_assert(units_to_send_head(&u, MAX, &head));
    ck_assert_uint_eq(units_to_send_messages(&u, &head, 2), 2);
    ck_assert_uint_eq(units_to_send_messages(&u, &head, 9), 3);
    units_to_send_take(&u, &head, 3);
    ck_assert_uint_eq(u.cursor, 3);
    for (uint64_t n = 0; n < 3; n++) {
        ck_assert(messages_out_find(&messages, n)->is_cut);
        ck_assert_uint_eq(messages_out_find(&messages, n)->units_out, 1);
    }
    ck_assert(units_to_send_head(&u, MAX, &head) == (_i != 2));
}

/* What is no whole message stands alone. */
TEST(units_to_send_messages__not_of_parts, .rows = 3)
{
    struct fragment head;
    add(_i == 0 ? 65 : _i == 1 ? 0 : 64);
    add(64);
    ck_assert(units_to_send_head(&u, MAX, &head));
    if (_i == 2) {
        units_to_send_take(&u, &head, 1);
        repeat(0, 0, 64, true);
        ck_assert(units_to_send_head(&u, MAX, &head));
    }
    ck_assert_uint_eq(units_to_send_messages(&u, &head, 9), 1);
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

/* ---- repeats */

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

/* A message of five units of which the fourth has arrived, one of one, and one that is over; the
 * ring has turned by `_i`. */
TEST(units_to_send_join__what_follows, .rows = REPEATS)
{
    struct fragment head;
    const struct message_out *first = add(5 * MAX);
    struct message_out *second = add(MAX);
    for (int i = 0; i < 6; i++) {
        ck_assert(units_to_send_head(&u, MAX, &head));
        units_to_send_take(&u, &head, 1);
    }
    for (int i = 0; i < _i; i++) {
        repeat(0, 0, MAX, false);
        (void)units_to_send_pop(&u);
    }
    messages_out_on_arrived(&messages, 0, false, 1);
    repeat(0, 4 * MAX, MAX, true);
    repeat(0, 2 * MAX, MAX, false);
    repeat(0, 0, MAX, false);
    repeat(0, MAX, MAX, false);
    units_to_send_join(&u);
    ck_assert_uint_eq(u.count, 2);
    ck_assert_uint_eq(first->units_out, 2);
    repeat(1, 0, MAX, true);
    messages_out_end(&messages, second, OUTCOME_SILENT);
    units_to_send_join(&u);
    ck_assert_uint_eq(u.count, 2);
    ck_assert(units_to_send_head(&u, 5 * MAX, &head));
    ck_assert_uint_eq(head.offset, 0);
    ck_assert_uint_eq(head.length, 3 * MAX);
    ck_assert(!head.is_last);
    units_to_send_take(&u, &head, 1);
    expect_unit(0, 4 * MAX, MAX, true);
    units_to_send_join(&u); /* nothing */
    expect_nothing();
}

TEST(units_to_send_repeat__without_room, .signal = SIGABRT)
{
    add(64);
    for (int i = 0; i <= REPEATS; i++)
        repeat(0, 0, 64, true);
}

TEST(units_to_send_pop__of_none, .signal = SIGABRT)
{
    units_to_send_pop(&u);
}
