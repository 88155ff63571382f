/* What is done to a row of the sender's messages at once is what the same does one by one: two
 * tables get the same calls, but rows in one of them. */
#include "../support/counter_starts.h"
#include "../support/random.h"
#include "../support/suite.h"
#include "../support/tables.h"
#include "core/number.h"
#include "core/sender/units_to_send.h"

enum { ROUNDS = 100, OPERATIONS = 1000, MESSAGES = 16, REPEATS = 4096, SIZE_MOST = 100 };

struct side {
    struct message_out ring[MESSAGES];
    uint64_t posted[MESSAGES * MESSAGES_OUT_AHEAD];
    struct fragment repeat[REPEATS];
    struct messages_out messages;
    struct units_to_send to_send;
};

static struct side row, single;
static struct side *const sides[] = {&row, &single};

static void start(uint64_t first)
{
    for (int i = 0; i < 2; i++) {
        struct side *s = sides[i];
        messages_out_init(&s->messages, TABLE_OF(s->ring), TABLE_OF(s->posted), first);
        units_to_send_init(&s->to_send, &s->messages, s->repeat, REPEATS, first);
    }
}

/* Both have it, or neither. */
static bool find_both(uint64_t number, struct message_out *found[2])
{
    for (int i = 0; i < 2; i++)
        found[i] = messages_out_find(&sides[i]->messages, number);
    ck_assert_int_eq(found[0] != NULL, found[1] != NULL);
    return found[0] != NULL;
}

static void compare(void)
{
    const struct messages_out *a = &row.messages, *b = &single.messages;
    struct message_out *m[2];
    messages_out_check(a);
    messages_out_check(b);
    ck_assert(a->base == b->base && a->next == b->next && a->announced == b->announced);
    ck_assert(a->requested == b->requested && a->live == b->live && a->open == b->open);
    ck_assert(a->ready == b->ready && row.to_send.count == single.to_send.count);
    for (uint64_t n = a->base; n < a->next; n++)
        if (find_both(n, m))
            ck_assert(m[0]->state == m[1]->state && m[0]->units_out == m[1]->units_out &&
                      m[0]->pins == m[1]->pins && m[0]->is_ready == m[1]->is_ready &&
                      m[0]->is_cut == m[1]->is_cut && m[0]->reason == m[1]->reason);
}

/* A message of the table, or one just beside it. */
static uint64_t any(uint64_t *random)
{
    uint64_t number = row.messages.base + random_below(random, MESSAGES + 2);
    return number > 0 ? number - 1 : 0;
}

static void step_add(uint64_t *random)
{
    static const uint8_t buffer[1];
    uint64_t size = random_below(random, SIZE_MOST);
    uint32_t units = (uint32_t)random_below(random, 3);
    bool is_cut = units > 0 && random_chance(random, 80);
    uint32_t pins = random_chance(random, 30);
    for (int i = 0; i < 2; i++) {
        struct message_out *m = messages_out_add(&sides[i]->messages, NULL, buffer, size);
        if (m == NULL)
            return;
        m->units_out = units;
        m->is_cut = is_cut;
        messages_out_pin(m, pins);
    }
}

static void step_announce(uint64_t *random)
{
    const struct messages_out *m = &row.messages;
    uint64_t first = greater(m->announced, m->base) + random_below(random, 2);
    uint64_t last = first + 1 + random_below(random, 2 * MESSAGES);
    uint64_t size = random_below(random, SIZE_MOST);
    if (last - m->base > (uint64_t)MESSAGES * MESSAGES_OUT_AHEAD)
        return;
    for (int i = 0; i < 2; i++)
        messages_out_announce_run(&sides[i]->messages, first, last, size);
    units_to_send_match_run(&row.to_send, first, last, size);
    for (uint64_t n = first; n < last; n++)
        units_to_send_match(&single.to_send, n);
}

/* A LIVE message that none of is out is in no row. */
static void step_arrive(uint64_t *random)
{
    uint64_t first = any(random);
    uint32_t most = 1 + (uint32_t)random_below(random, MESSAGES), count = 0;
    for (; count < most; count++) {
        const struct message_out *m = messages_out_find(&row.messages, first + count);
        if (m != NULL && m->state == MESSAGE_OUT_LIVE && m->units_out == 0)
            break;
    }
    messages_out_on_arrived_row(&row.messages, first, count);
    for (uint32_t i = 0; i < count; i++)
        messages_out_on_arrived(&single.messages, first + i, false, 1);
}

static void step_unpin(uint64_t *random)
{
    struct message_out *m[2];
    if (find_both(any(random), m) && m[0]->pins > 0)
        for (int i = 0; i < 2; i++)
            messages_out_unpin(&sides[i]->messages, m[i], 1);
}

static void step_end(uint64_t *random)
{
    struct message_out *m[2];
    if (find_both(any(random), m) && m[0]->state != MESSAGE_OUT_ENDED)
        for (int i = 0; i < 2; i++)
            messages_out_end(&sides[i]->messages, m[i], OUTCOME_CANCELLED);
}

static void step_tell(void)
{
    struct event event[2];
    bool has_row = messages_out_take_event(&row.messages, &event[0]);
    ck_assert_int_eq(messages_out_take_event(&single.messages, &event[1]), has_row);
    if (has_row)
        ck_assert(event[0].outcome == event[1].outcome && event[0].length == event[1].length);
}

static void step(uint64_t *random)
{
    uint64_t kind = random_below(random, 100);
    if (kind < 35)
        step_add(random);
    else if (kind < 45)
        step_announce(random);
    else if (kind < 55)
        step_arrive(random);
    else if (kind < 65)
        step_unpin(random);
    else if (kind < 68)
        step_end(random);
    else
        step_tell();
    compare();
}

TEST(message_rows__as_one_by_one, .is_random = true)
{
    uint64_t random = suite_seed(_i);
    for (int round = 0; round < ROUNDS; round++) {
        start(counter_start(round % COUNTER_STARTS));
        for (int i = 0; i < OPERATIONS && row.to_send.count < REPEATS - MESSAGES; i++)
            step(&random);
    }
}
