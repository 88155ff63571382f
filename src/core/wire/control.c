#include "control.h"

#include "core/check.h"
#include "wire.h"

#include <string.h>

/* The fields of each trailer, up to the tail. What is RESERVED lasts until there. */
enum {
    ACK_AT_NEWEST = 0,
    ACK_AT_DELAY = 4,
    ACK_AT_CAPACITY = 8,
    ACK_AT_LENGTH = 12,
    ACK_AT_MARKS = 14,
    ACK_AT_RESERVED = 16,
};

enum {
    REQUEST_AT_NONCE = 0,
    REQUEST_AT_CAPACITY = 8,
    REQUEST_AT_LENGTH = 12,
    REQUEST_AT_RESERVED = 14,
};

enum {
    HELLO_AT_NONCE = 0,
    HELLO_AT_COOKIE = 8,
    HELLO_AT_REQUESTED = 16,
    HELLO_AT_RESERVED = 20,
};

enum {
    COOKIE_AT_NONCE = 0,
    COOKIE_AT_COOKIE = 8,
    COOKIE_AT_RESERVED = 16,
};

enum {
    OFFER_AT_SIZE = 0,
    OFFER_AT_MESSAGE = 8,
    OFFER_AT_RESERVED = 12,
};

/* The answer to a challenge ends with the first of them. */
enum {
    CHALLENGE_AT_CHALLENGE = 0,
    CHALLENGE_AT_MOVES = 8,
    CHALLENGE_AT_RESERVED = 12,
};

/* The fields of a run. */
enum {
    RUN_AT_FIRST = 0,
    RUN_AT_COUNT = 4,
    RUN_AT_SIZE = 8,
};

/* Writes the body, which may be in place already; the trailer behind it is returned, all 0. There
 * is room for both (CHECKed). */
static uint8_t *trailer_behind(uint8_t *out, size_t size, const uint8_t *body, size_t body_bytes)
{
    CHECK(body_bytes + TRAILER_BYTES <= size);
    if (body_bytes > 0)
        memmove(out, body, body_bytes);
    return memset(out + body_bytes, 0, TRAILER_BYTES);
}

/* Block acknowledgement (ZCRP 1.6.2) */

static size_t bounds_bytes(uint16_t length)
{
    return length == 0 ? 0 : ((size_t)length + 1) * ACK_BOUND_BYTES;
}

/* Signs alternate and the last is positive. */
static bool is_first_positive(uint16_t length)
{
    return length == 0 || length % 2 == 1;
}

void ack_bound_encode(uint8_t out[ACK_BOUND_BYTES], uint32_t bound)
{
    wire_put_u32(out, bound);
}

uint32_t ack_bound(const struct block_ack *ack, uint32_t i)
{
    return wire_get_u32(ack->bounds + (size_t)i * ACK_BOUND_BYTES);
}

size_t block_ack_encode(uint8_t *out, size_t size, const struct block_ack *ack)
{
    size_t body_bytes = bounds_bytes(ack->length);
    uint8_t *trailer = trailer_behind(out, size, ack->bounds, body_bytes);
    wire_put_u32(trailer + ACK_AT_NEWEST, ack->length == 0 ? 0 : ack->newest);
    wire_put_u32(trailer + ACK_AT_DELAY, ack->delay_us);
    wire_put_u32(trailer + ACK_AT_CAPACITY, ack->capacity);
    wire_put_u16(trailer + ACK_AT_LENGTH, ack->length);
    wire_put_u16(trailer + ACK_AT_MARKS, ack->marks);
    datagram_tail_encode(trailer + TAIL_AT, ack->pairing,
                         (ack->is_closing ? FLAG_CLOSING : 0) | (ack->has_ecn ? FLAG_ECN : 0),
                         is_first_positive(ack->length) ? DATAGRAM_ACK_POSITIVE
                                                        : DATAGRAM_ACK_NEGATIVE);
    return body_bytes + TRAILER_BYTES;
}

