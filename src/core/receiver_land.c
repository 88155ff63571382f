/* Landing: the plan before, the reading after (the paper's receiving thread). */
#include "check.h"
#include "number.h"
#include "receiver_state.h"

/* ---- the plan ---- */

/* What may still be offered in an opening. A burst holds units of one size, of which only the last
 * may be shorter, and no more bytes than a datagram could: then the next one begins. */
struct room {
    uint32_t pairs;
    uint32_t bytes;
    uint32_t unit; /* bytes of data of the first */
};

static bool has_room(const struct room *room, uint32_t length)
{
    return room->pairs > 0 && length <= room->unit && length + TRAILER_BYTES <= room->bytes;
}

static void fill_room(struct room *room, uint32_t length)
{
    room->bytes -= length + TRAILER_BYTES;
    room->pairs = length < room->unit ? 0 : room->pairs - 1;
}

/* Offers the stretch, unit by unit, as far as there is room. Returns the bytes of it offered. */
static uint64_t offer(struct landing *landing, const struct stretch *stretch, struct room *room)
{
    uint64_t offered = 0;
    do {
        uint64_t left = stretch->length - offered;
        uint32_t length = left < stretch->unit ? (uint32_t)left : stretch->unit;
        uint8_t *slot = length == 0 ? NULL : stretch->message->buffer + stretch->offset + offered;
        room->unit = room->unit == UINT32_MAX ? length : room->unit;
        if (!has_room(room, length) || !landing_offer(landing, slot, length)) {
            room->pairs = 0;
            break;
        }
        fill_room(room, length);
        offered += length;
    } while (offered < stretch->length);
    return offered;
}

/* Plans one opening: pairs until no burst could fill more. */
static void plan_opening(struct receiver *r, struct landing *landing, struct prediction *walk,
                         uint32_t pairs)
{
    struct room room = {.pairs = pairs, .bytes = LANDING_DATAGRAM - 1, .unit = UINT32_MAX};
    struct stretch stretch;
    while (room.pairs > 0 && prediction_walk(walk, &r->messages, &stretch)) {
        uint64_t offered = offer(landing, &stretch, &room);
        if (offered > 0 || (stretch.length == 0 && room.pairs > 0))
            prediction_advance(walk, &stretch, offered);
    }
}

void receiver_plan(struct receiver *r, struct landing *landing, uint32_t openings, uint32_t pairs)
{
    CHECK(!r->is_planned);
    struct prediction walk = r->prediction;
    r->is_planned = true;
    landing_begin(landing);
    for (uint32_t opening = 0; opening < openings; opening++) {
        plan_opening(r, landing, &walk, pairs);
        if (!landing_seal(landing))
            return;
    }
}

/* ---- a unit ---- */

/* A unit on its way to its place. */
struct arrival {
    const struct segment *segment;
    const struct unit_trailer *trailer;
    struct message_in *message;
    uint64_t number;
    uint64_t seq;
    struct interval range; /* in the message */
};

/* Asks the landing to bring what is missing of the unit, from the missing range `part` on, to its
 * place, and counts it as there. False if a table is full: then the unit counts as never received.
 */
static bool place(struct receiver *r, struct landing *landing, const struct arrival *a,
                  struct interval part)
{
    struct missing *missing = &a->message->missing;
    uint64_t moved = 0;
    while (part.first < part.last && part.first < a->range.last) {
        bool is_end = part.last >= a->range.last;
        if (is_end)
            part.last = a->range.last;
        uint32_t bytes =
            landing_move(landing, a->segment, (uint32_t)(part.first - a->range.first),
                         (uint32_t)(part.last - part.first), a->message->buffer + part.first);
        if (bytes == UINT32_MAX || !missing_remove(&r->messages.missing, missing, part))
            return false;
        moved += bytes;
        if (is_end)
            break;
        part = missing_next(&r->messages.missing, missing, part.last);
    }
    r->counters.in_place += moved == 0;
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
    if (beyond.first < beyond.last)
        missing_remove(&r->messages.missing, &message->missing, beyond);
    prediction_learn_length(&r->prediction, message->length, message->size);
}

/* Everything about the unit has been settled: it is acknowledged. */
static void arrive(struct receiver *r, instant now, const struct arrival *a)
{
    struct receiver_ack *ack = &r->ack;
    bool is_first = ack->arrived.count == 0;
    bool is_in_order = is_first ? a->seq == r->config.first_seq : a->seq == ack->newest + 1;
    uint64_t forgotten = ack->arrived.forgotten;
    bool is_new = intervals_add(&ack->arrived, a->seq);
    r->counters.forgotten += ack->arrived.forgotten - forgotten;
    if (is_first || a->seq > ack->newest) {
        ack->newest = a->seq;
        ack->newest_at = now;
        uint64_t next =
            r->session.message_base +
            number_expand(a->trailer->next_message, a->number - r->session.message_base);
        prediction_learn(&r->prediction, a->trailer, a->number, a->range.first, next);
    }
    bool is_urgent = !is_in_order || !is_new || (a->trailer->flags & FLAG_ANSWER) != 0;
    receiver_timer_on_arrived(r, now, is_urgent);
    if (a->number >= r->session.known && a->number < r->messages.next)
        r->session.known = a->number + 1;
}

