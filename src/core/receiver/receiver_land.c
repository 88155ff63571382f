/* Landing: the reading of what arrived (the paper's receiving thread). */
#include "core/check.h"
#include "core/number.h"
#include "core/wire/datagram.h"
#include "receiver_state.h"

/* ---- units in a row ---- */

/* Units that came one after the other, each just where it belongs and with nothing to say but its
 * data. Only the first, which opens the row, is looked at from all sides; the others are counted,
 * and entered together before anything else happens. */
struct row {
    struct arrival first;        /* its message is NULL when no row is open */
    struct unit_trailer trailer; /* of the first, */
    struct trailer_row next;     /* and of the unit that continues the row */
    const uint8_t *place;        /* where that one belongs */
    uint32_t bytes;              /* of each datagram */
    uint32_t units;              /* behind the first */
    uint32_t marks;              /* of these, units that met congestion */
    uint32_t most;               /* of them: so that something behind them is still missing */
};

/* After `a` was settled as it should be more of its kind may follow. */
static void row_open(const struct receiver *r, struct row *row, const struct arrival *a)
{
    uint64_t end = a->range.last;
    if (a->message == NULL || a->seq != r->ack.newest ||
        !trailer_row_behind(&row->next, a->trailer))
        return;
    struct interval rest = missing_next(&r->messages.missing, &a->message->missing, end);
    uint64_t most =
        rest.first == end && rest.last > end ? (rest.last - end - 1) / a->trailer->length : 0;
    row->first = *a;
    row->trailer = *a->trailer;
    row->place = a->message->buffer + end;
    row->bytes = a->segment->bytes;
    row->units = 0;
    row->marks = 0;
    row->most = most < LANDING_UNITS ? (uint32_t)most : LANDING_UNITS;
}

/* Takes the unit into the row, if that is what it continues. The last of its message does not, nor
 * does one that asks for an answer, or fills what is missing to its end. */
static bool row_take(struct row *row, const struct segment *segment)
{
    if (row->first.message == NULL || row->units == row->most || segment->bytes != row->bytes ||
        !segment->is_as_planned || segment->data != row->place ||
        !trailer_row_take(&row->next, segment->tail))
        return false;
    row->units++;
    row->marks += segment->ecn == LANDING_ECN_CONGESTED;
    row->place += row->bytes - TRAILER_BYTES;
    return true;
}

static void note_marks(struct receiver *r, uint32_t marks)
{
    r->counters.marks += marks;
    r->ack.marks += marks;
}

/* Enters the row, if one is open, and closes it. */
static void row_close(struct receiver *r, instant now, struct row *row)
{
    struct arrival last = row->first;
    uint64_t begin = last.range.last;
    row->first.message = NULL;
    if (last.message == NULL || row->units == 0)
        return;
    uint32_t grains = row->units * (row->trailer.length / GRAIN);
    row->trailer.unit += grains;
    row->trailer.next_unit += grains;
    row->trailer.seq += row->units;
    last.trailer = &row->trailer;
    last.seq += row->units;
    last.range.last += (uint64_t)row->units * row->trailer.length;
    last.range.first = last.range.last - row->trailer.length;
    note_marks(r, row->marks);
    receiver_on_row(r, now, &last, row->units,
                    (struct interval){.first = begin, .last = last.range.last});
}

/* ---- a datagram ---- */

static struct arrival arrival_of(const struct receiver *r, const struct segment *segment,
                                 const struct unit_trailer *t)
{
    uint64_t near = r->ack.arrived.count == 0 ? r->config.first_seq : r->ack.newest;
    uint64_t offset = (uint64_t)t->unit * GRAIN;
    uint64_t near_message = r->messages.next - r->session.message_base;
    return (struct arrival){.segment = segment,
                            .trailer = t,
                            .number =
                                r->session.message_base + number_expand(t->message, near_message),
                            .seq = number_expand(t->seq, near),
                            .range = {.first = offset, .last = offset + t->length}};
}

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

static enum verdict on_hello(struct receiver *r, instant now, const struct segment *segment,
                             bool *is_ours)
{
    struct hello hello;
    enum verdict verdict = datagram_judge_size(segment->bytes, TRAILER_BYTES);
    if (verdict == VERDICT_OK)
        verdict = hello_decode(segment->tail, TRAILER_BYTES, &hello);
    if (verdict != VERDICT_OK)
        return verdict;
    *is_ours = hello.nonce == 0 && receiver_accepts(r, hello.pairing);
    receiver_on_hello(r, now, &hello);
    return verdict;
}

/* What a probe's padding says is nothing, wherever it landed. */
static enum verdict on_path_probe(struct receiver *r, instant now, const struct segment *segment,
                                  bool *is_ours)
{
    struct path_probe probe;
    enum verdict verdict = path_probe_decode(segment->tail, segment->bytes, &probe);
    if (verdict != VERDICT_OK)
        return verdict;
    *is_ours = receiver_accepts(r, probe.pairing);
    if (*is_ours) {
        r->probed = probe;
        receiver_on_partner(r, now);
    } else {
        r->counters.drop_session++;
    }
    return verdict;
}

