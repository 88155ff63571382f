/* Datagrams that come back: block acknowledgements, requests to send, cookies, answers to probes
 * (the paper's update thread). */
#include "core/keys/handshake.h"
#include "core/number.h"
#include "core/path/address_check.h"
#include "sender_steps.h"

/* The 64-bit interval i of an acknowledgement, counted down from the newest number. */
static struct interval wide_interval(const struct block_ack *ack, uint64_t newest, uint32_t i)
{
    uint64_t end = newest + 1;
    return (struct interval){.first = end - (uint32_t)(ack->newest + 1 - ack_bound(ack, i)),
                             .last = end - (uint32_t)(ack->newest + 1 - ack_bound(ack, i + 1))};
}

/* ---- units that arrived ---- */

/* A row of units has arrived, the last of them numbered `last` - 1. */
static void note_arrived(struct sender *s, const struct transit_row *row, uint64_t last,
                         struct flow_ack *sum)
{
    uint64_t bytes = row->units * (uint64_t)(row->length + TRAILER_BYTES);
    sender_path_on_arrived(&s->path, row->length, row->units);
    s->counters.bytes += row->units * (uint64_t)row->length;
    sum->bytes += bytes;
    sum->recent += row->sent >= s->flow.congestion.recovery ? bytes : 0;
    if (last > sum->newest) {
        sum->newest = last - 1;
        sum->sent = row->sent;
    }
    sum->oldest = lesser(sum->oldest, last - row->units);
}

static void acknowledge(struct sender *s, struct interval arrived, struct flow_ack *sum)
{
    struct transit_row row;
    while (recovery_acknowledge(&s->recovery, &arrived, &row)) {
        offload_path_on_arrived(&s->path.offload, arrived.first - 1, row.units, row.is_cut);
        note_arrived(s, &row, arrived.first, sum);
    }
}

/* Units in this interval that were given up arrived after all: the path carried them. One that was
 * thought lost was no sign of congestion; one that was only repeated to be answered never was. */
static void note_late(struct sender *s, instant now, uint64_t newest, struct interval arrived)
{
    const struct unit_given_up *late;
    while ((late = recovery_late(&s->recovery, &s->flow.rtt, now, newest, &arrived)) != NULL) {
        sender_path_on_arrived(&s->path, late->part.length, 1);
        offload_path_on_arrived(&s->path.offload, late->seq, 1, late->is_cut);
        if (late->is_probed)
            continue;
        s->counters.spurious++;
        if (!late->is_cut || !offload_path_has_failed(&s->path.offload))
            congestion_on_spurious(&s->flow.congestion, late->sent);
    }
}

/* The repeats of late units need neither be waited for nor be sent. */
static void cancel_repeats(struct sender *s, bool is_last, struct flow_ack *sum)
{
    struct transit_row row;
    uint64_t seq = 0;
    if (!recovery_begin_cancelling(&s->recovery, is_last))
        return;
    while (recovery_cancel_in_transit(&s->recovery, &seq, &row))
        note_arrived(s, &row, seq, sum);
    s->counters.bytes += recovery_cancel_waiting(&s->recovery);
}

/* The receiver counts more marks of congestion than before. Which units had them it does not say:
 * the newest is taken for one of them, sent at `sent` (RFC 9002, 7.1). A count that is lower comes
 * late. */
static void note_marks(struct sender *s, instant now, uint16_t marks, instant sent)
{
    uint16_t more = sender_session_add_marks(&s->session, marks);
    if (more == 0)
        return;
    s->counters.marks += more;
    congestion_on_marked(&s->flow.congestion, now, sent);
}

/* Learns of congestion and the round trip from the newest unit of the acknowledgement. Returns the
 * round trip without the time that the receiver says it held the answer; 0, and nothing is learnt
 * of it, if that unit was acknowledged before, or if it left before this side was stopped: then the
 * acknowledgement may have waited. */
static duration sample_path(struct sender *s, instant now, const struct block_ack *ack,
                            uint64_t newest)
{
    struct recovery *r = &s->recovery;
    const struct unit_given_up *late = units_given_up_find(&r->given_up, newest);
    instant sent;
    sender_timer_note_stop(&s->timer, now, s);
    if (recovery_find_sent(r, newest, &sent))
        note_marks(s, now, ack->marks, sent);
    else if (late != NULL && newest >= r->untimed)
        sent = late->sent; /* else a round trip above the timeout would never be learnt */
    else
        return 0;
    if (sent < s->timer.resumed)
        return 0;
    return rtt_sample(&s->flow.rtt, now - sent, (duration)ack->delay_us * MICROSECOND);
}

