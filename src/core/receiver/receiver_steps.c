#include "receiver_steps.h"

void receiver_hear(struct receiver *r, instant now)
{
    r->session.nonce = 0;
    r->session.is_unheard = false;
    receiver_timer_on_heard(&r->timer, now, r);
}

/* What another sender said of its messages is nothing to the next one. */
static void forget_offers(struct receiver *r)
{
    const struct receiver_offers *o = &r->offers;
    r->offers = (struct receiver_offers){
        .are_wanted = o->are_wanted, .wanted = o->wanted, .wanted_at = o->wanted_at};
}

void receiver_leave(struct receiver *r, instant now)
{
    uint64_t next = r->messages.next;
    receiver_session_leave(&r->session, next, r->config.first_message);
    receiver_ack_forget(&r->ack);
    receiver_clear_due(r, REPLY_PROBE);
    receiver_clear_due(r, REPLY_REQUESTS);
    r->replies.next_request = next;
    forget_offers(r);
    r->plans++; /* the newest plan is good no more */
    prediction_init(&r->prediction, (r->config.unit_bytes - TRAILER_BYTES) / GRAIN * GRAIN, next);
    receiver_timer_on_leave(&r->timer, now);
}

void receiver_fail(struct receiver *r, instant now, enum outcome outcome)
{
    struct pairing pairing = r->session.pairing;
    messages_in_end_all(&r->messages, outcome);
    receiver_leave(r, now);
    if (r->config.keyring != NULL && pairing.session != 0)
        r->ended = outcome; /* nobody else has these keys */
    if (pairing.session != 0) {
        r->session.left = pairing; /* whose sender may close it yet, and is to be told */
        r->session.is_untold = outcome != OUTCOME_PEER_CLOSED && outcome != OUTCOME_CUT_OFF &&
                               outcome != OUTCOME_RESTARTED;
    }
    receiver_clear_due(r, REPLY_CLOSES);
    if (r->phase == RECEIVER_CLOSING) /* there is nobody to tell any more */
        r->phase = RECEIVER_CLOSED;
}

void receiver_announce(struct receiver *r, uint64_t number)
{
    struct receiver_replies *replies = &r->replies;
    if (!receiver_session_is_bound(&r->session))
        return;                                    /* nobody is there to hear it */
    number = lesser(number, r->session.requested); /* none is left out, whatever the sender says */
    if (!receiver_is_due(r, REPLY_REQUESTS) || number < replies->next_request)
        replies->next_request = number;
    receiver_set_due(r, REPLY_REQUESTS);
}

void receiver_announce_new(struct receiver *r)
{
    uint64_t unknown = receiver_unknown(r);
    bool is_little = r->messages.next - unknown <= RECEIVER_RUNS;
    receiver_announce(r, is_little ? unknown : r->session.requested);
}

uint64_t receiver_unknown(const struct receiver *r)
{
    bool is_all = r->messages.withdrawn > 0 || r->session.known >= r->messages.next;
    return is_all ? r->messages.base : r->session.known;
}

void receiver_end_close(struct receiver *r)
{
    r->phase = RECEIVER_CONFIRMED;
    receiver_clear_due(r, REPLY_CLOSES);
}

/* ---- hellos ---- */

/* A hello of the pairing is answered by a request: of what the sender does not know if it can use
 * that, else of what was not announced yet. That may be nothing: the sender does not answer an
 * empty request. A hello that itself answers a request gets none. */
static void answer(struct receiver *r, instant now, bool is_news)
{
    if (r->phase != RECEIVER_OPEN || (!is_news && !receiver_timer_allows_answer(&r->timer, now)))
        return;
    receiver_timer_on_answer(&r->timer, now);
    receiver_announce(r, is_news ? receiver_unknown(r) : r->session.requested);
}

/* ---- questions ---- */

/* Gives a cookie, if there is room for one more answer before the next take. */
static void give_cookie(struct receiver *r, instant now, const struct hello *hello)
{
    struct receiver_replies *replies = &r->replies;
    struct cookie_owner owner = {
        .peer = r->config.peer,
        .nonce = hello->nonce,
        .pairing = {.session = r->session.pairing.session, .tag = hello->pairing.tag}};
    if (replies->cookies == RECEIVER_COOKIES)
        return;
    replies->cookie[replies->cookies++] =
        (struct cookie_answer){.pairing = owner.pairing,
                               .nonce = hello->nonce,
                               .cookie = cookie_make(&r->config.jar, &owner, now)};
    receiver_set_due(r, REPLY_COOKIE);
    receiver_timer_on_cookie(&r->timer, now, hello->nonce);
}

static bool has_good_cookie(struct receiver *r, instant now, const struct hello *hello)
{
    const struct cookie_owner owner = {
        .peer = r->config.peer, .nonce = hello->nonce, .pairing = hello->pairing};
    if (hello->nonce == 0 || hello->cookie == 0)
        return false;
    bool is_good = cookie_is_good(&r->config.jar, &owner, now, hello->cookie);
    r->counters.drop_cookie += !is_good;
    return is_good;
}

