/* The receiver's script, and the peer in it: puts together what is to land, as the script says. */
#ifndef ZCRP_TESTS_FUZZ_RECEIVER_PEER_H
#define ZCRP_TESTS_FUZZ_RECEIVER_PEER_H

#include "messages.h"

#include "../support/secret.h"
#include "core/receiver/receiver.h"
#include "core/wire/control.h"

#include <string.h>

enum {
    OPENINGS = 3,
    PAIRS = 6,
    WIRE_MOST = 16384,
    WIRE_DATAGRAMS = 64,
    DUE_MOST = 4,
    TURNS_MOST = 1000
};

struct run {
    struct script script;
    struct receiver *receiver;
    struct arena_bytes memory; /* that it lies in */
    instant now;
    struct pairing pairing;      /* what the peer says */
    uint64_t nonce;              /* of its last question */
    struct cookie_answer cookie; /* the last that it was given */
    uint32_t message;            /* a wire number near those in use */
    uint32_t seq;                /* the same */
    bool asks;                   /* the user has asked for offers */
    uint64_t offers, offered;    /* that came, and how large the message was then */
    struct landing landing;
    uint8_t *landing_memory;
    bool is_planned;
    uint8_t wire[WIRE_MOST]; /* datagrams that are to land, */
    uint32_t bytes;
    uint32_t datagram[WIRE_DATAGRAMS]; /* and the size of each */
    uint32_t datagrams;
    struct messages messages;
    struct burst burst;
};

/* ---- the content: every byte of a message tells its message, and where it belongs */

static inline uint8_t content(uint32_t message, uint64_t offset)
{
    return (uint8_t)(message * 31 + offset * 7 + offset / 64);
}

/* All of it is of the message that its first byte is of. */
static inline bool is_whole(const uint8_t *buffer, uint64_t length)
{
    for (uint64_t i = 1; i < length; i++)
        if ((uint8_t)(buffer[i] - content(0, i)) != buffer[0])
            return false;
    return true;
}

/* ---- the peer */

/* The pairing that was heard last, mostly. */
static inline struct pairing choose_pairing(struct run *r)
{
    struct pairing pairing = r->pairing;
    uint32_t choice = script_u8(&r->script);
    if (choice < 4)
        pairing.session = choice;
    else if (choice < 8)
        pairing.tag = 1 + choice;
    return pairing;
}

static inline uint8_t *room(struct run *r, uint32_t size)
{
    if (r->datagrams == WIRE_DATAGRAMS || size > WIRE_MOST - r->bytes)
        return NULL;
    uint8_t *bytes = r->wire + r->bytes;
    r->datagram[r->datagrams++] = size;
    r->bytes += size;
    return bytes;
}

static inline uint16_t choose_length(struct run *r, uint8_t flags)
{
    static const uint16_t lengths[] = {64, 64, 64, 32, 96, 1440};
    if ((flags & FLAG_VOID) != 0)
        return 0;
    if ((flags & FLAG_IS_LAST) != 0)
        return script_u8(&r->script);
    return lengths[script_below(&r->script, sizeof lengths / sizeof lengths[0])];
}

/* What the peer says of a message that the receiver has no buffer for, or too small a one. */
static inline uint64_t choose_size(uint32_t choice)
{
    static const uint64_t sizes[] = {1, 5001, UINT64_C(1) << 32, MESSAGE_BYTES_MAX};
    return sizes[choice % (sizeof sizes / sizeof sizes[0])];
}

static inline struct unit_trailer choose_too_large(struct unit_trailer t, uint32_t choice)
{
    t.flags &= (uint8_t)~FLAG_HAS_NEXT;
    unit_trailer_set_size(&t, choose_size(choice));
    return t;
}

static inline struct unit_trailer choose_unit(struct run *r)
{
    uint32_t shape = script_u8(&r->script);
    uint8_t flags = (uint8_t)((shape & 16) != 0 ? shape & 15 : shape & 9);
    if ((flags & FLAG_VOID) != 0)
        flags |= FLAG_IS_LAST;
    bool has_next = (flags & FLAG_HAS_NEXT) != 0;
    struct unit_trailer t = {.message = script_near(&r->script, r->message),
                             .seq = script_near(&r->script, r->seq),
                             .length = choose_length(r, flags),
                             .pairing = choose_pairing(r),
                             .flags = flags};
    uint32_t place = script_u8(&r->script);
    t.unit = place < 250 ? place / 2 : (uint32_t)script_number(&r->script, 4);
    if ((flags & FLAG_VOID) != 0)
        t.unit = VOID_TOO_LARGE + place % 3;
    if ((flags & FLAG_VOID) != 0 && t.unit == VOID_TOO_LARGE)
        return choose_too_large(t, place);
    if (!has_next)
        return t;
    t.next_step = (int16_t)(script_near(&r->script, t.message) - t.message);
    t.next_unit = script_near(&r->script, t.unit);
    t.next_length = (uint16_t)(shape < 240 ? 64 : script_number(&r->script, 2) % UNIT_DATA_MAX);
    return t;
}

