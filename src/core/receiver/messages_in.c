#include "messages_in.h"

#include "core/check.h"
#include "core/number.h"

#include <stddef.h>

void messages_in_init(struct messages_in *m, struct table ring, struct table nodes, uint64_t first)
{
    CHECK(table_is_for_ring(&ring));
    *m = (struct messages_in){.ring = (void *)ring.near,
                              .capacity = ring.large,
                              .base = first,
                              .next = first,
                              .ring_table = ring};
    missing_pool_init(&m->missing, nodes);
}

/* The table is full: it grows, up to its capacity. */
static bool grow(struct messages_in *m)
{
    if (m->ring_table.size == m->capacity)
        return false;
    m->ring = table_grow(&m->ring_table, m->base, m->next);
    return true;
}

struct message_in *messages_in_add(struct messages_in *m, void *user, uint8_t *buffer,
                                   uint64_t size)
{
    if (m->next - m->base == m->ring_table.size && !grow(m))
        return NULL;
    struct message_in *message = messages_in_at(m, m->next);
    if (!missing_open(&m->missing, &message->missing, size))
        return NULL;
    m->changes++;
    message->number = m->next++; /* field by field: GCC makes a loop of a literal of this size */
    message->user = user;
    message->buffer = buffer;
    message->pieces = NULL;
    message->size = size;
    message->plan = message->length = message->landed = message->scribbled = 0;
    message->state = MESSAGE_IN_POSTED;
    message->outcome = OUTCOME_OK;
    message->is_length_known = message->is_ready = message->is_told = false;
    return message;
}

/* Passes the oldest, which is FREE by now, and whatever else is FREE behind it. */
static void advance(struct messages_in *m)
{
    m->base++;
    for (; m->gaps > 0 && messages_in_at(m, m->base)->state == MESSAGE_IN_FREE; m->gaps--)
        m->base++;
}

static void set_free(struct messages_in *m, struct message_in *message)
{
    message->state = MESSAGE_IN_FREE;
    if (message->number == m->base)
        advance(m);
    else
        m->gaps++;
}

static void release(struct messages_in *m, struct message_in *message)
{
    if (message->state == MESSAGE_IN_ENDED && message->is_told)
        set_free(m, message);
}

/* Queues the events of messages that follow on each other; each names the next one. */
static void queue(struct messages_in *m, uint64_t first, uint32_t count)
{
    if (m->ready == 0)
        m->first_ready = (uint32_t)first;
    else
        messages_in_at(m, m->last_ready)->next_ready = (uint32_t)first;
    m->last_ready = (uint32_t)first + count - 1;
    m->ready += count;
}

/* Decides the outcome of a POSTED message, and queues its event. */
static void decide(struct messages_in *m, struct message_in *message, enum outcome outcome)
{
    m->changes++;
    message->outcome = outcome;
    message->is_ready = true;
    missing_close(&m->missing, &message->missing);
    queue(m, message->number, 1);
}

void messages_in_end(struct messages_in *m, struct message_in *message, enum outcome outcome)
{
    if (message->state == MESSAGE_IN_POSTED)
        decide(m, message, outcome);
    if (message->state == MESSAGE_IN_WITHDRAWN)
        m->withdrawn--;
    message->state = MESSAGE_IN_ENDED;
    release(m, message);
}

void messages_in_end_row(struct messages_in *m, uint64_t first, uint32_t count, uint64_t length)
{
    for (uint32_t n = 0; n < count; n++) {
        struct message_in *message = messages_in_at(m, first + n);
        CHECK(message->state == MESSAGE_IN_POSTED); /* so its outcome is OK */
        missing_close(&m->missing, &message->missing);
        message->is_ready = true;
        message->length = length;
        message->state = MESSAGE_IN_ENDED;
        message->next_ready = (uint32_t)first + n + 1;
    }
    m->changes += count;
    queue(m, first, count);
}