static void ack_read(const uint8_t *in, const uint8_t *trailer, const struct datagram_tail *tail,
                     struct block_ack *ack)
{
    *ack = (struct block_ack){
        .pairing = tail->pairing,
        .newest = wire_get_u32(trailer + ACK_AT_NEWEST),
        .delay_us = wire_get_u32(trailer + ACK_AT_DELAY),
        .capacity = wire_get_u32(trailer + ACK_AT_CAPACITY),
        .length = wire_get_u16(trailer + ACK_AT_LENGTH),
        .marks = wire_get_u16(trailer + ACK_AT_MARKS),
        .first_is_positive = datagram_type(tail->last_byte) == DATAGRAM_ACK_POSITIVE,
        .is_closing = (tail->flags & FLAG_CLOSING) != 0,
        .has_ecn = (tail->flags & FLAG_ECN) != 0,
        .bounds = in,
    };
}

/* Ascending without a standstill, over less than half of the numbers, up to the newest. */
static bool are_bounds_legal(const struct block_ack *ack)
{
    if (ack->length == 0)
        return ack->newest == 0;
    uint64_t span = 0;
    uint32_t bound = ack_bound(ack, 0);
    for (uint32_t i = 1; i <= ack->length; i++) {
        uint32_t step = ack_bound(ack, i) - bound;
        if (step == 0)
            return false;
        span += step;
        bound += step;
    }
    return span < UINT64_C(1) << 31 && bound == ack->newest + 1;
}

enum verdict block_ack_decode(const uint8_t *in, size_t size, struct block_ack *ack)
{
    const uint8_t *trailer = datagram_trailer(in, size);
    enum verdict verdict =
        datagram_verdict(trailer, size, DATAGRAM_ACK_POSITIVE, DATAGRAM_ACK_NEGATIVE);
    if (verdict != VERDICT_OK)
        return verdict;
    struct datagram_tail tail = datagram_tail_decode(trailer + TAIL_AT);
    ack_read(in, trailer, &tail, ack);
    verdict = datagram_size_verdict(size, bounds_bytes(ack->length) + TRAILER_BYTES);
    if (verdict != VERDICT_OK)
        return verdict;
    bool is_legal =
        (tail.flags & ~(FLAG_CLOSING | FLAG_ECN)) == 0 && pairing_is_complete(tail.pairing) &&
        datagram_is_clear(trailer, ACK_AT_RESERVED, TAIL_AT) &&
        ack->first_is_positive == is_first_positive(ack->length) && are_bounds_legal(ack);
    return is_legal ? VERDICT_OK : VERDICT_MALFORMED;
}

/* Request to send (ZCRP 1.6.3) */

void request_run_encode(uint8_t out[REQUEST_RUN_BYTES], const struct request_run *run)
{
    wire_put_u32(out + RUN_AT_FIRST, run->first);
    wire_put_u32(out + RUN_AT_COUNT, run->count);
    wire_put_u64(out + RUN_AT_SIZE, run->size);
}

struct request_run request_run(const struct request *request, uint32_t i)
{
    const uint8_t *run = request->runs + (size_t)i * REQUEST_RUN_BYTES;
    return (struct request_run){
        .first = wire_get_u32(run + RUN_AT_FIRST),
        .count = wire_get_u32(run + RUN_AT_COUNT),
        .size = wire_get_u64(run + RUN_AT_SIZE),
    };
}

size_t request_encode(uint8_t *out, size_t size, const struct request *request)
{
    size_t body_bytes = (size_t)request->length * REQUEST_RUN_BYTES;
    uint8_t *trailer = trailer_behind(out, size, request->runs, body_bytes);
    wire_put_u64(trailer + REQUEST_AT_NONCE, request->nonce);
    wire_put_u32(trailer + REQUEST_AT_CAPACITY, request->capacity);
    wire_put_u16(trailer + REQUEST_AT_LENGTH, request->length);
    datagram_tail_encode(trailer + TAIL_AT, request->pairing,
                         request->wants_offer ? FLAG_ANSWER : 0, DATAGRAM_REQUEST);
    return body_bytes + TRAILER_BYTES;
}

static bool are_runs_legal(const struct request *request)
{
    for (uint32_t i = 0; i < request->length; i++) {
        if (request_run(request, i).count == 0)
            return false;
    }
    return true;
}

