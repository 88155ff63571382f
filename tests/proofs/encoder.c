/* The other way round: what this end encodes, as docs/protocol.md lets it, a peer's decoder takes,
 * and understands as it was meant.
 *
 * bound: any fields that the standard allows; up to 4 bounds, 2 runs
 * sources: core/wire/datagram.c core/wire/control.c
 * unwind: 34
 * stage: quick
 */
#include "proof.h"

#include "core/wire/control.h"

enum { BOUNDS = 4, RUNS = 2, ROOM = TRAILER_BYTES + RUNS * REQUEST_RUN_BYTES };

static struct pairing any_pairing(void)
{
    struct pairing p = {.session = nondet_u32(), .tag = nondet_u32()};

    ASSUME(p.session != 0 && p.tag != 0);
    return p;
}

static bool is_same_pairing(struct pairing a, struct pairing b)
{
    return a.session == b.session && a.tag == b.tag;
}

/* A unit of a message as a sender cuts it: whole grains but for the last, and what comes next. */
static struct unit_trailer any_unit(void)
{
    struct unit_trailer t = {.message = nondet_u32(),
                             .unit = nondet_u32(),
                             .seq = nondet_u32(),
                             .length = nondet_u16(),
                             .pairing = any_pairing(),
                             .flags = nondet_u8() & (FLAG_IS_LAST | FLAG_ANSWER)};

    ASSUME(t.length <= UNIT_DATA_MAX);
    if (!(t.flags & FLAG_IS_LAST))
        ASSUME(t.length > 0 && t.length % GRAIN == 0);
    if (nondet_bool()) {
        t.flags |= FLAG_HAS_NEXT;
        t.next_unit = nondet_u32();
        t.next_length = nondet_u16();
        t.next_step = (int16_t)nondet_u16();
        ASSUME(t.next_length <= UNIT_DATA_MAX);
    }
    return t;
}

/* The message will not come. */
static struct unit_trailer any_void_unit(void)
{
    struct unit_trailer t = any_unit();
    uint64_t size = nondet_u64();

    t.unit = VOID_TOO_LARGE + any_below(VOID_FAULT);
    t.length = 0;
    t.flags |= FLAG_VOID | FLAG_IS_LAST;
    if (t.unit == VOID_TOO_LARGE) {
        ASSUME(size > 0 && size <= MESSAGE_BYTES_MAX);
        t.flags &= (uint8_t)~FLAG_HAS_NEXT;
        t.next_step = 0;
        unit_trailer_set_size(&t, size);
    }
    return t;
}

static void show_unit(void)
{
    const struct unit_trailer t = nondet_bool() ? any_unit() : any_void_unit();
    struct unit_trailer got;
    uint8_t out[TRAILER_BYTES];

    unit_trailer_encode(out, &t);
    SHOW(unit_trailer_decode(out, (size_t)t.length + TRAILER_BYTES, &got) == VERDICT_OK);
    SHOW(got.message == t.message && got.unit == t.unit && got.seq == t.seq);
    SHOW(got.next_unit == t.next_unit && got.next_length == t.next_length);
    SHOW(got.next_step == t.next_step && got.length == t.length && got.flags == t.flags);
    SHOW(is_same_pairing(got.pairing, t.pairing));
}

/* Intervals of alternating signs: bounds that ascend over less than half of the numbers, up to the
 * newest. */
