/* Pairing, the receiver's side: it draws the session, and binds the tag of the sender that answers.
 * Another tag under the right session number is a sender that has started anew, because only one
 * that hears this receiver now can know the number. */
#include "number.h"
#include "random.h"
#include "receiver_state.h"

void receiver_renew(struct receiver *r, instant now)
{
    uint32_t number;
    do
        number = (uint32_t)random_next(&r->random);
    while (number == 0);
    r->session = (struct receiver_session){
        .pairing = {.session = number},
        .left = r->session.left,
        .confirmations = r->session.confirmations,
        .message_base = r->messages.next - r->config.first_message,
        .requested = r->messages.next,
        .known = r->messages.next,
    };
    intervals_remove_below(&r->ack.arrived, UINT64_MAX);
    r->ack.arrived.forgotten = 0;
    r->ack.at = NEVER;
    r->ack.unsaid = 0;
    r->ack.marks = 0;
    r->ack.has_ecn = false;
    r->probed.bytes = 0;
    r->request_due = false;
    r->next_request = r->messages.next;
    prediction_init(&r->prediction, (r->config.unit_bytes - TRAILER_BYTES) / GRAIN * GRAIN,
                    r->messages.next);
    receiver_timer_on_renew(r, now);
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
    r->session.confirmations = 0;
    r->confirm_due = r->phase == RECEIVER_OPEN; /* else this confirms our own close */
    if (r->phase != RECEIVER_OPEN)
        end_close(r);
}

/* Every hello is answered by a request: a new one if the sender can use it, else an empty one,
 * which the sender does not answer. */
static void answer(struct receiver *r, instant now, bool is_news)
{
    if (r->phase != RECEIVER_OPEN || (!is_news && now - r->timers.answered < MILLISECOND))
        return;
    r->timers.answered = now;
    receiver_announce(r, is_news ? receiver_unknown(r) : r->messages.next);
}

/* A sender that has not been heard of before, or one that looks for any receiver. */
static void on_stranger(struct receiver *r, instant now, const struct hello *hello)
{
    bool is_bound = r->session.pairing.tag != 0;
    bool knows_session = hello->pairing.session != 0;
    if (r->phase != RECEIVER_OPEN) {
        if (is_bound && knows_session)
            end_close(r); /* the sender that had to be told is gone */
        return;
    }
    if (is_bound && knows_session && r->session.has_units)
        receiver_fail(r, now, OUTCOME_RESTARTED);
    bool is_new = !is_bound || knows_session;
    if (is_new) {
        r->session.pairing.tag = hello->pairing.tag;
        r->session.known = r->session.message_base + r->config.first_message;
        receiver_timer_on_heard(r, now);
    }
    answer(r, now, is_new);
}

static void on_partner(struct receiver *r, instant now, const struct hello *hello)
{
    uint64_t near = r->messages.next - r->session.message_base;
    uint64_t known = r->session.message_base + number_expand(hello->requested, near);
    bool is_news = known > r->session.known && known <= r->messages.next;
    r->counters.hellos++;
    receiver_timer_on_heard(r, now);
    if (hello->is_closing) {
        on_sender_closed(r, now);
        return;
    }
    if (is_news)
        r->session.known = known;
    answer(r, now, is_news && known < r->messages.next);
}

/* The close of the session that was left last, once more: the confirmation may be lost. Both ends'
 * confirmations look like closes, so without a limit they would answer each other for ever. */
static void on_old_close(struct receiver *r)
{
    if (r->session.confirmations == CONFIRMATIONS_MOST)
        return;
    r->session.confirmations++;
    r->confirm_due = true;
}

void receiver_on_hello(struct receiver *r, instant now, const struct hello *hello)
{
    const struct pairing *left = &r->session.left;
    if (hello->is_closing && hello->pairing.session == left->session &&
        hello->pairing.tag == left->tag)
        on_old_close(r);
    else if (hello->pairing.session != 0 && hello->pairing.session != r->session.pairing.session)
        r->counters.drop_session++;
    else if (receiver_accepts(r, hello->pairing))
        on_partner(r, now, hello);
    else if (!hello->is_closing)
        on_stranger(r, now, hello);
}
