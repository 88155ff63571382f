/* Landing with keys: what arrived beside the messages is opened, one datagram after the other, to
 * where it belongs. Nothing of it is believed before that.
 *
 *     look    where does the next unit belong? What was opened before it enters its message
 *     open    to there, and the units that continue its row
 *
 * While a unit is opened nothing of the receiver changes but `opening`, and the keyring. So its
 * owner may let others use the receiver meanwhile: no message's memory goes away while a plan is
 * out. */
#include "receiver_land.h"

#include <string.h>

/* The datagram in one piece: where it landed, or copied to `scratch`. */
static const uint8_t *in_one_piece(const struct landing *landing, const struct segment *segment,
                                   uint8_t *scratch)
{
    struct iovec piece[LANDING_IOV];
    uint32_t count = landing_list(landing, segment, piece);
    uint8_t *to = scratch;
    if (count == 1)
        return piece[0].iov_base;
    for (uint32_t i = 0; i < count; i++) {
        memcpy(to, piece[i].iov_base, piece[i].iov_len);
        to += piece[i].iov_len;
    }
    return scratch;
}

/* Where the data of this unit belongs, if all of it is missing there, and lies in one piece; else
 * NULL. A forged unit may be opened there, too: then it is not believed, and what it left is gone
 * before anybody sees it. */
static uint8_t *place_of_data(struct receiver *r, struct arrival *a)
{
    struct message_in *message = messages_in_find(&r->messages, a->number);
    a->message = message;
    if (r->phase != RECEIVER_OPEN || (a->trailer->flags & FLAG_VOID) != 0 || message == NULL ||
        message->state != MESSAGE_IN_POSTED || !receiver_fits(a))
        return NULL;
    struct interval part = missing_next(&r->messages.missing, &message->missing, a->range.first);
    bool is_missing = part.first <= a->range.first && a->range.last <= part.last;
    if (!is_missing || a->range.first >= a->range.last)
        return NULL;
    uint64_t run;
    uint8_t *at = message_in_at(message, a->range.first, &run);
    return a->range.last - a->range.first <= run ? at : NULL;
}

/* ---- looking ---- */

/* What the trailer says, which is not to be believed yet. False if it is no unit of the session. */
static bool read_trailer(struct receiver *r, struct receiver_opening *o)
{
    if (o->segment.bytes < TRAILER_BYTES + SEAL_UNIT_BYTES) {
        r->counters.drop_short++;
        return false;
    }
    if (keyring_look_at_unit(r->config.keyring, o->segment.tail, &o->sealed) != SEALED_GOOD) {
        r->counters.drop_session++;
        return false;
    }
    enum verdict verdict =
        unit_trailer_decode(o->sealed.plain, o->segment.bytes - SEAL_UNIT_BYTES, &o->trailer);
    if (verdict == VERDICT_OK && receiver_session_accepts(&r->session, o->trailer.pairing))
        return true;
    receiver_count_drop(r, verdict);
    return false;
}

/* Where the unit goes: to its place, and maybe others behind it; or to scratch, from where what is
 * missing of it is brought there. */
static void find_place(struct receiver *r, const struct landing *landing,
                       struct receiver_opening *o)
{
    o->a = receiver_arrival(r, &o->segment, &o->trailer);
    uint8_t *place = place_of_data(r, &o->a);
    o->opened = (struct segment){.bytes = o->trailer.length + (uint32_t)TRAILER_BYTES,
                                 .data = place != NULL ? place : landing->bounce,
                                 .is_contiguous = true,
                                 .is_as_planned = true,
                                 .ecn = o->segment.ecn};
    o->a.segment = &o->opened;
    o->a.message = NULL;
    o->out = place != NULL ? place : landing->bounce;
    o->is_looked_at = true;
    if (place != NULL)
        (void)receiver_row_open(r, &o->row, &o->a);
}

/* ---- opening ---- */

/* Opens the next segment, too, if it is the unit that continues the row: so says its trailer alone.
 * If it is forged the row is as it was. */
