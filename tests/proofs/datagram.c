/* Each decoder, on a datagram from anybody: it reads nothing beside the datagram, and what it takes
 * is of its type and encodes to the same bytes. The functions that say so are those of the fuzzer
 * `datagram` (tests/support/round_trip.h). As a type has one decoder, no datagram has two.
 *
 * bound: any bytes; up to 4 bounds, 2 runs, 3 bytes of data; units and probes also of any size
 * sources: core/wire/datagram.c core/wire/control.c core/keys/handshake.c core/wire/cookie.c
 * flags: --unwindset are_bounds_legal.0:6,round_trip_of_ack.0:7
 * flags: --unwindset are_runs_legal.0:4,round_trip_of_request.0:4
 * unwind: 24
 */
#include "proof.h"

#include "tests/support/round_trip.h"

enum { MOST = TRAILER_BYTES + 32 };

typedef size_t (*round_trip)(const uint8_t *in, size_t size, uint8_t *out);

/* Offers any datagram of this size to one decoder. */
static void offer_size(round_trip decoder, size_t size, uint32_t types)
{
    uint8_t *in = any_bytes(size), out[MOST];
    size_t encoded = decoder(in, size, out);
    uint32_t at = any_below(MOST);

    if (encoded == 0)
        return;
    SHOW(encoded == size);
    SHOW(at >= size || out[at] == in[at]);
    SHOW(types >> (in[size - 1] & 15) & 1);
}

/* Offers those that have so much in front of the trailer, or so little behind. */
static void offer(round_trip decoder, size_t body, uint32_t types)
{
    offer_size(decoder, TRAILER_BYTES + body, types);
    offer_size(decoder, TRAILER_BYTES - 1, types);
}

/* The trailer says how much stands before it, which need not be there to find out. */
static void offer_trailer(void)
{
    uint8_t in[TRAILER_BYTES];
    size_t size = nondet_size();
    struct unit_trailer t;
    struct path_probe probe;

    if (unit_trailer_decode(in, size, &t) == VERDICT_OK) {
        SHOW(size == (size_t)t.length + TRAILER_BYTES);
        REACHED();
    }
    if (path_probe_decode(in, size, &probe) == VERDICT_OK) {
        SHOW(size == probe.bytes && size <= UINT16_MAX + TRAILER_BYTES);
        REACHED();
    }
}

int main(void)
{
    const uint32_t acks = 1 << DATAGRAM_ACK_POSITIVE | 1 << DATAGRAM_ACK_NEGATIVE;

    offer_trailer();
    offer(round_trip_of_unit, 0, 1 << DATAGRAM_UNIT);
    offer(round_trip_of_unit, 3, 1 << DATAGRAM_UNIT);
    for (size_t bounds = 0; bounds <= 4; bounds++)
        offer_size(round_trip_of_ack, TRAILER_BYTES + bounds * ACK_BOUND_BYTES, acks);
    offer(round_trip_of_ack, 3, acks);
    for (size_t runs = 0; runs <= 2; runs++)
        offer_size(round_trip_of_request, TRAILER_BYTES + runs * REQUEST_RUN_BYTES,
                   1 << DATAGRAM_REQUEST);
    offer(round_trip_of_request, 8, 1 << DATAGRAM_REQUEST);
    offer(round_trip_of_hello, 0, 1 << DATAGRAM_HELLO);
    offer(round_trip_of_cookie, 0, 1 << DATAGRAM_COOKIE);
    offer(round_trip_of_offer, 0, 1 << DATAGRAM_OFFER);
    offer(round_trip_of_probe, 3, 1 << DATAGRAM_PATH_PROBE);
    offer(round_trip_of_answer, 0, 1 << DATAGRAM_PATH_ANSWER);
    offer(round_trip_of_challenge, 0, 1 << DATAGRAM_CHALLENGE);
    offer(round_trip_of_challenge_answer, 0, 1 << DATAGRAM_CHALLENGE_ANSWER);
    offer(round_trip_of_handshake, SEAL_TAG_BYTES + 3, 1 << DATAGRAM_HANDSHAKE);
    offer_size(round_trip_of_version, TAIL_BYTES, 1 << DATAGRAM_VERSION_ANSWER);
    offer_size(round_trip_of_version, 0, 1 << DATAGRAM_VERSION_ANSWER);
    REACHED();
}
