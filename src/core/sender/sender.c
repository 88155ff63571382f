#include "sender.h"

#include "core/adt/arena.h"
#include "core/check.h"
#include "core/number.h"
#include "sender_steps.h"

/* What tables hold to begin with: enough for a connection that carries a message now and then. */
enum { FEW_MESSAGES = 8, FEW_POSTED = 16, FEW_NOTES = 16, FEW_LEFT_OUT = 16 };

enum { DOUBLINGS = 16 }; /* of what a timeout gives up, at most */

static void start_flow(struct sender *s, const struct sender_config *config, struct table notes,
                       instant now)
{
    const struct flow_config flow = {.congestion = config->congestion,
                                     .unit = sender_path_unit(&s->path),
                                     .window = config->window_bytes,
                                     .seed = secret_draw(&s->secret),
                                     .notes = notes};
    flow_init(&s->flow, &flow, now);
}

/* Carves the sender's tables; with a NULL arena only counts. Far, those that are in use even at
 * rest come first. */
static struct sender *carve(struct arena *arena, const struct sender_config *config,
                            struct table *notes)
{
    uint32_t messages = arena_round_up(config->messages);
    uint32_t posted = messages * MESSAGES_OUT_AHEAD;
    struct sender *s = arena_take(arena, 1, sizeof *s);
    struct table left_out = arena_table(arena, FEW_LEFT_OUT, LEFT_OUT_KEPT, sizeof(uint64_t));
    struct table sizes = arena_table(arena, FEW_POSTED, posted, sizeof(uint64_t));
    struct table ring = arena_table(arena, FEW_MESSAGES, messages, sizeof(struct message_out));
    *notes = arena_table(arena, FEW_NOTES, DELIVERY_NOTES, sizeof(struct delivery_note));
    struct recovery_arrays arrays =
        recovery_take_arrays(arena, arena_round_up(config->transit_units), messages);
    arrays.left_out = left_out;
    if (s == NULL)
        return NULL;
    *s = (struct sender){.config = *config, .far = arena->far, .secret = config->secret};
    messages_out_init(&s->messages, ring, sizes, config->first_message);
    recovery_init(&s->recovery, &arrays, &s->messages, config->first_message, config->first_seq,
                  &s->secret);
    return s;
}

struct arena_bytes sender_bytes(const struct sender_config *config)
{
    struct arena counting = {.near = NULL};
    struct table notes;
    carve(&counting, config, &notes);
    return counting.used;
}

/* From now on the peer is needed. What its handshake has found out before still holds. */
static void on_outstanding(struct sender *s, instant now)
{
    bool is_known = s->config.keyring != NULL && s->session.unpaired == OUTCOME_KEYS;
    if (!is_known)
        sender_session_on_outstanding(&s->session);
    sender_timer_on_outstanding(&s->timer, now, &s->config, sender_session_is_paired(&s->session));
}

struct sender *sender_init(void *near, void *far, const struct sender_config *config, instant now)
{
    uint32_t most = (uint32_t)greater(config->unit_most, config->unit_bytes);
    CHECK(config->unit_bytes >= TRAILER_BYTES + GRAIN);
    CHECK(config->burst_units >= 1);
    CHECK(config->burst_units <= BURST_UNITS);
    struct arena arena = {.near = near, .far = far};
    struct table notes;
    struct sender *s = carve(&arena, config, &notes);
    sender_path_init(&s->path, config->unit_bytes, most, config->is_cut, now);
    offload_path_init(&s->path.offload, config->is_offloaded);
    start_flow(s, config, notes, now);
    sender_leave(s, now);
    if (config->stays)
        on_outstanding(s, now);
    return s;
}

size_t sender_rest(struct sender *s)
{
    struct recovery *r = &s->recovery;
    if (!messages_out_is_idle(&s->messages) || r->in_transit.units > 0 || r->to_send.count > 0)
        return SIZE_MAX;
    messages_out_shrink(&s->messages);
    recovery_rest(r);
    delivery_forget(&s->flow.delivery, r->in_transit.next);
    delivery_shrink(&s->flow.delivery);
    return greater(table_far_bytes(&r->left_out.table, s->far),
                   table_far_bytes(&s->messages.posted_table, s->far));
}

/* ---- the life of a message ---- */

