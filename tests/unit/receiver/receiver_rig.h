/* A receiver whose channel and peer are the test. Datagrams are put together, then land as one
 * burst; what it says is compared as text: an acknowledgement is the sign of its first interval and
 * its bounds, and what it counts as marked, if any; a request its runs, first*count=size, and
 * whether it wants offers. */
#ifndef ZCRP_TESTS_UNIT_RECEIVER_RIG_H
#define ZCRP_TESTS_UNIT_RECEIVER_RIG_H

#include "../../support/memory.h"
#include "../../support/scatter.h"
#include "../../support/secret.h"
#include "core/receiver/receiver.h"
#include "core/wire/control.h"

#include "../../support/asserts.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    RIG_DATA = 64, /* bytes of data in a full unit */
    RIG_BUFFER = 1024,
    RIG_MESSAGES = 256,
    RIG_TAG = 7,
    RIG_PEER = 11,
};

struct receiver_rig {
    struct receiver *r;
    instant now;
    struct pairing pairing;
    struct landing landing;
    uint8_t *landing_memory;
    uint8_t buffer[RIG_MESSAGES][RIG_BUFFER];
    uint8_t wire[LANDING_DATAGRAM]; /* datagrams that are to land */
    uint32_t bytes;
    uint32_t segment;            /* bytes of the first of them */
    uint32_t posted;             /* messages so far */
    struct pairing acked;        /* of the last acknowledgement */
    uint64_t nonce;              /* of the last question */
    struct cookie_answer cookie; /* the last that was given */
    char text[1024];
};

/* Of this file's tests. */
static struct receiver_rig rig;

static inline uint8_t receiver_rig_byte(uint64_t message, uint64_t offset)
{
    return (uint8_t)(1 + message * 31 + offset * 7 + offset / 64);
}

static inline struct receiver_config receiver_rig_config(void)
{
    return (struct receiver_config){.unit_bytes = RIG_DATA + TRAILER_BYTES,
                                    .messages = RIG_MESSAGES,
                                    .holes = 4,
                                    .intervals = 8,
                                    .capacity = 4096,
                                    .silence = 10 * SECOND,
                                    .gone = 5 * SECOND,
                                    .secret = secret_of_seed(1),
                                    .jar = jar_of_seed(2),
                                    .peer = RIG_PEER};
}

static inline void receiver_rig_init_with(const struct receiver_config *config)
{
    memset(&rig, 0, sizeof rig);
    rig.now = SECOND;
    rig.landing_memory = malloc(landing_memory(1));
    landing_init(&rig.landing, rig.landing_memory, 1);
    rig.r = memory_of_receiver(config, SECOND);
}

static inline void receiver_rig_init_as(bool stays, duration keepalive)
{
    struct receiver_config config = receiver_rig_config();
    config.stays = stays;
    config.keepalive = keepalive;
    receiver_rig_init_with(&config);
}

static inline void receiver_rig_init(void)
{
    receiver_rig_init_as(false, 0);
}

static inline void receiver_rig_fini(void)
{
    receiver_check(rig.r);
    free(rig.landing_memory);
    free(rig.r); /* which lies at the start of its memory */
}

/* ---- the user ---- */

/* Message n's buffer is buffer[n]. */
static inline void receiver_rig_post(uint64_t size)
{
    uint64_t number;
    uint8_t *buffer = rig.buffer[rig.posted];
    ck_assert(receiver_post(rig.r, rig.now, NULL, buffer, size, &number));
    ck_assert_uint_eq(number, rig.posted++);
}

/* Message n ended, with so many bytes, all of them right. */
static inline void receiver_rig_expect_message(uint64_t n, uint64_t length)
{
    struct event event;
    ck_assert(receiver_event(rig.r, &event));
    ck_assert_int_eq(event.outcome, OUTCOME_OK);
    ck_assert_uint_eq(event.length, length);
    pieces_clear(NULL, rig.buffer[n], length, event.scribbled);
    for (uint64_t i = 0; i < length; i++)
        ck_assert_msg(rig.buffer[n][i] == receiver_rig_byte(n, i), "byte %" PRIu64, i);
}

/* A message ended in another way, and nothing is said of its length. */
static inline void receiver_rig_expect_end(enum outcome outcome)
{
    struct event event;
    ck_assert(receiver_event(rig.r, &event));
    ck_assert_int_eq(event.outcome, outcome);
    ck_assert_uint_eq(event.length, 0);
}

