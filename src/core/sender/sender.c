#include "sender.h"

#include "core/adt/arena.h"
#include "core/check.h"
#include "sender_state.h"

static const duration INITIAL_RTT = 100 * MILLISECOND;

enum { WATCHED_LEAST = 64 }; /* transmissions that were given up */

/* Carves the sender's arrays; with a NULL arena only counts. */
static struct sender *carve(struct arena *arena, const struct sender_config *config)
{
    uint32_t messages = arena_round_up(config->messages);
    uint32_t transit = arena_round_up(config->transit_units);
    uint32_t repeats = arena_round_up(transit + messages);
    uint32_t watched = transit > WATCHED_LEAST ? transit : WATCHED_LEAST;
    struct sender *s = arena_take(arena, 1, sizeof *s);
    void *ring = arena_take(arena, messages, sizeof(struct message_out));
    void *posted = arena_take(arena, messages * MESSAGES_OUT_AHEAD, sizeof(uint64_t));
    void *ready = arena_take(arena, messages, sizeof(uint64_t));
    void *units = arena_take(arena, transit, sizeof(struct transit_unit));
    void *fragments = arena_take(arena, repeats, sizeof(struct fragment));
    void *given_up = arena_take(arena, watched, sizeof(struct unit_given_up));
    if (s == NULL)
        return NULL;
    *s = (struct sender){.config = *config};
    messages_out_init(&s->messages, ring, posted, ready, messages, config->first_message);
    units_to_send_init(&s->to_send, &s->messages, fragments, repeats, config->first_message);
    units_in_transit_init(&s->in_transit, units, transit, config->first_seq);
    units_given_up_init(&s->given_up, given_up, watched);
    return s;
}

size_t sender_bytes(const struct sender_config *config)
{
    struct arena counting = {.memory = NULL};
    carve(&counting, config);
    return counting.used;
}

struct sender *sender_init(void *memory, const struct sender_config *config, instant now)
{
    uint32_t most = config->unit_most > config->unit_bytes ? config->unit_most : config->unit_bytes;
    CHECK(config->unit_bytes >= TRAILER_BYTES + GRAIN);
    CHECK(config->burst_units >= 1);
    CHECK(config->burst_units <= BURST_UNITS);
    struct arena arena = {.memory = memory};
    struct sender *s = carve(&arena, config);
    unit_size_init(&s->unit_size, sender_unit_data(config->unit_bytes), config->is_cut);
    s->secret = config->secret;
    left_out_init(&s->left_out, &s->secret);
    s->capacity = config->window_bytes;
    tolerance_init(&s->tolerance);
    path_mtu_init(&s->path, config->unit_bytes, most, now);
    ecn_path_init(&s->ecn);
    rtt_init(&s->rtt, INITIAL_RTT);
    congestion_init(&s->congestion, config->congestion, s->unit_size.most + TRAILER_BYTES,
                    config->window_bytes, secret_draw(&s->secret));
    delivery_init(&s->delivery, now);
    pacing_init(&s->pacing, now);
    sender_leave(s, now);
    return s;
}

void sender_refuse(struct sender *s, struct message_out *message, uint8_t reason,
                   enum outcome outcome)
{
    messages_out_refuse(&s->messages, message, reason, outcome);
    if (message->number >= s->to_send.cursor)
        return; /* the cursor gets there and finds it void */
    struct fragment tell = {.message = message->number,
                            .is_last = true,
                            .is_void = true,
                            .is_repeat = true,
                            .was = UNIT_NEVER_SENT};
    message->is_cut = true;
    message->units_out = 1;
    units_to_send_repeat(&s->to_send, &tell);
}

void sender_match(struct sender *s, uint64_t number)
{
    struct message_out *message = messages_out_find(&s->messages, number);
    if (message == NULL || message->state != MESSAGE_OUT_LIVE)
        return;
    uint64_t posted = messages_out_posted(&s->messages, number);
    if (posted == POSTED_UNKNOWN)
        return;
    if (posted == REQUEST_WITHDRAWN)
        sender_refuse(s, message, VOID_CANCELLED, OUTCOME_PEER_CANCELLED);
    else if (message->size > posted)
        sender_refuse(s, message, VOID_TOO_LARGE, OUTCOME_TOO_LARGE);
}

bool sender_submit(struct sender *s, instant now, void *user, const uint8_t *buffer, uint64_t size,
                   uint64_t *number)
{
    if (s->phase != SENDER_OPEN)
        return false;
    CHECK(size <= MESSAGE_BYTES_MAX);
    bool was_idle = s->messages.open == 0;
    struct message_out *message = messages_out_add(&s->messages, user, buffer, size);
    if (message == NULL) {
        s->counters.table_full++;
        return false;
    }
    *number = message->number;
    if (was_idle)
        sender_timer_on_outstanding(s, now);
    sender_match(s, *number);
    return true;
}

