/* What must hold of any bytes at all: at most one decoder takes them, and what it understood
 * encodes to the same bytes. */
#ifndef ZCRP_TESTS_SUPPORT_ROUND_TRIP_H
#define ZCRP_TESTS_SUPPORT_ROUND_TRIP_H

#include "core/check.h"
#include "core/keys/handshake.h"
#include "core/wire/control.h"

#include <string.h>

enum { ROUND_TRIP_MOST = 70000 }; /* more than any */

/* Writes a unit with these data; returns its size. */
static inline size_t round_trip_unit(uint8_t *out, const uint8_t *data,
                                     const struct unit_trailer *t)
{
    if (t->length > 0)
        memmove(out, data, t->length);
    unit_trailer_encode(out + t->length, t);
    return (size_t)t->length + TRAILER_BYTES;
}

static inline enum verdict round_trip_unit_decode(const uint8_t *in, size_t size,
                                                  struct unit_trailer *t)
{
    return unit_trailer_decode(datagram_trailer(in, size), size, t);
}

static inline enum verdict round_trip_probe_decode(const uint8_t *in, size_t size,
                                                   struct path_probe *probe)
{
    return path_probe_decode(datagram_trailer(in, size), size, probe);
}

/* Writes a probe with this padding; returns its size. */
static inline size_t round_trip_probe(uint8_t *out, const uint8_t *padding,
                                      const struct path_probe *probe)
{
    memmove(out, padding, probe->bytes - TRAILER_BYTES);
    path_probe_encode(out + probe->bytes - TRAILER_BYTES, probe);
    return probe->bytes;
}

/* Each offers a datagram to one decoder, and encodes what that took; returns the size, or 0. */

static inline size_t round_trip_of_unit(const uint8_t *in, size_t size, uint8_t *out)
{
    struct unit_trailer t;
    return round_trip_unit_decode(in, size, &t) == VERDICT_OK ? round_trip_unit(out, in, &t) : 0;
}

static inline size_t round_trip_of_ack(const uint8_t *in, size_t size, uint8_t *out)
{
    struct block_ack ack;
    if (block_ack_decode(in, size, &ack) != VERDICT_OK)
        return 0;
    for (uint32_t i = 0; ack.length > 0 && i <= ack.length; i++)
        ack_bound_encode(out + i * ACK_BOUND_BYTES, ack_bound(&ack, i));
    ack.bounds = out;
    return block_ack_encode(out, ROUND_TRIP_MOST, &ack);
}

static inline size_t round_trip_of_request(const uint8_t *in, size_t size, uint8_t *out)
{
    struct request request;
    if (request_decode(in, size, &request) != VERDICT_OK)
        return 0;
    for (uint32_t i = 0; i < request.length; i++) {
        struct request_run run = request_run(&request, i);
        request_run_encode(out + i * REQUEST_RUN_BYTES, &run);
    }
    request.runs = out;
    return request_encode(out, ROUND_TRIP_MOST, &request);
}

static inline size_t round_trip_of_hello(const uint8_t *in, size_t size, uint8_t *out)
{
    struct hello hello;
    bool is_taken = hello_decode(in, size, &hello) == VERDICT_OK;
    return is_taken ? hello_encode(out, ROUND_TRIP_MOST, &hello) : 0;
}

static inline size_t round_trip_of_cookie(const uint8_t *in, size_t size, uint8_t *out)
{
    struct cookie_answer answer;
    bool is_taken = cookie_answer_decode(in, size, &answer) == VERDICT_OK;
    return is_taken ? cookie_answer_encode(out, ROUND_TRIP_MOST, &answer) : 0;
}

static inline size_t round_trip_of_challenge(const uint8_t *in, size_t size, uint8_t *out)
{
    struct challenge challenge;
    bool is_taken = challenge_decode(in, size, &challenge) == VERDICT_OK;
    return is_taken ? challenge_encode(out, ROUND_TRIP_MOST, &challenge) : 0;
}

static inline size_t round_trip_of_challenge_answer(const uint8_t *in, size_t size, uint8_t *out)
{
    struct challenge_answer answer;
    bool is_taken = challenge_answer_decode(in, size, &answer) == VERDICT_OK;
    return is_taken ? challenge_answer_encode(out, ROUND_TRIP_MOST, &answer) : 0;
}

static inline size_t round_trip_of_offer(const uint8_t *in, size_t size, uint8_t *out)
{
    struct offer offer;
    bool is_taken = offer_decode(in, size, &offer) == VERDICT_OK;
    return is_taken ? offer_encode(out, ROUND_TRIP_MOST, &offer) : 0;
}

static inline size_t round_trip_of_probe(const uint8_t *in, size_t size, uint8_t *out)
{
    struct path_probe probe;
    bool is_taken = round_trip_probe_decode(in, size, &probe) == VERDICT_OK;
    return is_taken ? round_trip_probe(out, in, &probe) : 0;
}

static inline size_t round_trip_of_answer(const uint8_t *in, size_t size, uint8_t *out)
{
    struct path_probe probe;
    if (path_answer_decode(in, size, &probe) != VERDICT_OK)
        return 0;
    path_answer_encode(out, &probe);
    return TRAILER_BYTES;
}

static inline size_t round_trip_of_handshake(const uint8_t *in, size_t size, uint8_t *out)
{
    struct handshake_datagram d;
    size_t bytes;
    if (handshake_decode(in, size, &d, &bytes) != VERDICT_OK)
        return 0;
    CHECK(bytes <= HANDSHAKE_FRAGMENT);
    CHECK(d.at + bytes <= HANDSHAKE_ROOM);
    CHECK(bytes + ((d.flags & HANDSHAKE_SECOND) != 0 ? SEAL_TAG_BYTES : 0) + TRAILER_BYTES == size);
    memcpy(out, in, size - TRAILER_BYTES);
    handshake_encode(out + size - TRAILER_BYTES, &d);
    return size;
}

/* Only this version's answer is ever encoded: another's differs in the last byte alone. */
static inline size_t round_trip_of_version(const uint8_t *in, size_t size, uint8_t *out)
{
    struct pairing echoed;
    uint8_t version;
    if (!version_answer_decode(in, size, &echoed, &version))
        return 0;
    version_answer_encode(out, echoed);
    CHECK(out[VERSION_ANSWER_BYTES - 1] == 0x2f);
    out[VERSION_ANSWER_BYTES - 1] = (uint8_t)(version << 4 | DATAGRAM_VERSION_ANSWER);
    return VERSION_ANSWER_BYTES;
}

/* Offers a datagram below ROUND_TRIP_MOST bytes to every decoder; the number of them, 0 or 1
 * (CHECKed), that took it. */
static inline int round_trip_accepted(const uint8_t *in, size_t size)
{
    static size_t (*const turns[])(const uint8_t *in, size_t size, uint8_t *out) = {
        round_trip_of_handshake, round_trip_of_unit,      round_trip_of_ack,
        round_trip_of_request,   round_trip_of_hello,     round_trip_of_cookie,
        round_trip_of_offer,     round_trip_of_probe,     round_trip_of_answer,
        round_trip_of_version,   round_trip_of_challenge, round_trip_of_challenge_answer,
    };
    static uint8_t out[ROUND_TRIP_MOST];
    int accepted = 0;
    for (size_t i = 0; i < sizeof turns / sizeof turns[0]; i++) {
        size_t encoded = turns[i](in, size, out);
        if (encoded == 0)
            continue;
        CHECK(encoded == size);
        CHECK(memcmp(out, in, size) == 0);
        accepted++;
    }
    CHECK(accepted <= 1);
    return accepted;
}

#endif