enum verdict request_decode(const uint8_t *in, size_t size, struct request *request)
{
    const uint8_t *trailer = datagram_trailer(in, size);
    enum verdict verdict = datagram_verdict(trailer, size, DATAGRAM_REQUEST, DATAGRAM_REQUEST);
    if (verdict != VERDICT_OK)
        return verdict;
    struct datagram_tail tail = datagram_tail_decode(trailer + TAIL_AT);
    *request = (struct request){
        .pairing = tail.pairing,
        .nonce = wire_get_u64(trailer + REQUEST_AT_NONCE),
        .capacity = wire_get_u32(trailer + REQUEST_AT_CAPACITY),
        .length = wire_get_u16(trailer + REQUEST_AT_LENGTH),
        .wants_offer = tail.flags != 0,
        .runs = in,
    };
    verdict =
        datagram_size_verdict(size, (size_t)request->length * REQUEST_RUN_BYTES + TRAILER_BYTES);
    if (verdict != VERDICT_OK)
        return verdict;
    bool is_legal = (tail.flags & ~FLAG_ANSWER) == 0 && pairing_is_complete(tail.pairing) &&
                    datagram_is_clear(trailer, REQUEST_AT_RESERVED, TAIL_AT) &&
                    are_runs_legal(request);
    return is_legal ? VERDICT_OK : VERDICT_MALFORMED;
}

/* Hello */

size_t hello_encode(uint8_t *out, size_t size, const struct hello *hello)
{
    uint8_t *trailer = trailer_behind(out, size, NULL, 0);
    wire_put_u64(trailer + HELLO_AT_NONCE, hello->nonce);
    wire_put_u64(trailer + HELLO_AT_COOKIE, hello->cookie);
    wire_put_u32(trailer + HELLO_AT_REQUESTED, hello->requested);
    uint8_t flags =
        (uint8_t)((hello->is_closing ? FLAG_CLOSING : 0) | (hello->is_cut ? FLAG_VOID : 0));
    datagram_tail_encode(trailer + TAIL_AT, hello->pairing, flags, DATAGRAM_HELLO);
    return TRAILER_BYTES;
}

static bool is_hello_legal(const struct hello *hello, uint8_t flags)
{
    if (hello->pairing.tag == 0 || (flags & ~(FLAG_CLOSING | FLAG_VOID)) != 0 ||
        (hello->is_cut && !hello->is_closing))
        return false;
    if (hello->nonce != 0)
        return hello->requested == 0 && !hello->is_closing;
    return hello->cookie == 0 && hello->pairing.session != 0;
}

enum verdict hello_decode(const uint8_t *in, size_t size, struct hello *hello)
{
    enum verdict verdict = datagram_bare_verdict(in, size, DATAGRAM_HELLO);
    if (verdict != VERDICT_OK)
        return verdict;
    struct datagram_tail tail = datagram_tail_decode(in + TAIL_AT);
    *hello = (struct hello){
        .pairing = tail.pairing,
        .nonce = wire_get_u64(in + HELLO_AT_NONCE),
        .cookie = wire_get_u64(in + HELLO_AT_COOKIE),
        .requested = wire_get_u32(in + HELLO_AT_REQUESTED),
        .is_closing = (tail.flags & FLAG_CLOSING) != 0,
        .is_cut = (tail.flags & FLAG_VOID) != 0,
    };
    bool is_legal =
        datagram_is_clear(in, HELLO_AT_RESERVED, TAIL_AT) && is_hello_legal(hello, tail.flags);
    return is_legal ? VERDICT_OK : VERDICT_MALFORMED;
}

/* Cookie */

size_t cookie_answer_encode(uint8_t *out, size_t size, const struct cookie_answer *answer)
{
    uint8_t *trailer = trailer_behind(out, size, NULL, 0);
    wire_put_u64(trailer + COOKIE_AT_NONCE, answer->nonce);
    wire_put_u64(trailer + COOKIE_AT_COOKIE, answer->cookie);
    datagram_tail_encode(trailer + TAIL_AT, answer->pairing, 0, DATAGRAM_COOKIE);
    return TRAILER_BYTES;
}

enum verdict cookie_answer_decode(const uint8_t *in, size_t size, struct cookie_answer *answer)
{
    enum verdict verdict = datagram_bare_verdict(in, size, DATAGRAM_COOKIE);
    if (verdict != VERDICT_OK)
        return verdict;
    struct datagram_tail tail = datagram_tail_decode(in + TAIL_AT);
    *answer = (struct cookie_answer){
        .pairing = tail.pairing,
        .nonce = wire_get_u64(in + COOKIE_AT_NONCE),
        .cookie = wire_get_u64(in + COOKIE_AT_COOKIE),
    };
    bool is_legal = tail.flags == 0 && tail.pairing.tag != 0 && answer->nonce != 0 &&
                    answer->cookie != 0 && datagram_is_clear(in, COOKIE_AT_RESERVED, TAIL_AT);
    return is_legal ? VERDICT_OK : VERDICT_MALFORMED;
}

