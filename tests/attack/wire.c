#include "wire.h"

#include <string.h>

enum { LAST_TEN = 22 }; /* where the last ten bytes begin in a trailer */

static void put(uint8_t *at, unsigned bytes, uint64_t value)
{
    for (unsigned i = 0; i < bytes; i++)
        at[i] = (uint8_t)(value >> 8 * (bytes - 1 - i));
}

static uint64_t get(const uint8_t *at, unsigned bytes)
{
    uint64_t value = 0;

    for (unsigned i = 0; i < bytes; i++)
        value = value << 8 | at[i];
    return value;
}

/* The end of a trailer whose other bytes are 0 so far. */
static uint8_t *begin_trailer(uint8_t *trailer, enum wire_type type, struct wire_pairing pairing,
                              uint8_t flags)
{
    memset(trailer, 0, LAST_TEN);
    put(trailer + LAST_TEN, 4, pairing.session);
    put(trailer + LAST_TEN + 4, 4, pairing.tag);
    trailer[LAST_TEN + 8] = flags;
    trailer[LAST_TEN + 9] = (uint8_t)(WIRE_VERSION << 4 | type);
    return trailer;
}

size_t wire_unit(uint8_t *to, const struct wire_unit *unit, const uint8_t *data)
{
    if (data)
        memcpy(to, data, unit->length);
    else
        memset(to, 0, unit->length);
    uint8_t *trailer = begin_trailer(to + unit->length, WIRE_UNIT, unit->pairing, unit->flags);
    put(trailer, 4, unit->message);
    put(trailer + 4, 4, unit->unit);
    put(trailer + 8, 4, unit->seq);
    put(trailer + 16, 2, unit->length);
    return unit->length + WIRE_TRAILER;
}

size_t wire_ack(uint8_t *to, struct wire_pairing pairing, const uint32_t *bounds, uint16_t length,
                uint8_t flags)
{
    size_t body = length == 0 ? 0 : 4 * ((size_t)length + 1);
    bool is_positive = length == 0 || length % 2 == 1;

    for (size_t i = 0; i < body / 4; i++)
        put(to + 4 * i, 4, bounds[i]);
    uint8_t *trailer =
        begin_trailer(to + body, is_positive ? WIRE_ACK : WIRE_ACK_NEGATIVE, pairing, flags);
    put(trailer, 4, length == 0 ? 0 : bounds[length] - 1);
    put(trailer + 8, 4, 4 << 20);
    put(trailer + 12, 2, length);
    return body + WIRE_TRAILER;
}

size_t wire_request(uint8_t *to, struct wire_pairing pairing, uint64_t nonce,
                    const struct wire_run *run)
{
    size_t body = run ? 16 : 0;

    if (run) {
        put(to, 4, run->first);
        put(to + 4, 4, run->count);
        put(to + 8, 8, run->size);
    }
    uint8_t *trailer = begin_trailer(to + body, WIRE_REQUEST, pairing, 0);
    put(trailer, 8, nonce);
    put(trailer + 8, 4, 4 << 20);
    put(trailer + 12, 2, body / 16);
    return body + WIRE_TRAILER;
}

size_t wire_hello(uint8_t *to, const struct wire_hello *hello)
{
    uint8_t *trailer = begin_trailer(to, WIRE_HELLO, hello->pairing, hello->flags);

    put(trailer, 8, hello->nonce);
    put(trailer + 8, 8, hello->cookie);
    put(trailer + 16, 4, hello->requested);
    return WIRE_TRAILER;
}

size_t wire_cookie(uint8_t *to, struct wire_pairing pairing, uint64_t nonce, uint64_t cookie)
{
    uint8_t *trailer = begin_trailer(to, WIRE_COOKIE, pairing, 0);

    put(trailer, 8, nonce);
    put(trailer + 8, 8, cookie);
    return WIRE_TRAILER;
}

