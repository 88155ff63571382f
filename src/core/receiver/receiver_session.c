/* Pairing, the receiver's side. Whoever asks is given a cookie, and nothing is kept of him. Only a
 * question that brings its cookie back binds a tag, and only then a session is drawn. A cookie is
 * good for the session that was the present one when it was made: so an old question cannot end a
 * session that began later. */
#include "core/number.h"
#include "receiver_state.h"

/* Forgets the session, if any; numbers of the next one count from the message posted next. */
void receiver_unbind(struct receiver *r, instant now)
{
    r->session = (struct receiver_session){
        .left = r->session.left,
        .message_base = r->messages.next - r->config.first_message,
        .requested = r->messages.next,
        .known = r->messages.next,
    };
    intervals_remove_below(&r->ack.arrived, UINT64_MAX);
    r->ack = (struct receiver_ack){.arrived = r->ack.arrived, .at = NEVER};
    r->ack.arrived.forgotten = 0;
    r->probed.bytes = 0;
    r->request_due = false;
    r->next_request = r->messages.next;
    prediction_init(&r->prediction, (r->config.unit_bytes - TRAILER_BYTES) / GRAIN * GRAIN,
                    r->messages.next);
    receiver_timer_on_unbind(r, now);
}

static void end_close(struct receiver *r)
{
    r->phase = RECEIVER_CLOSED;
    r->closing_due = false;
    r->is_confirmed = true;
}

/* The sender has finished, or gone: nothing that is left will come. */
static void on_sender_closed(struct receiver *r, instant now)
{
    struct pairing pairing = r->session.pairing;
    receiver_fail(r, now, OUTCOME_PEER_CLOSED);
    r->session.left = pairing;
    r->confirm_due = r->phase == RECEIVER_OPEN; /* else this confirms our own close */
    if (r->phase != RECEIVER_OPEN)
        end_close(r);
}

/* Every hello of the pairing is answered by a request: a new one if the sender can use it, else an
 * empty one, which the sender does not answer. */
static void answer(struct receiver *r, instant now, bool is_news)
{
    if (r->phase != RECEIVER_OPEN || (!is_news && now - r->timers.answered < MILLISECOND))
        return;
    r->timers.answered = now;
    receiver_announce(r, is_news ? receiver_unknown(r) : r->messages.next);
}

/* ---- questions ---- */

/* Gives a cookie, if there is room for one more answer before the next take. */
static void give_cookie(struct receiver *r, instant now, const struct hello *hello)
{
    struct cookie_owner owner = {
        .peer = r->config.peer,
        .nonce = hello->nonce,
        .pairing = {.session = r->session.pairing.session, .tag = hello->pairing.tag}};
    if (r->cookies == RECEIVER_COOKIES)
        return;
    r->cookie[r->cookies++] =
        (struct cookie_answer){.pairing = owner.pairing,
                               .nonce = hello->nonce,
                               .cookie = cookie_make(&r->config.jar, &owner, now)};
}

static bool has_good_cookie(struct receiver *r, instant now, const struct hello *hello)
{
    const struct cookie_owner owner = {
        .peer = r->config.peer, .nonce = hello->nonce, .pairing = hello->pairing};
    if (hello->cookie == 0)
        return false;
    bool is_good = cookie_is_good(&r->config.jar, &owner, now, hello->cookie);
    r->counters.drop_cookie += !is_good;
    return is_good;
}

/* A session begins. One in which nothing came gives way to it with all that is posted. It has a
 * number of its own all the same: a question of the dead that names the old one is to find it gone.
 */
static void bind(struct receiver *r, instant now, const struct hello *hello)
{
    r->session.pairing.session = secret_draw_name(&r->secret);
    r->session.pairing.tag = hello->pairing.tag;
    r->session.nonce = hello->nonce;
    r->session.known = r->session.message_base + r->config.first_message;
    r->was_bound = true;
    receiver_timer_on_heard(r, now);
    answer(r, now, true);
}

/* A sender that has proved where it is: a new one, or the present one as a restarted one. */
static void on_newcomer(struct receiver *r, instant now, const struct hello *hello)
{
    bool is_bound = r->session.pairing.session != 0;
    if (r->phase != RECEIVER_OPEN) {
        if (is_bound)
            end_close(r); /* the sender that had to be told is gone */
        return;
    }
    if (is_bound && r->session.has_units)
        receiver_fail(r, now, OUTCOME_RESTARTED);
    bind(r, now, hello);
}

static void on_question(struct receiver *r, instant now, const struct hello *hello)
{
    const struct pairing *present = &r->session.pairing;
    bool is_bound = present->session != 0;
    bool is_good = has_good_cookie(r, now, hello);
    if (is_good && is_bound && hello->pairing.tag == present->tag)
        answer(r, now, r->session.nonce != 0);
    else if (is_good && hello->pairing.session == present->session)
        on_newcomer(r, now, hello);
    else
        give_cookie(r, now, hello);
}

/* ---- hellos within a pairing ---- */

static void on_partner(struct receiver *r, instant now, const struct hello *hello)
{
    uint64_t near = r->messages.next - r->session.message_base;
    uint64_t known = r->session.message_base + number_expand(hello->requested, near);
    bool is_news = known > r->session.known && known <= r->messages.next;
    r->counters.hellos++;
    receiver_on_partner(r, now);
    if (hello->is_closing) {
        on_sender_closed(r, now);
        return;
    }
    if (is_news)
        r->session.known = known;
    answer(r, now, is_news && known < r->messages.next);
}

void receiver_on_hello(struct receiver *r, instant now, const struct hello *hello)
{
    const struct pairing *left = &r->session.left;
    if (hello->nonce != 0)
        on_question(r, now, hello);
    else if (receiver_accepts(r, hello->pairing))
        on_partner(r, now, hello);
    else if (hello->is_closing && hello->pairing.session == left->session &&
             hello->pairing.tag == left->tag)
        r->confirm_due = true; /* the confirmation was lost */
    else
        r->counters.drop_session++;
}

void receiver_on_foreign_hello(struct receiver *r, struct pairing echoed)
{
    r->foreign = echoed;
    r->version_due =
        echoed.tag != 0 && r->session.pairing.session == 0 && r->phase == RECEIVER_OPEN;
}
