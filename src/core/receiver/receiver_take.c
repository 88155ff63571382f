/* What goes back: block acknowledgements and requests to send, one datagram a take. */
#include "core/check.h"
#include "receiver_state.h"

#include <string.h>

enum {
    CONTROL_BODY = CONTROL_BYTES - TRAILER_BYTES,
    ACK_INTERVALS = (CONTROL_BODY / ACK_BOUND_BYTES - 2) / 2, /* positive ones */
    REQUEST_RUNS = CONTROL_BODY / REQUEST_RUN_BYTES,
};

void receiver_announce(struct receiver *r, uint64_t number)
{
    if (r->session.pairing.session == 0)
        return; /* nobody is there to hear it */
    if (!r->request_due || number < r->next_request)
        r->next_request = number;
    r->request_due = true;
}

uint64_t receiver_unknown(const struct receiver *r)
{
    bool is_all = r->messages.withdrawn > 0 || r->session.known >= r->messages.next;
    return is_all ? r->messages.base : r->session.known;
}

/* ---- acknowledgements ---- */

static uint32_t microseconds(duration d)
{
    return d / MICROSECOND < UINT32_MAX ? (uint32_t)(d / MICROSECOND) : UINT32_MAX;
}

static uint8_t *put_bound(uint8_t *at, uint64_t bound)
{
    ack_bound_encode(at, (uint32_t)bound);
    return at + ACK_BOUND_BYTES;
}

/* How many intervals, from the lowest on, were told often enough; never the highest. */
static uint32_t count_told(const struct receiver_ack *ack)
{
    const struct intervals *arrived = &ack->arrived;
    uint32_t told = ack->said[0] == 0 ? 0 : intervals_find(arrived, ack->said[0] - 1);
    return told < arrived->count ? told : arrived->count - 1;
}

/* Writes the intervals from `first` on as far as there is room for the newest, ascending, and the
 * signs they start with. */
static void put_intervals(const struct receiver_ack *ack, uint32_t first, uint64_t first_seq,
                          uint8_t *out, struct block_ack *header)
{
    const struct intervals *arrived = &ack->arrived;
    if (arrived->count - first > ACK_INTERVALS)
        first = arrived->count - ACK_INTERVALS;
    const uint64_t most = UINT64_C(1) << 30; /* the span has to stay below 2^31 */
    uint64_t floor = ack->newest < most ? 0 : ack->newest - most;
    while (arrived->interval[first].last <= floor)
        first++;
    const struct interval *oldest = &arrived->interval[first];
    uint32_t count = arrived->count - first;
    bool is_whole = first == 0 && arrived->forgotten == 0 && !ack->is_trimmed && first_seq >= floor;
    header->first_is_positive = !is_whole || oldest->first <= first_seq;
    header->length = (uint16_t)(2 * count - (header->first_is_positive ? 1 : 0));
    uint8_t *at = header->first_is_positive ? out : put_bound(out, first_seq);
    for (uint32_t i = 0; i < count; i++) {
        at = put_bound(at, oldest[i].first > floor ? oldest[i].first : floor);
        at = put_bound(at, oldest[i].last);
    }
}

/* All up to the newest has been told once more. When half of the table is in use, what was told
 * often enough is forgotten, the lowest first: numbers that were left out make holes for ever. */
static void note_said(struct receiver_ack *ack)
{
    struct intervals *arrived = &ack->arrived;
    for (uint32_t i = 0; i + 1 < ACK_REPORTS; i++)
        ack->said[i] = ack->said[i + 1];
    ack->said[ACK_REPORTS - 1] = ack->newest + 1;
    uint32_t told = count_told(ack);
    uint32_t most = arrived->capacity / 2;
    uint32_t many = arrived->count > most ? arrived->count - most : 0;
    uint32_t go = told < many ? told : many;
    if (go == 0)
        return;
    intervals_remove_below(arrived, arrived->interval[go].first);
    ack->is_trimmed = true;
}

void receiver_ack_late(struct receiver_ack *ack, uint64_t seq)
{
    uint32_t at = intervals_find(&ack->arrived, seq);
    uint64_t told = at == 0 ? seq : ack->arrived.interval[at - 1].last;
    for (uint32_t i = 0; i < ACK_REPORTS; i++)
        if (ack->said[i] > told)
            ack->said[i] = told;
}

