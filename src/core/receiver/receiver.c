#include "receiver.h"

#include "core/adt/arena.h"
#include "core/check.h"
#include "receiver_land.h"

#include <string.h>

/* What tables hold to begin with: enough for a connection that carries a message now and then. */
enum { FEW_MESSAGES = 8, FEW_NODES = 16, FEW_INTERVALS = 16 };

/* A user's wish to know the same message's size counts so seldom. */
#define WISH_COUNTS_EACH (5 * SECOND)

/* Carves the receiver's tables; with a NULL arena only counts. */
static struct receiver *carve(struct arena *arena, const struct receiver_config *config)
{
    uint32_t messages = arena_round_up(config->messages);
    uint32_t nodes = messages + config->holes;
    struct receiver *r = arena_take(arena, 1, sizeof *r);
    struct receiver_opening *opening =
        arena_take(arena, config->keyring != NULL ? 1 : 0, sizeof *opening);
    struct table interval =
        arena_table(arena, FEW_INTERVALS, config->intervals, sizeof(struct interval));
    struct table ring = arena_table(arena, FEW_MESSAGES, messages, sizeof(struct message_in));
    struct table node = arena_table(arena, FEW_NODES, nodes, sizeof(struct missing_node));
    if (r == NULL)
        return NULL;
    if (config->keyring != NULL)
        memset(opening, 0, sizeof *opening);
    *r = (struct receiver){.config = *config, .opening = opening, .far = arena->far};
    messages_in_init(&r->messages, ring, node, config->first_message);
    receiver_ack_init(&r->ack, interval, config->first_seq);
    return r;
}

struct arena_bytes receiver_bytes(const struct receiver_config *config)
{
    struct arena counting = {.near = NULL};
    carve(&counting, config);
    return counting.used;
}

struct receiver *receiver_init(void *near, void *far, const struct receiver_config *config,
                               instant now)
{
    CHECK(config->unit_bytes >= TRAILER_BYTES + GRAIN);
    struct arena arena = {.near = near, .far = far};
    struct receiver *r = carve(&arena, config);
    r->secret = config->secret;
    r->plans = (uint64_t)now << 20; /* a plan takes longer than 2^-20 ns */
    r->steady = UINT32_MAX;         /* nothing has gone wrong yet */
    receiver_leave(r, now);
    return r;
}

size_t receiver_rest(struct receiver *r)
{
    if (r->is_planned)
        return SIZE_MAX;
    messages_in_shrink(&r->messages);
    receiver_ack_rest(&r->ack);
    uint64_t messages = greater(table_far_bytes(&r->messages.ring_table, r->far),
                                table_far_bytes(&r->messages.missing.table, r->far));
    return greater(messages, table_far_bytes(&r->ack.arrived.table, r->far));
}

bool receiver_times_post(const struct receiver *r)
{
    return messages_in_is_idle(&r->messages) || (!r->has_credit && receiver_timer_times_post(r));
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
        receiver_timer_on_outstanding(&r->timer, now);
    if (r->has_credit)
        return true; /* it is published */
    receiver_timer_on_posted(&r->timer, now, r);
    if (receiver_timer_is_urgent(r))
        receiver_announce_new(r);
    return true;
}