size_t wire_probe(uint8_t *to, struct wire_pairing pairing, uint32_t number, uint16_t length,
                  uint8_t padding)
{
    memset(to, padding, length);
    uint8_t *trailer = begin_trailer(to + length, WIRE_PROBE, pairing, 0);
    put(trailer, 4, number);
    put(trailer + 12, 2, length);
    return length + WIRE_TRAILER;
}

size_t wire_probe_answer(uint8_t *to, struct wire_pairing pairing, uint32_t number, uint32_t size)
{
    uint8_t *trailer = begin_trailer(to, WIRE_PROBE_ANSWER, pairing, 0);

    put(trailer, 4, number);
    put(trailer + 4, 4, size);
    return WIRE_TRAILER;
}

/* ---- over AAL5 ---- */

enum { AAL5_TRAILER = 8, AAL5_MOST = 2048 };

void wire_aal5_head(uint8_t *to, const struct wire_piece *piece)
{
    put(to, 4, (uint64_t)piece->label << 12 | 1 << 8 | 64);
    put(to + 4, 4, (uint64_t)piece->number << 8 | 0x80 | (piece->is_end ? 4 : 0));
}

/* Bit by bit, most significant first. */
static uint32_t crc(const uint8_t *bytes, size_t count)
{
    uint32_t value = UINT32_MAX;

    for (size_t i = 0; i < count; i++) {
        value ^= (uint32_t)bytes[i] << 24;
        for (int bit = 0; bit < 8; bit++)
            value = value << 1 ^ (value >> 31 ? 0x04C11DB7 : 0);
    }
    return ~value;
}

size_t wire_pdu(uint8_t *to, const uint8_t *datagram, size_t bytes, uint16_t lie)
{
    size_t cells = (bytes + AAL5_TRAILER + WIRE_CELL - 1) / WIRE_CELL;
    size_t size = cells * WIRE_CELL;

    memmove(to, datagram, bytes);
    memset(to + bytes, 0, size - bytes);
    put(to + size - 6, 2, (uint16_t)(bytes + lie));
    put(to + size - 4, 4, crc(to, size - 4));
    return size;
}

size_t wire_packet(uint8_t *to, const uint8_t *pdu, const struct wire_piece *piece)
{
    size_t bytes = (size_t)piece->count * WIRE_CELL;

    wire_aal5_head(to, piece);
    memcpy(to + WIRE_AAL5_HEAD, pdu + (size_t)piece->first * WIRE_CELL, bytes);
    return WIRE_AAL5_HEAD + bytes;
}

size_t wire_wrap(uint8_t *to, uint32_t label, const uint8_t *datagram, size_t bytes)
{
    uint8_t pdu[AAL5_MOST];
    uint32_t cells = (uint32_t)(wire_pdu(pdu, datagram, bytes, 0) / WIRE_CELL);

    return wire_packet(
        to, pdu, &(struct wire_piece){.label = label, .number = 1, .count = cells, .is_end = true});
}

bool wire_read(const uint8_t *datagram, size_t bytes, struct wire_heard *heard)
{
    *heard = (struct wire_heard){0};
    if (bytes < WIRE_TRAILER || datagram[bytes - 1] >> 4 != WIRE_VERSION)
        return false;
    const uint8_t *t = datagram + bytes - WIRE_TRAILER;
    heard->version = WIRE_VERSION;
    heard->type = (enum wire_type)(t[LAST_TEN + 9] & 15);
    heard->flags = t[LAST_TEN + 8];
    heard->pairing = (struct wire_pairing){.session = (uint32_t)get(t + LAST_TEN, 4),
                                           .tag = (uint32_t)get(t + LAST_TEN + 4, 4)};
    heard->nonce = get(t, 8);
    heard->cookie = get(t + 8, 8);
    heard->message = (uint32_t)get(t, 4);
    heard->unit = (uint32_t)get(t + 4, 4);
    heard->seq = (uint32_t)get(t + 8, 4);
    heard->length = (uint32_t)get(t + 16, 2);
    heard->number = (uint32_t)get(t, 4);
    return true;
}