bool messages_in_finish(struct messages_in *m, struct message_in *message, uint64_t length,
                        struct event *event)
{
    CHECK(message->state == MESSAGE_IN_POSTED);
    if (m->ready > 0 || message->scribbled > 0 || message->missing.bytes < message->size)
        return false;
    *event = (struct event){.user = message->user, .length = length, .outcome = OUTCOME_OK};
    m->changes++;
    missing_close(&m->missing, &message->missing);
    set_free(m, message);
    return true;
}

void messages_in_withdraw(struct messages_in *m, struct message_in *message, enum outcome outcome)
{
    CHECK(message->state == MESSAGE_IN_POSTED);
    decide(m, message, outcome);
    message->state = MESSAGE_IN_WITHDRAWN;
    m->withdrawn++;
}

void messages_in_end_all(struct messages_in *m, enum outcome outcome)
{
    for (uint64_t number = m->base; number < m->next; number++) {
        struct message_in *message = messages_in_find(m, number);
        if (message != NULL && message->state != MESSAGE_IN_ENDED)
            messages_in_end(m, message, outcome);
    }
}

uint64_t messages_in_over(const struct messages_in *m)
{
    uint64_t number = m->base;
    while (number < m->next && (messages_in_at(m, number)->state == MESSAGE_IN_FREE ||
                                messages_in_at(m, number)->state == MESSAGE_IN_ENDED))
        number++;
    return number;
}

bool messages_in_have_begun(struct messages_in *m)
{
    for (uint64_t number = m->base; number < m->next; number++) {
        struct message_in *message = messages_in_find(m, number);
        if (message != NULL && message->state == MESSAGE_IN_POSTED &&
            (message->is_length_known || message->missing.bytes < message->size))
            return true;
    }
    return false;
}

bool messages_in_take_event(struct messages_in *m, struct event *event)
{
    if (m->ready == 0)
        return false;
    struct message_in *message = messages_in_at(m, m->first_ready);
    m->first_ready = message->next_ready;
    m->ready--;
    bool has_length = message->outcome == OUTCOME_OK || message->outcome == OUTCOME_TOO_LARGE;
    bool is_ok = message->outcome == OUTCOME_OK;
    *event = (struct event){.user = message->user,
                            .length = has_length ? message->length : 0,
                            .scribbled = is_ok ? lesser(message->scribbled, message->size) : 0,
                            .outcome = message->outcome};
    message->is_told = true;
    release(m, message);
    return true;
}

bool messages_in_is_idle(const struct messages_in *m)
{
    return m->base == m->next;
}

void messages_in_shrink(struct messages_in *m)
{
    m->ring = table_shrink(&m->ring_table, m->base, m->next);
    missing_pool_shrink(&m->missing);
}

void messages_in_check(const struct messages_in *m)
{
    uint32_t withdrawn = 0;
    uint32_t ready = 0;
    uint32_t gaps = 0;
    CHECK(m->next - m->base <= m->capacity);
    CHECK(m->base == m->next || messages_in_at(m, m->base)->state != MESSAGE_IN_FREE);
    CHECK(m->next - m->base <= m->ring_table.size);
    for (uint64_t number = m->base; number < m->next; number++) {
        const struct message_in *message = messages_in_at(m, number);
        gaps += message->state == MESSAGE_IN_FREE;
        if (message->state == MESSAGE_IN_FREE)
            continue;
        CHECK(message->number == number);
        CHECK(message->is_ready == (message->state != MESSAGE_IN_POSTED));
        CHECK(message->state == MESSAGE_IN_POSTED || message->missing.bytes == 0);
        withdrawn += message->state == MESSAGE_IN_WITHDRAWN;
        ready += message->is_ready && !message->is_told;
        missing_check(&m->missing, &message->missing);
    }
    CHECK(gaps == m->gaps);
    CHECK(withdrawn == m->withdrawn);
    CHECK(ready == m->ready);
}
