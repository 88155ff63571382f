#include "datagram.h"

#include "wire.h"

/* The tail's fields. */
enum {
    TAIL_AT_SESSION = 0,
    TAIL_AT_TAG = 4,
    TAIL_AT_FLAGS = 8,
    TAIL_AT_LAST_BYTE = 9,
};

/* The fields of a unit's trailer, up to the tail. */
enum {
    AT_MESSAGE = 0,
    AT_UNIT = 4,
    AT_SEQ = 8,
    AT_NEXT_UNIT = 12,
    AT_LENGTH = 16,
    AT_NEXT_LENGTH = 18,
    AT_NEXT_STEP = 20,
};

enum { UNIT_FLAGS = FLAG_HAS_NEXT | FLAG_IS_LAST | FLAG_VOID | FLAG_ANSWER };

/* What all datagrams have in common */

uint8_t datagram_last_byte(enum datagram_type type)
{
    return (uint8_t)(PROTOCOL_VERSION << 4 | (int)type);
}

enum datagram_type datagram_type(uint8_t last_byte)
{
    return last_byte >> 4 == PROTOCOL_VERSION ? (enum datagram_type)(last_byte & 15) : 0;
}

bool datagram_is_foreign_hello(uint8_t last_byte)
{
    return (last_byte & 15) == DATAGRAM_HELLO && last_byte >> 4 != PROTOCOL_VERSION;
}

enum verdict datagram_type_verdict(uint8_t last_byte, enum datagram_type lowest,
                                   enum datagram_type highest)
{
    int type = last_byte & 15;
    if (last_byte >> 4 != PROTOCOL_VERSION)
        return VERDICT_VERSION;
    return (int)lowest <= type && type <= (int)highest ? VERDICT_OK : VERDICT_TYPE;
}

enum verdict datagram_verdict(const uint8_t trailer[TRAILER_BYTES], size_t datagram_bytes,
                              enum datagram_type lowest, enum datagram_type highest)
{
    if (datagram_bytes < TRAILER_BYTES)
        return VERDICT_SHORT;
    return datagram_type_verdict(trailer[TRAILER_BYTES - 1], lowest, highest);
}

enum verdict datagram_size_verdict(size_t datagram_bytes, size_t claimed_bytes)
{
    if (datagram_bytes < claimed_bytes)
        return VERDICT_SHORT;
    return datagram_bytes == claimed_bytes ? VERDICT_OK : VERDICT_MALFORMED;
}

enum verdict datagram_bare_verdict(const uint8_t *in, size_t size, enum datagram_type type)
{
    enum verdict verdict = datagram_verdict(datagram_trailer(in, size), size, type, type);
    return verdict == VERDICT_OK ? datagram_size_verdict(size, TRAILER_BYTES) : verdict;
}

void datagram_tail_encode(uint8_t out[TAIL_BYTES], struct pairing pairing, int flags,
                          enum datagram_type type)
{
    wire_put_u32(out + TAIL_AT_SESSION, pairing.session);
    wire_put_u32(out + TAIL_AT_TAG, pairing.tag);
    out[TAIL_AT_FLAGS] = (uint8_t)flags;
    out[TAIL_AT_LAST_BYTE] = datagram_last_byte(type);
}

struct datagram_tail datagram_tail_decode(const uint8_t in[TAIL_BYTES])
{
    return (struct datagram_tail){
        .pairing = {.session = wire_get_u32(in + TAIL_AT_SESSION),
                    .tag = wire_get_u32(in + TAIL_AT_TAG)},
        .flags = in[TAIL_AT_FLAGS],
        .last_byte = in[TAIL_AT_LAST_BYTE],
    };
}

bool datagram_is_clear(const uint8_t trailer[TRAILER_BYTES], size_t from, size_t to)
{
    uint8_t any = 0;
    for (size_t at = from; at < to; at++)
        any |= trailer[at];
    return any == 0;
}

/* Unit (ZCRP 1.6.1) */

static bool has_flag(const struct unit_trailer *t, enum datagram_flag flag)
{
    return ((int)t->flags & (int)flag) != 0;
}

static bool is_length_legal(const struct unit_trailer *t)
{
    if (t->length > UNIT_DATA_MAX)
        return false;
    return has_flag(t, FLAG_IS_LAST) || (t->length > 0 && t->length % GRAIN == 0);
}

static bool is_void_legal(const struct unit_trailer *t)
{
    if (!has_flag(t, FLAG_VOID))
        return true;
    /* being empty, it is the last as well */
    return t->length == 0 && VOID_TOO_LARGE <= t->unit && t->unit <= VOID_FAULT;
}