bool sender_times_submit(const struct sender *s)
{
    return s->messages.open == 0 || s->session.is_parting; /* then the message ends at once */
}

bool sender_has_event(const struct sender *s)
{
    return s->messages.ready > 0;
}

bool sender_is_in_transit(const struct sender *s)
{
    return s->recovery.in_transit.units > 0;
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
    if (s->ended != OUTCOME_OK || s->session.is_parting) {
        enum outcome outcome = s->ended != OUTCOME_OK ? s->ended : OUTCOME_PEER_CLOSED;
        messages_out_end(&s->messages, message, outcome);
        return true;
    }
    if (was_idle && !s->config.stays)
        on_outstanding(s, now);
    if (*number < s->messages.announced) /* else nothing is known of its buffer */
        units_to_send_match(&s->recovery.to_send, *number);
    return true;
}

bool sender_submit_pieces(struct sender *s, instant now, void *user, const struct pieces *pieces,
                          uint64_t size, uint64_t *number)
{
    CHECK(size <= pieces->bytes);
    if (!sender_submit(s, now, user, NULL, size, number))
        return false;
    messages_out_find(&s->messages, *number)->pieces = pieces;
    return true;
}

/* The LIVE message will not be sent. False if it is over, or refused already. */
static bool refuse(struct sender *s, uint64_t number, uint8_t reason, enum outcome outcome)
{
    struct message_out *message = messages_out_find_for(&s->messages, number, false);
    if (message == NULL)
        return false;
    units_to_send_refuse(&s->recovery.to_send, message, reason, outcome);
    sender_finish(s);
    return true;
}

bool sender_cancel(struct sender *s, instant now, uint64_t number)
{
    bool was_waiting = sender_is_waiting(s);
    bool is_refused = refuse(s, number, VOID_CANCELLED, OUTCOME_CANCELLED);
    sender_wait(s, now, was_waiting);
    if (is_refused && s->phase == SENDER_CLOSING && s->messages.open == 0)
        sender_timer_on_close(&s->timer, now); /* which nobody was told of yet */
    return is_refused;
}

bool sender_fault(struct sender *s, uint64_t number)
{
    return refuse(s, number, VOID_FAULT, OUTCOME_FAULT);
}

bool sender_event(struct sender *s, struct event *event)
{
    return messages_out_take_event(&s->messages, event);
}

bool sender_piece(struct sender *s, uint64_t number, uint32_t i, struct iovec *piece)
{
    const struct message_out *message = messages_out_find(&s->messages, number);
    if (message == NULL || message->is_told)
        return false;
    return pieces_of_memory(message->pieces, message->buffer, message->size, i, piece);
}

/* ---- the end ---- */

void sender_close(struct sender *s, instant now)
{
    if (s->phase != SENDER_OPEN)
        return;
    s->phase = SENDER_CLOSING;
    sender_timer_on_close(&s->timer, now);
    sender_finish(s);
    sender_expire(s, now);
}

void sender_agree_close(struct sender *s)
{
    s->is_agreed = true;
}

bool sender_has_told_close(const struct sender *s)
{
    return s->is_agreed || s->session.was_paired;
}

bool sender_has_messages(const struct sender *s)
{
    return !messages_out_is_idle(&s->messages);
}

bool sender_has_live(const struct sender *s)
{
    return s->messages.live > 0;
}

void sender_give_up(struct sender *s, bool is_cut)
{
    CHECK(s->phase != SENDER_OPEN);
    s->session.is_cut = s->session.is_cut || is_cut || s->messages.open > 0;
    messages_out_end_all(&s->messages, OUTCOME_CLOSED);
    if (s->phase == SENDER_CLOSING && sender_session_is_paired(&s->session))
        sender_session_set_due(&s->session, HELLO_TELLS);
    else
        sender_session_clear_due(&s->session);
}

/* ---- time ---- */

/* A limit has passed: what is outstanding fails. A close need not wait for anybody any more. */
static void fail_by_time(struct sender *s, instant now, enum sender_due due, enum outcome outcome)
{
    if (sender_timer_put_off(&s->timer, now, s, due))
        return;
    sender_fail(s, now, outcome);
    if (s->phase == SENDER_CLOSING)
        s->phase = SENDER_CLOSED;
}

static bool is_full(struct sender *s)
{
    struct fragment head;
    return sender_head(s, &head) && recovery_is_full(&s->recovery, &head);
}

