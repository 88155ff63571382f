/* Landing: the reading of what arrived (the paper's receiving thread). */
#include "check.h"
#include "number.h"
#include "receiver_state.h"
#include "trailer_row.h"

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
    row->most = most < LANDING_UNITS ? (uint32_t)most : LANDING_UNITS;
}

/* Takes the unit into the row, if that is what it continues. The last of its message does not, nor
 * does one that asks for an answer, or fills what is missing to its end. */
static bool row_take(struct row *row, const struct segment *segment)
{
    if (row->first.message == NULL || row->units == row->most || segment->bytes != row->bytes ||
        !segment->is_contiguous || segment->data != row->place ||
        !trailer_row_take(&row->next, segment->tail))
        return false;
    row->units++;
    row->place += row->bytes - TRAILER_BYTES;
    return true;
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
                             const uint8_t *trailer)
{
    struct hello hello;
    bool is_whole = segment->bytes == CONTROL_TRAILER_BYTES;
    enum verdict verdict = hello_decode(trailer, is_whole ? CONTROL_TRAILER_BYTES : 0, &hello);
    if (verdict == VERDICT_OK)
        receiver_on_hello(r, now, &hello);
    return verdict;
}

/* What a probe's padding says is nothing, wherever it landed. */
static enum verdict on_path_probe(struct receiver *r, instant now, const struct segment *segment,
                                  const uint8_t *trailer)
{
    struct path_probe probe;
    enum verdict verdict = path_probe_decode(trailer, segment->bytes, &probe);
    if (verdict != VERDICT_OK)
        return verdict;
    if (receiver_accepts(r, probe.pairing)) {
        r->probed = probe;
        receiver_timer_on_heard(r, now);
    } else {
        r->counters.drop_session++;
    }
    return VERDICT_OK;
}

/* A hello, a probe, or what has to be dropped: as a unit it is `verdict`. */
static void on_other(struct receiver *r, instant now, const struct segment *segment,
                     enum verdict verdict)
{
    const uint8_t *trailer = segment->tail + TRAILER_BYTES - CONTROL_TRAILER_BYTES;
    enum datagram_type type = datagram_type(segment->tail[TRAILER_BYTES - 1]);
    bool is_other = type == DATAGRAM_HELLO || type == DATAGRAM_PATH_PROBE;
    if (type == DATAGRAM_HELLO)
        verdict = on_hello(r, now, segment, trailer);
    else if (type == DATAGRAM_PATH_PROBE)
        verdict = on_path_probe(r, now, segment, trailer);
    if (!is_other || verdict != VERDICT_OK)
        count_drop(r, verdict);
}

static void on_datagram(struct receiver *r, instant now, struct landing *landing,
                        const struct segment *segment, struct row *row)
{
    struct unit_trailer unit;
    if (row_take(row, segment))
        return;
    row_close(r, now, row);
    enum verdict verdict = unit_trailer_decode(segment->tail, segment->bytes, &unit);
    if (verdict != VERDICT_OK || !receiver_accepts(r, unit.pairing)) {
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
    struct row row = {.first = {.message = NULL}};
    struct segment segment;
    CHECK(r->is_planned);
    r->counters.bursts += landing->received;
    r->counters.marks += landing->marked;
    r->ack.marks += landing->marked;
    r->ack.has_ecn |= landing->has_ecn;
    while (landing_next(landing, &walk, &segment))
        on_datagram(r, now, landing, &segment, &row);
    row_close(r, now, &row);
    landing_settle(landing);
    r->is_planned = false;
}