static bool is_next_legal(const struct unit_trailer *t)
{
    if (has_flag(t, FLAG_VOID) && t->unit == VOID_TOO_LARGE)
        return !has_flag(t, FLAG_HAS_NEXT) && t->next_step == 0 && unit_trailer_size(t) > 0 &&
               unit_trailer_size(t) <= MESSAGE_BYTES_MAX;
    if (has_flag(t, FLAG_HAS_NEXT))
        return t->next_length <= UNIT_DATA_MAX;
    return t->next_unit == 0 && t->next_length == 0 && t->next_step == 0;
}

static bool is_trailer_legal(const struct unit_trailer *t)
{
    return (t->flags & ~UNIT_FLAGS) == 0 && pairing_is_complete(t->pairing) && is_length_legal(t) &&
           is_void_legal(t) && is_next_legal(t);
}

void unit_trailer_encode(uint8_t out[TRAILER_BYTES], const struct unit_trailer *t)
{
    wire_put_u32(out + AT_MESSAGE, t->message);
    wire_put_u32(out + AT_UNIT, t->unit);
    wire_put_u32(out + AT_SEQ, t->seq);
    wire_put_u32(out + AT_NEXT_UNIT, t->next_unit);
    wire_put_u16(out + AT_LENGTH, t->length);
    wire_put_u16(out + AT_NEXT_LENGTH, t->next_length);
    wire_put_u16(out + AT_NEXT_STEP, (uint16_t)t->next_step);
    datagram_tail_encode(out + TAIL_AT, t->pairing, t->flags, DATAGRAM_UNIT);
}

static void trailer_read(const uint8_t in[TRAILER_BYTES], struct unit_trailer *t)
{
    struct datagram_tail tail = datagram_tail_decode(in + TAIL_AT);
    *t = (struct unit_trailer){
        .message = wire_get_u32(in + AT_MESSAGE),
        .unit = wire_get_u32(in + AT_UNIT),
        .seq = wire_get_u32(in + AT_SEQ),
        .next_unit = wire_get_u32(in + AT_NEXT_UNIT),
        .length = wire_get_u16(in + AT_LENGTH),
        .next_length = wire_get_u16(in + AT_NEXT_LENGTH),
        .next_step = (int16_t)wire_get_u16(in + AT_NEXT_STEP),
        .pairing = tail.pairing,
        .flags = tail.flags,
    };
}

enum verdict unit_trailer_decode(const uint8_t in[TRAILER_BYTES], size_t datagram_bytes,
                                 struct unit_trailer *t)
{
    enum verdict verdict = datagram_verdict(in, datagram_bytes, DATAGRAM_UNIT, DATAGRAM_UNIT);
    if (verdict != VERDICT_OK)
        return verdict;
    trailer_read(in, t);
    verdict = datagram_size_verdict(datagram_bytes, (size_t)t->length + TRAILER_BYTES);
    if (verdict != VERDICT_OK)
        return verdict;
    return is_trailer_legal(t) ? VERDICT_OK : VERDICT_MALFORMED;
}

/* ---- trailer row ---- */

void trailer_row_begin(struct trailer_row *row, const struct unit_trailer *t)
{
    uint8_t bytes[TRAILER_BYTES];
    unit_trailer_encode(bytes, t);
    for (int i = 0; i < TRAILER_WORDS; i++)
        row->word[i] = wire_get_u64(bytes + 8 * i);
    row->grains = t->length / GRAIN;
    row->messages = 0;
}

void trailer_row_begin_messages(struct trailer_row *row, const struct unit_trailer *t)
{
    trailer_row_begin(row, t);
    row->grains = 0;
    row->messages = 1;
}

bool trailer_row_behind(struct trailer_row *row, const struct unit_trailer *t)
{
    bool goes_on = (t->flags & ~FLAG_ANSWER) == FLAG_HAS_NEXT && t->next_step == 0 &&
                   t->next_unit == t->unit + t->length / GRAIN && t->next_length == t->length;
    if (!goes_on)
        return false;
    struct unit_trailer first = *t;
    first.flags = FLAG_HAS_NEXT;
    trailer_row_begin(row, &first);
    trailer_row_step(row);
    return true;
}

bool trailer_row_behind_message(struct trailer_row *row, const struct unit_trailer *t)
{
    bool goes_on = (t->flags & ~FLAG_ANSWER) == (FLAG_HAS_NEXT | FLAG_IS_LAST) && t->unit == 0 &&
                   t->length > 0 && t->next_step == 1 && t->next_unit == 0 &&
                   t->next_length == t->length;
    if (!goes_on)
        return false;
    struct unit_trailer first = *t;
    first.flags = FLAG_HAS_NEXT | FLAG_IS_LAST;
    trailer_row_begin_messages(row, &first);
    trailer_row_step(row);
    return true;
}
