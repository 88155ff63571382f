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
