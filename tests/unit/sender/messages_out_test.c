#include "core/sender/messages_out.h"

#include "../../support/counter_starts.h"
#include "../../support/suite.h"
#include "../../support/tables.h"
#include "core/wire/control.h"
#include "core/wire/datagram.h"

#include <signal.h>

enum { CAPACITY = 4, AHEAD = CAPACITY * MESSAGES_OUT_AHEAD };

static struct message_out ring[CAPACITY];
static uint64_t posted[AHEAD];
static struct messages_out m;
static uint64_t start; /* numbers in the tests count from here */
static char users[64]; /* users[i] is the user of message i */

static void setup_at(uint64_t first)
{
    start = first;
    messages_out_init(&m, TABLE_OF(ring), TABLE_OF(posted), first);
}

static void setup(void)
{
    setup_at(0);
}

static struct message_out *add(uint64_t size)
{
    static const uint8_t buffer[1];
    struct message_out *message = messages_out_add(&m, &users[m.next - start], buffer, size);
    messages_out_check(&m);
    return message;
}

static struct message_out *find(uint64_t index)
{
    return messages_out_find(&m, start + index);
}

static void end(uint64_t index, enum outcome outcome)
{
    messages_out_end(&m, find(index), outcome);
    messages_out_check(&m);
}

static void expect_event(uint64_t index, enum outcome outcome, uint64_t length)
{
    struct event event;
    ck_assert(messages_out_take_event(&m, &event));
    ck_assert_ptr_eq(event.user, &users[index]);
    ck_assert_int_eq(event.outcome, outcome);
    ck_assert_uint_eq(event.length, length);
    messages_out_check(&m);
}

static void expect_no_event(void)
{
    struct event event;
    ck_assert(!messages_out_take_event(&m, &event));
}

FIXTURE(setup, NULL)

TEST(messages_out_init__is_empty, .rows = COUNTER_STARTS)
{
    setup_at(counter_start(_i));
    messages_out_check(&m);
    ck_assert(messages_out_is_idle(&m));
    ck_assert_ptr_null(find(0));
    ck_assert_uint_eq(messages_out_posted(&m, start), POSTED_UNKNOWN);
    expect_no_event();
}

TEST(messages_out_init__needs_a_power_of_two, .rows = 2, .signal = SIGABRT)
{
    uint32_t capacity = _i == 0 ? 0 : 3;
    messages_out_init(&m, table_of(ring, capacity, sizeof ring[0]),
                      table_of(posted, capacity * MESSAGES_OUT_AHEAD, sizeof posted[0]), 0);
}

TEST(messages_out_add__numbers_in_order_until_full, .rows = COUNTER_STARTS)
{
    setup_at(counter_start(_i));
    for (uint64_t i = 0; i < CAPACITY; i++) {
        struct message_out *message = add(100 * i);
        ck_assert_uint_eq(message->number, start + i);
        ck_assert_uint_eq(message->size, 100 * i);
        ck_assert_int_eq(message->state, MESSAGE_OUT_LIVE);
        ck_assert_ptr_eq(find(i), message);
    }
    ck_assert_ptr_null(add(1));
    ck_assert_ptr_null(find(CAPACITY));
    ck_assert(!messages_out_is_idle(&m));
}

TEST(messages_out_end__gives_the_place_back_with_the_event, .rows = COUNTER_STARTS)
{
    setup_at(counter_start(_i));
    for (uint64_t i = 0; i < 10 * CAPACITY; i++) {
        ck_assert_ptr_nonnull(add(i));
        end(i, OUTCOME_OK);
        expect_event(i, OUTCOME_OK, i);
        expect_no_event();
        ck_assert_ptr_null(find(i));
        ck_assert(messages_out_is_idle(&m));
    }
}

TEST(messages_out_end__out_of_order)
{
    for (int i = 0; i < CAPACITY; i++)
        add(7);
    end(2, OUTCOME_OK);
    end(0, OUTCOME_SILENT);
    expect_event(2, OUTCOME_OK, 7);
    ck_assert_ptr_null(add(1)); /* message 0 is still there */
    expect_event(0, OUTCOME_SILENT, 0);
    ck_assert_ptr_nonnull(add(1));
    ck_assert_ptr_null(add(1));
    ck_assert_ptr_null(find(2));
    ck_assert_ptr_nonnull(find(1));
}

TEST(messages_out_pin__holds_the_event_back)
{
    messages_out_pin(add(7), 3);
    end(0, OUTCOME_OK);
    expect_no_event();
    messages_out_unpin(&m, find(0), 1);
    expect_no_event();
    messages_out_unpin(&m, find(0), 2);
    expect_event(0, OUTCOME_OK, 7);
    expect_no_event();
}

TEST(messages_out_unpin__more_than_pinned, .signal = SIGABRT)
{
    messages_out_pin(add(7), 1);
    messages_out_unpin(&m, find(0), 2);
}

