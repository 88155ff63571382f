/* What comes back: block acknowledgements and requests to send (the paper's update thread). */
#include "core/number.h"
#include "sender_state.h"

/* The 64-bit interval i of an acknowledgement, counted down from the newest number. */
static struct interval wide_interval(const struct block_ack *ack, uint64_t newest, uint32_t i)
{
    uint64_t end = newest + 1;
    return (struct interval){.first = end - (uint32_t)(ack->newest + 1 - ack_bound(ack, i)),
                             .last = end - (uint32_t)(ack->newest + 1 - ack_bound(ack, i + 1))};
}

void sender_settle(struct sender *s, uint64_t number, bool is_void, uint32_t units)
{
    struct message_out *message = messages_out_find(&s->messages, number);
    if (message == NULL || message->state == MESSAGE_OUT_ENDED)
        return;
    if (is_void != (message->state == MESSAGE_OUT_VOID))
        return; /* data of a message that was taken back meanwhile */
    message->units_out -= units;
    if (message->is_cut && message->units_out == 0)
        messages_out_end(&s->messages, message, OUTCOME_OK);
}

void sender_acknowledge(struct sender *s, uint64_t first, uint64_t last, struct settled *settled)
{
    uint64_t seq = first;
    struct transit_row row;
    while (units_in_transit_remove_row(&s->in_transit, &seq, last, &row)) {
        unit_size_on_arrived(&s->unit_size, row.length, row.units);
        uint64_t bytes = row.units * (uint64_t)(row.length + TRAILER_BYTES);
        settled->bytes += bytes;
        settled->recent += row.sent >= s->congestion.recovery ? bytes : 0;
        if (seq > settled->newest) {
            settled->newest = seq - 1;
            settled->sent = row.sent;
        }
        if (seq - row.units < settled->oldest)
            settled->oldest = seq - row.units;
        s->counters.bytes += row.units * (uint64_t)row.length;
        path_mtu_on_arrived(&s->path, row.length + TRAILER_BYTES);
        sender_settle(s, row.message, row.is_void, row.units);
    }
}

/* The receiver counts more marks of congestion than before. Which units had them it does not say:
 * the newest is taken for one of them, sent at `sent` (RFC 9002, 7.1). A count that is lower comes
 * late. */
static void note_marks(struct sender *s, instant now, const struct block_ack *ack, instant sent)
{
    uint16_t more = (uint16_t)(ack->marks - s->session.marks);
    if (more == 0 || more > UINT16_MAX / 2)
        return;
    s->session.marks = ack->marks;
    s->counters.marks += more;
    congestion_on_marked(&s->congestion, now, sent);
}

/* What the acknowledgement tells of the path by its newest unit: the round trip, less the time that
 * the receiver says it held the answer, and congestion. 0, and nothing, if that unit was
 * acknowledged before. */
static duration sample_path(struct sender *s, instant now, const struct block_ack *ack,
                            uint64_t newest)
{
    uint64_t seq = newest;
    const struct transit_unit *unit = units_in_transit_find(&s->in_transit, &seq, newest + 1);
    if (unit == NULL)
        return 0;
    note_marks(s, now, ack, unit->sent);
    return rtt_sample(&s->rtt, now - unit->sent, (duration)ack->delay_us * MICROSECOND);
}

/* One fact for congestion control, however many units it is about. */
static void tell_acknowledged(struct sender *s, instant now, const struct settled *settled,
                              duration round_trip)
{
    struct congestion_ack fact = {
        .now = now,
        .sent = settled->sent,
        .bytes = settled->bytes,
        .recent = settled->recent,
        .in_transit = s->in_transit.bytes,
        .round_trip = round_trip,
        .smoothed = s->rtt.has_sample ? s->rtt.smoothed : 0,
        .lowest = s->rtt.lowest,
        .was_limited = s->is_limited,
    };
    fact.sample =
        delivery_on_acknowledged(&s->delivery, now, settled->bytes, settled->newest, s->rtt.lowest);
    fact.delivered = s->delivery.delivered;
    congestion_on_acknowledged(&s->congestion, &fact);
    pacing_set(&s->pacing, s->congestion.rate, s->congestion.unit, s->rtt.lowest);
}