static bool open_next(struct receiver *r, struct landing *landing, struct receiver_opening *o)
{
    struct landing_row *row = &o->row;
    uint32_t length = row->bytes - TRAILER_BYTES;
    struct landing_walk walk = o->walk;
    struct segment segment;
    struct sealed_unit sealed;
    if (row->a.units >= row->most || !landing_next(landing, &walk, &segment) ||
        segment.bytes != row->bytes + SEAL_UNIT_BYTES ||
        keyring_look_at_unit(r->config.keyring, segment.tail, &sealed) != SEALED_GOOD ||
        !trailer_row_foresees(&row->next, sealed.plain))
        return false;
    o->walk = walk;
    const uint8_t *in = in_one_piece(landing, &segment, landing->bounce);
    if (!keyring_open_unit(r->config.keyring, &sealed, in, length, row->place))
        return true;
    trailer_row_step(&row->next);
    row->a.units++;
    row->marks += segment.ecn == LANDING_ECN_CONGESTED;
    row->place += length;
    harvest_count(&o->harvest, &segment);
    return true;
}

void receiver_open(struct receiver *r, struct landing *landing)
{
    struct receiver_opening *o = r->opening;
    const uint8_t *in = in_one_piece(landing, &o->segment, landing->bounce);
    o->is_open = keyring_open_unit(r->config.keyring, &o->sealed, in, o->trailer.length, o->out);
    if (!o->is_open) {
        o->row.a.message = NULL;
        return;
    }
    harvest_count(&o->harvest, &o->segment);
    while (o->row.a.message != NULL && open_next(r, landing, o))
        ;
}

/* What was opened enters its message. The user may have taken that back meanwhile, or the session
 * may be over: then it counts as never received. */
static void commit(struct receiver *r, instant now, struct landing *landing)
{
    struct receiver_opening *o = r->opening;
    if (!o->is_looked_at)
        return;
    o->is_looked_at = false;
    r->counters.forged = r->config.keyring->units_in.forged;
    r->counters.replayed = r->config.keyring->units_in.replayed;
    if (!receiver_session_accepts(&r->session, o->trailer.pairing)) {
        o->row.a.message = NULL;
        return;
    }
    if (o->row.a.message != NULL) {
        receiver_row_close(r, now, landing, &o->row);
    } else if (o->is_open) {
        receiver_note_marks(r, o->segment.ecn == LANDING_ECN_CONGESTED);
        receiver_enter(r, now, landing, &o->a);
        landing_move_all(landing); /* the next unit wants the scratch */
    }
}

/* ---- what is no unit ---- */

static bool on_sealed_control(struct receiver *r, instant now, struct landing *landing,
                              const struct segment *segment)
{
    uint8_t *scratch = landing->bounce;
    const uint8_t *in = in_one_piece(landing, segment, scratch);
    size_t bytes = 0;
    enum sealed sealed =
        keyring_open_control(r->config.keyring, in, segment->bytes, scratch, &bytes);
    r->counters.drop_short += sealed == SEALED_SHORT;
    r->counters.drop_session += sealed == SEALED_FOREIGN;
    if (sealed != SEALED_GOOD)
        return false;
    struct segment opened = {.bytes = (uint32_t)bytes, .data = scratch, .is_contiguous = true};
    memcpy(opened.tail, scratch + bytes - TRAILER_BYTES, TRAILER_BYTES);
    return receiver_on_other(r, now, landing, &opened, VERDICT_OK);
}

/* Control that is sealed, or a datagram of a handshake. True if it belongs to the pairing. */
static bool on_other(struct receiver *r, instant now, struct landing *landing,
                     const struct segment *segment, enum datagram_type type)
{
    bool is_control = type == DATAGRAM_HELLO || type == DATAGRAM_PATH_PROBE ||
                      type == DATAGRAM_OFFER || type == DATAGRAM_CHALLENGE_ANSWER;
    if (is_control && keyring_is_ready(r->config.keyring)) /* else it may ask for a handshake */
        return on_sealed_control(r, now, landing, segment);
    bool is_posted =
        segment->bytes <= CONTROL_BYTES + SEAL_CONTROL_BYTES && landing_post(landing, segment);
    r->counters.drop_type += !is_posted;
    return false;
}

bool receiver_look(struct receiver *r, instant now, struct landing *landing)
{
    struct receiver_opening *o = r->opening;
    if (!receiver_is_sealed(r, landing))
        return false;
    commit(r, now, landing);
    while (landing_next(landing, &o->walk, &o->segment)) {
        enum datagram_type type = datagram_type(o->segment.tail[TRAILER_BYTES - 1]);
        if (type == DATAGRAM_UNIT && read_trailer(r, o)) {
            find_place(r, landing, o);
            return true;
        }
        if (type != DATAGRAM_UNIT && on_other(r, now, landing, &o->segment, type))
            harvest_count(&o->harvest, &o->segment);
    }
    return false;
}