/* Units were made smaller, and their parts may have filled the table of repeats. Then those that
 * follow on each other are joined. Where that does not help, only what is in transit makes places,
 * and each timeout gives up twice as much of it. */
static void make_places(struct sender *s, instant now)
{
    uint32_t units = (uint32_t)PROBE_UNITS << lesser(s->timer.probes, DOUBLINGS);
    if (!is_full(s))
        return;
    recovery_join(&s->recovery);
    if (!is_full(s))
        return;
    (void)sender_repeat_oldest(s, now, units - PROBE_UNITS);
    recovery_join(&s->recovery);
}

/* A receiver that has no room for another gap refuses most of what there is; what it misses first
 * it takes. So if nothing has come of the last timeout that is one of two, and goes next. */
static uint32_t repeat_some(struct sender *s, instant now, uint32_t units)
{
    if (s->timer.probes == 0 || units < PROBE_UNITS)
        return sender_repeat_oldest(s, now, units);
    uint32_t first = sender_repeat_first(s, now);
    uint32_t oldest = sender_repeat_oldest(s, now, units - 1);
    recovery_sort(&s->recovery);
    return first > oldest ? first : oldest;
}

/* Nothing came back in time. */
static void probe(struct sender *s, instant now)
{
    s->counters.probes++;
    if (!s->session.is_early)
        ecn_path_on_timeout(&s->path.ecn);
    uint32_t units = path_mtu_asks_at_timeouts(&s->path.mtu) ? PROBE_UNITS - 1 : PROBE_UNITS;
    uint32_t data = repeat_some(s, now, units);
    make_places(s, now);
    s->flow.credit = units;
    sender_follow_path(s, sender_path_on_timeout(&s->path, now, data));
    bool is_lost = sender_timer_on_probe(&s->timer, now);
    if (is_lost || sender_session_is_abandoned(&s->session))
        sender_ask(s);
}

/* Why it was never paired. A peer that has called was there. */
static enum outcome why_unpaired(const struct sender *s)
{
    bool is_lost = s->config.was_called && sender_session_is_unexplained(&s->session);
    return is_lost ? OUTCOME_SILENT : s->session.unpaired;
}

static void do_due(struct sender *s, instant now, enum sender_due due)
{
    switch (due) {
    case DUE_UNPAIRED:
        fail_by_time(s, now, due, why_unpaired(s));
        break;
    case DUE_PARTED:
        if (s->messages.live == 0 || !sender_timer_put_off(&s->timer, now, s, due))
            sender_part(s, now);
        break;
    case DUE_SILENT:
        fail_by_time(s, now, due, OUTCOME_SILENT);
        break;
    case DUE_STALLED:
        fail_by_time(s, now, due, OUTCOME_STALLED);
        break;
    case DUE_PACE:
        pacing_expire(&s->flow.pacing, now);
        break;
    case DUE_LOSS:
        (void)sender_lose(s, now);
        break;
    case DUE_PROBE:
        probe(s, now);
        break;
    case DUE_PATH:
        path_mtu_expire(&s->path.mtu, now, s->recovery.newest);
        break;
    case DUE_HELLO:
        sender_session_set_due(&s->session, HELLO_TELLS);
        break;
    case DUE_QUESTION:
        sender_ask(s);
        break;
    case DUE_REST:
        sender_timer_on_hello(&s->timer, now, s);
        break;
    case DUE_END:
        s->phase = SENDER_CONFIRMED;
        break;
    case DUE_END_UNCONFIRMED:
        s->phase = SENDER_CLOSED;
        break;
    case DUE_NOTHING:
        break;
    }
}

void sender_expire(struct sender *s, instant now)
{
    enum sender_due due;
    while ((due = sender_timer_due(s, now)) != DUE_NOTHING) {
        sender_timer_note_stop(&s->timer, now, s);
        do_due(s, now, due);
    }
}

/* ---- the path, as the system sees it ---- */

bool sender_on_refused_size(struct sender *s, instant now, uint32_t bytes)
{
    enum path_change change;
    if (!sender_path_on_refused(&s->path, now, bytes, &change))
        return false;
    sender_follow_path(s, change);
    return true;
}

void sender_on_uncut(struct sender *s)
{
    if (s->path.offload.state != OFFLOAD_PATH_UNUSED)
        offload_path_init(&s->path.offload, false);
}

