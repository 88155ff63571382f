#include "control.h"

#include "control_trailer.h"
#include "wire.h"

static uint8_t closing_flag(bool is_closing)
{
    return is_closing ? FLAG_CLOSING : 0;
}

static bool is_closing_flag(uint8_t flags)
{
    return flags == 0 || flags == FLAG_CLOSING;
}

static uint32_t u32_at(const uint8_t *at)
{
    struct wire_reader r;
    wire_reader_init(&r, at, 4);
    return wire_read_u32(&r);
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
    struct wire_writer w;
    wire_writer_init(&w, out, ACK_BOUND_BYTES);
    wire_write_u32(&w, bound);
}

uint32_t ack_bound(const struct block_ack *ack, uint32_t i)
{
    return u32_at(ack->bounds + (size_t)i * ACK_BOUND_BYTES);
}

size_t block_ack_encode(uint8_t *out, size_t size, const struct block_ack *ack)
{
    const struct control_trailer t = {
        .first = ack->length == 0 ? 0 : ack->newest,
        .second = ack->delay_us,
        .capacity = ack->capacity,
        .length = ack->length,
        .marks = ack->marks,
        .pairing = ack->pairing,
        .flags = (uint8_t)(closing_flag(ack->is_closing) | (ack->has_ecn ? FLAG_ECN : 0)),
        .type = is_first_positive(ack->length) ? DATAGRAM_ACK_POSITIVE : DATAGRAM_ACK_NEGATIVE,
    };
    return control_trailer_encode(out, size, ack->bounds, bounds_bytes(ack->length), &t);
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
    struct control_trailer t;
    enum verdict verdict =
        control_trailer_decode(in, size, DATAGRAM_ACK_POSITIVE, DATAGRAM_ACK_NEGATIVE, &t);
    if (verdict == VERDICT_OK)
        verdict = datagram_judge_size(size, bounds_bytes(t.length) + CONTROL_TRAILER_BYTES);
    if (verdict != VERDICT_OK)
        return verdict;
    *ack = (struct block_ack){
        .pairing = t.pairing,
        .newest = t.first,
        .delay_us = t.second,
        .capacity = t.capacity,
        .length = t.length,
        .marks = t.marks,
        .first_is_positive = t.type == DATAGRAM_ACK_POSITIVE,
        .is_closing = (t.flags & FLAG_CLOSING) != 0,
        .has_ecn = (t.flags & FLAG_ECN) != 0,
        .bounds = in,
    };
    bool is_legal = (t.flags & ~(FLAG_CLOSING | FLAG_ECN)) == 0 && t.pairing.session != 0 &&
                    ack->first_is_positive == is_first_positive(t.length) && are_bounds_legal(ack);
    return is_legal ? VERDICT_OK : VERDICT_MALFORMED;
}

/* Request to send (ZCRP 1.6.3) */

void request_run_encode(uint8_t out[REQUEST_RUN_BYTES], const struct request_run *run)
{
    struct wire_writer w;
    wire_writer_init(&w, out, REQUEST_RUN_BYTES);
    wire_write_u32(&w, run->first);
    wire_write_u32(&w, run->count);
    wire_write_u64(&w, run->size);
}

struct request_run request_run(const struct request *request, uint32_t i)
{
    struct wire_reader r;
    wire_reader_init(&r, request->runs + (size_t)i * REQUEST_RUN_BYTES, REQUEST_RUN_BYTES);
    struct request_run run;
    run.first = wire_read_u32(&r);
    run.count = wire_read_u32(&r);
    run.size = wire_read_u64(&r);
    return run;
}

size_t request_encode(uint8_t *out, size_t size, const struct request *request)
{
    const struct control_trailer t = {
        .capacity = request->capacity,
        .length = request->length,
        .pairing = request->pairing,
        .type = DATAGRAM_REQUEST,
    };
    return control_trailer_encode(out, size, request->runs,
                                  (size_t)request->length * REQUEST_RUN_BYTES, &t);
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
    struct control_trailer t;
    enum verdict verdict = control_trailer_decode(in, size, DATAGRAM_REQUEST, DATAGRAM_REQUEST, &t);
    if (verdict == VERDICT_OK)
        verdict =
            datagram_judge_size(size, (size_t)t.length * REQUEST_RUN_BYTES + CONTROL_TRAILER_BYTES);
    if (verdict != VERDICT_OK)
        return verdict;
    *request = (struct request){
        .pairing = t.pairing,
        .capacity = t.capacity,
        .length = t.length,
        .runs = in,
    };
    bool is_legal = t.first == 0 && t.second == 0 && t.marks == 0 && t.flags == 0 &&
                    t.pairing.session != 0 && are_runs_legal(request);
    return is_legal ? VERDICT_OK : VERDICT_MALFORMED;
}

/* Hello */

size_t hello_encode(uint8_t *out, size_t size, const struct hello *hello)
{
    const struct control_trailer t = {
        .first = hello->requested,
        .pairing = hello->pairing,
        .flags = closing_flag(hello->is_closing),
        .type = DATAGRAM_HELLO,
    };
    return control_trailer_encode(out, size, NULL, 0, &t);
}

enum verdict hello_decode(const uint8_t *in, size_t size, struct hello *hello)
{
    struct control_trailer t;
    enum verdict verdict = control_trailer_decode(in, size, DATAGRAM_HELLO, DATAGRAM_HELLO, &t);
    if (verdict == VERDICT_OK)
        verdict = datagram_judge_size(size, CONTROL_TRAILER_BYTES);
    if (verdict != VERDICT_OK)
        return verdict;
    *hello = (struct hello){
        .pairing = t.pairing,
        .requested = t.first,
        .is_closing = t.flags == FLAG_CLOSING,
    };
    bool is_legal = t.second == 0 && t.capacity == 0 && t.length == 0 && t.marks == 0 &&
                    is_closing_flag(t.flags) && t.pairing.tag != 0;
    return is_legal ? VERDICT_OK : VERDICT_MALFORMED;
}
