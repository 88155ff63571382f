/* units_to_send against a plain list of what there is to send, and messages of which every byte is
 * followed: it is uncut, out, or waits to be repeated, and in one of these exactly once. */
#include "../support/counter_starts.h"
#include "../support/random.h"
#include "../support/suite.h"
#include "../support/tables.h"
#include "core/sender/units_to_send.h"
#include "core/wire/datagram.h"

#include <string.h>

enum { ROUNDS = 100, OPERATIONS = 1000, MESSAGES = 8, REPEATS = 256, OUT_MOST = 128 };
enum { SIZE_MOST = 20 * GRAIN };

struct model {
    struct fragment repeat[REPEATS];
    uint32_t repeats;
    struct fragment out[OUT_MOST]; /* taken, and neither settled nor to be repeated */
    uint32_t outs;
};

static struct message_out ring[MESSAGES];
static uint64_t posted[MESSAGES * MESSAGES_OUT_AHEAD];
static struct fragment memory[REPEATS];
static struct messages_out messages;
static struct units_to_send u;
static struct model m;

static bool is_wanted(const struct fragment *f)
{
    const struct message_out *message = messages_out_find(&messages, f->message);
    return message != NULL && message->state == (f->is_void ? MESSAGE_OUT_VOID : MESSAGE_OUT_LIVE);
}

static void remove_at(struct fragment *list, uint32_t *count, uint32_t i)
{
    memmove(&list[i], &list[i + 1], (*count - i - 1) * sizeof(*list));
    --*count;
}

/* What should come first, by a walk over everything. */
static bool expected_head(uint32_t max, struct fragment *head)
{
    while (m.repeats > 0 && !is_wanted(&m.repeat[0]))
        remove_at(m.repeat, &m.repeats, 0);
    if (m.repeats > 0) {
        *head = m.repeat[0];
        head->is_last = head->is_last && head->length <= max;
        head->length = head->length < max ? head->length : max;
        return true;
    }
    for (uint64_t n = messages.base; n < messages.next && n < messages.requested; n++) {
        const struct message_out *message = messages_out_find(&messages, n);
        if (message == NULL || message->is_cut || message->state == MESSAGE_OUT_ENDED)
            continue;
        bool is_void = message->state == MESSAGE_OUT_VOID;
        uint64_t rest = is_void ? 0 : message->size - message->cut;
        *head = (struct fragment){.message = n,
                                  .offset = is_void ? 0 : message->cut,
                                  .length = rest < max ? (uint32_t)rest : max,
                                  .is_last = rest <= max,
                                  .is_void = is_void};
        return true;
    }
    return false;
}

static void expect_same(const struct fragment *a, const struct fragment *b)
{
    ck_assert_uint_eq(a->message, b->message);
    ck_assert_uint_eq(a->offset, b->offset);
    ck_assert_uint_eq(a->length, b->length);
    ck_assert_int_eq(a->is_last, b->is_last);
    ck_assert_int_eq(a->is_void, b->is_void);
    ck_assert_int_eq(a->is_repeat, b->is_repeat);
}

/* Units of a message that are out or to be repeated are what the message says. */
static void compare(void)
{
    uint32_t units[MESSAGES] = {0};
    messages_out_check(&messages);
    for (uint32_t i = 0; i < m.repeats; i++)
        units[m.repeat[i].message % MESSAGES] += is_wanted(&m.repeat[i]);
    for (uint32_t i = 0; i < m.outs; i++)
        units[m.out[i].message % MESSAGES] += is_wanted(&m.out[i]);
    for (uint64_t n = messages.base; n < messages.next; n++) {
        const struct message_out *message = messages_out_find(&messages, n);
        if (message != NULL && message->state != MESSAGE_OUT_ENDED)
            ck_assert_uint_eq(message->units_out, units[n % MESSAGES]);
    }
}

static void step_add(uint64_t *random)
{
    static const uint8_t buffer[1];
    uint64_t size = random_chance(random, 10) ? 0 : random_below(random, SIZE_MOST);
    messages_out_add(&messages, NULL, buffer, size);
    if (random_chance(random, 80))
        messages_out_announce(&messages, messages.requested, SIZE_MOST);
}

static void step_take(uint64_t *random)
{
    uint32_t max = GRAIN * (1 + (uint32_t)random_below(random, 5));
    struct fragment head;
    struct fragment expected;
    bool has_head = units_to_send_head(&u, max, &head);
    ck_assert_int_eq(has_head, expected_head(max, &expected));
    if (!has_head)
        return;
    expect_same(&head, &expected);
    if (m.outs == OUT_MOST || random_chance(random, 10))
        return; /* looking alone changes nothing */
    bool is_part = head.is_repeat && head.length < m.repeat[0].length;
    ck_assert_int_eq(units_to_send_is_part(&u, &head), is_part);
    uint64_t most = OUT_MOST - m.outs;
    uint32_t row = units_to_send_row(&head);
    uint32_t count = 1 + (uint32_t)random_below(random, row < most ? row : most);
    units_to_send_take(&u, &head, count);
    for (uint32_t i = 0; i < count; i++, expected.offset += expected.length) {
        ck_assert(i == 0 || expected.offset + expected.length < head.source->size);
        m.out[m.outs++] = expected;
    }
    if (is_part) {
        m.repeat[0].offset += head.length;
        m.repeat[0].length -= head.length;
    } else if (head.is_repeat) {
        remove_at(m.repeat, &m.repeats, 0);
    }
}