static void tell_persistence(struct sender *s, instant now, const struct persistence_search *search,
                             uint64_t first)
{
    switch (recovery_end_gaps(&s->recovery, search, first)) {
    case PERSISTENCE_FOUND:
        s->counters.persistent++;
        congestion_on_persistent(&s->flow.congestion, now, search->end);
        break;
    case PERSISTENCE_NOT:
        congestion_on_not_persistent(&s->flow.congestion);
        break;
    case PERSISTENCE_NO_NEWS:
        break;
    }
}

/* Early units leave without the field. They are taken for those that arrive first. */
static void note_ecn(struct sender *s, uint32_t arrived, bool has_ecn)
{
    uint32_t early = (uint32_t)lesser(s->early, arrived);
    s->early -= early;
    ecn_path_on_arrived(&s->path.ecn, arrived - early, has_ecn);
}

/* Congestion control is told once, however many units it is about: first what arrived, then what
 * was lost, then what was lost for long. */
static void on_intervals(struct sender *s, instant now, const struct block_ack *ack,
                         uint64_t newest)
{
    struct recovery *r = &s->recovery;
    struct flow_ack sum = {.oldest = UINT64_MAX};
    uint32_t units = r->in_transit.units;
    sum.round_trip = sample_path(s, now, ack, newest);
    struct persistence_search search =
        recovery_begin_ack(r, &s->flow.rtt, now, newest, sender_timer_round_trip(s));
    bool is_positive = ack->first_is_positive;
    for (uint32_t i = 0; i < ack->length; i++, is_positive = !is_positive) {
        struct interval interval = wide_interval(ack, newest, i);
        if (!is_positive) {
            recovery_on_gap(r, &search, interval);
            continue;
        }
        note_late(s, now, newest, interval);
        acknowledge(s, interval, &sum);
    }
    note_ecn(s, units - r->in_transit.units, ack->has_ecn);
    bool is_last = ack->is_closing && !s->session.is_parting;
    cancel_repeats(s, is_last, &sum); /* their originals arrived, which may be unmarked */
    if (sum.bytes > 0) {
        sum.first = r->in_transit.base;
        sender_timer_on_progress(&s->timer, now);
        flow_on_acknowledged(&s->flow, now, &sum, r->in_transit.bytes);
    }
    recovery_end_ack(r, newest, sum.oldest);
    if (!sender_lose(s, now))
        tell_persistence(s, now, &search, wide_interval(ack, newest, 0).first);
}

/* ---- acknowledgements ---- */

/* Reads the intervals against what was sent in this session; false if they claim more. */
static bool are_numbers_ours(const struct sender *s, const struct block_ack *ack, uint64_t newest)
{
    uint64_t start = s->session.seq_base + s->config.first_seq;
    if (newest >= s->recovery.in_transit.next || newest < start)
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
        if (is_positive && recovery_has_left_out(&s->recovery, interval))
            return true;
    }
    return false;
}

/* A request that units do not answer is answered by a hello, so that the receiver stops repeating
 * it, and knows that this end is there. An empty request is an answer itself. One with news is not
 * urgent to a sender that has buffers left, or has sent before and may be about to send more: units
 * will answer it, or its repetition is answered. A hello before them would take the place that the
 * receiver has for the first unit. */
static bool answer_request(struct sender *s, instant now)
{
    if (!sender_timer_allows_answer(&s->timer, now))
        return false;
    sender_session_set_due(&s->session, HELLO_ANSWERS);
    return true;
}

/* Messages that were announced too early are asked for once there is nothing else to send. */
static void ask_again(struct sender *s, instant now)
{
    struct fragment head;
    if (!s->has_ignored || sender_head(s, &head))
        return;
    s->has_ignored = !answer_request(s, now);
}

/* The lowest number of which it says whether that came. */
static uint64_t lowest(const struct sender *s, const struct block_ack *ack, uint64_t newest)
{
    return ack->length > 0 ? wide_interval(ack, newest, 0).first : s->session.seq_base;
}

static void on_ack(struct sender *s, instant now, const struct block_ack *ack)
{
    uint64_t newest = s->session.seq_base +
                      number_expand(ack->newest, s->recovery.in_transit.next - s->session.seq_base);
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
    s->flow.capacity = ack->capacity;
    sender_hear(s, now);
    if (ack->length > 0)
        on_intervals(s, now, ack, newest);
    ask_again(s, now);
    if (ack->is_closing)
        sender_on_peer_closed(s, now, lowest(s, ack, newest));
}

