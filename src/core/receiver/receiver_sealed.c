/* Landing with keys: what arrived beside the messages is opened, one datagram after the other, to
 * where it belongs. Nothing of it is believed before that. */
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

/* Where the data of this unit belongs, if all of it is missing there; else NULL. A forged unit may
 * be opened there, too: then it is not believed, and what it left is gone before anybody sees it.
 */
static uint8_t *place_of_data(struct receiver *r, struct arrival *a)
{
    struct message_in *message = messages_in_find(&r->messages, a->number);
    a->message = message;
    if (r->phase != RECEIVER_OPEN || (a->trailer->flags & FLAG_VOID) != 0 || message == NULL ||
        message->state != MESSAGE_IN_POSTED || !receiver_fits(a))
        return NULL;
    struct interval part = missing_next(&r->messages.missing, &message->missing, a->range.first);
    bool is_missing = part.first <= a->range.first && a->range.last <= part.last;
    return is_missing && a->range.first < a->range.last ? message->buffer + a->range.first : NULL;
}

/* Is this the unit that continues the row? It is only what its trailer says. */
static bool continues(const struct landing_row *row, const struct segment *segment,
                      const struct sealed_unit *sealed)
{
    return row->a.message != NULL && row->a.units < row->most &&
           segment->bytes == row->bytes + SEAL_UNIT_BYTES &&
           trailer_row_foresees(&row->next, sealed->plain);
}

/* Opens it to its place, where everything is missing still. If it is forged the row is as it was.
 */
static bool open_next(struct receiver *r, struct landing *landing, const struct segment *segment,
                      const struct sealed_unit *sealed, struct landing_row *row)
{
    uint32_t length = row->bytes - TRAILER_BYTES;
    const uint8_t *in = in_one_piece(landing, segment, landing->bounce);
    if (!keyring_open_unit(r->config.keyring, sealed, in, length, row->place))
        return false;
    trailer_row_step(&row->next);
    row->a.units++;
    row->marks += segment->ecn == LANDING_ECN_CONGESTED;
    row->place += length;
    return true;
}

/* Opens the unit to its place, or to scratch, from where what is missing of it is brought there. */
static bool open_unit(struct receiver *r, instant now, struct landing *landing,
                      const struct segment *segment, const struct sealed_unit *sealed,
                      const struct unit_trailer *t, struct landing_row *row)
{
    struct arrival a = receiver_arrival(r, segment, t);
    uint8_t *scratch = landing->bounce;
    const uint8_t *in = in_one_piece(landing, segment, scratch);
    uint8_t *place = place_of_data(r, &a);
    uint8_t *out = place != NULL ? place : scratch;
    if (!keyring_open_unit(r->config.keyring, sealed, in, t->length, out))
        return false;
    struct segment opened = {.bytes = t->length + (uint32_t)TRAILER_BYTES,
                             .data = out,
                             .is_contiguous = true,
                             .is_as_planned = true,
                             .ecn = segment->ecn};
    a.segment = &opened;
    a.message = NULL;
    if (place != NULL && receiver_row_open(r, row, &a))
        return true;
    receiver_note_marks(r, segment->ecn == LANDING_ECN_CONGESTED);
    receiver_enter(r, now, landing, &a);
    landing_move_all(landing); /* the next unit wants the scratch */
    return true;
}

static bool on_sealed_unit(struct receiver *r, instant now, struct landing *landing,
                           const struct segment *segment, struct landing_row *row)
{
    struct unit_trailer unit;
    struct sealed_unit sealed;
    if (segment->bytes < TRAILER_BYTES + SEAL_UNIT_BYTES) {
        r->counters.drop_short++;
        return false;
    }
    if (keyring_look_at_unit(r->config.keyring, segment->tail, &sealed) != SEALED_GOOD) {
        r->counters.drop_session++;
        return false;
    }
    if (continues(row, segment, &sealed))
        return open_next(r, landing, segment, &sealed, row);
    receiver_row_close(r, now, landing, row); /* what it has is missing no more */
    enum verdict verdict =
        unit_trailer_decode(sealed.plain, segment->bytes - SEAL_UNIT_BYTES, &unit);
    if (verdict != VERDICT_OK || !receiver_session_accepts(&r->session, unit.pairing)) {
        receiver_count_drop(r, verdict);
        return false;
    }
    return open_unit(r, now, landing, segment, &sealed, &unit, row);
}

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

/* A sealed datagram, or one of a handshake. True if it belongs to the pairing. */
bool receiver_on_sealed(struct receiver *r, instant now, struct landing *landing,
                        const struct segment *segment, struct landing_row *row)
{
    switch (datagram_type(segment->tail[TRAILER_BYTES - 1])) {
    case DATAGRAM_UNIT:
        return on_sealed_unit(r, now, landing, segment, row);
    case DATAGRAM_HELLO:
    case DATAGRAM_PATH_PROBE:
    case DATAGRAM_OFFER:
        if (!keyring_is_ready(r->config.keyring))
            break; /* it cannot be opened, and may ask for a handshake */
        receiver_row_close(r, now, landing, row);
        return on_sealed_control(r, now, landing, segment);
    case DATAGRAM_ACK_POSITIVE:
    case DATAGRAM_ACK_NEGATIVE:
    case DATAGRAM_REQUEST:
    case DATAGRAM_PATH_ANSWER:
    case DATAGRAM_COOKIE:
    case DATAGRAM_HANDSHAKE:
    case DATAGRAM_VERSION_ANSWER:
        break;
    }
    bool is_posted =
        segment->bytes <= CONTROL_BYTES + SEAL_CONTROL_BYTES && landing_post(landing, segment);
    r->counters.drop_type += !is_posted;
    return false;
}
