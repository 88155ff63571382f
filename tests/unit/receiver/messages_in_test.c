#include "core/receiver/messages_in.h"

#include "../../support/counter_starts.h"
#include "../../support/suite.h"
#include "../../support/tables.h"

#include <signal.h>

enum { CAPACITY = 4, NODES = 3 };

static struct message_in ring[CAPACITY];
static struct missing_node node[NODES];
static struct messages_in m;
static uint64_t start; /* numbers in the tests count from here */
static char users[64]; /* users[i] is the user of message i */
static uint8_t buffer[100];

static void setup_at(uint64_t first)
{
    start = first;
    messages_in_init(&m, TABLE_OF(ring), TABLE_OF(node), first);
}

static void setup(void)
{
    setup_at(0);
}

static struct message_in *add(uint64_t size)
{
    struct message_in *message = messages_in_add(&m, &users[m.next - start], buffer, size);
    messages_in_check(&m);
    return message;
}

static struct message_in *find(uint64_t index)
{
    return messages_in_find(&m, start + index);
}

static void end(uint64_t index, enum outcome outcome)
{
    messages_in_end(&m, find(index), outcome);
    messages_in_check(&m);
}

static void expect_event(uint64_t index, enum outcome outcome, uint64_t length)
{
    struct event event;
    ck_assert(messages_in_take_event(&m, &event));
    ck_assert_ptr_eq(event.user, &users[index]);
    ck_assert_int_eq(event.outcome, outcome);
    ck_assert_uint_eq(event.length, length);
    messages_in_check(&m);
}

static void expect_no_event(void)
{
    struct event event;
    ck_assert(!messages_in_take_event(&m, &event));
}

FIXTURE(setup, NULL)

TEST(messages_in_init__is_empty, .rows = COUNTER_STARTS)
{
    setup_at(counter_start(_i));
    messages_in_check(&m);
    ck_assert(messages_in_is_idle(&m));
    ck_assert_ptr_null(find(0));
    expect_no_event();
}

TEST(messages_in_init__needs_a_power_of_two, .rows = 2, .signal = SIGABRT)
{
    messages_in_init(&m, table_of(ring, _i == 0 ? 0 : 3, sizeof ring[0]), TABLE_OF(node), 0);
}

TEST(messages_in_add__numbers_in_order_until_full, .rows = COUNTER_STARTS)
{
    setup_at(counter_start(_i));
    for (uint64_t i = 0; i < CAPACITY; i++) {
        struct message_in *message = add(0); /* nothing is missing of nothing */
        ck_assert_uint_eq(message->number, start + i);
        ck_assert_int_eq(message->state, MESSAGE_IN_POSTED);
        ck_assert_ptr_eq(find(i), message);
    }
    ck_assert_ptr_null(add(0));
    ck_assert_ptr_null(find(CAPACITY));
}

TEST(messages_in_add__misses_all_of_it)
{
    struct message_in *message = add(100);
    ck_assert_uint_eq(message->missing.bytes, 100);
    ck_assert(missing_covers(&m.missing, &message->missing, (struct interval){0, 100}));
    ck_assert(!message->is_length_known);
}

TEST(messages_in_add__pool_is_empty)
{
    for (int i = 0; i < NODES; i++)
        ck_assert_ptr_nonnull(add(100));
    ck_assert_ptr_null(add(100));
    ck_assert_ptr_nonnull(add(0)); /* needs none */
    end(0, OUTCOME_SILENT);
    expect_event(0, OUTCOME_SILENT, 0);
    ck_assert_ptr_nonnull(add(100));
}

TEST(messages_in_end__gives_the_place_back_with_the_event, .rows = COUNTER_STARTS)
{
    setup_at(counter_start(_i));
    for (uint64_t i = 0; i < 10 * CAPACITY; i++) {
        add(100)->length = 50;
        end(i, OUTCOME_OK);
        ck_assert_uint_eq(m.missing.used, 0);
        expect_event(i, OUTCOME_OK, 50);
        expect_no_event();
        ck_assert_ptr_null(find(i));
        ck_assert(messages_in_is_idle(&m));
    }
}

TEST(messages_in_end__out_of_order)
{
    for (int i = 0; i < CAPACITY; i++)
        add(0);
    end(2, OUTCOME_OK);
    end(0, OUTCOME_TOO_LARGE);
    expect_event(2, OUTCOME_OK, 0);
    ck_assert_ptr_null(add(0)); /* message 0 is still there */
    expect_event(0, OUTCOME_TOO_LARGE, 0);
    ck_assert_ptr_nonnull(add(0));
    ck_assert_ptr_null(add(0));
    ck_assert_ptr_null(find(2));
    ck_assert_ptr_nonnull(find(1));
}

/* A length goes with an end that says something of it. */
TEST(messages_in_end__length, .rows = 3)
{
    static const enum outcome outcomes[] = {OUTCOME_OK, OUTCOME_TOO_LARGE, OUTCOME_PEER_CANCELLED};
    add(64);
    find(0)->length = 17;
    end(0, outcomes[_i]);
    expect_event(0, outcomes[_i], _i < 2 ? 17 : 0);
}

TEST(messages_in_withdraw__tells_at_once_and_keeps_the_number)
{
    struct message_in *message = add(100);
    messages_in_withdraw(&m, message, OUTCOME_CANCELLED);
    messages_in_check(&m);
    ck_assert_uint_eq(m.withdrawn, 1);
    ck_assert_uint_eq(message->missing.bytes, 0);
    expect_event(0, OUTCOME_CANCELLED, 0);
    ck_assert_ptr_eq(find(0), message);
    end(0, OUTCOME_PEER_CANCELLED);
    ck_assert_uint_eq(m.withdrawn, 0);
    expect_no_event();
    ck_assert_ptr_null(find(0));
}

TEST(messages_in_withdraw__ends_before_its_event_is_taken)
{
    messages_in_withdraw(&m, add(100), OUTCOME_CANCELLED);
    end(0, OUTCOME_OK);
    expect_event(0, OUTCOME_CANCELLED, 0);
    expect_no_event();
    ck_assert(messages_in_is_idle(&m));
}

TEST(messages_in_withdraw__twice, .signal = SIGABRT)
{
    struct message_in *message = add(100);
    messages_in_withdraw(&m, message, OUTCOME_CANCELLED);
    messages_in_withdraw(&m, message, OUTCOME_CANCELLED);
}

TEST(messages_in_end_all__one_event_each)
{
    for (int i = 0; i < NODES; i++)
        add(100);
    messages_in_withdraw(&m, find(1), OUTCOME_CANCELLED);
    end(2, OUTCOME_OK);
    messages_in_end_all(&m, OUTCOME_CLOSED);
    messages_in_check(&m);
    ck_assert_uint_eq(m.withdrawn, 0);
    expect_event(1, OUTCOME_CANCELLED, 0);
    expect_event(2, OUTCOME_OK, 0);
    expect_event(0, OUTCOME_CLOSED, 0);
    expect_no_event();
    ck_assert(messages_in_is_idle(&m));
    missing_pool_check(&m.missing);
}

TEST(messages_in_check__fires, .rows = 5, .signal = SIGABRT)
{
    struct message_in *message = add(100);
    if (_i == 0)
        m.next += CAPACITY; /* I1 */
    if (_i == 1)
        message->state = MESSAGE_IN_FREE; /* I2 */
    if (_i == 2)
        message->is_ready = true; /* I3 */
    if (_i == 3)
        message->state = MESSAGE_IN_ENDED; /* I4 */
    if (_i == 4)
        m.withdrawn++;
    messages_in_check(&m);
}
