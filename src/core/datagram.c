#include "datagram.h"

#include "wire.h"

/* The trailer's fields. */
enum {
    AT_MESSAGE = 0,
    AT_UNIT = 4,
    AT_SEQ = 8,
    AT_NEXT_MESSAGE = 12,
    AT_NEXT_UNIT = 16,
    AT_LENGTH = 20,
    AT_NEXT_LENGTH = 22,
    AT_SESSION = 24,
    AT_TAG = 28,
    AT_FLAGS = 30,
    AT_TYPE = 31,
};

enum { LAST_BYTE_OF_UNIT = PROTOCOL_VERSION << 4 | DATAGRAM_UNIT };

enum { UNIT_FLAGS = FLAG_HAS_NEXT | FLAG_IS_LAST | FLAG_VOID | FLAG_ANSWER };

uint8_t datagram_last_byte(enum datagram_type type)
{
    return (uint8_t)(PROTOCOL_VERSION << 4 | (int)type);
}

enum datagram_type datagram_type(uint8_t last_byte)
{
    return last_byte >> 4 == PROTOCOL_VERSION ? (enum datagram_type)(last_byte & 15) : 0;
}

enum verdict datagram_judge_type(uint8_t last_byte, enum datagram_type lowest,
                                 enum datagram_type highest)
{
    int type = last_byte & 15;
    if (last_byte >> 4 != PROTOCOL_VERSION)
        return VERDICT_VERSION;
    return (int)lowest <= type && type <= (int)highest ? VERDICT_OK : VERDICT_TYPE;
}

enum verdict datagram_judge_size(size_t datagram_bytes, size_t claimed_bytes)
{
    if (datagram_bytes < claimed_bytes)
        return VERDICT_SHORT;
    return datagram_bytes == claimed_bytes ? VERDICT_OK : VERDICT_MALFORMED;
}

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
    return t->length == 0 && (t->unit == VOID_TOO_LARGE || t->unit == VOID_CANCELLED);
}

static bool is_next_legal(const struct unit_trailer *t)
{
    if (has_flag(t, FLAG_HAS_NEXT))
        return t->next_length <= UNIT_DATA_MAX;
    return t->next_message == 0 && t->next_unit == 0 && t->next_length == 0;
}

static bool is_trailer_legal(const struct unit_trailer *t)
{
    return (t->flags & ~UNIT_FLAGS) == 0 && t->pairing.session != 0 && t->pairing.tag != 0 &&
           is_length_legal(t) && is_void_legal(t) && is_next_legal(t);
}

void unit_trailer_encode(uint8_t out[TRAILER_BYTES], const struct unit_trailer *t)
{
    wire_put_u32(out + AT_MESSAGE, t->message);
    wire_put_u32(out + AT_UNIT, t->unit);
    wire_put_u32(out + AT_SEQ, t->seq);
    wire_put_u32(out + AT_NEXT_MESSAGE, t->next_message);
    wire_put_u32(out + AT_NEXT_UNIT, t->next_unit);
    wire_put_u16(out + AT_LENGTH, t->length);
    wire_put_u16(out + AT_NEXT_LENGTH, t->next_length);
    wire_put_u32(out + AT_SESSION, t->pairing.session);
    wire_put_u16(out + AT_TAG, t->pairing.tag);
    out[AT_FLAGS] = t->flags;
    out[AT_TYPE] = LAST_BYTE_OF_UNIT;
}

/* All but the last byte. */
static void trailer_read(const uint8_t in[TRAILER_BYTES], struct unit_trailer *t)
{
    t->message = wire_get_u32(in + AT_MESSAGE);
    t->unit = wire_get_u32(in + AT_UNIT);
    t->seq = wire_get_u32(in + AT_SEQ);
    t->next_message = wire_get_u32(in + AT_NEXT_MESSAGE);
    t->next_unit = wire_get_u32(in + AT_NEXT_UNIT);
    t->length = wire_get_u16(in + AT_LENGTH);
    t->next_length = wire_get_u16(in + AT_NEXT_LENGTH);
    t->pairing.session = wire_get_u32(in + AT_SESSION);
    t->pairing.tag = wire_get_u16(in + AT_TAG);
    t->flags = in[AT_FLAGS];
}

enum verdict unit_trailer_decode(const uint8_t in[TRAILER_BYTES], size_t datagram_bytes,
                                 struct unit_trailer *t)
{
    if (datagram_bytes < TRAILER_BYTES)
        return VERDICT_SHORT;
    enum verdict verdict = datagram_judge_type(in[AT_TYPE], DATAGRAM_UNIT, DATAGRAM_UNIT);
    if (verdict != VERDICT_OK)
        return verdict;
    trailer_read(in, t);
    verdict = datagram_judge_size(datagram_bytes, (size_t)t->length + TRAILER_BYTES);
    if (verdict != VERDICT_OK)
        return verdict;
    return is_trailer_legal(t) ? VERDICT_OK : VERDICT_MALFORMED;
}