static void on_void(struct receiver *r, const struct arrival *a)
{
    bool is_too_large = a->trailer->unit == VOID_TOO_LARGE;
    if (a->message == NULL)
        return;
    messages_in_end(&r->messages, a->message,
                    is_too_large ? OUTCOME_TOO_LARGE : OUTCOME_PEER_CANCELLED);
}

/* True if the unit can be for this message, as far as is known of its length. */
static bool fits(const struct arrival *a)
{
    const struct message_in *message = a->message;
    bool is_last = (a->trailer->flags & FLAG_IS_LAST) != 0;
    uint64_t end = message->is_length_known ? message->length : message->size;
    if (a->range.last > end)
        return false;
    return !is_last || !message->is_length_known || a->range.last == message->length;
}

/* Data for a message that is posted; true if it is settled. */
static bool on_data(struct receiver *r, struct landing *landing, const struct arrival *a)
{
    struct message_in *message = a->message;
    bool is_last = (a->trailer->flags & FLAG_IS_LAST) != 0;
    if (!fits(a)) {
        r->counters.drop_beyond++;
        return false;
    }
    bool is_news = is_last && !message->is_length_known;
    struct interval part = missing_next(&r->messages.missing, &message->missing, a->range.first);
    if (!is_news && (part.first >= part.last || part.first >= a->range.last)) {
        r->counters.drop_duplicate++;
        return true;
    }
    if (!place(r, landing, a, part)) {
        r->counters.drop_no_room++;
        return false;
    }
    r->counters.units++;
    if (is_news)
        note_length(r, a);
    if (message->is_length_known && message->missing.bytes == 0)
        messages_in_end(&r->messages, message, OUTCOME_OK);
    return true;
}

/* A unit for a receiver that has closed is not acknowledged: what was failed cannot be told from
 * what was had. But the sender is there and has not heard of the close, so it is said again. */
static bool on_late_unit(struct receiver *r)
{
    r->counters.drop_unposted++;
    r->closing_due = r->phase == RECEIVER_CLOSING;
    r->timers.closings = 0;
    return false;
}

/* Whom the unit is for, and what becomes of it; true if it is to be acknowledged. */
static bool settle(struct receiver *r, struct landing *landing, struct arrival *a)
{
    if (r->phase != RECEIVER_OPEN)
        return on_late_unit(r);
    if (a->number >= r->messages.next) {
        r->counters.drop_unposted++;
        return false;
    }
    a->message = messages_in_find(&r->messages, a->number);
    if ((a->trailer->flags & FLAG_VOID) != 0) {
        on_void(r, a);
        return true;
    }
    if (a->message == NULL || a->message->state == MESSAGE_IN_ENDED) {
        r->counters.drop_duplicate++;
        return true;
    }
    if (a->message->state == MESSAGE_IN_WITHDRAWN) {
        r->counters.drop_unposted++;
        return false;
    }
    return on_data(r, landing, a);
}

static void on_unit(struct receiver *r, instant now, struct landing *landing,
                    const struct segment *segment, const struct unit_trailer *t)
{
    uint64_t near = r->ack.arrived.count == 0 ? r->config.first_seq : r->ack.newest;
    uint64_t offset = (uint64_t)t->unit * GRAIN;
    uint64_t near_message = r->messages.next - r->session.message_base;
    struct arrival a = {.segment = segment,
                        .trailer = t,
                        .number = r->session.message_base + number_expand(t->message, near_message),
                        .seq = number_expand(t->seq, near),
                        .range = {.first = offset, .last = offset + t->length}};
    r->session.has_units = true;
    receiver_timer_on_heard(r, now);
    if (settle(r, landing, &a))
        arrive(r, now, &a);
}

/* ---- a datagram ---- */

static void count_drop(struct receiver *r, enum verdict verdict)
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

static void on_datagram(struct receiver *r, instant now, struct landing *landing,
                        const struct segment *segment)
{
    struct unit_trailer unit;
    struct hello hello;
    enum verdict verdict;
    const uint8_t *tail = segment->tail;
    if (datagram_type(tail[TRAILER_BYTES - 1]) == DATAGRAM_HELLO) {
        bool is_whole = segment->bytes == CONTROL_TRAILER_BYTES;
        verdict = hello_decode(tail + TRAILER_BYTES - CONTROL_TRAILER_BYTES,
                               is_whole ? CONTROL_TRAILER_BYTES : 0, &hello);
        if (verdict == VERDICT_OK)
            receiver_on_hello(r, now, &hello);
        else
            count_drop(r, verdict);
        return;
    }
    verdict = unit_trailer_decode(tail, segment->bytes, &unit);
    if (verdict == VERDICT_OK && receiver_accepts(r, unit.pairing))
        on_unit(r, now, landing, segment, &unit);
    else
        count_drop(r, verdict);
}

void receiver_landed(struct receiver *r, instant now, struct landing *landing)
{
    struct landing_walk walk = {.opening = 0};
    struct segment segment;
    CHECK(r->is_planned);
    r->counters.bursts += landing->received;
    while (landing_next(landing, &walk, &segment))
        on_datagram(r, now, landing, &segment);
    landing_settle(landing);
    r->is_planned = false;
}
