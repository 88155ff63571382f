/* What random calls beside a list (property/messages_test.c) do not reach. */
#include "core/sender/messages_out.h"

#include "../../support/suite.h"
#include "../../support/tables.h"
#include "core/wire/control.h"
#include "core/wire/datagram.h"

#include <signal.h>

enum { CAPACITY = 4, AHEAD = CAPACITY * MESSAGES_OUT_AHEAD };

static struct message_out ring[CAPACITY];
static uint64_t posted[AHEAD];
static struct messages_out m;
static char users[64]; /* users[i] is the user of message i */

static void setup(void)
{
    messages_out_init(&m, TABLE_OF(ring), TABLE_OF(posted), 0);
}

static struct message_out *add(uint64_t size)
{
    static const uint8_t buffer[1];
    struct message_out *message = messages_out_add(&m, &users[m.next], buffer, size);
    messages_out_check(&m);
    return message;
}

static struct message_out *find(uint64_t index)
{
    return messages_out_find(&m, index);
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

TEST(messages_out_init__needs_a_power_of_two, .rows = 2, .signal = SIGABRT)
{
    uint32_t capacity = _i == 0 ? 0 : 3;
    messages_out_init(&m, table_of(ring, capacity, sizeof ring[0]),
                      table_of(posted, capacity * MESSAGES_OUT_AHEAD, sizeof posted[0]), 0);
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

TEST(messages_out_refuse__twice, .signal = SIGABRT)
{
    struct message_out *message = add(7);
    messages_out_refuse(&m, message, VOID_CANCELLED, OUTCOME_CANCELLED);
    messages_out_refuse(&m, message, VOID_CANCELLED, OUTCOME_CANCELLED);
}

/* What was passed over is not known, and a run that does not follow on what is known waits. */
TEST(messages_out_announce_run__as_one_by_one, .rows = 2)
{
    uint64_t first = _i == 0 ? 1 : 2;
    ck_assert(messages_out_announce(&m, 0, 10));
    messages_out_announce_run(&m, first, 6, 20);
    messages_out_check(&m);
    ck_assert_uint_eq(messages_out_posted(&m, 0), 10);
    ck_assert_uint_eq(messages_out_posted(&m, 1), _i == 0 ? 20 : POSTED_UNKNOWN);
    ck_assert_uint_eq(messages_out_posted(&m, 5), 20);
    ck_assert_uint_eq(messages_out_posted(&m, 6), POSTED_UNKNOWN);
    ck_assert_uint_eq(m.requested, _i == 0 ? 6 : 1);
    ck_assert(!messages_out_announce(&m, 5, 20));
}

TEST(messages_out_announce_run__only_of_what_is_new, .signal = SIGABRT)
{
    messages_out_announce_run(&m, 0, 3, 10);
    messages_out_announce_run(&m, 2, 4, 10);
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

/* A whole message's buffer counts, also where one behind it was named before. What is known behind
 * it counts with it. */
TEST(messages_out_add_whole__before_what_is_known)
{
    static const uint8_t buffer[1];

    ck_assert(messages_out_announce(&m, 1, REQUEST_WITHDRAWN));
    ck_assert_uint_eq(m.requested, 0);
    ck_assert_uint_eq(messages_out_add_whole(&m, &users[0], buffer, 1, 9)->number, 0);
    messages_out_check(&m);
    ck_assert_uint_eq(m.requested, 2);
}

/* This size stands for a buffer that is not known; a peer may name it all the same. */
TEST(messages_out_announce__a_size_that_stands_for_none)
{
    ck_assert(messages_out_announce(&m, 0, POSTED_UNKNOWN));
    ck_assert_uint_eq(messages_out_posted(&m, 0), POSTED_UNKNOWN - 1);
    messages_out_announce_run(&m, 1, 3, POSTED_UNKNOWN);
    ck_assert_uint_eq(messages_out_posted(&m, 1), POSTED_UNKNOWN - 1);
    ck_assert_uint_eq(messages_out_posted(&m, 2), POSTED_UNKNOWN - 1);
    messages_out_check(&m);
}

TEST(messages_out_posted__beyond_what_is_kept)
{
    ck_assert(messages_out_announce(&m, AHEAD - 1, 5));
    ck_assert(!messages_out_announce(&m, AHEAD, 5));
    ck_assert_uint_eq(messages_out_posted(&m, AHEAD - 1), 5);
    ck_assert_uint_eq(messages_out_posted(&m, AHEAD), POSTED_UNKNOWN);
    ck_assert_uint_eq(messages_out_posted(&m, UINT64_MAX), POSTED_UNKNOWN);
}
