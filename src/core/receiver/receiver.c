#include "receiver.h"

#include "core/adt/arena.h"
#include "core/check.h"
#include "receiver_state.h"

static struct receiver *carve(struct arena *arena, const struct receiver_config *config)
{
    uint32_t messages = arena_round_up(config->messages);
    uint32_t nodes = messages + config->holes;
    struct receiver *r = arena_take(arena, 1, sizeof *r);
    void *ring = arena_take(arena, messages, sizeof(struct message_in));
    void *ready = arena_take(arena, messages, sizeof(uint64_t));
    void *node = arena_take(arena, nodes, sizeof(struct missing_node));
    void *interval = arena_take(arena, config->intervals, sizeof(struct interval));
    if (r == NULL)
        return NULL;
    *r = (struct receiver){.config = *config};
    messages_in_init(&r->messages, ring, ready, messages, node, nodes, config->first_message);
    intervals_init(&r->ack.arrived, interval, config->intervals);
    return r;
}

size_t receiver_bytes(const struct receiver_config *config)
{
    struct arena counting = {.memory = NULL};
    carve(&counting, config);
    return counting.used;
}

struct receiver *receiver_init(void *memory, const struct receiver_config *config, instant now)
{
    CHECK(config->unit_bytes >= TRAILER_BYTES + GRAIN);
    struct arena arena = {.memory = memory};
    struct receiver *r = carve(&arena, config);
    r->secret = config->secret;
    r->steady = UINT32_MAX; /* nothing has gone wrong yet */
    receiver_unbind(r, now);
    return r;
}

bool receiver_post(struct receiver *r, instant now, void *user, uint8_t *buffer, uint64_t size,
                   uint64_t *number)
{
    if (r->phase != RECEIVER_OPEN)
        return false;
    CHECK(size <= MESSAGE_BYTES_MAX);
    bool was_idle = messages_in_is_idle(&r->messages);
    struct message_in *message = messages_in_add(&r->messages, user, buffer, size);
    if (message == NULL) {
        r->counters.table_full++;
        return false;
    }
    *number = message->number;
    if (was_idle)
        receiver_timer_on_outstanding(r, now);
    receiver_timer_on_posted(r, now);
    return true;
}

static bool withdraw(struct receiver *r, uint64_t number, enum outcome outcome)
{
    struct message_in *message = messages_in_find(&r->messages, number);
    if (message == NULL || message->state != MESSAGE_IN_POSTED)
        return false;
    messages_in_withdraw(&r->messages, message, outcome);
    receiver_announce(r, number);
    return true;
}

bool receiver_cancel(struct receiver *r, instant now, uint64_t number)
{
    (void)now;
    return withdraw(r, number, OUTCOME_CANCELLED);
}

bool receiver_fault(struct receiver *r, uint64_t number)
{
    return withdraw(r, number, OUTCOME_FAULT);
}

struct interval receiver_planned(const struct receiver *r)
{
    return r->planned;
}

struct iovec receiver_buffer(struct receiver *r, uint64_t number)
{
    const struct message_in *message = messages_in_find(&r->messages, number);
    bool is_posted = message != NULL && message->state == MESSAGE_IN_POSTED;
    return (struct iovec){.iov_base = is_posted ? message->buffer : NULL,
                          .iov_len = is_posted ? message->size : 0};
}

bool receiver_event(struct receiver *r, struct event *event)
{
    return !r->is_planned && messages_in_take_event(&r->messages, event);
}

void receiver_fail(struct receiver *r, instant now, enum outcome outcome)
{
    messages_in_end_all(&r->messages, outcome);
    receiver_unbind(r, now);
    r->closing_due = false;
    if (r->phase == RECEIVER_CLOSING) /* there is nobody to tell any more */
        r->phase = RECEIVER_CLOSED;
}

void receiver_close(struct receiver *r, instant now)
{
    if (r->phase != RECEIVER_OPEN)
        return;
    messages_in_end_all(&r->messages, OUTCOME_CLOSED);
    r->request_due = false;
    r->phase = RECEIVER_CLOSING;
    r->closing_due = true;
    r->timers.closing = now;
    if (r->session.pairing.session != 0)
        return;
    r->phase = RECEIVER_CLOSED; /* there is nobody to tell */
    r->closing_due = false;
    r->is_confirmed = true;
}

bool receiver_is_closed(const struct receiver *r)
{
    return r->phase == RECEIVER_CLOSED;
}

bool receiver_is_confirmed(const struct receiver *r)
{
    return r->is_confirmed;
}

uint32_t receiver_recent_bytes(const struct receiver *r)
{
    return r->prediction.recent;
}

uint64_t receiver_expected(struct receiver *r)
{
    const struct prediction *p = &r->prediction;
    if (p->length == UINT32_MAX || p->is_asked)
        return 0;
    const struct message_in *message = messages_in_find(&r->messages, p->message);
    return message != NULL ? message->missing.bytes : 0;
}

const struct receiver_counters *receiver_counters(const struct receiver *r)
{
    return &r->counters;
}

void receiver_check(const struct receiver *r)
{
    messages_in_check(&r->messages);
    intervals_check(&r->ack.arrived);
    CHECK((r->session.pairing.session != 0) == (r->session.pairing.tag != 0));
    CHECK(r->session.requested <= r->messages.next);
    CHECK(r->session.known <= r->messages.next);
}
