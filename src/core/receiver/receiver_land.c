#include "receiver_land.h"
#include "core/check.h"
#include "core/number.h"
#include "core/wire/datagram.h"

/* ---- a row of units ---- */

/* May this part of the message be written? */
__attribute__((cold)) static bool may_write(struct landing *landing,
                                            const struct message_in *message, struct interval part)
{
    while (part.first < part.last) {
        uint64_t run;
        uint8_t *to = message_in_at(message, part.first, &run);
        uint64_t bytes = lesser(run, part.last - part.first);
        if (!landing_may_write(landing, to, bytes, run))
            return false;
        part.first += bytes;
    }
    return true;
}

/* The same as landing_move, to a message that lies in several pieces. */
__attribute__((cold)) static uint32_t move_to_pieces(struct landing *landing,
                                                     const struct arrival *a, uint32_t from,
                                                     struct interval part)
{
    uint32_t length = (uint32_t)(part.last - part.first);
    uint64_t run;
    uint8_t *to = message_in_at(a->message, part.first, &run);
    if (length <= run)
        return landing_move(landing, a->segment, from, length, to);
    return landing_move_to_pieces(landing, a->segment, from, length, a->message->pieces,
                                  part.first);
}

/* Asks for the move of this part of the row. Its bytes; UINT32_MAX: a table is full, or it cannot
 * be moved there, and then its message has failed. */
static uint32_t bring(struct receiver *r, struct landing *landing, const struct arrival *a,
                      struct interval part)
{
    uint32_t moves = landing->moves;
    if (a->segment == NULL)
        return 0;
    uint32_t from = (uint32_t)(part.first - a->range.first);
    uint32_t bytes = a->message->pieces == NULL ? landing_move(landing, a->segment, from,
                                                               (uint32_t)(part.last - part.first),
                                                               a->message->buffer + part.first)
                                                : move_to_pieces(landing, a, from, part);
    if (bytes == 0 || bytes == UINT32_MAX || may_write(landing, a->message, part))
        return bytes;
    landing_take_back(landing, moves);
    (void)receiver_fault(r, a->number);
    return UINT32_MAX;
}

/* Asks the landing to bring what is missing of the row, from the missing range `part` on, to its
 * place, and counts it as there. If it cannot, it counts as never received: false. */
static bool place(struct receiver *r, struct landing *landing, struct arrival *a,
                  struct interval part)
{
    struct missing *missing = &a->message->missing;
    bool is_missing = part.first < part.last && part.first < a->range.last;
    bool is_empty = a->range.first == a->range.last;
    uint64_t moved = 0;
    while (part.first < part.last && part.first < a->range.last) {
        bool is_end = part.last >= a->range.last;
        uint32_t moves = landing->moves;
        if (is_end)
            part.last = a->range.last;
        uint32_t bytes = bring(r, landing, a, part);
        if (bytes == UINT32_MAX)
            return false;
        if (!missing_remove(&r->messages.missing, missing, part)) {
            landing_take_back(landing, moves);
            if (bytes == 0) /* it lies there already */
                a->message->scribbled = greater(a->message->scribbled, part.last);
            return false;
        }
        moved += bytes;
        a->message->landed = greater(a->message->landed, part.last);
        if (is_end)
            break;
        part = missing_next(&r->messages.missing, missing, part.last);
    }
    a->is_in_place = moved == 0 && (is_missing || is_empty);
    r->steady = moved == 0 ? r->steady + a->units : 0;
    r->counters.in_place += moved == 0 ? a->units : 0;
    r->counters.moved += moved != 0;
    r->counters.bytes_moved += moved;
    return true;
}

/* The last unit says how long the message is: what the buffer has beyond will not come. */
static void note_length(struct receiver *r, const struct arrival *a)
{
    struct message_in *message = a->message;
    struct interval beyond = {.first = a->range.last, .last = message->size};
    message->is_length_known = true;
    message->length = a->range.last;
    uint64_t missing = message->missing.bytes;
    if (beyond.first < beyond.last)
        missing_remove(&r->messages.missing, &message->missing, beyond);
    if (missing - message->missing.bytes < beyond.last - beyond.first)
        message->scribbled = greater(message->scribbled, message->landed); /* the peer contradicts
                                                                              itself */
    prediction_learn_length(&r->prediction, message->length, message->size);
}

static void on_void(struct receiver *r, const struct arrival *a)
{
    enum outcome outcome = a->trailer->unit == VOID_TOO_LARGE ? OUTCOME_TOO_LARGE
                           : a->trailer->unit == VOID_FAULT   ? OUTCOME_FAULT
                                                              : OUTCOME_PEER_CANCELLED;
    if (a->message == NULL)
        return;
    if (outcome == OUTCOME_TOO_LARGE && a->message->state == MESSAGE_IN_POSTED)
        a->message->length = unit_trailer_size(a->trailer);
    messages_in_end(&r->messages, a->message, outcome);
}

