/* A sender whose channel and peer are the test. What it sends is compared as text: a burst is its
 * units, each message:offset+length and its flags, L last, V void, A answer (of a void the reason
 * in place of the offset); a hello is its pairing as the test knows it. */
#ifndef ZCRP_TESTS_UNIT_SENDER_RIG_H
#define ZCRP_TESTS_UNIT_SENDER_RIG_H

#include "../../support/memory.h"
#include "../../support/secret.h"
#include "core/sender/sender.h"
#include "core/wire/control.h"

#include "../../support/asserts.h"
#include <stdio.h>
#include <stdlib.h>

enum {
    RIG_DATA = 64, /* bytes of data in a full unit */
    RIG_UNIT = RIG_DATA + TRAILER_BYTES,
    RIG_SESSION = 77,
};

struct sender_rig {
    struct sender *s;
    instant now;
    struct pairing pairing;
    uint64_t nonce;    /* that requests carry; 0: none */
    uint32_t capacity; /* the peer's, as it will say, */
    uint16_t marks;    /* and its count of marks, */
    bool has_ecn;      /* and whether ECN's field arrives */
    bool wants_offer;  /* and whether requests ask for offers */
    struct burst burst;
    char text[1024];
};

/* Of this file's tests. */
static struct sender_rig rig;

static inline struct sender_config sender_rig_config(void)
{
    return (struct sender_config){.unit_bytes = RIG_UNIT,
                                  .burst_units = 4,
                                  .burst_bytes = 4096,
                                  .messages = 32,
                                  .transit_units = 64,
                                  .window_bytes = 64 * RIG_UNIT,
                                  .connect = 5 * SECOND,
                                  .silence = 10 * SECOND,
                                  .progress = 10 * SECOND,
                                  .congestion = CONGESTION_NONE,
                                  .secret = secret_of_seed(1)};
}

static inline void sender_rig_init(const struct sender_config *config)
{
    rig = (struct sender_rig){.now = SECOND, .capacity = 1 << 20};
    rig.s = memory_of_sender(config, rig.now);
}

/* The usual one. */
static inline void sender_rig_start(void)
{
    struct sender_config config = sender_rig_config();
    sender_rig_init(&config);
}

static inline void sender_rig_fini(void)
{
    sender_check(rig.s);
    free(rig.s); /* which lies at the start of its memory */
}

/* The interface takes no unit of this size any more, so units have 32 bytes of data. */
static inline void sender_rig_refuse(void)
{
    ck_assert(sender_on_refused_size(rig.s, rig.now, RIG_UNIT));
    ck_assert_uint_eq(sender_gauges(rig.s).unit, 32 + TRAILER_BYTES);
}

/* ---- the user ---- */

static inline uint64_t sender_rig_submit(uint64_t size)
{
    static const uint8_t data[8192];
    uint64_t number = UINT64_MAX;
    ck_assert(sender_submit(rig.s, rig.now, NULL, data, size, &number));
    return number;
}

static inline void sender_rig_expect_event(enum outcome outcome, uint64_t length)
{
    struct event event;
    ck_assert(sender_event(rig.s, &event));
    ck_assert_int_eq(event.outcome, outcome);
    ck_assert_uint_eq(event.length, length);
}

static inline void sender_rig_expect_no_event(void)
{
    struct event event;
    ck_assert(!sender_event(rig.s, &event));
}

/* ---- the peer ---- */

static inline void sender_rig_receive(const uint8_t *datagram, size_t size)
{
    sender_receive(rig.s, rig.now, datagram, size);
    sender_check(rig.s);
}

/* An acknowledgement with these bounds, "" for none; the last interval is the positive one. */
static inline void sender_rig_say_ack(const char *bounds, bool is_closing)
{
    uint8_t datagram[CONTROL_BYTES];
    uint32_t bound = 1;
    uint32_t count = 0;
    for (char *end; *bounds != '\0'; bounds = end) {
        bound = (uint32_t)strtoul(bounds, &end, 10);
        ack_bound_encode(datagram + ACK_BOUND_BYTES * count++, bound);
    }
    struct block_ack ack = {.pairing = rig.pairing,
                            .newest = bound - 1,
                            .capacity = rig.capacity,
                            .length = (uint16_t)(count == 0 ? 0 : count - 1),
                            .marks = rig.marks,
                            .is_closing = is_closing,
                            .has_ecn = rig.has_ecn,
                            .bounds = datagram};
    sender_rig_receive(datagram, block_ack_encode(datagram, sizeof datagram, &ack));
}

static inline void sender_rig_ack(const char *bounds)
{
    sender_rig_say_ack(bounds, false);
}

/* A request with one run, or none if count is 0. */
static inline void sender_rig_request(uint32_t first, uint32_t count, uint64_t size)
{
    uint8_t datagram[CONTROL_BYTES];
    struct request_run run = {.first = first, .count = count, .size = size};
    struct request request = {.pairing = rig.pairing,
                              .nonce = rig.nonce,
                              .capacity = rig.capacity,
                              .length = count > 0,
                              .wants_offer = rig.wants_offer,
                              .runs = datagram};
    request_run_encode(datagram, &run);
    sender_rig_receive(datagram, request_encode(datagram, sizeof datagram, &request));
}

/* ---- the channel ---- */

static inline struct hello sender_rig_hello(void)
{
    struct hello hello;
    ck_assert(sender_take(rig.s, rig.now, &rig.burst));
    ck_assert(rig.burst.is_control);
    sender_sent(rig.s, rig.now, &rig.burst, 1);
    ck_assert_int_eq(hello_decode(rig.burst.control, rig.burst.bytes, &hello), VERDICT_OK);
    return hello;
}

