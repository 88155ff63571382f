/* The two message tables against plain lists: numbers go up, each message has one event with the
 * outcome that it met first, none while it is pinned, and a place is free when all is told. */
#include "../support/counter_starts.h"
#include "../support/random.h"
#include "../support/suite.h"
#include "../support/tables.h"
#include "core/receiver/messages_in.h"
#include "core/sender/messages_out.h"
#include "core/wire/control.h"

enum { ROUNDS = 50, OPERATIONS = 1000, CAPACITY = 8, NODES = 6, AHEAD = 64 };
enum { STORED = OPERATIONS + AHEAD };

/* What is known of a message. */
struct known {
    enum { LIVE, REFUSED, OVER } state;
    enum outcome outcome;
    uint64_t size;
    uint32_t pins;
    bool is_queued; /* its event is ready */
    bool is_told;
};

struct model {
    struct known known[STORED]; /* known[i] is message start + i */
    uint64_t size[STORED];      /* as announced, POSTED_UNKNOWN */
    uint32_t queue[STORED];
    uint64_t start, base, next, queue_first, queue_last;
};

static struct model m;

static void model_init(uint64_t start)
{
    m = (struct model){.start = start};
    for (int i = 0; i < STORED; i++)
        m.size[i] = POSTED_UNKNOWN;
}

static uint64_t model_add(uint64_t size)
{
    m.known[m.next] = (struct known){.state = LIVE, .size = size};
    return m.next++;
}

static void model_queue(uint64_t i)
{
    struct known *known = &m.known[i];
    if (known->state == LIVE || known->pins > 0 || known->is_queued)
        return;
    known->is_queued = true;
    m.queue[m.queue_last++] = (uint32_t)i;
}

static void model_advance(void)
{
    while (m.base < m.next && m.known[m.base].state == OVER && m.known[m.base].is_told)
        m.base++;
}

static void model_end(uint64_t i, enum outcome outcome)
{
    if (m.known[i].state == LIVE)
        m.known[i].outcome = outcome;
    m.known[i].state = OVER;
    model_queue(i);
    model_advance();
}

static void model_refuse(uint64_t i, enum outcome outcome)
{
    m.known[i].state = REFUSED;
    m.known[i].outcome = outcome;
    model_queue(i);
}

static bool model_is_there(uint64_t i)
{
    return i >= m.base && i < m.next && !(m.known[i].state == OVER && m.known[i].is_told);
}

/* `other`: the outcome that has a length besides OK. */
static void expect_event(bool is_there, const struct event *event, enum outcome other)
{
    ck_assert_int_eq(is_there, m.queue_first < m.queue_last);
    if (!is_there)
        return;
    struct known *known = &m.known[m.queue[m.queue_first++]];
    ck_assert_ptr_eq(event->user, known);
    ck_assert_int_eq(event->outcome, known->outcome);
    bool has_length = known->outcome == OUTCOME_OK || known->outcome == other;
    ck_assert_uint_eq(event->length, has_length ? known->size : 0);
    known->is_told = true;
    model_advance();
}

/* A message of the table, or one just beside it. */
static uint64_t any(uint64_t *random)
{
    uint64_t i = m.base + random_below(random, CAPACITY + 2);
    return i > 0 ? i - 1 : 0;
}

static enum outcome any_outcome(uint64_t *random)
{
    return (enum outcome)random_below(random, OUTCOME_CLOSED + 1);
}

/* ---- the sender's */

static struct message_out out_ring[CAPACITY];
static uint64_t out_posted[CAPACITY * MESSAGES_OUT_AHEAD];
static struct message_out out_few[CAPACITY];
static uint64_t out_few_posted[CAPACITY * MESSAGES_OUT_AHEAD];
static struct messages_out out;

static void out_add(uint64_t *random)
{
    static const uint8_t buffer[1];
    uint64_t size = random_below(random, 1000);
    struct message_out *message = messages_out_add(&out, &m.known[m.next], buffer, size);
    ck_assert_int_eq(message != NULL, m.next - m.base < CAPACITY);
    if (message != NULL)
        ck_assert_uint_eq(message->number, m.start + model_add(size));
}

