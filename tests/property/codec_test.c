/* The codec on random datagrams. Two properties:
 *
 *     decode(encode(x)) is accepted              for every x that the contract allows
 *     encode(decode(bytes)) == bytes             for whatever decode accepts
 *
 * So nothing is lost or made up on the way; that each field is the one of its name is what the
 * vectors show (unit/wire/vectors_test.c). Bytes are tried as encoded, with a few of them changed,
 * cut, lengthened, and made up. Each datagram lies in memory of exactly its size, so that a
 * sanitizer sees a step beyond it. */
#include "../support/random.h"
#include "../support/round_trip.h"
#include "../support/suite.h"

#include <string.h>

enum { ROUNDS = 8000, DATAGRAM_MOST = 4096, ENTRIES_MOST = 40 };

static uint64_t state;

/* A number below `bound`, which is not 0. */
static uint64_t below(uint64_t bound)
{
    return random_below(&state, bound);
}

static bool one_in(uint64_t n)
{
    return below(n) == 0;
}

/* 32 bits, often at an edge. */
static uint32_t number(void)
{
    static const uint32_t edges[] = {0, 1, 0x7fffffff, 0x80000000, 0xfffffffe, 0xffffffff};
    return one_in(3) ? edges[below(6)] : (uint32_t)random_next(&state);
}

static uint32_t number_not_0(void)
{
    uint32_t n = number();
    return n == 0 ? 1 : n;
}

/* 64 bits, often at an edge. */
static uint64_t long_number(void)
{
    return (uint64_t)number() << 32 | number();
}

static uint64_t long_number_not_0(void)
{
    uint64_t n = long_number();
    return n == 0 ? 1 : n;
}

static struct pairing random_pairing(void)
{
    return (struct pairing){.session = number_not_0(), .tag = number_not_0()};
}

/* Offers the datagram to every decoder from a place that ends where the datagram does. */
static int offered(const uint8_t *bytes, size_t size)
{
    uint8_t *in = malloc(size == 0 ? 1 : size);
    if (in == NULL)
        ck_abort_msg("no memory");
    memcpy(in, bytes, size);
    int accepted = round_trip_accepted(in, size);
    free(in);
    return accepted;
}

/* Flips a bit, sets a byte to an edge, or copies one byte over another; mostly near the end. */
static void change(uint8_t *bytes, size_t size)
{
    static const uint8_t edges[] = {0, 1, 0x20, 0x22, 0x23, 0x7f, 0x80, 0xff};
    size_t range = size > 32 && !one_in(4) ? 32 : size;
    uint8_t *at = bytes + size - 1 - below(range);
    switch (below(3)) {
    case 0:
        *at ^= (uint8_t)(1u << below(8));
        break;
    case 1:
        *at = edges[below(sizeof edges)];
        break;
    default:
        *at = bytes[below(size)];
        break;
    }
}

/* Cuts or lengthens at either end, or leaves the size; returns the new one. */
static size_t resize(uint8_t *bytes, size_t size)
{
    size_t by = (size_t)below(40);
    switch (below(8)) {
    case 0:
        return by < size ? size - by : 0;
    case 1:
        by = by < size ? by : size;
        memmove(bytes, bytes + by, size - by);
        return size - by;
    case 2:
        memmove(bytes + by, bytes, size);
        return size + by;
    default:
        return size;
    }
}

/* So that the second property is known to be tried. */
static int accepted_mutants;

/* As it is, then two mutants of it. */
static void check_with_mutants(const uint8_t *bytes, size_t size)
{
    uint8_t mutant[DATAGRAM_MOST + 64] = {0};
    ck_assert_int_eq(offered(bytes, size), 1);
    for (int i = 0; i < 2; i++) {
        memcpy(mutant, bytes, size);
        for (uint64_t n = 1 + below(3); n > 0; n--)
            change(mutant, size);
        accepted_mutants += offered(mutant, resize(mutant, size));
    }
}

/* Units */

static uint16_t random_length(bool is_last)
{
    uint64_t grains = below(DATAGRAM_MOST / GRAIN - 2);
    return (uint16_t)(is_last ? grains * GRAIN + below(GRAIN) : (grains + 1) * GRAIN);
}

static int16_t random_step(void)
{
    static const int16_t edges[] = {0, 1, -1, INT16_MAX, INT16_MIN};
    return one_in(2) ? edges[below(5)] : (int16_t)(INT16_MIN + (int)below(1 << 16));
}