static void announce(struct sender *s, uint64_t first, uint64_t last, uint64_t size)
{
    for (uint64_t n = first; n < last; n++)
        if (messages_out_announce(&s->messages, n, size))
            units_to_send_match(&s->recovery.to_send, n);
}

/* Of none of them anything has been known: so it is with a stream's. */
static void announce_new(struct sender *s, uint64_t first, uint64_t last, uint64_t size)
{
    messages_out_announce_run(&s->messages, first, last, size);
    units_to_send_match_run(&s->recovery.to_send, first, last, size);
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
    uint64_t stop = greater(n, lesser(lesser(last, end), n + *budget));
    *budget -= stop - n;
    s->has_ignored |= stop < last;
    if (is_withdrawal)
        recovery_on_withdrawn(&s->recovery);
    if (n < stop && n >= s->messages.announced && !is_withdrawal)
        announce_new(s, n, stop, run->size);
    else
        announce(s, n, stop, run->size);
}

/* Are there units to be sent, which the channel takes? */
static bool will_send(struct sender *s)
{
    struct fragment head;
    return sender_head(s, &head) && (!s->is_blocked || s->recovery.in_transit.units > 0);
}

/* News that the next units answer, or else the request's repetition is answered. A repetition may
 * be news, too: so the peer hears something now and then. */
static bool can_answer_later(const struct sender *s, instant now, uint64_t requested,
                             bool had_buffers)
{
    bool are_news = s->messages.requested > requested;
    bool will_speak = had_buffers || s->session.has_sent;
    return are_news && will_speak && sender_timer_has_spoken(&s->timer, now, &s->config);
}

static void on_request(struct sender *s, instant now, const struct request *request)
{
    uint64_t requested = s->messages.requested;
    bool had_buffers = requested > s->messages.next;
    bool was_waiting = sender_is_waiting(s);
    s->counters.requests++;
    s->flow.capacity = request->capacity;
    sender_hear(s, now);
    uint64_t budget = s->messages.capacity * MESSAGES_OUT_AHEAD;
    for (uint32_t i = 0; i < request->length; i++) {
        struct request_run run = request_run(request, i);
        on_run(s, &run, &budget);
    }
    sender_wait(s, now, was_waiting);
    s->session.wants_offers |= request->wants_offer;
    if (request->wants_offer)
        s->session.offered = 0;
    bool can_wait = can_answer_later(s, now, requested, had_buffers);
    if (request->length > 0 && !can_wait && !will_send(s))
        answer_request(s, now);
}

/* ---- a session begins ---- */

/* The session begins; numbers count from the message at the cursor on. */
static void enter(struct sender *s, instant now, struct pairing pairing)
{
    struct recovery *r = &s->recovery;
    sender_session_enter(&s->session, pairing, r->to_send.cursor - s->config.first_message,
                         r->in_transit.next - s->config.first_seq);
    recovery_begin(r);
    sender_hear(s, now);
    if (sender_has_finished(s))
        sender_session_set_due(&s->session, HELLO_TELLS); /* only to say good-bye */
}

/* Leaves a session in which nothing was sent: its messages go on in the next one. */
static void leave_unused(struct sender *s, instant now)
{
    /* What was cancelled before it had a buffer may be over, and the cursor not have got there. */
    uint64_t cursor = greater(s->recovery.to_send.cursor, s->messages.base);
    sender_leave(s, now);
    s->recovery.to_send.cursor = cursor;
    messages_out_forget(&s->messages, cursor);
}

/* A new session takes the place of the present one, if any. What that one had begun is lost with
 * it; messages of which it saw nothing go on in the new one. */
static void replace(struct sender *s, instant now, struct pairing pairing)
{
    if (!s->session.has_sent) {
        leave_unused(s, now);
    } else {
        bool has_closed = s->session.is_parting;
        messages_out_end_all(&s->messages, has_closed ? OUTCOME_CUT_OFF : OUTCOME_RESTARTED);
        sender_leave(s, now);
    }
    enter(s, now, pairing);
}

/* Does this request announce buffers that are there? In an abandoned session, or once the peer has
 * closed, it does not: a unit for such a buffer would be lost, and with it the message that could
 * go on in the next session. */
static bool is_of_present(const struct sender *s, const struct request *request)
{
    return sender_session_has(&s->session, request->pairing) &&
           !sender_session_is_abandoned(&s->session) && !s->session.is_parting;
}

/* A request arrived that is not of the present pairing. True if it answers the question; then its
 * session is entered. */
