#include "core/receiver/prediction.h"

#include "../../support/suite.h"
#include "../../support/tables.h"

enum { MESSAGES = 8, NODES = 16, UNIT = 64 };

static struct message_in ring[MESSAGES];
static struct missing_node node[NODES];
static struct messages_in messages;
static struct prediction p;
static struct prediction walk;

static void setup(void)
{
    messages_in_init(&messages, TABLE_OF(ring), TABLE_OF(node), 0);
    prediction_init(&p, UNIT, 0);
    walk = p;
}

static struct message_in *post(uint64_t size)
{
    static uint8_t buffer[1024];
    return messages_in_add(&messages, NULL, buffer, size);
}

static void arrive(struct message_in *message, uint64_t first, uint64_t last)
{
    struct interval range = {.first = first, .last = last};
    ck_assert(missing_remove(&messages.missing, &message->missing, range));
}

/* The walk starts anew. */
static void begin(void)
{
    walk = p;
}

/* The next stretch is this, and all of it is offered. */
static void expect(uint64_t message, uint64_t offset, uint64_t length, uint32_t unit)
{
    struct stretch s;
    ck_assert(prediction_walk(&walk, &messages, &s));
    ck_assert_uint_eq(s.message->number, message);
    ck_assert_uint_eq(s.offset, offset);
    ck_assert_uint_eq(s.length, length);
    ck_assert_uint_eq(s.unit, unit);
    prediction_advance(&walk, &s, s.length);
}

static void expect_end(void)
{
    struct stretch s;
    ck_assert(!prediction_walk(&walk, &messages, &s));
}

/* A full unit of message 0 at 0, which names as the next that of `message` at `offset`. */
static void learn_next(uint64_t message, uint32_t offset, uint16_t length)
{
    struct unit_trailer t = {
        .length = UNIT, .flags = FLAG_HAS_NEXT, .next_unit = offset / GRAIN, .next_length = length};
    prediction_learn(&p, &t, 0, 0, message);
    begin();
}

FIXTURE(setup, NULL)

TEST(prediction_walk__with_nothing_posted)
{
    expect_end();
    post(100); /* the walk has not gone past it */
    expect(0, 0, 100, UNIT);
}

TEST(prediction_walk__messages_as_they_were_posted)
{
    post(100);
    post(0);
    post(64);
    expect(0, 0, 100, UNIT);
    expect(1, 0, 0, UNIT);
    expect(2, 0, 64, UNIT);
    expect_end();
}

TEST(prediction_walk__only_what_is_missing)
{
    struct message_in *message = post(320);
    arrive(message, 64, 128);
    arrive(message, 192, 320);
    expect(0, 0, 64, UNIT);
    expect(0, 128, 64, UNIT);
    expect_end();
}

TEST(prediction_walk__past_what_is_over_or_withdrawn)
{
    struct message_in *over = post(100);
    struct message_in *withdrawn = post(100);
    post(100);
    messages_in_withdraw(&messages, withdrawn, OUTCOME_CANCELLED);
    messages_in_end(&messages, over, OUTCOME_OK);
    expect(2, 0, 100, UNIT);
}

TEST(prediction_walk__past_what_is_no_longer_there)
{
    struct event event;
    struct message_in *over = post(320);
    learn_next(0, 128, UNIT);
    messages_in_end(&messages, over, OUTCOME_OK);
    ck_assert(messages_in_take_event(&messages, &event));
    post(100);
    begin();
    expect(1, 0, 100, UNIT);
}

TEST(prediction_advance__by_a_part)
{
    struct stretch s;
    post(200);
    ck_assert(prediction_walk(&walk, &messages, &s));
    prediction_advance(&walk, &s, UNIT);
    expect(0, 64, 136, UNIT);
}

TEST(prediction_learn__the_next_unit_exactly)
{
    post(320);
    learn_next(0, 128, 32);
    expect(0, 128, 32, 32);
    expect(0, 160, 160, UNIT);
    expect_end();
}

TEST(prediction_learn__a_short_last_unit)
{
    post(320);
    post(100);
    learn_next(0, 64, 10);
    expect(0, 64, 10, 10);
}

TEST(prediction_learn__an_empty_next_unit)
{
    post(100);
    post(320);
    learn_next(1, 0, 0);
    expect(1, 0, 0, 0);
    expect_end();
}

TEST(prediction_learn__a_next_that_is_not_posted)
{
    post(320);
    learn_next(1, 0, 10);
    expect_end();
}

TEST(prediction_learn__without_next_the_message_goes_on)
{
    struct unit_trailer t = {.length = 96};
    post(320);
    prediction_learn(&p, &t, 0, 64, 0);
    begin();
    expect(0, 160, 160, 96);
}

TEST(prediction_learn__without_next_behind_the_last)
{
    struct unit_trailer t = {.length = 10, .flags = FLAG_IS_LAST};
    post(320);
    post(100);
    prediction_learn(&p, &t, 0, 64, 0);
    begin();
    expect(1, 0, 100, UNIT); /* a short last unit says nothing of the full ones */
}

TEST(prediction_learn__recent_is_the_larger)
{
    ck_assert_uint_eq(p.recent, 0);
    learn_next(0, 64, 10);
    ck_assert_uint_eq(p.recent, UNIT);
    learn_next(0, 64, 96);
    ck_assert_uint_eq(p.recent, 96);
}

/* The size of a message that is too large lies where others name what is next. */
TEST(prediction_learn__too_large_names_nothing)
{
    struct unit_trailer t = {.unit = VOID_TOO_LARGE, .flags = FLAG_IS_LAST | FLAG_VOID};
    post(100);
    post(100);
    unit_trailer_set_size(&t, MESSAGE_BYTES_MAX);
    prediction_learn(&p, &t, 0, 0, 0);
    ck_assert_uint_eq(p.recent, 0);
    begin();
    expect(1, 0, 100, UNIT);
}

TEST(prediction_learn_length__small_messages_in_large_buffers)
{
    for (int i = 0; i < 3; i++)
        post(320);
    prediction_learn_length(&p, 10, 320);
    begin();
    expect(0, 0, 10, UNIT);
    prediction_learn_length(&p, 320, 320); /* they fill them again */
    begin();
    expect(0, 0, 320, UNIT);
}

TEST(prediction_learn_length__a_run_of_them)
{
    for (int i = 0; i < 3; i++)
        post(320);
    prediction_learn_length(&p, 10, 320);
    begin();
    expect(0, 0, 10, UNIT);
    expect(1, 0, 10, UNIT);
    expect(2, 0, 10, UNIT);
    expect_end();
}

TEST(prediction_learn_length__not_in_a_message_whose_own_is_known)
{
    struct message_in *message = post(320);
    message->is_length_known = true;
    message->length = 200;
    prediction_learn_length(&p, 10, 320);
    begin();
    expect(0, 0, 200, UNIT);
}
