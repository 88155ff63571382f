/* Landing: the reading of what arrived (the paper's receiving thread). */
#include "check.h"
#include "number.h"
#include "receiver_state.h"

/* ---- units in a row ---- */

/* Units that came one after the other, each just where it belongs and with nothing to say but its
 * data. Only the first, which opens the row, is looked at from all sides; the others are counted,
 * and entered together before anything else happens. */
struct row {
    struct arrival last;         /* of the row; its message is NULL when no row is open */
    struct unit_trailer trailer; /* of the last */
    uint64_t begin;              /* behind the first in the message */
    uint64_t limit;              /* where what is missing from there ends */
    uint32_t units;              /* behind the first */
};

/* After `a` was settled as it should be more of its kind may follow. */
static void row_open(const struct receiver *r, struct row *row, const struct arrival *a)
{
    uint64_t end = a->range.last;
    if ((a->trailer->flags & FLAG_IS_LAST) != 0 || a->message == NULL || a->seq != r->ack.newest)
        return;
    struct interval rest = missing_next(&r->messages.missing, &a->message->missing, end);
    if (rest.first != end || rest.last <= end)
        return;
    *row = (struct row){.last = *a, .trailer = *a->trailer, .begin = end, .limit = rest.last};
    row->last.trailer = &row->trailer;
    row->last.segment = NULL;
}

/* Takes the unit into the row, if that is what it continues. The last of its message does not, nor
 * does one that asks for an answer, or fills what is missing to its end. */
static bool row_take(struct row *row, const struct segment *segment, const struct unit_trailer *t)
{
    struct arrival *last = &row->last;
    uint64_t end = last->range.last;
    bool is_next = last->message != NULL && t->flags == FLAG_HAS_NEXT &&
                   t->message == row->trailer.message && t->seq == row->trailer.seq + 1 &&
                   (uint64_t)t->unit * GRAIN == end && end + t->length < row->limit;
    if (!is_next || !segment->is_contiguous || segment->data != last->message->buffer + end)
        return false;
    row->trailer = *t;
    row->units++;
    last->seq++;
    last->range = (struct interval){.first = end, .last = end + t->length};
    return true;
}

/* Enters the row, if one is open, and closes it. */
static void row_close(struct receiver *r, instant now, struct row *row)
{
    struct interval range = {.first = row->begin, .last = row->last.range.last};
    if (row->last.message != NULL && row->units > 0)
        receiver_on_row(r, now, &row->last, row->units, range);
    row->last.message = NULL;
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

/* A hello, or what has to be dropped: as a unit it is `verdict`. */
static void on_other(struct receiver *r, instant now, const struct segment *segment,
                     enum verdict verdict)
{
    struct hello hello;
    const uint8_t *tail = segment->tail;
    if (datagram_type(tail[TRAILER_BYTES - 1]) == DATAGRAM_HELLO) {
        bool is_whole = segment->bytes == CONTROL_TRAILER_BYTES;
        verdict = hello_decode(tail + TRAILER_BYTES - CONTROL_TRAILER_BYTES,
                               is_whole ? CONTROL_TRAILER_BYTES : 0, &hello);
        if (verdict == VERDICT_OK) {
            receiver_on_hello(r, now, &hello);
            return;
        }
    }
    count_drop(r, verdict);
}

static void on_datagram(struct receiver *r, instant now, struct landing *landing,
                        const struct segment *segment, struct row *row)
{
    struct unit_trailer unit;
    enum verdict verdict = unit_trailer_decode(segment->tail, segment->bytes, &unit);
    bool is_ours = verdict == VERDICT_OK && receiver_accepts(r, unit.pairing);
    if (is_ours && row_take(row, segment, &unit))
        return;
    row_close(r, now, row);
    if (!is_ours) {
        on_other(r, now, segment, verdict);
        return;
    }
    struct arrival a = arrival_of(r, segment, &unit);
    if (receiver_on_unit(r, now, landing, &a))
        row_open(r, row, &a);
}

void receiver_landed(struct receiver *r, instant now, struct landing *landing)
{
    struct landing_walk walk = {.opening = 0};
    struct row row = {.units = 0};
    struct segment segment;
    CHECK(r->is_planned);
    r->counters.bursts += landing->received;
    while (landing_next(landing, &walk, &segment))
        on_datagram(r, now, landing, &segment, &row);
    row_close(r, now, &row);
    landing_settle(landing);
    r->is_planned = false;
}