bool receiver_fits(const struct arrival *a)
{
    const struct message_in *message = a->message;
    bool is_last = (a->trailer->flags & FLAG_IS_LAST) != 0;
    uint64_t end = message->is_length_known ? message->length : message->size;
    if (a->range.last > end)
        return false;
    return !is_last || !message->is_length_known || a->range.last == message->length;
}

/* Data for a message that is posted; true if it is to be acknowledged. */
static bool on_data(struct receiver *r, struct landing *landing, struct arrival *a)
{
    struct message_in *message = a->message;
    bool is_last = (a->trailer->flags & FLAG_IS_LAST) != 0;
    if (!receiver_fits(a)) {
        r->counters.drop_beyond++;
        return false;
    }
    bool is_news = is_last && !message->is_length_known;
    struct interval part = missing_next(&r->messages.missing, &message->missing, a->range.first);
    if (!is_news && (part.first >= part.last || part.first >= a->range.last)) {
        r->counters.drop_duplicate++;
        return true;
    }
    uint64_t missing = message->missing.bytes;
    if (!place(r, landing, a, part)) {
        bool is_posted = message->state == MESSAGE_IN_POSTED;
        r->counters.drop_no_room += is_posted;
        r->counters.drop_unposted += !is_posted;
        return false;
    }
    r->counters.units += a->units;
    r->counters.bytes += missing - message->missing.bytes;
    if (is_news)
        note_length(r, a);
    if (message->is_length_known && message->missing.bytes == 0)
        messages_in_end(&r->messages, message, OUTCOME_OK);
    return true;
}

/* A receiver that has closed acknowledges only what repeats messages that were over before, because
 * the sender may have missed that. It does not have what the close has failed. Either way the
 * sender has missed the close, or something that came, so the receiver says the close again. */
static bool on_late_units(struct receiver *r, const struct arrival *a)
{
    bool is_closing = r->phase == RECEIVER_CLOSING;
    bool was_over = is_closing && a->number < r->over;
    r->counters.drop_duplicate += was_over ? a->units : 0;
    r->counters.drop_unposted += was_over ? 0 : a->units;
    if (is_closing)
        receiver_set_due(r, REPLY_CLOSES);
    receiver_timer_on_late_unit(&r->timer);
    return was_over;
}

/* Finds the message of the row, and enters it there; true if it is to be acknowledged. */
static bool accept(struct receiver *r, struct landing *landing, struct arrival *a)
{
    if (r->phase != RECEIVER_OPEN)
        return on_late_units(r, a);
    if (a->number >= r->messages.next) {
        r->counters.drop_unposted += a->units;
        return false;
    }
    a->message = messages_in_find(&r->messages, a->number);
    if ((a->trailer->flags & FLAG_VOID) != 0) {
        on_void(r, a);
        return true;
    }
    if (a->message == NULL || a->message->state == MESSAGE_IN_ENDED) {
        r->counters.drop_duplicate += a->units;
        return true;
    }
    if (a->message->state == MESSAGE_IN_WITHDRAWN) {
        r->counters.drop_unposted += a->units;
        return false;
    }
    return on_data(r, landing, a);
}

/* The newest of all that arrived says what comes next. */
static void learn(struct receiver *r, const struct arrival *a)
{
    const struct unit_trailer *t = a->trailer;
    uint64_t next = a->number + (uint64_t)(int64_t)t->next_step;
    prediction_learn(&r->prediction, t, a->number, a->range.last - t->length, next);
}

void receiver_acknowledge(struct receiver *r, instant now, const struct arrival *a, uint64_t data)
{
    uint64_t forgotten = r->ack.arrived.forgotten;
    struct ack_order order = receiver_ack_add(&r->ack, now, a->seq + 1 - a->units, a->units);
    uint32_t intervals = r->ack.arrived.count;
    r->counters.forgotten += r->ack.arrived.forgotten - forgotten;
    if (order.is_newest)
        learn(r, a);
    receiver_timer_on_arrived(&r->timer, now, a->units, data + a->units * (uint64_t)TRAILER_BYTES,
                              intervals);
    if ((a->trailer->flags & FLAG_ANSWER) != 0)
        receiver_timer_on_asked(&r->timer, now);
    else if (!order.is_in_order)
        receiver_timer_on_disorder(&r->timer, now, intervals);
    if (a->number >= r->session.known && a->number < r->messages.next) {
        r->session.known = a->number + 1;
        receiver_timer_on_known(&r->timer, now, r);
    }
}

bool receiver_enter(struct receiver *r, instant now, struct landing *landing, struct arrival *a)
{
    r->session.has_units = true;
    receiver_hear(r, now);
    if (!accept(r, landing, a))
        return false;
    receiver_acknowledge(r, now, a, a->range.last - a->range.first);
    return true;
}