static void out_announce(uint64_t *random)
{
    uint64_t i = any(random) + random_below(random, 4 * CAPACITY);
    uint64_t size = random_chance(random, 20) ? REQUEST_WITHDRAWN : random_below(random, 3);
    bool is_near = i >= m.base && i < m.base + (uint64_t)CAPACITY * MESSAGES_OUT_AHEAD;
    bool is_news = is_near && m.size[i] != REQUEST_WITHDRAWN && m.size[i] != size &&
                   (m.size[i] == POSTED_UNKNOWN || size == REQUEST_WITHDRAWN);
    ck_assert_int_eq(messages_out_announce(&out, m.start + i, size), is_news);
    if (is_news)
        m.size[i] = size;
}

static void out_change(uint64_t *random)
{
    uint64_t i = any(random);
    struct message_out *message = messages_out_find(&out, m.start + i);
    enum outcome outcome = any_outcome(random);
    ck_assert_int_eq(message != NULL, model_is_there(i));
    if (message == NULL || message->state == MESSAGE_OUT_ENDED)
        return;
    if (random_chance(random, 50)) {
        model_end(i, outcome);
        messages_out_end(&out, message, outcome);
    } else if (message->state == MESSAGE_OUT_LIVE) {
        model_refuse(i, outcome);
        messages_out_refuse(&out, message, 1, outcome);
    }
}

static void out_pin(uint64_t *random)
{
    uint64_t i = any(random);
    uint32_t units = 1 + (uint32_t)random_below(random, 3);
    struct message_out *message = messages_out_find(&out, m.start + i);
    if (message == NULL)
        return;
    if (message->state == MESSAGE_OUT_LIVE && random_chance(random, 40)) {
        messages_out_pin(message, units);
        m.known[i].pins += units;
    } else if (m.known[i].pins >= units) {
        messages_out_unpin(&out, message, units);
        m.known[i].pins -= units;
        model_queue(i);
    }
}

static void out_compare(void)
{
    uint64_t requested = m.base;
    messages_out_check(&out);
    ck_assert_uint_eq(out.base, m.start + m.base);
    ck_assert_uint_eq(out.next, m.start + m.next);
    ck_assert_int_eq(messages_out_is_idle(&out), m.base == m.next);
    while (requested < m.base + (uint64_t)CAPACITY * MESSAGES_OUT_AHEAD &&
           m.size[requested] != POSTED_UNKNOWN)
        requested++;
    ck_assert_uint_eq(out.requested, m.start + requested);
    const struct message_out *unannounced = messages_out_unannounced(&out);
    ck_assert_int_eq(unannounced != NULL, requested < m.next && model_is_there(requested));
    if (unannounced != NULL)
        ck_assert_uint_eq(unannounced->number, m.start + requested);
    for (uint64_t i = m.base; i < m.next; i++)
        ck_assert_uint_eq(messages_out_posted(&out, m.start + i), m.size[i]);
}

static void out_step(uint64_t *random)
{
    struct event event;
    uint64_t kind = random_below(random, 100);
    if (kind < 25)
        out_add(random);
    else if (kind < 45)
        out_announce(random);
    else if (kind < 65)
        out_change(random);
    else if (kind < 80)
        out_pin(random);
    else
        expect_event(messages_out_take_event(&out, &event), &event, OUTCOME_OK);
    out_compare();
}

/* ---- the receiver's */

static struct message_in in_ring[CAPACITY];
static struct message_in in_few[CAPACITY];
static struct missing_node node[NODES];
static struct missing_node few_nodes[NODES];
static struct messages_in in;

/* Messages that miss something; each has a node of the pool. */
static uint32_t in_open(void)
{
    uint32_t open = 0;
    for (uint64_t i = m.base; i < m.next; i++)
        open += m.known[i].state == LIVE && m.known[i].size > 0;
    return open;
}