static void show_ack(uint32_t bounds)
{
    uint8_t out[ROOM];
    uint32_t bound[BOUNDS], last = nondet_u32();
    uint64_t span = 0;

    for (uint32_t i = 0; i < bounds; i++) {
        uint32_t step = nondet_u32();
        ASSUME(step > 0);
        span += i > 0 ? step : 0;
        bound[i] = last += step;
        ack_bound_encode(out + i * ACK_BOUND_BYTES, last);
    }
    ASSUME(span < UINT64_C(1) << 31);
    const struct block_ack ack = {.pairing = any_pairing(),
                                  .newest = bounds > 0 ? last - 1 : 0,
                                  .delay_us = nondet_u32(),
                                  .capacity = nondet_u32(),
                                  .length = (uint16_t)(bounds > 0 ? bounds - 1 : 0),
                                  .marks = nondet_u16(),
                                  .is_closing = nondet_bool(),
                                  .has_ecn = nondet_bool(),
                                  .bounds = out};
    struct block_ack got;
    size_t size = block_ack_encode(out, sizeof out, &ack);
    SHOW(block_ack_decode(out, size, &got) == VERDICT_OK);
    SHOW(got.newest == ack.newest && got.delay_us == ack.delay_us && got.length == ack.length);
    SHOW(got.capacity == ack.capacity && got.marks == ack.marks);
    SHOW(got.is_closing == ack.is_closing && got.has_ecn == ack.has_ecn);
    SHOW(is_same_pairing(got.pairing, ack.pairing));
    for (uint32_t i = 0; i < bounds; i++)
        SHOW(ack_bound(&got, i) == bound[i]);
}

static void show_request(uint16_t runs)
{
    uint8_t out[ROOM];
    struct request_run run[RUNS];
    const struct request request = {.pairing = any_pairing(),
                                    .nonce = nondet_u64(),
                                    .capacity = nondet_u32(),
                                    .length = runs,
                                    .wants_offer = nondet_bool(),
                                    .runs = out};
    struct request got;

    for (uint32_t i = 0; i < runs; i++) {
        run[i] = (struct request_run){nondet_u32(), nondet_u32(), nondet_u64()};
        ASSUME(run[i].count > 0);
        request_run_encode(out + i * REQUEST_RUN_BYTES, &run[i]);
    }
    size_t size = request_encode(out, sizeof out, &request);
    SHOW(request_decode(out, size, &got) == VERDICT_OK);
    SHOW(got.nonce == request.nonce && got.capacity == request.capacity);
    SHOW(got.length == request.length && got.wants_offer == request.wants_offer);
    SHOW(is_same_pairing(got.pairing, request.pairing));
    for (uint32_t i = 0; i < runs; i++) {
        struct request_run r = request_run(&got, i);
        SHOW(r.first == run[i].first && r.count == run[i].count && r.size == run[i].size);
    }
}

/* A question, or a sign of life within a pairing. */
static void show_hello(void)
{
    struct hello hello = {.pairing = any_pairing()};
    uint8_t out[TRAILER_BYTES];
    struct hello got;

    if (nondet_bool()) {
        hello.nonce = nondet_u64();
        hello.cookie = nondet_u64();
        hello.pairing.session = nondet_u32();
        ASSUME(hello.nonce != 0);
    } else {
        hello.requested = nondet_u32();
        hello.is_closing = nondet_bool();
        hello.is_cut = hello.is_closing && nondet_bool();
    }
    hello_encode(out, sizeof out, &hello);
    SHOW(hello_decode(out, sizeof out, &got) == VERDICT_OK);
    SHOW(got.nonce == hello.nonce && got.cookie == hello.cookie);
    SHOW(got.requested == hello.requested);
    SHOW(got.is_closing == hello.is_closing && got.is_cut == hello.is_cut);
    SHOW(is_same_pairing(got.pairing, hello.pairing));
    /* Nor is a sign of life without a session taken, which a stranger could say of any. */
    hello.pairing.session = 0;
    hello_encode(out, sizeof out, &hello);
    SHOW(hello.nonce != 0 || hello_decode(out, sizeof out, &got) == VERDICT_MALFORMED);
}

int main(void)
{
    show_unit();
    show_hello();
    for (uint32_t bounds = 0; bounds <= BOUNDS; bounds++)
        if (bounds != 1)
            show_ack(bounds);
    for (uint16_t runs = 0; runs <= RUNS; runs++)
        show_request(runs);
    REACHED();
}