/* ---- collecting a row ---- */

/* The message that a row can begin in with this unit: one that is posted, and misses it whole and
 * more behind it. NULL if there is none. */
static struct message_in *message_of_row(struct receiver *r, const struct arrival *a,
                                         uint32_t *most)
{
    struct message_in *message = messages_in_find(&r->messages, a->number);
    uint64_t run;
    if (message == NULL || message->state != MESSAGE_IN_POSTED ||
        a->segment->data != message_in_at(message, a->range.first, &run))
        return NULL;
    struct interval rest = missing_next(&r->messages.missing, &message->missing, a->range.first);
    if (rest.first != a->range.first || rest.last <= a->range.last ||
        run < a->range.last - a->range.first)
        return NULL;
    uint64_t behind = lesser(rest.last - 1, a->range.first + run) - a->range.last;
    *most = 1 + (uint32_t)lesser(behind / a->trailer->length, LANDING_UNITS);
    return message;
}

/* The pool has room for one more range. The row's message may have none when it is entered. */
bool receiver_row_open(struct receiver *r, struct landing_row *row, const struct arrival *a)
{
    const struct messages_in *messages = &r->messages;
    bool is_newest = r->ack.arrived.count == 0 || a->seq > r->ack.newest;
    if (!segment_fills_piece(a->segment) || !is_newest || r->phase != RECEIVER_OPEN ||
        messages->missing.used == messages->missing.capacity ||
        !trailer_row_behind(&row->next, a->trailer))
        return false;
    row->a = *a;
    row->a.message = message_of_row(r, a, &row->most);
    if (row->a.message == NULL)
        return false;
    row->trailer = *a->trailer;
    row->place = (uint8_t *)a->segment->data + a->trailer->length;
    row->bytes = a->segment->bytes;
    row->marks = a->segment->ecn == LANDING_ECN_CONGESTED;
    return true;
}

/* The last of its message does not continue a row, nor does one that asks for an answer, or fills
 * what is missing to its end. */
bool receiver_row_take(struct landing_row *row, const struct segment *segment)
{
    if (row->a.message == NULL || row->a.units == row->most || segment->bytes != row->bytes ||
        !segment_fills_piece(segment) || segment->data != row->place ||
        !trailer_row_take(&row->next, segment->tail))
        return false;
    row->a.units++;
    row->marks += segment->ecn == LANDING_ECN_CONGESTED;
    row->place += row->bytes - TRAILER_BYTES;
    return true;
}

void receiver_note_marks(struct receiver *r, uint32_t marks)
{
    r->counters.marks += marks;
    r->ack.marks += marks;
}

void receiver_row_close(struct receiver *r, instant now, struct landing *landing,
                        struct landing_row *row)
{
    struct arrival *a = &row->a;
    if (a->message == NULL)
        return;
    uint32_t behind = a->units - 1;
    uint32_t grains = behind * (row->trailer.length / GRAIN);
    row->trailer.unit += grains;
    row->trailer.next_unit += grains;
    row->trailer.seq += behind;
    a->trailer = &row->trailer;
    a->segment = NULL;
    a->seq += behind;
    a->range.last += (uint64_t)behind * row->trailer.length;
    receiver_note_marks(r, row->marks);
    (void)receiver_enter(r, now, landing, a);
    a->message = NULL;
}

/* ---- a datagram ---- */

struct arrival receiver_arrival(const struct receiver *r, const struct segment *segment,
                                const struct unit_trailer *t)
{
    uint64_t offset = (uint64_t)t->unit * GRAIN;
    uint64_t near_message = r->messages.next - r->session.message_base;
    return (struct arrival){.segment = segment,
                            .trailer = t,
                            .number =
                                r->session.message_base + number_expand(t->message, near_message),
                            .seq = receiver_ack_expand(&r->ack, t->seq),
                            .units = 1,
                            .range = {.first = offset, .last = offset + t->length}};
}

void receiver_count_drop(struct receiver *r, enum verdict verdict)
{
    switch (verdict) {
    case VERDICT_OK:
        r->counters.drop_session++;
        break;
    case VERDICT_SHORT:
        r->counters.drop_short++;
        break;
    case VERDICT_VERSION:
        r->counters.drop_version++;
        break;
    case VERDICT_TYPE:
        r->counters.drop_type++;
        break;
    case VERDICT_MALFORMED:
        r->counters.drop_malformed++;
        break;
    }
}