/* A hello, a probe, or what has to be dropped: as a unit it is `verdict`. True if it belongs to the
 * pairing. */
static bool on_other(struct receiver *r, instant now, struct landing *landing,
                     const struct segment *segment, enum verdict verdict)
{
    enum datagram_type type = datagram_type(segment->tail[TRAILER_BYTES - 1]);
    bool is_other = type == DATAGRAM_HELLO || type == DATAGRAM_PATH_PROBE;
    bool is_ours = false;
    if (type == DATAGRAM_HELLO)
        verdict = on_hello(r, now, segment, &is_ours);
    else if (type == DATAGRAM_PATH_PROBE)
        verdict = on_path_probe(r, now, segment, &is_ours);
    else if (segment->bytes >= VERSION_ANSWER_BYTES &&
             datagram_is_foreign_hello(segment->tail[TRAILER_BYTES - 1]))
        receiver_on_foreign_hello(r, datagram_tail_decode(segment->tail + TAIL_AT).pairing);
    else if (type != DATAGRAM_UNIT && landing_post(landing, segment))
        return false;
    if (!is_other || verdict != VERDICT_OK)
        count_drop(r, verdict);
    return is_ours;
}

/* ---- what landed where it does not stay ---- */

/* These bytes were written, and not because the message there wants them. */
static void scribble(struct receiver *r, const uint8_t *from, size_t bytes)
{
    for (uint64_t number = r->planned.first; number < r->planned.last; number++) {
        struct message_in *message = messages_in_find(&r->messages, number);
        uintptr_t at = message == NULL ? 0 : (uintptr_t)from - (uintptr_t)message->buffer;
        if (message == NULL || at >= message->size)
            continue;
        if (at + bytes > message->scribbled)
            message->scribbled = at + bytes;
    }
}

static void note_scribbles(struct receiver *r, const struct landing *landing,
                           const struct segment *segment)
{
    struct iovec piece[LANDING_IOV];
    uint32_t count = landing_list(landing, segment, piece);
    for (uint32_t i = 0; i < count; i++)
        scribble(r, piece[i].iov_base, piece[i].iov_len);
}

/* Something landed of which nothing is known: anywhere that the channel was pointed at. */
static void note_spoilt(struct receiver *r)
{
    for (uint64_t number = r->planned.first; number < r->planned.last; number++) {
        struct message_in *message = messages_in_find(&r->messages, number);
        if (message != NULL && message->offered > message->scribbled)
            message->scribbled = message->offered;
    }
}

/* ---- a landing ---- */

/* What a landing brought, as far as it was read. */
struct harvest {
    struct receiver_arrivals arrivals;
    uint32_t opening; /* behind the last that counts */
};

static void count_arrival(struct receiver *r, struct harvest *h, const struct segment *segment)
{
    uint32_t opening = segment->start.opening;
    h->arrivals.bytes += segment->bytes;
    if (opening < h->opening)
        return;
    h->opening = opening + 1;
    h->arrivals.openings++;
    r->ack.has_ecn |= segment->ecn != LANDING_ECN_NONE;
}

/* A unit of the pairing; or a hello, a probe, or nothing. True if it belongs to the pairing. */
static bool on_datagram(struct receiver *r, instant now, struct landing *landing,
                        const struct segment *segment, struct row *row)
{
    struct unit_trailer unit;
    enum verdict verdict = unit_trailer_decode(segment->tail, segment->bytes, &unit);
    if (verdict != VERDICT_OK || !receiver_accepts(r, unit.pairing)) {
        note_scribbles(r, landing, segment);
        return on_other(r, now, landing, segment, verdict);
    }
    struct arrival a = arrival_of(r, segment, &unit);
    note_marks(r, segment->ecn == LANDING_ECN_CONGESTED);
    if (receiver_on_unit(r, now, landing, &a))
        row_open(r, row, &a);
    if (!a.is_in_place || !segment->is_as_planned)
        note_scribbles(r, landing, segment);
    return true;
}

void receiver_hear(struct receiver *r, instant now, const uint8_t *hello, size_t size)
{
    struct hello heard;
    if (size == TRAILER_BYTES && hello_decode(hello, size, &heard) == VERDICT_OK)
        receiver_on_hello(r, now, &heard);
}

struct receiver_arrivals receiver_landed(struct receiver *r, instant now, struct landing *landing)
{
    struct harvest h = {.opening = 0};
    struct landing_walk walk = {.opening = 0};
    struct row row = {.first = {.message = NULL}};
    struct segment segment;
    CHECK(r->is_planned);
    while (landing_next(landing, &walk, &segment)) {
        bool is_ours = row_take(&row, &segment);
        if (!is_ours) {
            row_close(r, now, &row);
            is_ours = on_datagram(r, now, landing, &segment, &row);
        }
        if (is_ours)
            count_arrival(r, &h, &segment);
    }
    row_close(r, now, &row);
    if (landing->is_spoilt)
        note_spoilt(r);
    landing_settle(landing);
    r->is_planned = false;
    r->counters.bursts += h.arrivals.openings;
    return h.arrivals;
}