/* Of a message: often at an edge. */
static uint64_t random_size(void)
{
    static const uint64_t edges[] = {1, UINT32_MAX, UINT64_C(1) << 32, MESSAGE_BYTES_MAX};
    return one_in(2) ? edges[below(4)] : 1 + below(MESSAGE_BYTES_MAX);
}

static struct unit_trailer random_too_large(void)
{
    struct unit_trailer t = {
        .message = number(),
        .unit = VOID_TOO_LARGE,
        .seq = number(),
        .pairing = random_pairing(),
        .flags = (uint8_t)(FLAG_VOID | FLAG_IS_LAST | (one_in(2) ? FLAG_ANSWER : 0)),
    };
    unit_trailer_set_size(&t, random_size());
    return t;
}

static struct unit_trailer random_unit(void)
{
    bool is_void = one_in(8);
    bool is_last = is_void || one_in(2);
    bool has_next = one_in(2);
    if (one_in(16))
        return random_too_large();
    int flags = (is_void ? FLAG_VOID : 0) | (is_last ? FLAG_IS_LAST : 0) |
                (has_next ? FLAG_HAS_NEXT : 0) | (one_in(2) ? FLAG_ANSWER : 0);
    return (struct unit_trailer){
        .message = number(),
        .unit = is_void ? (uint32_t)(VOID_CANCELLED + below(2)) : number(),
        .seq = number(),
        .next_unit = has_next ? number() : 0,
        .length = is_void ? 0 : random_length(is_last),
        .next_length = (uint16_t)(has_next ? below(UNIT_DATA_MAX + 1) : 0),
        .next_step = has_next ? random_step() : 0,
        .pairing = random_pairing(),
        .flags = (uint8_t)flags,
    };
}

static void unit_round(uint8_t *bytes)
{
    static const uint8_t data[DATAGRAM_MOST] = {1, 2, 3};
    struct unit_trailer t = random_unit();
    check_with_mutants(bytes, round_trip_unit(bytes, data, &t));
}

/* Block acknowledgements */

/* Ascending bounds over less than 2^31 numbers. */
static void random_bounds(uint32_t *bound, uint32_t count)
{
    uint64_t step_most = one_in(2) ? 3 : (UINT64_C(1) << 31) / count - 1;
    bound[0] = number();
    for (uint32_t i = 1; i < count; i++)
        bound[i] = bound[i - 1] + (uint32_t)(1 + below(step_most));
}

static void ack_round(uint8_t *bytes)
{
    uint32_t bound[ENTRIES_MOST + 1];
    uint32_t length = (uint32_t)below(ENTRIES_MOST + 1);
    random_bounds(bound, length + 1);
    for (uint32_t b = 0; length > 0 && b <= length; b++)
        ack_bound_encode(bytes + b * ACK_BOUND_BYTES, bound[b]);
    struct block_ack ack = {
        .pairing = random_pairing(),
        .newest = length == 0 ? 0 : bound[length] - 1,
        .delay_us = number(),
        .capacity = number(),
        .length = (uint16_t)length,
        .marks = (uint16_t)number(),
        .first_is_positive = length == 0 || length % 2 == 1,
        .is_closing = one_in(4),
        .has_ecn = one_in(2),
        .bounds = bytes,
    };
    check_with_mutants(bytes, block_ack_encode(bytes, DATAGRAM_MOST, &ack));
}

/* Requests to send */

static struct request_run random_run(void)
{
    return (struct request_run){
        .first = number(),
        .count = number_not_0(),
        .size = one_in(4) ? REQUEST_WITHDRAWN : random_next(&state) >> below(64),
    };
}

static void request_round(uint8_t *bytes)
{
    uint32_t length = (uint32_t)below(ENTRIES_MOST + 1);
    for (uint32_t i = 0; i < length; i++) {
        struct request_run run = random_run();
        request_run_encode(bytes + i * REQUEST_RUN_BYTES, &run);
    }
    struct request request = {
        .pairing = random_pairing(),
        .nonce = long_number(),
        .capacity = number(),
        .length = (uint16_t)length,
        .wants_offer = one_in(2),
        .runs = bytes,
    };
    check_with_mutants(bytes, request_encode(bytes, DATAGRAM_MOST, &request));
}

/* Hellos, cookies and offers */

static struct hello random_hello(void)
{
    bool asks = one_in(2);
    bool closes = !asks && one_in(2);
    return (struct hello){
        .pairing = {.session = asks ? number() : number_not_0(), .tag = number_not_0()},
        .nonce = asks ? long_number_not_0() : 0,
        .cookie = asks ? long_number() : 0,
        .requested = asks ? 0 : number(),
        .is_closing = closes,
        .is_cut = closes && one_in(2),
    };
}