static void on_intervals(struct sender *s, instant now, const struct block_ack *ack,
                         uint64_t newest)
{
    struct settled settled = {.oldest = UINT64_MAX};
    uint32_t units = s->in_transit.units;
    duration round_trip = sample_path(s, now, ack, newest);
    struct persistence_look look = sender_look_for_persistence(s, now, newest);
    bool is_positive = ack->first_is_positive;
    for (uint32_t i = 0; i < ack->length; i++, is_positive = !is_positive) {
        struct interval interval = wide_interval(ack, newest, i);
        if (!is_positive) {
            persistence_on_gap(&s->persistence, &look, interval);
            continue;
        }
        sender_notice_late(s, now, newest, interval);
        sender_acknowledge(s, interval.first, interval.last, &settled);
    }
    sender_settle_late(s, &settled);
    ecn_path_on_arrived(&s->ecn, units - s->in_transit.units, ack->has_ecn);
    if (settled.bytes > 0) {
        sender_timer_on_progress(s, now);
        tell_acknowledged(s, now, &settled, round_trip);
        if (settled.oldest < s->newest)
            tolerance_on_overtaken(&s->tolerance, s->newest - settled.oldest);
    }
    if (newest > s->newest)
        s->newest = newest;
    sender_detect_losses(s, now, s->newest);
    sender_judge_persistence(s, now, &look, wide_interval(ack, newest, 0).first);
}

/* Reads the intervals against what was sent in this session; false if they claim more. */
static bool are_numbers_ours(const struct sender *s, const struct block_ack *ack, uint64_t newest)
{
    uint64_t start = s->session.seq_base + s->config.first_seq;
    if (newest >= s->in_transit.next || newest < start)
        return false;
    uint32_t span = ack->newest + 1 - ack_bound(ack, 0);
    return span <= newest + 1 - start;
}

/* Does it say that a number arrived that was left out? Then the peer acknowledges what it never
 * saw. */
static bool is_invented(const struct sender *s, const struct block_ack *ack, uint64_t newest)
{
    bool is_positive = ack->first_is_positive;
    for (uint32_t i = 0; i < ack->length; i++, is_positive = !is_positive) {
        struct interval interval = wide_interval(ack, newest, i);
        if (is_positive && left_out_has(&s->left_out, interval.first, interval.last))
            return true;
    }
    return false;
}

/* The peer takes nothing more: it confirms this side's close, or closes itself. */
static void on_peer_closed(struct sender *s, instant now)
{
    bool is_confirmation = s->session.has_closed;
    messages_out_end_all(&s->messages, OUTCOME_PEER_CLOSED);
    sender_leave(s, now);
    s->session.is_confirming = !is_confirmation;
    s->hello_due = !is_confirmation;
    if (!is_confirmation)
        return;
    s->phase = SENDER_CLOSED;
    s->is_confirmed = true;
}

/* A request that units do not answer is answered by a hello, so that the receiver stops repeating
 * it; at most once a millisecond, so that a flood of requests is not answered by another. An empty
 * one is an answer itself. */
static void answer_request(struct sender *s, instant now)
{
    if (now - s->timers.answered < MILLISECOND)
        return;
    s->timers.answered = now;
    s->hello_due = true;
}

/* Messages that were announced too early are asked for once there is nothing else to send. */
static void ask_again(struct sender *s, instant now)
{
    struct fragment head;
    if (!s->has_ignored || units_to_send_head(&s->to_send, s->unit_size.data, &head))
        return;
    s->has_ignored = false;
    answer_request(s, now);
}

static void on_ack(struct sender *s, instant now, const struct block_ack *ack)
{
    uint64_t newest =
        s->session.seq_base + number_expand(ack->newest, s->in_transit.next - s->session.seq_base);
    if (ack->length > 0 && !are_numbers_ours(s, ack, newest)) {
        s->counters.drop_number++;
        return;
    }
    if (ack->length > 0 && is_invented(s, ack, newest)) {
        s->counters.drop_number++;
        sender_fail(s, now, OUTCOME_PROTOCOL);
        return;
    }
    s->counters.acks++;
    s->capacity = ack->capacity;
    sender_timer_on_heard(s, now);
    if (ack->length > 0)
        on_intervals(s, now, ack, newest);
    ask_again(s, now);
    if (ack->is_closing)
        on_peer_closed(s, now);
}

/* Announces one run of buffers, number by number, as far as the table reaches. A request names each
 * number once; `budget` is how many more it may, whatever it says. */
