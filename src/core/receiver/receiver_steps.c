#include "receiver_steps.h"

void receiver_hear(struct receiver *r, instant now)
{
    r->session.nonce = 0;
    receiver_timer_on_heard(&r->timer, now, r);
}

void receiver_leave(struct receiver *r, instant now)
{
    uint64_t next = r->messages.next;
    receiver_session_leave(&r->session, next, r->config.first_message);
    receiver_ack_forget(&r->ack);
    receiver_clear_due(r, REPLY_PROBE);
    receiver_clear_due(r, REPLY_REQUESTS);
    r->replies.next_request = next;
    prediction_init(&r->prediction, (r->config.unit_bytes - TRAILER_BYTES) / GRAIN * GRAIN, next);
    receiver_timer_on_leave(&r->timer, now);
}

void receiver_fail(struct receiver *r, instant now, enum outcome outcome)
{
    messages_in_end_all(&r->messages, outcome);
    receiver_leave(r, now);
    receiver_clear_due(r, REPLY_CLOSES);
    if (r->phase == RECEIVER_CLOSING) /* there is nobody to tell any more */
        r->phase = RECEIVER_CLOSED;
}

void receiver_announce(struct receiver *r, uint64_t number)
{
    struct receiver_replies *replies = &r->replies;
    if (!receiver_session_is_bound(&r->session))
        return; /* nobody is there to hear it */
    if (!receiver_is_due(r, REPLY_REQUESTS) || number < replies->next_request)
        replies->next_request = number;
    receiver_set_due(r, REPLY_REQUESTS);
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