/* A message ended that was too large for its buffer: it has so many bytes. */
static inline void receiver_rig_expect_too_large(uint64_t size)
{
    struct event event;
    ck_assert(receiver_event(rig.r, &event));
    ck_assert_int_eq(event.outcome, OUTCOME_TOO_LARGE);
    ck_assert_uint_eq(event.length, size);
}

static inline void receiver_rig_expect_no_event(void)
{
    struct event event;
    ck_assert(!receiver_event(rig.r, &event));
}

/* ---- the peer ---- */

/* Puts a datagram behind those that are to land; all but the last are as long as the first. */
static inline void receiver_rig_put(const uint8_t *bytes, uint32_t count)
{
    if (rig.bytes == 0)
        rig.segment = count;
    memcpy(rig.wire + rig.bytes, bytes, count);
    rig.bytes += count;
}

static inline void receiver_rig_put_unit(const struct unit_trailer *t)
{
    uint8_t datagram[RIG_BUFFER + TRAILER_BYTES];
    for (uint32_t i = 0; i < t->length; i++)
        datagram[i] = receiver_rig_byte(t->message, (uint64_t)t->unit * GRAIN + i);
    unit_trailer_encode(datagram + t->length, t);
    receiver_rig_put(datagram, t->length + (uint32_t)TRAILER_BYTES);
}

/* Unit of `message` at `offset`, of RIG_DATA bytes, that foretells the one behind it. */
static inline struct unit_trailer receiver_rig_unit(uint32_t seq, uint32_t message, uint32_t offset)
{
    return (struct unit_trailer){.message = message,
                                 .unit = offset / GRAIN,
                                 .seq = seq,
                                 .next_unit = (offset + RIG_DATA) / GRAIN,
                                 .length = RIG_DATA,
                                 .next_length = RIG_DATA,
                                 .pairing = rig.pairing,
                                 .flags = FLAG_HAS_NEXT};
}

/* The last of its message, of `length` bytes; it foretells nothing. */
static inline struct unit_trailer receiver_rig_last(uint32_t seq, uint32_t message, uint32_t offset,
                                                    uint16_t length)
{
    return (struct unit_trailer){.message = message,
                                 .unit = offset / GRAIN,
                                 .seq = seq,
                                 .length = length,
                                 .pairing = rig.pairing,
                                 .flags = FLAG_IS_LAST};
}

static inline struct unit_trailer receiver_rig_void(uint32_t seq, uint32_t message,
                                                    enum void_reason reason)
{
    struct unit_trailer t = receiver_rig_last(seq, message, 0, 0);
    t.unit = reason;
    t.flags |= FLAG_VOID;
    return t;
}

/* The message has so many bytes, which is too many. */
static inline struct unit_trailer receiver_rig_too_large(uint32_t seq, uint32_t message,
                                                         uint64_t size)
{
    struct unit_trailer t = receiver_rig_void(seq, message, VOID_TOO_LARGE);
    unit_trailer_set_size(&t, size);
    return t;
}

static inline void receiver_rig_plan(void)
{
    receiver_plan(rig.r, &rig.landing, 1, 16);
}

/* What was put together lands where the plan, which is out, says. */
static inline void receiver_rig_landed(void)
{
    if (rig.bytes > 0)
        scatter(&rig.landing, rig.wire, rig.bytes, rig.segment);
    rig.bytes = 0;
    landing_check(&rig.landing);
    receiver_landed(rig.r, rig.now, &rig.landing);
    receiver_check(rig.r);
}

static inline void receiver_rig_land(void)
{
    receiver_rig_plan();
    receiver_rig_landed();
}

static inline void receiver_rig_land_unit(struct unit_trailer t)
{
    receiver_rig_put_unit(&t);
    receiver_rig_land();
}

static inline void receiver_rig_hello(struct hello hello)
{
    uint8_t datagram[TRAILER_BYTES];
    receiver_rig_put(datagram, (uint32_t)hello_encode(datagram, sizeof datagram, &hello));
    receiver_rig_land();
}

static inline void receiver_rig_put_offer(struct offer offer)
{
    uint8_t datagram[TRAILER_BYTES];
    receiver_rig_put(datagram, (uint32_t)offer_encode(datagram, sizeof datagram, &offer));
}

/* The sender says that this message has so many bytes. */
static inline void receiver_rig_land_offer(uint32_t message, uint64_t size)
{
    receiver_rig_put_offer(
        (struct offer){.pairing = rig.pairing, .message = message, .size = size});
    receiver_rig_land();
}

/* ---- what it says ---- */