/* Offer */

size_t offer_encode(uint8_t *out, size_t size, const struct offer *offer)
{
    uint8_t *trailer = trailer_behind(out, size, NULL, 0);
    wire_put_u64(trailer + OFFER_AT_SIZE, offer->size);
    wire_put_u32(trailer + OFFER_AT_MESSAGE, offer->message);
    datagram_tail_encode(trailer + TAIL_AT, offer->pairing, 0, DATAGRAM_OFFER);
    return TRAILER_BYTES;
}

enum verdict offer_decode(const uint8_t *in, size_t size, struct offer *offer)
{
    enum verdict verdict = datagram_bare_verdict(in, size, DATAGRAM_OFFER);
    if (verdict != VERDICT_OK)
        return verdict;
    struct datagram_tail tail = datagram_tail_decode(in + TAIL_AT);
    *offer = (struct offer){
        .pairing = tail.pairing,
        .message = wire_get_u32(in + OFFER_AT_MESSAGE),
        .size = wire_get_u64(in + OFFER_AT_SIZE),
    };
    bool is_legal = tail.flags == 0 && pairing_is_complete(tail.pairing) &&
                    offer->size <= MESSAGE_BYTES_MAX &&
                    datagram_is_clear(in, OFFER_AT_RESERVED, TAIL_AT);
    return is_legal ? VERDICT_OK : VERDICT_MALFORMED;
}

/* Challenge, and its answer */

size_t challenge_encode(uint8_t *out, size_t size, const struct challenge *challenge)
{
    uint8_t *trailer = trailer_behind(out, size, NULL, 0);
    wire_put_u64(trailer + CHALLENGE_AT_CHALLENGE, challenge->challenge);
    wire_put_u32(trailer + CHALLENGE_AT_MOVES, challenge->moves);
    datagram_tail_encode(trailer + TAIL_AT, challenge->pairing, 0, DATAGRAM_CHALLENGE);
    return TRAILER_BYTES;
}

enum verdict challenge_decode(const uint8_t *in, size_t size, struct challenge *challenge)
{
    enum verdict verdict = datagram_bare_verdict(in, size, DATAGRAM_CHALLENGE);
    if (verdict != VERDICT_OK)
        return verdict;
    struct datagram_tail tail = datagram_tail_decode(in + TAIL_AT);
    *challenge = (struct challenge){
        .pairing = tail.pairing,
        .challenge = wire_get_u64(in + CHALLENGE_AT_CHALLENGE),
        .moves = wire_get_u32(in + CHALLENGE_AT_MOVES),
    };
    bool is_legal = tail.flags == 0 && pairing_is_complete(tail.pairing) &&
                    datagram_is_clear(in, CHALLENGE_AT_RESERVED, TAIL_AT);
    return is_legal ? VERDICT_OK : VERDICT_MALFORMED;
}

size_t challenge_answer_encode(uint8_t *out, size_t size, const struct challenge_answer *answer)
{
    uint8_t *trailer = trailer_behind(out, size, NULL, 0);
    wire_put_u64(trailer + CHALLENGE_AT_CHALLENGE, answer->challenge);
    datagram_tail_encode(trailer + TAIL_AT, answer->pairing, 0, DATAGRAM_CHALLENGE_ANSWER);
    return TRAILER_BYTES;
}

enum verdict challenge_answer_decode(const uint8_t *in, size_t size,
                                     struct challenge_answer *answer)
{
    enum verdict verdict = datagram_bare_verdict(in, size, DATAGRAM_CHALLENGE_ANSWER);
    if (verdict != VERDICT_OK)
        return verdict;
    struct datagram_tail tail = datagram_tail_decode(in + TAIL_AT);
    *answer = (struct challenge_answer){
        .pairing = tail.pairing,
        .challenge = wire_get_u64(in + CHALLENGE_AT_CHALLENGE),
    };
    bool is_legal = tail.flags == 0 && pairing_is_complete(tail.pairing) &&
                    answer->challenge != 0 && datagram_is_clear(in, CHALLENGE_AT_MOVES, TAIL_AT);
    return is_legal ? VERDICT_OK : VERDICT_MALFORMED;
}