bool receiver_post_pieces(struct receiver *r, instant now, void *user, const struct pieces *pieces,
                          uint64_t size, uint64_t *number)
{
    CHECK(size <= pieces->bytes);
    CHECK(!pieces->overlaps);
    if (!receiver_post(r, now, user, NULL, size, number))
        return false;
    messages_in_find(&r->messages, *number)->pieces = pieces;
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

bool receiver_piece(struct receiver *r, uint64_t number, uint32_t i, struct iovec *piece)
{
    const struct message_in *message = messages_in_find(&r->messages, number);
    bool is_posted = message != NULL && message->state == MESSAGE_IN_POSTED;
    return is_posted && pieces_of_memory(message->pieces, message->buffer, message->size, i, piece);
}

bool receiver_event(struct receiver *r, struct event *event)
{
    return !r->is_planned && !r->is_held && messages_in_take_event(&r->messages, event);
}

bool receiver_on_wait(struct receiver *r)
{
    if (r->phase != RECEIVER_OPEN || r->has_credit || !receiver_timer_gathers(r))
        return false;
    receiver_announce_new(r);
    return receiver_has_reply(r);
}

bool receiver_is_idle(const struct receiver *r)
{
    return messages_in_is_idle(&r->messages);
}

void receiver_hold(struct receiver *r, bool is_held)
{
    r->is_held = is_held;
}

/* ---- offers ---- */

/* A user may say again and again that it waits for the same message: the timer repeats the request.
 */
void receiver_ask_offers(struct receiver *r, instant now)
{
    struct receiver_offers *o = &r->offers;
    bool is_again = o->are_wanted && o->wanted == r->messages.next;
    if (is_again && now - o->wanted_at < WISH_COUNTS_EACH)
        return;
    o->are_wanted = true;
    o->wanted = r->messages.next;
    o->wanted_at = now;
    o->asked = is_again ? RECEIVER_ASKS - 1 : 0;
    if (!receiver_awaits_offer(r) || r->phase != RECEIVER_OPEN)
        return;
    receiver_timer_on_ask(&r->timer, now);
    receiver_announce(r, receiver_unknown(r));
}

bool receiver_offer(const struct receiver *r, uint64_t *size)
{
    *size = r->offers.size;
    return r->offers.is_known && r->offers.number == r->messages.next;
}

/* ---- the end ---- */

void receiver_close(struct receiver *r, instant now)
{
    if (r->phase != RECEIVER_OPEN)
        return;
    r->over = messages_in_over(&r->messages);
    messages_in_end_all(&r->messages, OUTCOME_CLOSED);
    r->phase = RECEIVER_CLOSING;
    receiver_clear_due(r, REPLY_REQUESTS);
    receiver_set_due(r, REPLY_CLOSES);
    receiver_timer_on_close(&r->timer, now);
    if (receiver_session_is_bound(&r->session))
        return;
    receiver_end_close(r); /* there is nobody to tell, */
    if (r->session.is_untold)
        r->phase = RECEIVER_CLOSED; /* or nobody any more, who has not confirmed */
}

void receiver_agree_close(struct receiver *r)
{
    r->is_agreed = true;
}

enum outcome receiver_told(const struct receiver *r)
{
    return r->told;
}

enum outcome receiver_end_beside(const struct receiver *r, enum outcome sender_ended)
{
    uint64_t size;
    bool has_begun = r->session.has_units || receiver_offer(r, &size);
    bool is_cut = sender_ended == OUTCOME_PEER_CLOSED && has_begun;
    return is_cut ? OUTCOME_CUT_OFF : sender_ended;
}

bool receiver_is_closed(const struct receiver *r)
{
    return receiver_is_over(r);
}

bool receiver_is_confirmed(const struct receiver *r)
{
    bool needs_none = r->phase == RECEIVER_CLOSING && receiver_timer_has_said_enough(r);
    return r->phase == RECEIVER_CONFIRMED || needs_none;
}

/* ---- time ---- */

static void do_due(struct receiver *r, instant now, enum receiver_due due)
{
    switch (due) {
    case RECEIVER_DUE_SILENT:
        if (!receiver_timer_put_off(&r->timer, now, r))
            receiver_fail(r, now, OUTCOME_SILENT);
        break;
    case RECEIVER_DUE_REQUEST:
        receiver_announce(r,
                          receiver_timer_asks(r, now) ? receiver_unknown(r) : r->session.requested);
        break;
    case RECEIVER_DUE_CLOSING:
        receiver_set_due(r, REPLY_CLOSES);
        break;
    case RECEIVER_DUE_END:
        r->phase = r->is_agreed ? RECEIVER_CONFIRMED : RECEIVER_CLOSED;
        break;
    case RECEIVER_DUE_NOTHING:
        break;
    }
}

void receiver_expire(struct receiver *r, instant now)
{
    enum receiver_due due;
    while ((due = receiver_timer_due(r, now)) != RECEIVER_DUE_NOTHING)
        do_due(r, now, due);
}

/* ---- the path, as the system sees it ---- */

void receiver_on_closed_port(struct receiver *r, instant now)
{
    if (receiver_session_is_bound(&r->session))
        refusals_on_refused(&r->timer.refusals, now);
}

bool receiver_on_listened(struct receiver *r)
{
    return refusals_on_listened(&r->timer.refusals);
}

void receiver_on_moved(struct receiver *r, instant now)
{
    refusals_on_heard(&r->timer.refusals);
    if (!receiver_session_is_bound(&r->session) || r->phase != RECEIVER_OPEN)
        return;
    if (r->ack.arrived.count > 0)
        receiver_timer_on_asked(&r->timer, now);
    receiver_announce(r, receiver_unknown(r));
}

/* ---- what there is to be known ---- */

bool receiver_wants_joined(const struct receiver *r)
{
    return !r->joined.is_left;
}

uint32_t receiver_recent_bytes(const struct receiver *r)
{
    return r->prediction.recent;
}

/* Bytes that are missing of the message that the newest trailer foretells. */
static uint64_t foretold(struct receiver *r)
{
    const struct prediction *p = &r->prediction;
    if (p->length == UINT32_MAX)
        return 0;
    const struct message_in *message = messages_in_find(&r->messages, p->message);
    return message != NULL ? message->missing.bytes : 0;
}

uint64_t receiver_expected(struct receiver *r)
{
    return r->prediction.is_asked ? 0 : foretold(r);
}

bool receiver_awaits_more(struct receiver *r)
{
    return foretold(r) > 0;
}

duration receiver_round_trip(const struct receiver *r)
{
    return r->timer.round_trip;
}

struct pairing receiver_pairing(const struct receiver *r)
{
    return r->session.pairing;
}

bool receiver_is_replaced(const struct receiver *r)
{
    return r->is_replaced;
}

enum outcome receiver_ended(const struct receiver *r)
{
    return r->ended;
}

const struct receiver_counters *receiver_counters(const struct receiver *r)
{
    return &r->counters;
}

void receiver_check(const struct receiver *r)
{
    messages_in_check(&r->messages);
    receiver_ack_check(&r->ack);
    receiver_session_check(&r->session);
    CHECK(r->session.requested <= r->messages.next);
    CHECK(r->session.known <= r->messages.next);
    CHECK(!receiver_is_due(r, REPLY_REQUESTS) || r->replies.next_request <= r->session.requested);
    CHECK((r->replies.cookies != 0) == receiver_is_due(r, REPLY_COOKIE));
}
