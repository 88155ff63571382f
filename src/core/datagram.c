#include "datagram.h"

#include "check.h"
#include "wire.h"

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
    struct wire_writer w;
    wire_writer_init(&w, out, TRAILER_BYTES);
    wire_write_u32(&w, t->message);
    wire_write_u32(&w, t->unit);
    wire_write_u32(&w, t->seq);
    wire_write_u32(&w, t->next_message);
    wire_write_u32(&w, t->next_unit);
    wire_write_u16(&w, t->length);
    wire_write_u16(&w, t->next_length);
    wire_write_u32(&w, t->pairing.session);
    wire_write_u16(&w, t->pairing.tag);
    wire_write_u8(&w, t->flags);
    wire_write_u8(&w, datagram_last_byte(DATAGRAM_UNIT));
    CHECK(!w.bad && w.p == w.end);
}

/* All but the last byte. */
static void trailer_read(const uint8_t in[TRAILER_BYTES], struct unit_trailer *t)
{
    struct wire_reader r;
    wire_reader_init(&r, in, TRAILER_BYTES);
    t->message = wire_read_u32(&r);
    t->unit = wire_read_u32(&r);
    t->seq = wire_read_u32(&r);
    t->next_message = wire_read_u32(&r);
    t->next_unit = wire_read_u32(&r);
    t->length = wire_read_u16(&r);
    t->next_length = wire_read_u16(&r);
    t->pairing.session = wire_read_u32(&r);
    t->pairing.tag = wire_read_u16(&r);
    t->flags = wire_read_u8(&r);
    CHECK(!r.bad);
}

enum verdict unit_trailer_decode(const uint8_t in[TRAILER_BYTES], size_t datagram_bytes,
                                 struct unit_trailer *t)
{
    if (datagram_bytes < TRAILER_BYTES)
        return VERDICT_SHORT;
    enum verdict verdict = datagram_judge_type(in[TRAILER_BYTES - 1], DATAGRAM_UNIT, DATAGRAM_UNIT);
    if (verdict != VERDICT_OK)
        return verdict;
    trailer_read(in, t);
    verdict = datagram_judge_size(datagram_bytes, (size_t)t->length + TRAILER_BYTES);
    if (verdict != VERDICT_OK)
        return verdict;
    return is_trailer_legal(t) ? VERDICT_OK : VERDICT_MALFORMED;
}
