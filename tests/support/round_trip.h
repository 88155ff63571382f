/* What must hold of any bytes at all: at most one decoder takes them, and what it understood
 * encodes to the same bytes. */
#ifndef ZCRP_TESTS_SUPPORT_ROUND_TRIP_H
#define ZCRP_TESTS_SUPPORT_ROUND_TRIP_H

#include "core/check.h"
#include "core/control.h"
#include "core/path_probe.h"

#include <string.h>

enum { ROUND_TRIP_MOST = 65536 };

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
    return unit_trailer_decode(size < TRAILER_BYTES ? NULL : in + size - TRAILER_BYTES, size, t);
}

static inline enum verdict round_trip_probe_decode(const uint8_t *in, size_t size,
                                                   struct path_probe *probe)
{
    bool has_trailer = size >= CONTROL_TRAILER_BYTES;
    return path_probe_decode(has_trailer ? in + size - CONTROL_TRAILER_BYTES : NULL, size, probe);
}

/* Writes a probe with this padding; returns its size. */
static inline size_t round_trip_probe(uint8_t *out, const uint8_t *padding,
                                      const struct path_probe *probe)
{
    memmove(out, padding, probe->bytes - CONTROL_TRAILER_BYTES);
    path_probe_encode(out + probe->bytes - CONTROL_TRAILER_BYTES, probe);
    return probe->bytes;
}

/* Offers a datagram below ROUND_TRIP_MOST bytes to every decoder; the number of them, 0 or 1
 * (CHECKed), that took it. */
static inline int round_trip_accepted(const uint8_t *in, size_t size)
{
    static uint8_t out[ROUND_TRIP_MOST];
    struct unit_trailer unit;
    struct block_ack ack;
    struct request request;
    struct hello hello;
    struct path_probe probe;
    size_t encoded = 0;
    int accepted = 0;
    if (round_trip_unit_decode(in, size, &unit) == VERDICT_OK) {
        accepted++;
        encoded = round_trip_unit(out, in, &unit);
    }
    if (block_ack_decode(in, size, &ack) == VERDICT_OK) {
        accepted++;
        encoded = block_ack_encode(out, sizeof out, &ack);
    }
    if (request_decode(in, size, &request) == VERDICT_OK) {
        accepted++;
        encoded = request_encode(out, sizeof out, &request);
    }
    if (hello_decode(in, size, &hello) == VERDICT_OK) {
        accepted++;
        encoded = hello_encode(out, sizeof out, &hello);
    }
    if (round_trip_probe_decode(in, size, &probe) == VERDICT_OK) {
        accepted++;
        encoded = round_trip_probe(out, in, &probe);
    }
    if (path_answer_decode(in, size, &probe) == VERDICT_OK) {
        accepted++;
        path_answer_encode(out, &probe);
        encoded = CONTROL_TRAILER_BYTES;
    }
    CHECK(accepted <= 1);
    if (accepted == 1) {
        CHECK(encoded == size);
        CHECK(memcmp(out, in, size) == 0);
    }
    return accepted;
}

#endif