static bool enters(struct sender *s, instant now, const struct request *request)
{
    if (!sender_session_is_answer(&s->session, request->pairing.tag, request->nonce))
        return false;
    if (s->config.stays && s->session.was_paired) {
        sender_fail(s, now, OUTCOME_RESTARTED); /* its peer is gone, and this is another one */
        return false;
    }
    replace(s, now, request->pairing);
    return true;
}

/* ---- a datagram ---- */

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

/* A fall is followed by units that pass: the oldest, now that the size is known. */
static enum verdict on_path_answer(struct sender *s, instant now, const uint8_t *datagram,
                                   size_t size, bool *is_ours)
{
    struct path_probe answer;
    enum verdict verdict = path_answer_decode(datagram, size, &answer);
    *is_ours = verdict == VERDICT_OK && sender_session_has(&s->session, answer.pairing);
    if (!*is_ours)
        return verdict;
    s->counters.path_answers++;
    sender_hear(s, now);
    if (sender_follow_path(s, sender_path_on_answer(&s->path, now, &answer)))
        (void)sender_repeat_oldest(s, now, PROBE_UNITS);
    return verdict;
}

/* Does it show that the peer of a sender that stays is gone, and another one is there? That one
 * would make a session for nothing if it were shown its cookie. */
static bool is_of_another_peer(const struct sender *s, const struct cookie_answer *answer)
{
    return s->config.stays && sender_session_is_paired(&s->session) &&
           answer->pairing.session != s->session.pairing.session;
}

static enum verdict on_cookie(struct sender *s, instant now, const uint8_t *datagram, size_t size,
                              bool *is_ours)
{
    struct cookie_answer answer;
    const struct session_question *q = &s->session.question;
    enum verdict verdict = cookie_answer_decode(datagram, size, &answer);
    *is_ours = verdict == VERDICT_OK &&
               sender_session_is_answer(&s->session, answer.pairing.tag, answer.nonce);
    if (!*is_ours)
        return verdict;
    flow_on_hello_answered(&s->flow, now - q->asked_at, q->hellos);
    refusals_on_heard(&s->timer.refusals);
    if (is_of_another_peer(s, &answer))
        sender_fail(s, now, OUTCOME_RESTARTED);
    else if (sender_session_on_cookie(&s->session, &answer, sender_has_finished(s)))
        sender_hear(s, now);
    return verdict;
}

/* The peer says how often it has moved. Each time some units leave anew that wait for no
 * acknowledgement. So a peer that says so more often than it can move is believed only once in the
 * time that a move takes. If the path delays an honest one's first word until its second, the
 * timers find what the second move lost. */
static void on_peer_moved(struct sender *s, instant now, uint32_t moves)
{
    if (moves <= s->counters.moves)
        return;
    s->counters.moves = moves;
    if (now < s->moves_from)
        return;
    s->moves_from = now + ADDRESS_CHECK_SETTLE;
    sender_begin_anew(s, now);
}

/* The peer asks whether this side is where its datagrams come from; or it says that it has moved.
 */
static enum verdict on_challenge(struct sender *s, instant now, const uint8_t *datagram,
                                 size_t size, bool *is_ours)
{
    struct challenge challenge;
    enum verdict verdict = challenge_decode(datagram, size, &challenge);
    *is_ours = verdict == VERDICT_OK && sender_session_has(&s->session, challenge.pairing);
    if (!*is_ours)
        return verdict;
    sender_hear(s, now);
    if (challenge.challenge != 0)
        s->challenge = challenge.challenge;
    else
        on_peer_moved(s, now, challenge.moves);
    return verdict;
}

static enum verdict on_any_request(struct sender *s, instant now, const uint8_t *datagram,
                                   size_t size, bool *is_ours)
{
    struct request request;
    enum verdict verdict = request_decode(datagram, size, &request);
    *is_ours = verdict == VERDICT_OK && (is_of_present(s, &request) || enters(s, now, &request));
    if (*is_ours)
        on_request(s, now, &request);
    return verdict;
}

static enum verdict on_any_ack(struct sender *s, instant now, const uint8_t *datagram, size_t size,
                               bool *is_ours)
{
    struct block_ack ack;
    enum verdict verdict = block_ack_decode(datagram, size, &ack);
    *is_ours = verdict == VERDICT_OK && sender_session_has(&s->session, ack.pairing);
    if (*is_ours)
        on_ack(s, now, &ack);
    else if (verdict == VERDICT_OK)
        sender_session_confirm_again(&s->session, &ack);
    return verdict;
}