static inline void send_unit(struct run *r, struct unit_trailer t)
{
    uint8_t *bytes = room(r, t.length + (uint32_t)TRAILER_BYTES);
    if (bytes == NULL)
        return;
    for (uint32_t i = 0; i < t.length; i++)
        bytes[i] = content(t.message, (uint64_t)t.unit * GRAIN + i);
    if (t.pairing.session == 0 || t.pairing.tag == 0)
        t.pairing = (struct pairing){.session = 1, .tag = 1};
    unit_trailer_encode(bytes + t.length, &t);
    r->seq = t.seq + 1;
    r->message = t.message;
}

/* As a sender that nothing disturbs: each unit where the one before foretold, down to the last. */
static inline void send_row(struct run *r)
{
    uint32_t units = 1 + script_below(&r->script, 10);
    uint32_t ends = script_below(&r->script, 2);
    uint32_t first = script_u8(&r->script);
    struct unit_trailer t = {.message = script_near(&r->script, r->message),
                             .next_unit = first,
                             .length = 64,
                             .next_length = 64,
                             .pairing = r->pairing,
                             .flags = FLAG_HAS_NEXT};
    for (uint32_t i = 0; i < units; i++) {
        t.seq = r->seq;
        t.unit = t.next_unit;
        t.next_unit += t.length / GRAIN;
        if (ends != 0 && i + 1 == units)
            t.flags = FLAG_HAS_NEXT | FLAG_IS_LAST;
        send_unit(r, t);
    }
}

static inline void say_hello(struct run *r, const struct hello *hello)
{
    uint8_t *bytes = room(r, TRAILER_BYTES);
    if (bytes != NULL)
        hello_encode(bytes, TRAILER_BYTES, hello);
}

/* Asks, under a tag of a few, and without a cookie. */
static inline void ask(struct run *r)
{
    struct hello hello = {.pairing = {.tag = 1 + script_u8(&r->script) / 64}, .nonce = ++r->nonce};
    say_hello(r, &hello);
}

/* Brings the last cookie back, mostly as it is. */
static inline void bring_cookie(struct run *r)
{
    uint32_t shape = script_u8(&r->script);
    struct hello hello = {
        .pairing = r->cookie.pairing, .nonce = r->cookie.nonce, .cookie = r->cookie.cookie};
    if (shape >= 240)
        hello.pairing.session ^= shape;
    else if (shape >= 224)
        hello.cookie ^= shape;
    if (hello.nonce == 0)
        return; /* there was none yet */
    say_hello(r, &hello);
}

static inline void send_hello(struct run *r)
{
    uint32_t shape = script_u8(&r->script);
    struct hello hello = {.pairing = choose_pairing(r),
                          .requested = script_near(&r->script, r->message),
                          .is_closing = shape >= 240,
                          .is_cut = shape >= 248};
    if ((shape & 3) == 1)
        ask(r);
    else if ((shape & 3) == 2)
        bring_cookie(r);
    else if (pairing_is_complete(hello.pairing))
        say_hello(r, &hello);
}

static inline void send_offer(struct run *r)
{
    struct offer offer = {.pairing = choose_pairing(r),
                          .message = script_near(&r->script, r->message),
                          .size = choose_size(script_u8(&r->script))};
    uint8_t *bytes = pairing_is_complete(offer.pairing) ? room(r, TRAILER_BYTES) : NULL;
    if (bytes != NULL)
        (void)offer_encode(bytes, TRAILER_BYTES, &offer);
}

/* Its padding lands where units would, and is none of their content. */
static inline void send_path_probe(struct run *r)
{
    uint32_t shape = script_u8(&r->script);
    struct path_probe probe = {.pairing = choose_pairing(r),
                               .number = script_near(&r->script, r->message),
                               .bytes = TRAILER_BYTES + 8 * shape};
    if (probe.pairing.session == 0 || probe.pairing.tag == 0)
        return;
    uint8_t *bytes = room(r, probe.bytes);
    if (bytes == NULL)
        return;
    memset(bytes, (int)shape, probe.bytes - TRAILER_BYTES);
    path_probe_encode(bytes + probe.bytes - TRAILER_BYTES, &probe);
}

/* Whatever it is, but no unit: that would have to keep to the content. */
static inline void send_anything(struct run *r)
{
    size_t count;
    struct unit_trailer t;
    const uint8_t *in = script_bytes(&r->script, script_u8(&r->script), &count);
    if (count == 0 || (count >= TRAILER_BYTES &&
                       unit_trailer_decode(in + count - TRAILER_BYTES, count, &t) == VERDICT_OK))
        return;
    uint8_t *bytes = room(r, (uint32_t)count);
    if (bytes != NULL)
        memcpy(bytes, in, count);
}

#endif