/* A sender has proved where it is: a new one, or the present one as a restarted one. A receiver
 * that stays binds one tag. So a question with the tag that it has left is a late copy of its own
 * sender's, which may have closed since. */
static void on_newcomer(struct receiver *r, instant now, const struct hello *hello)
{
    bool is_bound = receiver_session_is_bound(&r->session);
    if (r->phase != RECEIVER_OPEN) {
        if (is_bound)
            receiver_end_close(r); /* the sender that had to be told is gone */
        return;
    }
    if (r->config.stays && hello->pairing.tag == r->session.left.tag) {
        r->counters.drop_session++;
        return;
    }
    if (r->config.stays && r->session.was_bound) {
        r->is_replaced = true;
        receiver_fail(r, now, OUTCOME_RESTARTED);
        return;
    }
    if (is_bound && r->session.has_units)
        receiver_fail(r, now, OUTCOME_RESTARTED);
    forget_offers(r);
    receiver_session_bind(&r->session, secret_draw_name(&r->secret), hello,
                          r->config.first_message);
    receiver_timer_on_bound(&r->timer, now, hello->nonce);
    receiver_timer_on_heard(&r->timer, now, r);
    answer(r, now, true);
}

/* The keys have shown who the sender is, so it need not ask. */
void receiver_admit(struct receiver *r, instant now)
{
    const struct hello hello = {.pairing = r->config.keyring->pairing};
    if (r->phase != RECEIVER_OPEN || r->session.was_bound)
        return;
    receiver_session_bind(&r->session, hello.pairing.session, &hello, r->config.first_message);
    r->session.is_unheard = true;
    receiver_timer_on_heard(&r->timer, now, r);
    answer(r, now, true);
}

void receiver_unbind(struct receiver *r, instant now)
{
    if (!r->session.is_unheard || r->phase != RECEIVER_OPEN)
        return;
    receiver_session_unbind(&r->session, r->config.first_message);
    receiver_clear_due(r, REPLY_REQUESTS);
    forget_offers(r);
    r->plans++;
    receiver_timer_on_leave(&r->timer, now);
}

/* ---- hellos within a pairing ---- */

/* The sender has finished, or gone: nothing that is left will come. It says whether it leaves
 * messages behind; one that stops in the middle of a message does, whatever it says. */
static void on_sender_closed(struct receiver *r, instant now, bool is_cut)
{
    bool is_short = is_cut || messages_in_have_begun(&r->messages);
    enum outcome outcome = is_short ? OUTCOME_CUT_OFF : OUTCOME_PEER_CLOSED;
    bool is_open = r->phase == RECEIVER_OPEN;
    bool has_said = !is_open && r->timer.closings > 0; /* its own close, which confirms this one */
    if (r->config.stays)
        r->told = outcome;
    receiver_fail(r, now, outcome);
    receiver_clear_due(r, REPLY_CONFIRMS);
    if (!has_said)
        receiver_set_due(r, REPLY_CONFIRMS);
    if (!is_open)
        receiver_end_close(r); /* this confirms our own */
}

static void on_partner(struct receiver *r, instant now, const struct hello *hello)
{
    uint32_t requests = r->timer.requests;
    r->counters.hellos++;
    receiver_hear(r, now);
    if (hello->is_closing) {
        on_sender_closed(r, now, hello->is_cut);
        return;
    }
    enum known how = receiver_session_on_known(&r->session, hello->requested, r->messages.next);
    bool is_known = r->session.known >= r->session.requested;
    if (how == KNOWN_BEFORE && is_known) /* what was taken back is told ever more rarely */
        r->timer.requests = requests;
    receiver_timer_on_known(&r->timer, now, r);
    if (how != KNOWN_NEWLY || !is_known) /* else it answers a request */
        answer(r, now, how != KNOWN_BEFORE && !is_known);
}

void receiver_on_hello(struct receiver *r, instant now, const struct hello *hello)
{
    if (r->config.keyring != NULL && hello->nonce != 0) {
        r->counters.drop_session++; /* with keys there is no other session to ask for */
        return;
    }
    switch (receiver_session_use(&r->session, hello, has_good_cookie(r, now, hello))) {
    case HELLO_OF_PARTNER:
        on_partner(r, now, hello);
        break;
    case HELLO_OF_LEFT:
        r->session.is_untold = false;
        receiver_set_due(r, REPLY_CONFIRMS);
        break;
    case HELLO_OF_STRANGER:
        r->counters.drop_session++;
        break;
    case QUESTION_AGAIN:
        answer(r, now, r->session.nonce != 0);
        break;
    case QUESTION_OF_OTHER:
        on_newcomer(r, now, hello);
        break;
    case QUESTION_UNPROVEN:
        give_cookie(r, now, hello);
        break;
    }
}

void receiver_on_foreign_hello(struct receiver *r, struct pairing echoed)
{
    bool is_answered =
        echoed.tag != 0 && !receiver_session_is_bound(&r->session) && r->phase == RECEIVER_OPEN;
    r->replies.foreign = echoed;
    receiver_clear_due(r, REPLY_VERSION);
    if (is_answered)
        receiver_set_due(r, REPLY_VERSION);
}