/* It offers this message, which has so many bytes. */
static inline void sender_rig_expect_offer(uint32_t message, uint64_t size)
{
    struct offer offer;
    ck_assert(sender_has_burst(rig.s));
    ck_assert(sender_take(rig.s, rig.now, &rig.burst));
    ck_assert(rig.burst.is_control);
    sender_sent(rig.s, rig.now, &rig.burst, 1);
    ck_assert_int_eq(offer_decode(rig.burst.control, rig.burst.bytes, &offer), VERDICT_OK);
    ck_assert_uint_eq(offer.message, message);
    ck_assert_uint_eq(offer.size, size);
    ck_assert_uint_eq(offer.pairing.session, rig.pairing.session);
    ck_assert_uint_eq(offer.pairing.tag, rig.pairing.tag);
}

static inline int sender_rig_print_unit(char *out, size_t size, const struct unit_trailer *t)
{
    uint32_t place = (t->flags & FLAG_VOID) != 0 ? t->unit : t->unit * GRAIN;
    return snprintf(out, size, "%u:%u+%u%s%s%s", t->message, place, t->length,
                    (t->flags & FLAG_IS_LAST) != 0 ? "L" : "",
                    (t->flags & FLAG_VOID) != 0 ? "V" : "",
                    (t->flags & FLAG_ANSWER) != 0 ? "A" : "");
}

/* Trailer i of the burst. */
static inline struct unit_trailer sender_rig_trailer(uint32_t i)
{
    struct unit_trailer t;
    uint32_t bytes = burst_datagram_bytes(&rig.burst, i);
    ck_assert_int_eq(unit_trailer_decode(rig.burst.trailer[i], bytes, &t), VERDICT_OK);
    return t;
}

/* Does this trailer name the unit of the next as the one that follows? */
static inline void sender_rig_check_named(const struct unit_trailer *t,
                                          const struct unit_trailer *next)
{
    bool has_size = (t->flags & FLAG_VOID) != 0 && t->unit == VOID_TOO_LARGE; /* in its place */
    if (has_size)
        return;
    ck_assert_int_ne(t->flags & FLAG_HAS_NEXT, 0);
    ck_assert_int_eq(t->next_step, (int32_t)(next->message - t->message));
    ck_assert_uint_eq(t->next_length, next->length);
    if ((next->flags & FLAG_VOID) == 0)
        ck_assert_uint_eq(t->next_unit, next->unit);
}

/* Takes a burst of units, which is this, and leaves it with the channel. All datagrams but the last
 * have one size, and each names the next. */
static inline void sender_rig_expect_taken(const char *expected)
{
    size_t at = 0;
    ck_assert(sender_has_burst(rig.s));
    ck_assert(sender_has_more(rig.s));
    ck_assert(sender_take(rig.s, rig.now, &rig.burst));
    ck_assert(!rig.burst.is_control);
    for (uint32_t i = 0; i < rig.burst.datagrams; i++) {
        struct unit_trailer t = sender_rig_trailer(i);
        if (i + 1 < rig.burst.datagrams) {
            struct unit_trailer next = sender_rig_trailer(i + 1);
            ck_assert_uint_eq(t.length + (uint32_t)TRAILER_BYTES, rig.burst.segment);
            sender_rig_check_named(&t, &next);
        }
        at += (size_t)snprintf(rig.text + at, sizeof rig.text - at, i == 0 ? "" : " ");
        at += (size_t)sender_rig_print_unit(rig.text + at, sizeof rig.text - at, &t);
    }
    ck_assert_str_eq(rig.text, expected);
    sender_check(rig.s);
}

/* The same, and all of it is sent. */
static inline void sender_rig_expect(const char *expected)
{
    sender_rig_expect_taken(expected);
    sender_sent(rig.s, rig.now, &rig.burst, rig.burst.datagrams);
}

static inline void sender_rig_expect_nothing(void)
{
    ck_assert(!sender_has_burst(rig.s));
    ck_assert(!sender_take(rig.s, rig.now, &rig.burst));
}

/* The receiver, which is in this session, gives a cookie for the hello. */
static inline void sender_rig_cookie(const struct hello *hello, uint32_t session)
{
    uint8_t datagram[TRAILER_BYTES];
    struct cookie_answer answer = {.pairing = {.session = session, .tag = hello->pairing.tag},
                                   .nonce = hello->nonce,
                                   .cookie = 5};
    (void)cookie_answer_encode(datagram, sizeof datagram, &answer);
    sender_rig_receive(datagram, sizeof datagram);
}

/* Answers the hello that asks and is due, up to the request that makes a session, with `count`
 * buffers of `size`. */
static inline void sender_rig_enter(uint32_t session, uint32_t count, uint64_t size)
{
    struct hello hello = sender_rig_hello();
    sender_rig_cookie(&hello, 0);
    struct hello again = sender_rig_hello();
    ck_assert_uint_eq(again.nonce, hello.nonce);
    ck_assert_uint_eq(again.pairing.tag, hello.pairing.tag);
    ck_assert_uint_eq(again.cookie, 5);
    rig.pairing = (struct pairing){.session = session, .tag = hello.pairing.tag};
    rig.nonce = hello.nonce;
    sender_rig_request(0, count, size);
    rig.nonce = 0;
}

static inline void sender_rig_pair(uint32_t count, uint64_t size)
{
    sender_rig_enter(RIG_SESSION, count, size);
}

/* Time passes until something is due, which is done. */
static inline void sender_rig_wait(void)
{
    rig.now = sender_deadline(rig.s);
    ck_assert_int_ne(rig.now, NEVER);
    sender_expire(rig.s, rig.now);
    sender_check(rig.s);
}

#endif