TEST(messages_out_refuse__tells_at_once_and_keeps_the_number)
{
    struct message_out *message = add(7);
    message->units_out = 2;
    messages_out_refuse(&m, message, VOID_CANCELLED, OUTCOME_CANCELLED);
    ck_assert_int_eq(message->state, MESSAGE_OUT_VOID);
    ck_assert_uint_eq(message->reason, VOID_CANCELLED);
    ck_assert_uint_eq(message->units_out, 0);
    expect_event(0, OUTCOME_CANCELLED, 0);
    ck_assert_ptr_eq(find(0), message);
    end(0, OUTCOME_OK);
    expect_no_event();
    ck_assert_ptr_null(find(0));
}

TEST(messages_out_refuse__keeps_its_outcome)
{
    messages_out_refuse(&m, add(7), VOID_TOO_LARGE, OUTCOME_TOO_LARGE);
    end(0, OUTCOME_PEER_CLOSED);
    expect_event(0, OUTCOME_TOO_LARGE, 0);
}

TEST(messages_out_refuse__while_pinned)
{
    messages_out_pin(add(7), 1);
    messages_out_refuse(&m, find(0), VOID_CANCELLED, OUTCOME_CANCELLED);
    expect_no_event();
    messages_out_unpin(&m, find(0), 1);
    expect_event(0, OUTCOME_CANCELLED, 0);
}

TEST(messages_out_refuse__twice, .signal = SIGABRT)
{
    struct message_out *message = add(7);
    messages_out_refuse(&m, message, VOID_CANCELLED, OUTCOME_CANCELLED);
    messages_out_refuse(&m, message, VOID_CANCELLED, OUTCOME_CANCELLED);
}

TEST(messages_out_announce__is_news_once, .rows = COUNTER_STARTS)
{
    setup_at(counter_start(_i));
    ck_assert(messages_out_announce(&m, start, 10));
    ck_assert(!messages_out_announce(&m, start, 10));
    ck_assert(!messages_out_announce(&m, start, 11)); /* a buffer does not change its size */
    ck_assert_uint_eq(messages_out_posted(&m, start), 10);
    ck_assert(messages_out_announce(&m, start, REQUEST_WITHDRAWN));
    ck_assert(!messages_out_announce(&m, start, 10));
    ck_assert_uint_eq(messages_out_posted(&m, start), REQUEST_WITHDRAWN);
    messages_out_check(&m);
}

TEST(messages_out_announce__reaches_as_far_as_the_table, .rows = COUNTER_STARTS)
{
    setup_at(counter_start(_i));
    ck_assert(messages_out_announce(&m, start + AHEAD - 1, 10));
    ck_assert(!messages_out_announce(&m, start + AHEAD, 10));
    ck_assert(!messages_out_announce(&m, start - 1, 10));
    ck_assert_uint_eq(messages_out_posted(&m, start + AHEAD), POSTED_UNKNOWN);
    messages_out_check(&m);
}

TEST(messages_out_announce__requested_is_without_gaps)
{
    messages_out_announce(&m, 2, 10);
    ck_assert_uint_eq(m.requested, 0);
    messages_out_announce(&m, 0, 10);
    ck_assert_uint_eq(m.requested, 1);
    messages_out_announce(&m, 1, 10);
    ck_assert_uint_eq(m.requested, 3);
    messages_out_check(&m);
}

TEST(messages_out_announce__is_forgotten_with_its_message)
{
    messages_out_announce(&m, 0, 10);
    add(7);
    end(0, OUTCOME_OK);
    expect_event(0, OUTCOME_OK, 7);
    ck_assert_uint_eq(messages_out_posted(&m, AHEAD), POSTED_UNKNOWN); /* the same place */
    ck_assert(messages_out_announce(&m, AHEAD, 20));
    messages_out_check(&m);
}

TEST(messages_out_forget__all_announcements)
{
    add(7);
    add(7);
    for (uint64_t i = 0; i < 3; i++)
        messages_out_announce(&m, i, 10);
    messages_out_forget(&m, 1);
    ck_assert_uint_eq(m.requested, 1);
    for (uint64_t i = 0; i < 3; i++)
        ck_assert_uint_eq(messages_out_posted(&m, i), POSTED_UNKNOWN);
    messages_out_check(&m);
}

TEST(messages_out_end_all__one_event_each)
{
    add(7);
    messages_out_refuse(&m, add(7), VOID_TOO_LARGE, OUTCOME_TOO_LARGE);
    messages_out_pin(add(7), 1);
    messages_out_end_all(&m, OUTCOME_SILENT);
    messages_out_check(&m);
    expect_event(1, OUTCOME_TOO_LARGE, 0);
    expect_event(0, OUTCOME_SILENT, 0);
    expect_no_event();
    messages_out_unpin(&m, find(2), 1);
    expect_event(2, OUTCOME_SILENT, 0);
    ck_assert(messages_out_is_idle(&m));
}

TEST(messages_out_check__fires, .rows = 4, .signal = SIGABRT)
{
    add(7);
    if (_i == 0)
        m.next += CAPACITY; /* I1 */
    if (_i == 1)
        ring[0].state = MESSAGE_OUT_FREE; /* I2 */
    if (_i == 2)
        ring[0].is_told = true; /* I3 */
    if (_i == 3)
        m.requested = AHEAD + 1; /* I4 */
    messages_out_check(&m);
}