static void hello_round(uint8_t *bytes)
{
    struct hello hello = random_hello();
    check_with_mutants(bytes, hello_encode(bytes, DATAGRAM_MOST, &hello));
}

static void cookie_round(uint8_t *bytes)
{
    struct cookie_answer answer = {
        .pairing = {.session = number(), .tag = number_not_0()},
        .nonce = long_number_not_0(),
        .cookie = long_number_not_0(),
    };
    check_with_mutants(bytes, cookie_answer_encode(bytes, DATAGRAM_MOST, &answer));
}

static void offer_round(uint8_t *bytes)
{
    struct offer offer = {
        .pairing = random_pairing(),
        .message = number(),
        .size = one_in(8) ? 0 : random_size(),
    };
    check_with_mutants(bytes, offer_encode(bytes, DATAGRAM_MOST, &offer));
}

static void challenge_round(uint8_t *bytes)
{
    struct challenge challenge = {
        .pairing = random_pairing(),
        .challenge = one_in(8) ? 0 : long_number(),
        .moves = number(),
    };
    struct challenge_answer answer = {.pairing = random_pairing(),
                                      .challenge = long_number_not_0()};
    check_with_mutants(bytes, challenge_encode(bytes, DATAGRAM_MOST, &challenge));
    check_with_mutants(bytes, challenge_answer_encode(bytes, DATAGRAM_MOST, &answer));
}

/* Version answers */

static void version_round(uint8_t *bytes)
{
    struct pairing pairing = {.session = number(), .tag = number_not_0()};
    version_answer_encode(bytes, pairing);
    check_with_mutants(bytes, VERSION_ANSWER_BYTES);
}

/* Bytes of handshakes */

static void handshake_round(uint8_t *bytes)
{
    uint8_t flags = (uint8_t)below(8);
    size_t count = (flags & HANDSHAKE_REFUSES) != 0 ? 0 : (size_t)below(HANDSHAKE_FRAGMENT + 1);
    struct handshake_datagram d = {
        .tag = number_not_0(),
        .nonce = long_number_not_0(),
        .cookie = long_number(),
        .at = (uint16_t)(below(HANDSHAKE_PIECES) * HANDSHAKE_FRAGMENT),
        .have = {(uint16_t)number(), (uint16_t)number()},
        .flags = flags,
    };
    count += (flags & HANDSHAKE_SECOND) != 0 ? SEAL_TAG_BYTES : 0;
    memset(bytes, (int)below(256), count);
    handshake_encode(bytes + count, &d);
    check_with_mutants(bytes, count + TRAILER_BYTES);
}

/* Probes of the path and their answers */

static struct path_probe random_probe(uint32_t most)
{
    return (struct path_probe){
        .pairing = random_pairing(),
        .number = number(),
        .bytes = TRAILER_BYTES + (uint32_t)below(most - TRAILER_BYTES + 1),
    };
}

static void path_round(uint8_t *bytes)
{
    struct path_probe probe = random_probe(200);
    memset(bytes, (int)below(256), probe.bytes);
    check_with_mutants(bytes, round_trip_probe(bytes, bytes, &probe));
    path_answer_encode(bytes, &probe);
    check_with_mutants(bytes, TRAILER_BYTES);
}

/* Made up: bytes that end like a datagram. */
static void noise_round(uint8_t *bytes)
{
    size_t size = (size_t)below(129);
    for (size_t at = 0; at < size; at++)
        bytes[at] = one_in(2) ? 0 : (uint8_t)random_next(&state);
    if (size > 0 && !one_in(16))
        bytes[size - 1] = (uint8_t)(0x20 + below(16));
    (void)offered(bytes, size);
}

TEST(codec__round_trips, .is_random = true)
{
    static uint8_t bytes[DATAGRAM_MOST];
    state = suite_seed(_i);
    for (int i = 0; i < ROUNDS; i++) {
        unit_round(bytes);
        ack_round(bytes);
        request_round(bytes);
        hello_round(bytes);
        cookie_round(bytes);
        offer_round(bytes);
        challenge_round(bytes);
        path_round(bytes);
        version_round(bytes);
        handshake_round(bytes);
        noise_round(bytes);
    }
    ck_assert_int_gt(accepted_mutants, ROUNDS);
}
