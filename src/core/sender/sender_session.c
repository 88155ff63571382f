/* Pairing. The sender asks for a receiver with a fresh tag and a nonce; the receiver gives it a
 * cookie, and, once that is brought back, a session. Only what carries the nonce answers a
 * question, so neither a stranger nor a datagram of a dead peer can start a session or end one.
 *
 *     sender                                      receiver
 *       hello (tag t, nonce n)          --------->
 *       <---------  cookie (tag t, nonce n, cookie c)
 *       hello (tag t, nonce n, cookie c) -------->   binds t
 *       <---------  request (session s, tag t, nonce n)
 *       units (s, t) ...                                                                        */
#include "sender_state.h"

enum { AT_ONCE_MOST = 4 }; /* cookies that are answered at once, for each hello of the timer's */

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
    *session = (struct sender_session){.left = session->pairing};
    s->probe_credit = 0;
    path_mtu_forget_probe(&s->path);
    s->hello_due = false;
    sender_timer_on_leave(s, now);
    if (s->phase == SENDER_OPEN)
        sender_ask(s);
}

/* ---- asking ---- */

void sender_ask(struct sender *s)
{
    struct sender_question *q = &s->session.question;
    if (q->tag == 0) {
        q->tag = secret_draw_name(&s->secret);
        q->nonce = secret_draw_nonce(&s->secret);
    }
    q->at_once = 0;
    q->is_due = true;
    s->hello_due = true;
}

void sender_stop_asking(struct sender *s)
{
    s->hello_due = s->hello_due && (s->session.is_confirming || !s->session.question.is_due);
    s->session.question = (struct sender_question){.tag = 0};
}

static bool is_answer(const struct sender *s, uint32_t tag, uint64_t nonce)
{
    const struct sender_question *q = &s->session.question;
    return q->tag != 0 && tag == q->tag && nonce == q->nonce;
}

/* The answer to the only hello that asked is a first round trip. Of several nobody knows which was
 * answered; then it is assumed to be the first, unless that was very long ago. */
static void sample_round_trip(struct sender *s, instant now)
{
    const struct sender_question *q = &s->session.question;
    duration taken = now - q->asked_at;
    if (s->rtt.has_sample)
        return;
    if (q->hellos == 1)
        rtt_sample(&s->rtt, taken, 0);
    else if (taken > s->rtt.smoothed && taken <= SECOND)
        rtt_init(&s->rtt, taken);
}

bool sender_on_cookie(struct sender *s, instant now, const struct cookie_answer *answer)
{
    struct sender_question *q = &s->session.question;
    if (!is_answer(s, answer->pairing.tag, answer->nonce))
        return false;
    sample_round_trip(s, now);
    if (sender_is_paired(s) && answer->pairing.session == s->session.pairing.session) {
        sender_timer_on_heard(s, now); /* the receiver is still there, and in this session */
        return true;
    }
    q->cookie = answer->cookie;
    q->session = answer->pairing.session;
    if (q->at_once == AT_ONCE_MOST || sender_has_finished(s))
        return true;
    q->at_once++;
    q->is_due = true;
    s->hello_due = true;
    return true;
}

void sender_on_version_answer(struct sender *s, struct pairing echoed)
{
    const struct sender_question *q = &s->session.question;
    if (!sender_is_paired(s) && q->tag != 0 && echoed.tag == q->tag && echoed.session == q->session)
        s->unpaired = OUTCOME_VERSION;
}

void sender_on_refused(struct sender *s)
{
    if (!sender_is_paired(s) && s->unpaired == OUTCOME_UNREACHABLE)
        s->unpaired = OUTCOME_REFUSED;
}

/* ---- entering a session ---- */

/* The session begins; numbers count from the message at the cursor on. */
static void enter(struct sender *s, instant now, struct pairing pairing)
{
    sender_stop_asking(s);
    s->session.pairing = pairing;
    s->session.message_base = s->to_send.cursor - s->config.first_message;
    s->session.seq_base = s->in_transit.next - s->config.first_seq;
    s->newest = s->in_transit.next;
    s->was_paired = true;
    s->hello_due = sender_has_finished(s); /* only to say good-bye */
    sender_timer_on_heard(s, now);
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

bool sender_enters(struct sender *s, instant now, const struct request *request)
{
    if (!is_answer(s, request->pairing.tag, request->nonce))
        return false;
    replace(s, now, request->pairing);
    return true;
}

/* ---- after the end of one ---- */

/* The close of the session that was left is confirmed again: the confirmation was lost. */
void sender_confirm_again(struct sender *s, const struct block_ack *ack)
{
    struct sender_session *session = &s->session;
    bool is_close = ack->is_closing && ack->pairing.session == session->left.session &&
                    ack->pairing.tag == session->left.tag;
    if (!is_close || session->confirmations == CONFIRMATIONS_MOST)
        return;
    session->confirmations++;
    session->is_confirming = true;
    s->hello_due = true;
}

/* ---- hellos ---- */

/* What there is to say, most urgent first. */
static struct hello next_hello(const struct sender *s)
{
    const struct sender_session *session = &s->session;
    const struct sender_question *q = &session->question;
    if (session->is_confirming)
        return (struct hello){.pairing = session->left, .is_closing = true};
    if (q->is_due)
        return (struct hello){.pairing = {.session = q->session, .tag = q->tag},
                              .nonce = q->nonce,
                              .cookie = q->cookie};
    return (struct hello){.pairing = session->pairing,
                          .requested = sender_wire_message(s, s->messages.requested),
                          .is_closing = s->phase != SENDER_OPEN && s->messages.open == 0};
}

static void note_question(struct sender *s, instant now)
{
    struct sender_question *q = &s->session.question;
    if (q->hellos++ == 0)
        q->asked_at = now;
    s->session.has_shown_cookie |= q->cookie != 0;
    q->is_due = false;
}

void sender_say_hello(struct sender *s, instant now, struct burst *burst)
{
    struct hello hello = next_hello(s);
    size_t size = hello_encode(burst->control, sizeof burst->control, &hello);
    burst_set_control(burst, size);
    s->counters.hellos++;
    s->hello_due = s->session.is_confirming && s->session.question.is_due;
    if (hello.nonce != 0)
        note_question(s, now);
    s->session.has_closed |= hello.is_closing && !s->session.is_confirming;
    sender_timer_on_hello(s, now);
    if (s->session.is_confirming && sender_has_finished(s)) {
        s->phase = SENDER_CLOSED; /* the last word to a peer that has closed too */
        s->is_confirmed = true;
    }
    s->session.is_confirming = false;
}