bool sender_cancel(struct sender *s, instant now, uint64_t number)
{
    (void)now;
    struct message_out *message = messages_out_find(&s->messages, number);
    if (message == NULL || message->state != MESSAGE_OUT_LIVE)
        return false;
    sender_refuse(s, message, VOID_CANCELLED, OUTCOME_CANCELLED);
    sender_finish(s);
    return true;
}

bool sender_fault(struct sender *s, uint64_t number)
{
    struct message_out *message = messages_out_find(&s->messages, number);
    if (message == NULL || message->state != MESSAGE_OUT_LIVE)
        return false;
    sender_refuse(s, message, VOID_FAULT, OUTCOME_FAULT);
    sender_finish(s);
    return true;
}

bool sender_event(struct sender *s, struct event *event)
{
    return messages_out_take_event(&s->messages, event);
}

void sender_fail(struct sender *s, instant now, enum outcome outcome)
{
    messages_out_end_all(&s->messages, outcome);
    sender_leave(s, now);
}

void sender_close(struct sender *s, instant now)
{
    if (s->phase != SENDER_OPEN)
        return;
    s->phase = SENDER_CLOSING;
    s->timers.hellos = 0;
    s->timers.hello = now;
    sender_finish(s);
    sender_expire(s, now);
}

struct iovec sender_buffer(struct sender *s, uint64_t number)
{
    const struct message_out *message = messages_out_find(&s->messages, number);
    if (message == NULL)
        return (struct iovec){.iov_base = NULL, .iov_len = 0};
    return (struct iovec){.iov_base = (void *)message->buffer, .iov_len = message->size};
}

void sender_give_up(struct sender *s)
{
    CHECK(s->phase != SENDER_OPEN);
    messages_out_end_all(&s->messages, OUTCOME_CLOSED);
    s->hello_due = s->phase == SENDER_CLOSING && sender_is_paired(s);
}

void sender_finish(struct sender *s)
{
    if (s->phase == SENDER_CLOSING && s->messages.live == 0)
        messages_out_end_unannounced(&s->messages);
}

instant sender_progress_at(const struct sender *s)
{
    return s->timers.progress;
}

bool sender_wants_ecn(const struct sender *s)
{
    return s->ecn.state != ECN_PATH_FAILED;
}

bool sender_is_closed(const struct sender *s)
{
    return s->phase == SENDER_CLOSED;
}

bool sender_is_confirmed(const struct sender *s)
{
    return s->is_confirmed;
}

const struct sender_counters *sender_counters(const struct sender *s)
{
    return &s->counters;
}

struct sender_gauges sender_gauges(const struct sender *s)
{
    return (struct sender_gauges){.window = sender_window(s),
                                  .in_transit = s->in_transit.bytes,
                                  .capacity = s->capacity,
                                  .rate = s->congestion.rate,
                                  .unit = s->unit_size.data + TRAILER_BYTES,
                                  .path = s->path.bytes,
                                  .rtt_smoothed = s->rtt.smoothed,
                                  .rtt_lowest = s->rtt.lowest};
}

/* Units of each message, counted where they are, against what the message says (I1). */
static void check_units_out(const struct sender *s)
{
    uint64_t counted = 0;
    uint64_t said = 0;
    for (uint64_t seq = s->in_transit.base; seq < s->in_transit.next; seq++) {
        const struct transit_unit *unit = units_in_transit_at(&s->in_transit, seq);
        const struct message_out *m =
            unit->is_in_transit
                ? messages_out_find((struct messages_out *)&s->messages, unit->message)
                : NULL;
        if (m != NULL && m->state == (unit->is_void ? MESSAGE_OUT_VOID : MESSAGE_OUT_LIVE))
            counted++;
    }
    for (uint32_t i = 0; i < s->to_send.count; i++) {
        const struct fragment *f =
            &s->to_send.repeat[(s->to_send.first + i) & (s->to_send.capacity - 1)];
        const struct message_out *m =
            messages_out_find((struct messages_out *)&s->messages, f->message);
        if (m != NULL && m->state == (f->is_void ? MESSAGE_OUT_VOID : MESSAGE_OUT_LIVE))
            counted++;
    }
    for (uint64_t n = s->messages.base; n < s->messages.next; n++) {
        const struct message_out *m = messages_out_find((struct messages_out *)&s->messages, n);
        if (m != NULL && (m->state == MESSAGE_OUT_LIVE || m->state == MESSAGE_OUT_VOID))
            said += m->units_out;
    }
    CHECK(counted == said);
}

void sender_check(const struct sender *s)
{
    check_units_out(s);
    CHECK(s->to_send.count <= s->to_send.capacity);
    messages_out_check(&s->messages);
    units_in_transit_check(&s->in_transit);
    units_given_up_check(&s->given_up);
    tolerance_check(&s->tolerance);
    persistence_check(&s->persistence);
    congestion_check(&s->congestion);
    path_mtu_check(&s->path);
    CHECK(s->unit_size.most == sender_unit_data(s->path.bytes));
    CHECK(s->congestion.unit == s->unit_size.most + TRAILER_BYTES);
    delivery_check(&s->delivery);
    unit_size_check(&s->unit_size);
    left_out_check(&s->left_out);
}