/* A unit that is out is lost, or has arrived. */
static void step_settle(uint64_t *random)
{
    if (m.outs == 0)
        return;
    uint32_t i = (uint32_t)random_below(random, m.outs);
    struct fragment f = m.out[i];
    bool is_lost = random_chance(random, 50);
    remove_at(m.out, &m.outs, i);
    if (!is_wanted(&f))
        return;
    f.is_repeat = true;
    if (is_lost) {
        units_to_send_repeat(&u, &f);
        m.repeat[m.repeats++] = f;
        return;
    }
    struct message_out *message = messages_out_find(&messages, f.message);
    message->units_out--;
    if (message->is_cut && message->units_out == 0)
        messages_out_end(&messages, message, OUTCOME_OK);
}

/* The oldest repeat turns out to be needless, or goes to the end. */
static void step_pop(uint64_t *random)
{
    if (m.repeats == 0)
        return;
    struct fragment expected = m.repeat[0];
    struct fragment f = units_to_send_pop(&u);
    expect_same(&f, &expected);
    remove_at(m.repeat, &m.repeats, 0);
    if (random_chance(random, 50)) {
        units_to_send_repeat(&u, &f);
        m.repeat[m.repeats++] = f;
    } else if (is_wanted(&f)) {
        messages_out_find(&messages, f.message)->units_out--;
    }
}

/* Which repeat comes first in its message, and that before the others? */
static uint32_t lowest(void)
{
    uint32_t first = 0;
    for (uint32_t i = 1; i < m.repeats; i++) {
        const struct fragment *a = &m.repeat[i], *b = &m.repeat[first];
        if (a->message < b->message || (a->message == b->message && a->offset < b->offset))
            first = i;
    }
    return first;
}

/* In order, and those that follow on each other are one. */
static void step_join(void)
{
    struct fragment sorted[REPEATS];
    uint32_t count = 0;
    units_to_send_join(&u);
    while (m.repeats > 0) {
        uint32_t i = lowest();
        struct fragment f = m.repeat[i], *last = count > 0 ? &sorted[count - 1] : NULL;
        remove_at(m.repeat, &m.repeats, i);
        if (!is_wanted(&f))
            continue;
        if (last == NULL || last->message != f.message || last->offset + last->length != f.offset) {
            sorted[count++] = f;
            continue;
        }
        last->length += f.length;
        last->is_last = f.is_last;
    }
    memcpy(m.repeat, sorted, count * sizeof sorted[0]);
    m.repeats = count;
    ck_assert_uint_eq(u.count, count);
}

/* A message that nothing of is out yet turns void, as the sender does it; or is over. */
static void step_end(uint64_t *random)
{
    struct event event;
    uint64_t n = messages.base + random_below(random, MESSAGES);
    struct message_out *message = messages_out_find(&messages, n);
    while (messages_out_take_event(&messages, &event))
        continue;
    message = messages_out_find(&messages, n);
    if (message == NULL || message->state == MESSAGE_OUT_ENDED)
        return;
    if (message->state == MESSAGE_OUT_LIVE && n >= u.cursor && random_chance(random, 50))
        messages_out_refuse(&messages, message, VOID_CANCELLED, OUTCOME_CANCELLED);
    else if (random_chance(random, 30))
        messages_out_end(&messages, message, OUTCOME_SILENT);
}

static void step(uint64_t *random)
{
    uint64_t kind = random_below(random, 100);
    if (kind < 20)
        step_add(random);
    else if (kind < 60)
        step_take(random);
    else if (kind < 90)
        step_settle(random);
    else if (kind < 94)
        step_pop(random);
    else if (kind < 96)
        step_join();
    else
        step_end(random);
    compare();
}

TEST(units_to_send__like_a_list, .is_random = true)
{
    uint64_t random = suite_seed(_i);
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t first = counter_start(round % COUNTER_STARTS);
        m = (struct model){.repeats = 0};
        messages_out_init(&messages, TABLE_OF(ring), TABLE_OF(posted), first);
        units_to_send_init(&u, &messages, memory, REPEATS, first);
        for (int i = 0; i < OPERATIONS && m.repeats + m.outs < REPEATS; i++)
            step(&random);
    }
}
