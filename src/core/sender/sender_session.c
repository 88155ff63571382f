#include "sender_session.h"

#include "core/check.h"

/* ---- what is due ---- */

void sender_session_set_due(struct sender_session *s, enum session_hello kind)
{
    bool is_plain = kind == HELLO_TELLS || kind == HELLO_ANSWERS;
    if (!is_plain)
        s->due = (s->due & ~(uint32_t)(HELLO_TELLS | HELLO_ANSWERS)) | kind;
    else if (s->due == HELLO_NONE || s->due == HELLO_ANSWERS)
        s->due = kind;
}

static void note_question(struct session_question *q, instant now)
{
    if (q->hellos++ == 0)
        q->asked_at = now;
}

enum session_hello sender_session_take_hello(struct sender_session *s, instant now,
                                             uint64_t requested, bool is_closing,
                                             struct hello *hello)
{
    struct session_question *q = &s->question;
    CHECK(s->due != HELLO_NONE);
    if ((s->due & HELLO_CONFIRMS) != 0) {
        *hello = (struct hello){.pairing = s->left, .is_closing = true};
        s->due &= ~(uint32_t)HELLO_CONFIRMS;
        return HELLO_CONFIRMS;
    }
    if ((s->due & HELLO_ASKS) != 0) {
        *hello = (struct hello){.pairing = {.session = q->session, .tag = q->tag},
                                .nonce = q->nonce,
                                .cookie = q->cookie};
        s->due &= ~(uint32_t)HELLO_ASKS;
        s->has_shown_cookie |= q->cookie != 0;
        note_question(q, now);
        return HELLO_ASKS;
    }
    *hello = (struct hello){.pairing = s->pairing,
                            .requested = sender_session_message(s, requested),
                            .is_closing = is_closing,
                            .is_cut = is_closing && s->is_cut};
    enum session_hello kind = s->due == HELLO_ANSWERS ? HELLO_ANSWERS : HELLO_TELLS;
    s->due = HELLO_NONE;
    s->has_closed |= is_closing;
    return kind;
}

/* ---- asking ---- */

void sender_session_ask(struct sender_session *s, struct secret *secret)
{
    struct session_question *q = &s->question;
    if (q->tag == 0) {
        q->tag = secret_draw_name(secret);
        q->nonce = secret_draw_nonce(secret);
    }
    q->at_once = 0;
    sender_session_set_due(s, HELLO_ASKS);
}

void sender_session_stop_asking(struct sender_session *s)
{
    s->due &= ~(uint32_t)HELLO_ASKS;
    s->question = (struct session_question){.tag = 0};
}

bool sender_session_on_heard(struct sender_session *s)
{
    if (sender_session_is_abandoned(s))
        return false;
    s->due &= ~(uint32_t)HELLO_ASKS;
    return true;
}

bool sender_session_is_answer(const struct sender_session *s, uint32_t tag, uint64_t nonce)
{
    const struct session_question *q = &s->question;
    return q->tag != 0 && tag == q->tag && nonce == q->nonce;
}

bool sender_session_is_unexplained(const struct sender_session *s)
{
    return s->unpaired == OUTCOME_UNREACHABLE || s->unpaired == OUTCOME_REFUSED ||
           s->unpaired == OUTCOME_NOT_ADMITTED;
}

bool sender_session_on_cookie(struct sender_session *s, const struct cookie_answer *answer,
                              bool is_over)
{
    struct session_question *q = &s->question;
    if (sender_session_is_paired(s) && answer->pairing.session == s->pairing.session) {
        if (sender_session_is_abandoned(s))
            return false;
        sender_session_stop_asking(s);
        return true;
    }
    q->cookie = answer->cookie;
    q->session = answer->pairing.session;
    if (sender_session_is_unexplained(s))
        s->unpaired = OUTCOME_NOT_ADMITTED;
    if (q->at_once == SESSION_AT_ONCE || is_over)
        return false;
    q->at_once++;
    sender_session_set_due(s, HELLO_ASKS);
    return false;
}

void sender_session_on_version_answer(struct sender_session *s, struct pairing echoed)
{
    const struct session_question *q = &s->question;
    if (!sender_session_is_paired(s) && q->tag != 0 && echoed.tag == q->tag &&
        echoed.session == q->session)
        s->unpaired = OUTCOME_VERSION;
}

void sender_session_on_refused(struct sender_session *s)
{
    if (!sender_session_is_paired(s) && sender_session_is_unexplained(s))
        s->unpaired = OUTCOME_REFUSED;
}

/* ---- one session after the other ---- */

void sender_session_enter(struct sender_session *s, struct pairing pairing, uint64_t message_base,
                          uint64_t seq_base)
{
    sender_session_stop_asking(s);
    s->pairing = pairing;
    s->message_base = message_base;
    s->seq_base = seq_base;
    s->was_paired = true;
    s->is_untold = false;
}

void sender_session_leave(struct sender_session *s)
{
    uint32_t most = s->has_closed ? SESSION_CONFIRMATIONS_CLOSED : SESSION_CONFIRMATIONS;
    *s = (struct sender_session){.left = s->pairing,
                                 .confirmations = most,
                                 .was_paired = s->was_paired,
                                 .is_untold = s->is_untold,
                                 .unpaired = s->unpaired};
}

void sender_session_unbind(struct sender_session *s)
{
    s->left = (struct pairing){.session = 0};
    s->was_paired = false;
}

void sender_session_confirm_again(struct sender_session *s, const struct block_ack *ack)
{
    bool is_session = ack->pairing.session == s->left.session || s->left.session == 0;
    bool is_close = ack->is_closing && is_session && ack->pairing.tag == s->left.tag;
    s->is_untold = s->is_untold && !is_close;
    if (!is_close || s->confirmations == 0)
        return;
    s->left = ack->pairing;
    s->confirmations--;
    sender_session_set_due(s, HELLO_CONFIRMS);
}

uint16_t sender_session_add_marks(struct sender_session *s, uint16_t marks)
{
    uint16_t more = (uint16_t)(marks - s->marks);
    if (more > UINT16_MAX / 2)
        return 0;
    s->marks = marks;
    return more;
}

void sender_session_check(const struct sender_session *s)
{
    CHECK((s->pairing.session != 0) == (s->pairing.tag != 0));
    CHECK((s->due & HELLO_TELLS) == 0 || s->due == HELLO_TELLS);
    CHECK((s->due & HELLO_ANSWERS) == 0 || s->due == HELLO_ANSWERS);
    CHECK((s->due & HELLO_ASKS) == 0 || s->question.tag != 0);
    CHECK((s->due & HELLO_CONFIRMS) == 0 || s->left.session != 0);
    CHECK(s->confirmations <= SESSION_CONFIRMATIONS);
    CHECK(!sender_session_is_abandoned(s) || s->question.session != s->pairing.session);
    CHECK(!s->is_early || sender_session_is_paired(s));
}