static void take_ack(struct receiver *r, instant now, struct burst *burst)
{
    struct receiver_ack *ack = &r->ack;
    struct block_ack header = {.pairing = r->session.pairing,
                               .capacity = r->config.capacity,
                               .marks = (uint16_t)ack->marks,
                               .has_ecn = ack->has_ecn,
                               .first_is_positive = true,
                               .is_closing = r->closing_due,
                               .bounds = burst->control};
    if (ack->arrived.count > 0) {
        header.newest = (uint32_t)ack->newest;
        header.delay_us = microseconds(now - ack->newest_at);
        /* The last word tells all again: what the sender never heard of it takes for lost. */
        uint32_t first = r->closing_due ? 0 : count_told(ack);
        put_intervals(ack, first, r->config.first_seq, burst->control, &header);
        note_said(ack);
    }
    burst_set_control(burst, block_ack_encode(burst->control, sizeof burst->control, &header));
    receiver_timer_on_ack(r, burst->bytes);
    ack->at = NEVER;
    ack->unsaid = 0;
    r->counters.acks++;
    if (r->closing_due)
        receiver_timer_on_closing(r, now);
    r->closing_due = false;
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
    r->confirm_due = false;
}

/* ---- requests ---- */

/* What the sender is told of a message: its buffer's size, withdrawn, or (false) nothing. */
static bool announced_size(struct receiver *r, uint64_t number, uint64_t *size)
{
    const struct message_in *message = messages_in_find(&r->messages, number);
    if (message == NULL || message->state == MESSAGE_IN_ENDED)
        return false;
    *size = message->state == MESSAGE_IN_WITHDRAWN ? REQUEST_WITHDRAWN : message->size;
    return true;
}

/* The next run of equal buffers at or behind *number; false at the end. */
static bool next_run(struct receiver *r, uint64_t *number, struct request_run *run)
{
    uint64_t size;
    while (*number < r->messages.next && !announced_size(r, *number, &run->size))
        ++*number;
    if (*number >= r->messages.next)
        return false;
    run->first = receiver_wire_message(r, *number);
    run->count = 0;
    do {
        ++*number;
        run->count++;
    } while (*number < r->messages.next && announced_size(r, *number, &size) && size == run->size);
    return true;
}

static void take_request(struct receiver *r, instant now, struct burst *burst)
{
    struct request request = {.pairing = r->session.pairing,
                              .nonce = r->session.nonce,
                              .capacity = r->config.capacity,
                              .runs = burst->control};
    struct request_run run;
    uint64_t number = r->next_request;
    while (request.length < REQUEST_RUNS && next_run(r, &number, &run))
        request_run_encode(burst->control + request.length++ * REQUEST_RUN_BYTES, &run);
    burst_set_control(burst, request_encode(burst->control, sizeof burst->control, &request));
    if (number > r->session.requested)
        r->session.requested = number;
    r->next_request = number;
    r->request_due = number < r->messages.next;
    r->counters.requests++;
    receiver_timer_on_request(r, now);
}

static void take_path_answer(struct receiver *r, struct burst *burst)
{
    path_answer_encode(burst->control, &r->probed);
    burst_set_control(burst, TRAILER_BYTES);
    r->counters.path_answers++;
    r->probed.bytes = 0;
}

static void take_cookie(struct receiver *r, struct burst *burst)
{
    const struct cookie_answer *answer = &r->cookie[--r->cookies];
    burst_set_control(burst, cookie_answer_encode(burst->control, sizeof burst->control, answer));
}

static void take_version_answer(struct receiver *r, struct burst *burst)
{
    version_answer_encode(burst->control, r->foreign);
    burst_set_control(burst, VERSION_ANSWER_BYTES);
    r->version_due = false;
}

bool receiver_take(struct receiver *r, instant now, struct burst *burst)
{
    if (r->confirm_due)
        take_confirmation(r, burst);
    else if (r->closing_due || r->ack.at <= now)
        take_ack(r, now, burst);
    else if (r->probed.bytes != 0)
        take_path_answer(r, burst);
    else if (r->request_due)
        take_request(r, now, burst);
    else if (r->cookies > 0)
        take_cookie(r, burst);
    else if (r->version_due)
        take_version_answer(r, burst);
    else
        return false;
    return true;
}