void sender_on_moved(struct sender *s, instant now, uint32_t unit_bytes, uint32_t unit_most)
{
    s->config.unit_bytes = unit_bytes;
    s->config.unit_most = unit_most;
    sender_begin_anew(s, now);
}

void sender_show(struct sender *s)
{
    if (sender_session_is_paired(&s->session))
        sender_session_set_due(&s->session, HELLO_TELLS);
}

instant sender_awaits_since(const struct sender *s)
{
    return instant_later(s->timer.heard, s->timer.progress);
}

void sender_on_path_hint(struct sender *s, instant now)
{
    if (sender_session_is_paired(&s->session))
        path_mtu_on_hint(&s->path.mtu, now);
}

void sender_on_refused(struct sender *s, instant now)
{
    sender_session_on_refused(&s->session);
    if (!sender_session_is_paired(&s->session))
        refusals_on_refused(&s->timer.refusals, now);
}

void sender_on_closed_port(struct sender *s, instant now)
{
    if (sender_session_is_paired(&s->session))
        refusals_on_refused(&s->timer.refusals, now);
}

void sender_on_handshake_sent(struct sender *s, instant now)
{
    sender_timer_on_asked(&s->timer, now, s);
}

bool sender_on_listened(struct sender *s)
{
    return refusals_on_listened(&s->timer.refusals);
}

void sender_on_peer_heard(struct sender *s)
{
    refusals_on_heard(&s->timer.refusals);
}

void sender_on_keys(struct sender *s, enum outcome unpaired)
{
    s->session.unpaired = unpaired;
    refusals_on_heard(&s->timer.refusals);
}

/* ---- what there is to be known ---- */

instant sender_progress_at(const struct sender *s)
{
    return s->timer.progress;
}

bool sender_wants_ecn(const struct sender *s)
{
    return s->path.ecn.state != ECN_PATH_FAILED && !s->session.is_early;
}

bool sender_is_asking(const struct sender *s)
{
    bool waits = s->phase == SENDER_OPEN || (s->phase == SENDER_CLOSING && s->messages.open > 0);
    return waits && s->ended == OUTCOME_OK && !sender_is_admitted(s);
}

enum peer_link sender_link(const struct sender *s)
{
    if (s->ended != OUTCOME_OK || s->phase != SENDER_OPEN)
        return LINK_ENDED;
    return sender_is_admitted(s) ? LINK_UP : LINK_ASKING;
}

bool sender_is_admitted(const struct sender *s)
{
    return sender_session_is_admitted(&s->session);
}

enum outcome sender_ended(const struct sender *s)
{
    return s->ended == OUTCOME_OK ? OUTCOME_CLOSED : s->ended;
}

bool sender_is_closed(const struct sender *s)
{
    return sender_is_over(s);
}

bool sender_is_confirmed(const struct sender *s)
{
    return s->phase == SENDER_CONFIRMED;
}

const struct sender_counters *sender_counters(const struct sender *s)
{
    return &s->counters;
}

bool sender_is_decided(struct sender *s, uint64_t number)
{
    return messages_out_find_for(&s->messages, number, false) == NULL;
}

void sender_set_near(struct sender *s, bool is_near)
{
    flow_set_near(&s->flow, is_near);
}

struct pairing sender_pairing(const struct sender *s)
{
    return sender_is_admitted(s) ? s->session.pairing : (struct pairing){.session = 0};
}

struct sender_gauges sender_gauges(const struct sender *s)
{
    return (struct sender_gauges){.window = flow_window(&s->flow),
                                  .in_transit = s->recovery.in_transit.bytes,
                                  .capacity = s->flow.capacity,
                                  .rate = s->flow.congestion.rate,
                                  .unit = s->path.size.data + TRAILER_BYTES,
                                  .path = s->path.mtu.bytes,
                                  .rtt_smoothed = s->flow.rtt.smoothed,
                                  .rtt_lowest = s->flow.rtt.lowest};
}

void sender_check(const struct sender *s)
{
    messages_out_check(&s->messages);
    recovery_check(&s->recovery);
    sender_session_check(&s->session);
    flow_check(&s->flow);
    sender_path_check(&s->path);
    CHECK(s->flow.congestion.unit == sender_path_unit(&s->path));
}