/* A listener of another version says so. */
static void on_other_version(struct sender *s, const uint8_t *datagram, size_t size)
{
    struct pairing echoed;
    uint8_t version;
    if (version_answer_decode(datagram, size, &echoed, &version) && version != PROTOCOL_VERSION)
        sender_session_on_version_answer(&s->session, echoed);
}

/* A listener that takes only peers with keys says so to one that brought a cookie and has none. */
static void on_handshake(struct sender *s, instant now, const uint8_t *datagram, size_t size)
{
    struct handshake_datagram d;
    size_t bytes;
    if (handshake_decode(datagram, size, &d, &bytes) == VERDICT_OK &&
        d.flags == (HANDSHAKE_ANSWERS | HANDSHAKE_REFUSES) &&
        !sender_session_is_paired(&s->session) &&
        sender_session_is_answer(&s->session, d.tag, d.nonce)) {
        sender_on_keys(s, OUTCOME_KEYS);
        sender_timer_on_no_keys(&s->timer, now);
    }
}

static void receive_plain(struct sender *s, instant now, const uint8_t *datagram, size_t size)
{
    enum datagram_type type = size == 0 ? 0 : datagram_type(datagram[size - 1]);
    bool is_ours = false;
    enum verdict verdict;
    if (type == DATAGRAM_PATH_ANSWER)
        verdict = on_path_answer(s, now, datagram, size, &is_ours);
    else if (type == DATAGRAM_COOKIE)
        verdict = on_cookie(s, now, datagram, size, &is_ours);
    else if (type == DATAGRAM_CHALLENGE && s->config.is_caller)
        verdict = on_challenge(s, now, datagram, size, &is_ours);
    else if (type == DATAGRAM_REQUEST)
        verdict = on_any_request(s, now, datagram, size, &is_ours);
    else
        verdict = on_any_ack(s, now, datagram, size, &is_ours);
    if (!is_ours)
        count_drop(s, verdict);
    if (!is_ours && type == DATAGRAM_HANDSHAKE)
        on_handshake(s, now, datagram, size);
    else if (!is_ours && verdict != VERDICT_OK)
        on_other_version(s, datagram, size);
    sender_finish(s);
}

/* ---- with keys ---- */

static bool may_be_admitted(const struct sender *s)
{
    return !sender_is_over(s) && s->ended == OUTCOME_OK && !s->session.was_paired;
}

void sender_admit(struct sender *s, instant now)
{
    if (s->session.is_early) {
        s->session.is_early = false;
        sender_hear(s, now);
    } else if (may_be_admitted(s)) {
        enter(s, now, s->config.keyring->pairing);
    }
}

void sender_admit_early(struct sender *s, instant now, uint32_t count, uint64_t size)
{
    const struct request_run run = {.first = s->config.first_message, .count = count, .size = size};
    uint64_t budget = s->messages.capacity * MESSAGES_OUT_AHEAD;
    if (!may_be_admitted(s))
        return;
    enter(s, now, s->config.keyring->pairing);
    s->session.is_early = true;
    on_run(s, &run, &budget);
}

bool sender_unbind(struct sender *s, instant now)
{
    const struct sender_timer timer = s->timer;
    if (s->session.is_early && s->session.has_sent)
        return false;
    if (!s->session.is_early)
        return true;
    leave_unused(s, now);
    s->timer = timer;
    sender_session_unbind(&s->session);
    return true;
}

/* What was not sealed with the keys of the session changes nothing but a counter. */
static void receive_sealed(struct sender *s, instant now, const uint8_t *datagram, size_t size)
{
    uint8_t plain[CONTROL_BYTES];
    size_t bytes;
    if (size > CONTROL_BYTES + SEAL_CONTROL_BYTES) {
        s->counters.drop_malformed++;
        return;
    }
    switch (keyring_open_control(s->config.keyring, datagram, size, plain, &bytes)) {
    case SEALED_GOOD:
        sender_admit(s, now);
        receive_plain(s, now, plain, bytes);
        break;
    case SEALED_SHORT:
        s->counters.drop_short++;
        break;
    case SEALED_FOREIGN:
        s->counters.drop_session++;
        break;
    case SEALED_FORGED:
        break; /* the keyring has counted it */
    }
}

void sender_receive_near(struct sender *s, instant now, const uint8_t *datagram, size_t size)
{
    receive_plain(s, now, datagram, size);
}

void sender_receive(struct sender *s, instant now, const uint8_t *datagram, size_t size)
{
    if (s->config.keyring != NULL)
        receive_sealed(s, now, datagram, size);
    else
        receive_plain(s, now, datagram, size);
}