static inline void receiver_rig_print_ack(const struct block_ack *ack)
{
    size_t at = (size_t)snprintf(rig.text, sizeof rig.text, "%s%s", ack->is_closing ? "close " : "",
                                 ack->first_is_positive ? "+" : "-");
    for (uint32_t i = 0; ack->length > 0 && i <= ack->length; i++)
        at += (size_t)snprintf(rig.text + at, sizeof rig.text - at, " %u", ack_bound(ack, i));
    if (ack->marks > 0)
        at += (size_t)snprintf(rig.text + at, sizeof rig.text - at, ", %u marked", ack->marks);
    if (ack->has_ecn)
        snprintf(rig.text + at, sizeof rig.text - at, ", ecn");
}

static inline void receiver_rig_print_request(const struct request *request)
{
    size_t at = (size_t)snprintf(rig.text, sizeof rig.text, "request");
    for (uint32_t i = 0; i < request->length; i++) {
        struct request_run run = request_run(request, i);
        at +=
            (size_t)snprintf(rig.text + at, sizeof rig.text - at, " %u*%u=", run.first, run.count);
        at += run.size == REQUEST_WITHDRAWN
                  ? (size_t)snprintf(rig.text + at, sizeof rig.text - at, "withdrawn")
                  : (size_t)snprintf(rig.text + at, sizeof rig.text - at, "%" PRIu64, run.size);
    }
    if (request->wants_offer)
        snprintf(rig.text + at, sizeof rig.text - at, ", offers");
}

/* The next datagram is this; its pairing is the session's from now on. */
static inline void receiver_rig_expect(const char *expected)
{
    struct burst burst = {.datagrams = 0};
    struct block_ack ack;
    struct request request;
    ck_assert(receiver_take(rig.r, rig.now, &burst));
    ck_assert(burst.is_control);
    if (request_decode(burst.control, burst.bytes, &request) == VERDICT_OK) {
        receiver_rig_print_request(&request);
        rig.pairing = request.pairing;
    } else if (cookie_answer_decode(burst.control, burst.bytes, &rig.cookie) == VERDICT_OK) {
        snprintf(rig.text, sizeof rig.text, "cookie");
    } else {
        ck_assert_int_eq(block_ack_decode(burst.control, burst.bytes, &ack), VERDICT_OK);
        receiver_rig_print_ack(&ack);
        rig.acked = ack.pairing;
    }
    ck_assert_str_eq(rig.text, expected);
}

static inline void receiver_rig_expect_silence(void)
{
    struct burst burst;
    ck_assert(!receiver_take(rig.r, rig.now, &burst));
}

/* A sender asks, without a cookie, and is given one. */
static inline void receiver_rig_ask(uint32_t tag)
{
    rig.nonce++;
    receiver_rig_hello((struct hello){.pairing = {.tag = tag}, .nonce = rig.nonce});
    receiver_rig_expect("cookie");
    ck_assert_uint_eq(rig.cookie.nonce, rig.nonce);
    ck_assert_uint_eq(rig.cookie.pairing.tag, tag);
}

/* It asks again, with the cookie that it was given. */
static inline void receiver_rig_ask_again(void)
{
    receiver_rig_hello((struct hello){
        .pairing = rig.cookie.pairing, .nonce = rig.cookie.nonce, .cookie = rig.cookie.cookie});
}

/* A sender with this tag binds it; the receiver answers with this. */
static inline void receiver_rig_bind_tag(uint32_t tag, const char *expected)
{
    receiver_rig_ask(tag);
    receiver_rig_ask_again();
    receiver_rig_expect(expected);
    ck_assert_uint_eq(rig.pairing.tag, tag);
}

static inline void receiver_rig_bind(const char *expected)
{
    receiver_rig_bind_tag(RIG_TAG, expected);
}

/* A session with buffers of `size` bytes for so many messages. */
static inline void receiver_rig_start(uint32_t messages, uint64_t size)
{
    char expected[64];
    snprintf(expected, sizeof expected, "request 0*%u=%" PRIu64, messages, size);
    for (uint32_t i = 0; i < messages; i++)
        receiver_rig_post(size);
    receiver_rig_bind(expected);
}

/* Time passes until something is due, which is done; it is so long from now. */
static inline void receiver_rig_wait(duration expected)
{
    ck_assert_int_eq(receiver_deadline(rig.r) - rig.now, expected);
    rig.now += expected;
    receiver_expire(rig.r, rig.now);
    receiver_check(rig.r);
}

#endif
