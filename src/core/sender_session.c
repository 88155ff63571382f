/* Pairing. The receiver draws a session, the sender a tag, and only a datagram that carries both
 * counts. A session that the sender does not know is never entered on its own word: the sender
 * proposes a fresh tag, and enters what answers with it. So a datagram of a peer that is dead can
 * neither start a session nor end one.
 *
 *     sender                                   receiver
 *       hello (session 0, tag t)  ----------->   binds t
 *       <-----------  request (session s, tag t)
 *       units (s, t) ...                                                                        */
#include "random.h"
#include "sender_state.h"

static uint16_t draw_tag(struct sender *s)
{
    uint16_t tag;
    do
        tag = (uint16_t)random_next(&s->random);
    while (tag == 0);
    return tag;
}

void sender_leave(struct sender *s, instant now)
{
    struct sender_session *session = &s->session;
    uint64_t seq = s->in_transit.base;
    while (units_in_transit_find(&s->in_transit, &seq, s->in_transit.next) != NULL)
        units_in_transit_remove(&s->in_transit, seq);
    units_to_send_reset(&s->to_send);
    messages_out_forget(&s->messages, s->to_send.cursor);
    units_given_up_clear(&s->given_up);
    persistence_init(&s->persistence);
    *session = (struct sender_session){.left = session->pairing,
                                       .left_has_sent = session->has_sent,
                                       .proposed = {.session = 0, .tag = draw_tag(s)}};
    s->probe_credit = 0;
    path_mtu_forget_probe(&s->path);
    s->hello_due = s->phase == SENDER_OPEN;
    sender_timer_on_leave(s, now);
}

/* The session begins; numbers count from the message at the cursor on. */
static void enter(struct sender *s, instant now, struct pairing pairing)
{
    s->session.pairing = pairing;
    s->session.proposed = (struct pairing){.session = 0, .tag = 0};
    s->session.message_base = s->to_send.cursor - s->config.first_message;
    s->session.seq_base = s->in_transit.next - s->config.first_seq;
    s->newest = s->in_transit.next;
    s->hello_due = sender_has_finished(s); /* only to say good-bye */
    sender_timer_on_heard(s, now);
}

/* Asks a receiver whose session is not the present one whether it is there. The same question has
 * the same tag; while there is no session, so have all. */
static void propose(struct sender *s, instant now, uint32_t session)
{
    if (now - s->timers.answered < MILLISECOND)
        return;
    s->timers.answered = now;
    if (sender_is_paired(s) && s->session.proposed.session != session) {
        s->session.proposed.tag = draw_tag(s);
        s->session.proposals = 0;
    }
    s->session.proposed.session = session;
    s->session.is_proposing = true;
    s->hello_due = true;
}

/* The answer to the only hello that asked is a first round trip. Of several nobody knows which was
 * answered; then it is assumed to be the first, unless that was very long ago. */
static void sample_round_trip(struct sender *s, instant now)
{
    duration taken = now - s->session.proposed_at;
    if (s->rtt.has_sample)
        return;
    if (s->session.proposals == 1)
        rtt_sample(&s->rtt, taken, 0);
    else if (taken > s->rtt.smoothed && taken <= SECOND)
        rtt_init(&s->rtt, taken);
}

/* A new session takes the place of the present one, if any. What that one had begun is lost with
 * it; messages of which it saw nothing go on in the new one. */
static void replace(struct sender *s, instant now, struct pairing pairing)
{
    uint64_t cursor = s->to_send.cursor;
    bool has_sent = s->session.has_sent;
    if (has_sent)
        messages_out_end_all(&s->messages, OUTCOME_RESTARTED);
    sender_leave(s, now);
    if (!has_sent) {
        s->to_send.cursor = cursor;
        messages_out_forget(&s->messages, cursor);
    }
    enter(s, now, pairing);
}

static bool is_same(struct pairing a, struct pairing b)
{
    return a.session == b.session && a.tag == b.tag;
}

/* The close of the session that was left is confirmed again, in case the confirmation was lost. But
 * a confirmation is not: they would answer each other for ever. It tells of nothing that arrived;
 * where nothing was sent that does not tell them apart, so there is a limit as well. */
static void confirm_again(struct sender *s, const struct block_ack *closing)
{
    struct sender_session *session = &s->session;
    bool is_confirmation = closing->length == 0 && session->left_has_sent;
    if (is_confirmation || session->confirmations == CONFIRMATIONS_MOST)
        return;
    session->confirmations++;
    session->is_confirming = true;
    s->hello_due = true;
}

bool sender_accepts(struct sender *s, instant now, struct pairing pairing,
                    const struct block_ack *closing)
{
    struct sender_session *session = &s->session;
    if (is_same(pairing, session->pairing))
        return true;
    if (closing != NULL && is_same(pairing, session->left))
        confirm_again(s, closing);
    if (closing != NULL || (sender_has_finished(s) && sender_is_paired(s)))
        return false;
    if (pairing.tag != 0 && pairing.tag == session->proposed.tag) {
        sample_round_trip(s, now);
        replace(s, now, pairing);
        return true;
    }
    if (pairing.session != session->pairing.session)
        propose(s, now, pairing.session);
    return false;
}

/* What there is to say, most urgent first. */
static struct hello next_hello(const struct sender *s)
{
    const struct sender_session *session = &s->session;
    if (session->is_confirming)
        return (struct hello){.pairing = session->left, .is_closing = true};
    if (!sender_is_paired(s) || session->is_proposing)
        return (struct hello){.pairing = session->proposed,
                              .requested = s->config.first_message}; /* of none as yet */
    return (struct hello){.pairing = session->pairing,
                          .requested = sender_wire_message(s, s->messages.requested),
                          .is_closing = sender_has_finished(s)};
}

void sender_say_hello(struct sender *s, instant now, struct burst *burst)
{
    struct hello hello = next_hello(s);
    size_t size = hello_encode(burst->control, sizeof burst->control, &hello);
    burst_set_control(burst, size);
    s->counters.hellos++;
    s->hello_due = false;
    if (hello.pairing.tag == s->session.proposed.tag && s->session.proposals++ == 0)
        s->session.proposed_at = now;
    s->session.has_closed |= hello.is_closing && !s->session.is_confirming;
    s->session.is_proposing = false;
    sender_timer_on_hello(s, now);
    if (s->session.is_confirming && sender_has_finished(s)) {
        s->phase = SENDER_CLOSED; /* the last word to a peer that has closed too */
        s->is_confirmed = true;
    }
    s->session.is_confirming = false;
}
