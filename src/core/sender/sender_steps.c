#include "sender_steps.h"

void sender_ask(struct sender *s)
{
    if (s->config.keyring == NULL)
        sender_session_ask(&s->session, &s->secret);
    else if (sender_session_is_admitted(&s->session))
        sender_session_set_due(&s->session, HELLO_TELLS);
}

void sender_hear(struct sender *s, instant now)
{
    if (sender_session_on_heard(&s->session))
        sender_timer_on_heard(&s->timer, now, &s->config, sender_has_finished(s));
}

void sender_leave(struct sender *s, instant now)
{
    recovery_forget(&s->recovery);
    messages_out_forget(&s->messages, s->recovery.to_send.cursor);
    sender_session_leave(&s->session);
    s->flow.credit = 0;
    path_mtu_forget_probe(&s->path.mtu);
    sender_timer_on_leave(&s->timer, now);
    if (s->phase == SENDER_OPEN && s->ended == OUTCOME_OK)
        sender_ask(s);
}

/* A sender with keys has one session, whose numbers are sealed once. Until that begins it may find
 * a receiver later, unless the keys are wrong. */
static bool ends_with(const struct sender *s, enum outcome outcome)
{
    bool has_keys = s->config.keyring != NULL;
    return s->config.stays || (has_keys && (s->session.was_paired || outcome == OUTCOME_KEYS));
}

/* A peer that has closed may be gone before it has told all: it has closed nevertheless. */
static enum outcome why(const struct sender *s, enum outcome outcome)
{
    bool is_peers = outcome == OUTCOME_SILENT || outcome == OUTCOME_STALLED ||
                    outcome == OUTCOME_RESTARTED || outcome == OUTCOME_DIED;
    return s->session.is_parting && is_peers ? OUTCOME_PEER_CLOSED : outcome;
}

void sender_fail(struct sender *s, instant now, enum outcome reason)
{
    enum outcome outcome = why(s, reason);
    bool is_cut = outcome == OUTCOME_PEER_CLOSED;
    messages_out_end_all(&s->messages, is_cut ? OUTCOME_CUT_OFF : outcome);
    if (ends_with(s, outcome) && s->ended == OUTCOME_OK)
        s->ended = outcome;
    bool is_gone = outcome == OUTCOME_PEER_CLOSED || outcome == OUTCOME_RESTARTED;
    bool is_untold = sender_session_is_admitted(&s->session) && !is_gone;
    uint32_t asked = sender_session_is_paired(&s->session) ? 0 : s->session.question.tag;
    sender_leave(s, now);
    s->session.is_untold = s->session.is_untold || is_untold;
    /* The peer may have bound the question, and its answer was not heard. Then it waits to hear
     * that this end is closed, too, and is told when it says so. */
    if (is_cut && asked != 0)
        s->session.left = (struct pairing){.tag = asked};
}

void sender_wait(struct sender *s, instant now, bool was_waiting)
{
    if (!was_waiting && sender_is_waiting(s))
        sender_timer_on_begin(&s->timer, now);
}

void sender_finish(struct sender *s)
{
    if (s->phase == SENDER_CLOSING && s->messages.live == 0)
        messages_out_end_unannounced(&s->messages);
}

bool sender_follow_path(struct sender *s, enum path_change change)
{
    if (change == PATH_STAYS)
        return false;
    flow_set_unit(&s->flow, sender_path_unit(&s->path));
    s->counters.path_falls += change == PATH_FALLS;
    return change == PATH_FALLS;
}

static void forget_path(struct sender *s, instant now)
{
    const struct sender_config *c = &s->config;
    bool is_offloaded = s->path.offload.state != OFFLOAD_PATH_UNUSED;
    uint32_t most = (uint32_t)greater(c->unit_most, c->unit_bytes);
    sender_path_init(&s->path, c->unit_bytes, most, c->is_cut, now);
    offload_path_init(&s->path.offload, is_offloaded);
    flow_set_unit(&s->flow, sender_path_unit(&s->path));
    flow_forget_path(&s->flow, now, secret_draw(&s->secret));
}

void sender_begin_anew(struct sender *s, instant now)
{
    uint64_t seq = 0;
    uint32_t data;
    recovery_forget_gaps(&s->recovery);
    forget_path(s, now);
    while (recovery_repeat(&s->recovery, &seq, &data))
        ;
    s->flow.credit = 0;
    sender_timer_on_moved(&s->timer, now);
    if (sender_session_is_paired(&s->session))
        sender_session_set_due(&s->session, HELLO_TELLS);
}

/* Congestion control begins anew, as if nothing had been lost. */
static void leave_offload(struct sender *s, instant now)
{
    s->counters.offload_failures++;
    recovery_forget_gaps(&s->recovery);
    flow_begin_anew(&s->flow, now, secret_draw(&s->secret));
}

bool sender_lose(struct sender *s, instant now)
{
    struct recovery_pass pass = recovery_begin_pass(&s->recovery, &s->flow.rtt);
    struct offload_path *offload = &s->path.offload;
    bool has_failed = false;
    struct lost_unit lost;
    while (recovery_lose(&s->recovery, now, &pass, &lost)) {
        s->counters.lost++;
        if (lost.is_unwanted)
            continue;
        if (lost.is_cut)
            has_failed |= offload_path_on_lost(offload, now, lost.seq);
        if (lost.is_cut && offload_path_has_failed(offload))
            continue;
        sender_follow_path(s, sender_path_on_lost(&s->path, now, lost.sent, lost.data));
        flow_on_lost(&s->flow, now, lost.seq, lost.sent, lost.data + TRAILER_BYTES);
    }
    if (has_failed)
        leave_offload(s, now);
    return has_failed;
}

/* True if that shows that bursts are not to be cut any more. Where flights have two units nothing
 * else shows it. */
static bool note_given_up(struct sender *s, instant now, uint64_t seq)
{
    const struct unit_given_up *u = units_given_up_find(&s->recovery.given_up, seq);
    return u != NULL && u->is_cut && offload_path_on_lost(&s->path.offload, now, u->seq);
}

/* Those from number `seq` on. */
static uint32_t repeat_from(struct sender *s, instant now, uint64_t seq, uint32_t units)
{
    uint32_t largest = 0;
    bool has_failed = false;
    uint32_t data;
    for (uint32_t i = 0; i < units && recovery_repeat(&s->recovery, &seq, &data); i++) {
        unit_size_on_silence(&s->path.size, data);
        has_failed |= note_given_up(s, now, seq - 1);
        largest = data > largest ? data : largest;
    }
    if (has_failed)
        leave_offload(s, now);
    s->flow.credit = units;
    return largest;
}

uint32_t sender_repeat_oldest(struct sender *s, instant now, uint32_t units)
{
    return repeat_from(s, now, 0, units);
}

uint32_t sender_repeat_first(struct sender *s, instant now)
{
    return repeat_from(s, now, recovery_first(&s->recovery), 1);
}
