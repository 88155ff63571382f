/* Datagrams that go back: acknowledgements, requests to send and answers, one a take. */
#include "receiver_state.h"

/* ---- acknowledgements ---- */

static void take_ack(struct receiver *r, instant now, struct burst *burst)
{
    struct block_ack header = {.pairing = r->session.pairing,
                               .capacity = r->config.capacity,
                               .is_closing = receiver_is_due(r, REPLY_CLOSES)};
    receiver_ack_write(&r->ack, now, header.is_closing, burst->control, &header);
    burst_set_control(burst, block_ack_encode(burst->control, sizeof burst->control, &header));
    receiver_timer_on_ack(&r->timer, burst->bytes);
    if (header.is_closing)
        receiver_timer_on_closing(&r->timer, now);
    receiver_clear_due(r, REPLY_CLOSES);
    r->counters.acks++;
}

/* The close of a session that is over: the sender has not heard yet that it was heard. */
static void take_confirmation(struct receiver *r, struct burst *burst)
{
    struct block_ack header = {.pairing = r->session.left,
                               .capacity = r->config.capacity,
                               .first_is_positive = true,
                               .is_closing = true};
    burst_set_control(burst, block_ack_encode(burst->control, sizeof burst->control, &header));
    r->counters.acks++;
    receiver_clear_due(r, REPLY_CONFIRMS);
}

/* ---- requests ---- */

/* Writes what the sender is told of a message: its buffer's size, or that it is withdrawn. False:
 * it is told nothing. */
static bool announced_size(const struct message_in *message, uint64_t *size)
{
    if (message == NULL || message->state == MESSAGE_IN_ENDED)
        return false;
    *size = message->state == MESSAGE_IN_WITHDRAWN ? REQUEST_WITHDRAWN : message->size;
    return true;
}

/* Is the sender told that of it, too? */
static bool is_announced_as(const struct message_in *message, uint64_t size)
{
    if (message->state == MESSAGE_IN_POSTED)
        return message->size == size;
    return message->state == MESSAGE_IN_WITHDRAWN && size == REQUEST_WITHDRAWN;
}

/* The next run of equal buffers at or behind *number; false at the end. */
static bool next_run(struct receiver *r, uint64_t *number, struct request_run *run)
{
    struct messages_in *m = &r->messages;
    while (*number < m->next && !announced_size(messages_in_find(m, *number), &run->size))
        ++*number;
    if (*number >= m->next)
        return false;
    run->first = receiver_session_message(&r->session, *number);
    run->count = 0;
    do {
        ++*number;
        run->count++;
    } while (*number < m->next && is_announced_as(messages_in_at(m, *number), run->size));
    return true;
}

static void take_request(struct receiver *r, instant now, struct burst *burst)
{
    struct request request = {.pairing = r->session.pairing,
                              .nonce = r->session.nonce,
                              .capacity = r->config.capacity,
                              .wants_offer = r->offers.are_wanted,
                              .runs = burst->control};
    struct request_run run;
    uint64_t number = r->replies.next_request;
    while (request.length < RECEIVER_RUNS && next_run(r, &number, &run))
        request_run_encode(burst->control + request.length++ * REQUEST_RUN_BYTES, &run);
    burst_set_control(burst, request_encode(burst->control, sizeof burst->control, &request));
    bool is_news = number > r->session.requested;
    bool is_answered = is_news && r->session.requested <= r->messages.base;
    r->session.requested = greater(r->session.requested, number);
    r->replies.next_request = number;
    if (number >= r->messages.next)
        receiver_clear_due(r, REPLY_REQUESTS);
    r->counters.requests++;
    r->offers.asked += receiver_awaits_offer(r);
    receiver_timer_on_request(&r->timer, now, r, is_answered);
    if (request.length > 0)
        receiver_timer_on_question(&r->timer, now, r);
}

static void take_path_answer(struct receiver *r, struct burst *burst)
{
    path_answer_encode(burst->control, &r->replies.probed);
    burst_set_control(burst, TRAILER_BYTES);
    r->counters.path_answers++;
    receiver_clear_due(r, REPLY_PROBE);
}

static void take_cookie(struct receiver *r, struct burst *burst)
{
    const struct cookie_answer *answer = &r->replies.cookie[--r->replies.cookies];
    burst_set_control(burst, cookie_answer_encode(burst->control, sizeof burst->control, answer));
    if (r->replies.cookies == 0)
        receiver_clear_due(r, REPLY_COOKIE);
}

static void take_version_answer(struct receiver *r, struct burst *burst)
{
    version_answer_encode(burst->control, r->replies.foreign);
    burst_set_control(burst, VERSION_ANSWER_BYTES);
    receiver_clear_due(r, REPLY_VERSION);
}

/* The most urgent reply that is due; 0 if none is. */
static uint32_t next_reply(const struct receiver *r, instant now)
{
    uint32_t due = r->replies.due;
    if (r->timer.ack <= now)
        due |= REPLY_ACKNOWLEDGES;
    return due & (~due + 1);
}

bool receiver_has_reply(const struct receiver *r)
{
    return r->replies.due != REPLY_NONE;
}

bool receiver_take(struct receiver *r, instant now, struct burst *burst)
{
    switch ((enum receiver_reply)next_reply(r, now)) {
    case REPLY_CONFIRMS:
        take_confirmation(r, burst);
        return true;
    case REPLY_CLOSES:
    case REPLY_ACKNOWLEDGES:
        take_ack(r, now, burst);
        return true;
    case REPLY_PROBE:
        take_path_answer(r, burst);
        return true;
    case REPLY_REQUESTS:
        take_request(r, now, burst);
        return true;
    case REPLY_COOKIE:
        take_cookie(r, burst);
        return true;
    case REPLY_VERSION:
        take_version_answer(r, burst);
        return true;
    case REPLY_NONE:
        break;
    }
    return false;
}