static void on_run(struct sender *s, const struct request_run *run, uint64_t *budget)
{
    uint64_t near = s->messages.requested - s->session.message_base;
    uint64_t first = s->session.message_base + number_expand(run->first, near);
    uint64_t last = first + run->count;
    uint64_t end = s->messages.base + s->messages.capacity * MESSAGES_OUT_AHEAD;
    bool is_withdrawal = run->size == REQUEST_WITHDRAWN;
    uint64_t from = is_withdrawal ? s->messages.base : s->messages.requested;
    uint64_t n = first > from ? first : from;
    for (; n < last && n<end && * budget> 0; n++, --*budget)
        if (messages_out_announce(&s->messages, n, run->size))
            sender_match(s, n);
    s->has_ignored |= n < last;
}

static void on_request(struct sender *s, instant now, const struct request *request)
{
    struct fragment head;
    s->counters.requests++;
    s->capacity = request->capacity;
    sender_timer_on_heard(s, now);
    uint64_t budget = s->messages.capacity * MESSAGES_OUT_AHEAD;
    for (uint32_t i = 0; i < request->length; i++) {
        struct request_run run = request_run(request, i);
        on_run(s, &run, &budget);
    }
    if (request->length > 0 && !units_to_send_head(&s->to_send, s->unit_size.data, &head))
        answer_request(s, now);
}

static void count_drop(struct sender *s, enum verdict verdict)
{
    switch (verdict) {
    case VERDICT_OK:
        s->counters.drop_session++;
        break;
    case VERDICT_SHORT:
        s->counters.drop_short++;
        break;
    case VERDICT_VERSION:
        s->counters.drop_version++;
        break;
    case VERDICT_TYPE:
        s->counters.drop_type++;
        break;
    case VERDICT_MALFORMED:
        s->counters.drop_malformed++;
        break;
    }
}

/* Each takes a datagram if it is for this sender; if not, its verdict says what it is, and
 * `*is_ours` stays false. */

static enum verdict on_path_answer(struct sender *s, instant now, const uint8_t *datagram,
                                   size_t size, bool *is_ours)
{
    struct path_probe answer;
    enum verdict verdict = path_answer_decode(datagram, size, &answer);
    *is_ours = verdict == VERDICT_OK && sender_has_pairing(s, answer.pairing);
    if (*is_ours)
        sender_path_on_answer(s, now, &answer);
    return verdict;
}

static enum verdict on_cookie(struct sender *s, instant now, const uint8_t *datagram, size_t size,
                              bool *is_ours)
{
    struct cookie_answer answer;
    enum verdict verdict = cookie_answer_decode(datagram, size, &answer);
    *is_ours = verdict == VERDICT_OK && sender_on_cookie(s, now, &answer);
    return verdict;
}

static enum verdict on_any_request(struct sender *s, instant now, const uint8_t *datagram,
                                   size_t size, bool *is_ours)
{
    struct request request;
    enum verdict verdict = request_decode(datagram, size, &request);
    *is_ours = verdict == VERDICT_OK &&
               (sender_has_pairing(s, request.pairing) || sender_enters(s, now, &request));
    if (*is_ours)
        on_request(s, now, &request);
    return verdict;
}

static enum verdict on_any_ack(struct sender *s, instant now, const uint8_t *datagram, size_t size,
                               bool *is_ours)
{
    struct block_ack ack;
    enum verdict verdict = block_ack_decode(datagram, size, &ack);
    *is_ours = verdict == VERDICT_OK && sender_has_pairing(s, ack.pairing);
    if (*is_ours)
        on_ack(s, now, &ack);
    else if (verdict == VERDICT_OK)
        sender_confirm_again(s, &ack);
    return verdict;
}

/* A listener of another version says so. */
static void on_other_version(struct sender *s, const uint8_t *datagram, size_t size)
{
    struct pairing echoed;
    uint8_t version;
    if (version_answer_decode(datagram, size, &echoed, &version) && version != PROTOCOL_VERSION)
        sender_on_version_answer(s, echoed);
}

void sender_receive(struct sender *s, instant now, const uint8_t *datagram, size_t size)
{
    enum datagram_type type = size == 0 ? 0 : datagram_type(datagram[size - 1]);
    bool is_ours = false;
    enum verdict verdict;
    if (type == DATAGRAM_PATH_ANSWER)
        verdict = on_path_answer(s, now, datagram, size, &is_ours);
    else if (type == DATAGRAM_COOKIE)
        verdict = on_cookie(s, now, datagram, size, &is_ours);
    else if (type == DATAGRAM_REQUEST)
        verdict = on_any_request(s, now, datagram, size, &is_ours);
    else
        verdict = on_any_ack(s, now, datagram, size, &is_ours);
    if (!is_ours)
        count_drop(s, verdict);
    if (!is_ours && verdict != VERDICT_OK)
        on_other_version(s, datagram, size);
    sender_finish(s);
}