static void in_add(uint64_t *random)
{
    static uint8_t buffer[1];
    uint64_t size = random_below(random, 4);
    struct message_in *message = messages_in_add(&in, &m.known[m.next], buffer, size);
    bool has_node = size == 0 || in_open() < NODES;
    ck_assert_int_eq(message != NULL, has_node && m.next - m.base < CAPACITY);
    if (message == NULL)
        return;
    message->length = size;
    ck_assert_uint_eq(message->number, m.start + model_add(size));
}

static void in_change(uint64_t *random)
{
    uint64_t i = any(random);
    struct message_in *message = messages_in_find(&in, m.start + i);
    enum outcome outcome = any_outcome(random);
    ck_assert_int_eq(message != NULL, model_is_there(i));
    if (message == NULL || message->state == MESSAGE_IN_ENDED)
        return;
    if (random_chance(random, 60)) {
        model_end(i, outcome);
        messages_in_end(&in, message, outcome);
    } else if (message->state == MESSAGE_IN_POSTED) {
        model_refuse(i, OUTCOME_CANCELLED);
        messages_in_withdraw(&in, message, OUTCOME_CANCELLED);
    }
}

/* Some that follow on each other, as large as the first, end together. */
static void in_end_row(uint64_t *random)
{
    uint64_t i = any(random);
    uint64_t most = 1 + random_below(random, CAPACITY);
    uint32_t count = 0;
    while (count < most && model_is_there(i + count) && m.known[i + count].state == LIVE &&
           m.known[i + count].size == m.known[i].size)
        count++;
    if (count == 0)
        return;
    messages_in_end_row(&in, m.start + i, count, m.known[i].size);
    for (uint32_t n = 0; n < count; n++)
        model_end(i + n, OUTCOME_OK);
}

static void in_compare(void)
{
    uint32_t withdrawn = 0;
    for (uint64_t i = m.base; i < m.next; i++)
        withdrawn += m.known[i].state == REFUSED;
    messages_in_check(&in);
    missing_pool_check(&in.missing);
    ck_assert_uint_eq(in.base, m.start + m.base);
    ck_assert_uint_eq(in.next, m.start + m.next);
    ck_assert_int_eq(messages_in_is_idle(&in), m.base == m.next);
    ck_assert_uint_eq(in.withdrawn, withdrawn);
    ck_assert_uint_eq(in.missing.used, in_open());
}

static void in_end_all(uint64_t *random)
{
    enum outcome outcome = any_outcome(random);
    for (uint64_t i = m.base, next = m.next; i < next; i++)
        if (model_is_there(i) && m.known[i].state != OVER)
            model_end(i, outcome);
    messages_in_end_all(&in, outcome);
}

static void in_step(uint64_t *random)
{
    struct event event;
    uint64_t kind = random_below(random, 100);
    if (kind < 40)
        in_add(random);
    else if (kind < 60)
        in_change(random);
    else if (kind < 70)
        in_end_row(random);
    else if (kind < 72)
        in_end_all(random);
    else
        expect_event(messages_in_take_event(&in, &event), &event, OUTCOME_TOO_LARGE);
    in_compare();
}

TEST(messages__like_a_list, .is_random = true)
{
    uint64_t random = suite_seed(_i);
    for (int round = 0; round < ROUNDS; round++) {
        model_init(counter_start(round % COUNTER_STARTS));
        uint32_t few = 1U << random_below(&random, 4);
        messages_out_init(
            &out, TABLE_FROM(out_few, few, out_ring, CAPACITY),
            TABLE_FROM(out_few_posted, few, out_posted, CAPACITY * MESSAGES_OUT_AHEAD), m.start);
        for (int i = 0; i < OPERATIONS; i++)
            out_step(&random);
        model_init(counter_start(round % COUNTER_STARTS));
        messages_in_init(&in, TABLE_FROM(in_few, few, in_ring, CAPACITY),
                         TABLE_FROM(few_nodes, 2, node, NODES), m.start);
        for (int i = 0; i < OPERATIONS; i++)
            in_step(&random);
    }
}