static enum verdict on_hello(struct receiver *r, instant now, const struct segment *segment,
                             bool *is_ours)
{
    struct hello hello;
    enum verdict verdict = datagram_size_verdict(segment->bytes, TRAILER_BYTES);
    if (verdict == VERDICT_OK)
        verdict = hello_decode(segment->tail, TRAILER_BYTES, &hello);
    if (verdict != VERDICT_OK)
        return verdict;
    *is_ours = hello.nonce == 0 && receiver_session_accepts(&r->session, hello.pairing);
    receiver_on_hello(r, now, &hello);
    return verdict;
}

/* The padding of a probe means nothing, wherever it landed. */
static enum verdict on_path_probe(struct receiver *r, instant now, const struct segment *segment,
                                  bool *is_ours)
{
    struct path_probe probe;
    enum verdict verdict = path_probe_decode(segment->tail, segment->bytes, &probe);
    if (verdict != VERDICT_OK)
        return verdict;
    *is_ours = receiver_session_accepts(&r->session, probe.pairing);
    if (*is_ours) {
        r->replies.probed = probe;
        receiver_set_due(r, REPLY_PROBE);
        receiver_hear(r, now);
    } else {
        r->counters.drop_session++;
    }
    return verdict;
}

/* Only one for the message that is posted next says anything new, and only once. */
static void note_offer(struct receiver *r, const struct offer *offer)
{
    uint64_t near = r->messages.next - r->session.message_base;
    uint64_t number = r->session.message_base + number_expand(offer->message, near);
    uint64_t size;
    if (number != r->messages.next || receiver_offer(r, &size))
        return;
    r->offers.is_known = true;
    r->offers.number = number;
    r->offers.size = offer->size;
    r->offers.asked = 0;
    r->counters.offers++;
}

static enum verdict on_offer(struct receiver *r, instant now, const struct segment *segment,
                             bool *is_ours)
{
    struct offer offer;
    enum verdict verdict = datagram_size_verdict(segment->bytes, TRAILER_BYTES);
    if (verdict == VERDICT_OK)
        verdict = offer_decode(segment->tail, TRAILER_BYTES, &offer);
    if (verdict != VERDICT_OK)
        return verdict;
    *is_ours = receiver_session_accepts(&r->session, offer.pairing);
    if (*is_ours) {
        note_offer(r, &offer); /* first: the next request is due by what is known */
        receiver_hear(r, now);
    } else {
        r->counters.drop_session++;
    }
    return verdict;
}

/* The answer to a challenge says here only that the sender is there: whoever checks an address
 * hears what comes from that address. */
static enum verdict on_challenge_answer(struct receiver *r, instant now,
                                        const struct segment *segment, bool *is_ours)
{
    struct challenge_answer answer;
    enum verdict verdict = datagram_size_verdict(segment->bytes, TRAILER_BYTES);
    if (verdict == VERDICT_OK)
        verdict = challenge_answer_decode(segment->tail, TRAILER_BYTES, &answer);
    if (verdict != VERDICT_OK)
        return verdict;
    *is_ours = receiver_session_accepts(&r->session, answer.pairing);
    if (*is_ours)
        receiver_hear(r, now);
    else
        r->counters.drop_session++;
    return verdict;
}

bool receiver_on_other(struct receiver *r, instant now, struct landing *landing,
                       const struct segment *segment, enum verdict verdict)
{
    enum datagram_type type = datagram_type(segment->tail[TRAILER_BYTES - 1]);
    bool is_answer = type == DATAGRAM_CHALLENGE_ANSWER && r->config.keyring != NULL;
    bool is_other = type == DATAGRAM_HELLO || type == DATAGRAM_PATH_PROBE ||
                    type == DATAGRAM_OFFER || is_answer;
    bool is_ours = false;
    if (type == DATAGRAM_HELLO)
        verdict = on_hello(r, now, segment, &is_ours);
    else if (type == DATAGRAM_PATH_PROBE)
        verdict = on_path_probe(r, now, segment, &is_ours);
    else if (type == DATAGRAM_OFFER)
        verdict = on_offer(r, now, segment, &is_ours);
    else if (is_answer)
        verdict = on_challenge_answer(r, now, segment, &is_ours);
    else if (segment->bytes >= VERSION_ANSWER_BYTES &&
             datagram_is_foreign_hello(segment->tail[TRAILER_BYTES - 1]))
        receiver_on_foreign_hello(r, datagram_tail_decode(segment->tail + TAIL_AT).pairing);
    else if (type != DATAGRAM_UNIT && segment->bytes <= CONTROL_BYTES &&
             landing_post(landing, segment))
        return false;
    if (!is_other || verdict != VERDICT_OK)
        receiver_count_drop(r, verdict);
    return is_ours;
}

void receiver_welcome(struct receiver *r, instant now, const uint8_t *hello, size_t size)
{
    struct hello heard;
    if (size == TRAILER_BYTES && hello_decode(hello, size, &heard) == VERDICT_OK)
        receiver_on_hello(r, now, &heard);
}