/* Version answer */

void version_answer_encode(uint8_t out[VERSION_ANSWER_BYTES], struct pairing echoed)
{
    datagram_tail_encode(out, echoed, 0, DATAGRAM_VERSION_ANSWER);
}

bool version_answer_decode(const uint8_t *in, size_t size, struct pairing *echoed, uint8_t *version)
{
    if (size != VERSION_ANSWER_BYTES)
        return false;
    struct datagram_tail tail = datagram_tail_decode(in);
    *echoed = tail.pairing;
    *version = tail.last_byte >> 4;
    return (tail.last_byte & 15) == DATAGRAM_VERSION_ANSWER && tail.flags == 0 &&
           tail.pairing.tag != 0;
}

/* ---- path probe ---- */

/* The fields of each trailer, up to the tail. What is not named is reserved. */
enum {
    PROBE_AT_NUMBER = 0,
    PROBE_AT_RESERVED = 4,
    PROBE_AT_LENGTH = 12,
    PROBE_AT_RESERVED_TOO = 14,
};

enum {
    ANSWER_AT_NUMBER = 0,
    ANSWER_AT_SIZE = 4,
    ANSWER_AT_RESERVED = 8,
};

void path_probe_encode(uint8_t out[TRAILER_BYTES], const struct path_probe *probe)
{
    memset(out, 0, TRAILER_BYTES);
    wire_put_u32(out + PROBE_AT_NUMBER, probe->number);
    wire_put_u16(out + PROBE_AT_LENGTH, (uint16_t)(probe->bytes - TRAILER_BYTES));
    datagram_tail_encode(out + TAIL_AT, probe->pairing, 0, DATAGRAM_PATH_PROBE);
}

enum verdict path_probe_decode(const uint8_t in[TRAILER_BYTES], size_t datagram_bytes,
                               struct path_probe *probe)
{
    enum verdict verdict =
        datagram_verdict(in, datagram_bytes, DATAGRAM_PATH_PROBE, DATAGRAM_PATH_PROBE);
    if (verdict == VERDICT_OK)
        verdict = datagram_size_verdict(datagram_bytes,
                                        (size_t)wire_get_u16(in + PROBE_AT_LENGTH) + TRAILER_BYTES);
    if (verdict != VERDICT_OK)
        return verdict;
    struct datagram_tail tail = datagram_tail_decode(in + TAIL_AT);
    *probe = (struct path_probe){
        .pairing = tail.pairing,
        .number = wire_get_u32(in + PROBE_AT_NUMBER),
        .bytes = (uint32_t)datagram_bytes,
    };
    bool is_legal = tail.flags == 0 && pairing_is_complete(tail.pairing) &&
                    datagram_is_clear(in, PROBE_AT_RESERVED, PROBE_AT_LENGTH) &&
                    datagram_is_clear(in, PROBE_AT_RESERVED_TOO, TAIL_AT);
    return is_legal ? VERDICT_OK : VERDICT_MALFORMED;
}

void path_answer_encode(uint8_t out[TRAILER_BYTES], const struct path_probe *probe)
{
    memset(out, 0, TRAILER_BYTES);
    wire_put_u32(out + ANSWER_AT_NUMBER, probe->number);
    wire_put_u32(out + ANSWER_AT_SIZE, probe->bytes);
    datagram_tail_encode(out + TAIL_AT, probe->pairing, 0, DATAGRAM_PATH_ANSWER);
}

enum verdict path_answer_decode(const uint8_t *in, size_t size, struct path_probe *probe)
{
    enum verdict verdict = datagram_bare_verdict(in, size, DATAGRAM_PATH_ANSWER);
    if (verdict != VERDICT_OK)
        return verdict;
    struct datagram_tail tail = datagram_tail_decode(in + TAIL_AT);
    *probe = (struct path_probe){
        .pairing = tail.pairing,
        .number = wire_get_u32(in + ANSWER_AT_NUMBER),
        .bytes = wire_get_u32(in + ANSWER_AT_SIZE),
    };
    bool is_legal = tail.flags == 0 && pairing_is_complete(tail.pairing) &&
                    datagram_is_clear(in, ANSWER_AT_RESERVED, TAIL_AT);
    return is_legal ? VERDICT_OK : VERDICT_MALFORMED;
}
