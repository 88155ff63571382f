/* The sender's script, and the peer in it: knows the pairing, and says what the script says. */
#ifndef ZCRP_TESTS_FUZZ_SENDER_PEER_H
#define ZCRP_TESTS_FUZZ_SENDER_PEER_H

#include "messages.h"

#include "../support/secret.h"
#include "core/sender/sender.h"
#include "core/wire/control.h"

#include <string.h>

enum { BURSTS = 2, BOUNDS = 12, DUE_MOST = 4, TURNS_MOST = 1000, UNIT_MOST = 1984, WHOLES = 64 };

struct run {
    struct script script;
    struct sender *sender;
    struct arena_bytes memory; /* that it lies in */
    instant now;
    struct pairing pairing;  /* what the peer says */
    uint32_t message;        /* a wire number near those in use */
    uint32_t seq;            /* the same */
    struct path_probe probe; /* the last that was sent */
    struct hello question;   /* the last that was asked */
    bool wants_offers;       /* a request was one that asks for them */
    struct burst burst[BURSTS];
    bool is_out[BURSTS];
    uint64_t whole[WHOLES]; /* numbers of messages that went so */
    uint32_t wholes;
    struct messages messages;
    volatile uint8_t read; /* what the kernel would make of it */
};

/* The pairing that was heard last, mostly. */
static inline struct pairing choose_pairing(struct run *r)
{
    struct pairing pairing = r->pairing;
    uint32_t choice = script_u8(&r->script);
    if (choice < 8)
        pairing.session = 1 + choice % 4;
    else if (choice < 12)
        pairing.tag = 1 + choice % 2;
    return pairing;
}

/* Bounds go down from one near the next to be sent; each step is small, or anything. */
static inline void hear_ack(struct run *r)
{
    uint8_t datagram[CONTROL_BYTES];
    uint32_t bound[BOUNDS];
    uint32_t shape = script_u8(&r->script);
    uint32_t count = shape % (BOUNDS - 1) == 0 ? 0 : 1 + shape % (BOUNDS - 1);
    uint32_t next = script_near(&r->script, r->seq - 4);
    struct block_ack ack = {.pairing = choose_pairing(r),
                            .newest = count == 0 ? 0 : next - 1,
                            .delay_us = (uint32_t)script_number(&r->script, 2) << (shape % 16),
                            .capacity = (uint32_t)script_number(&r->script, 2) << (shape % 8),
                            .length = (uint16_t)(count == 0 ? 0 : count - 1),
                            .marks = (uint16_t)(shape * shape),
                            .is_closing = shape >= 250,
                            .bounds = datagram};
    for (uint32_t i = count; i-- > 0;) {
        bound[i] = next;
        uint32_t step = script_u8(&r->script);
        next -= step < 250 ? 1 + step % 8 : (uint32_t)script_number(&r->script, 4);
    }
    for (uint32_t i = 0; i < count; i++)
        ack_bound_encode(datagram + (size_t)i * ACK_BOUND_BYTES, bound[i]);
    sender_receive(r->sender, r->now, datagram, block_ack_encode(datagram, sizeof datagram, &ack));
}

static inline struct request_run choose_run(struct run *r)
{
    static const uint64_t sizes[] = {REQUEST_WITHDRAWN, REQUEST_WITHDRAWN - 1, 0, 31, 64, 5000};
    uint32_t count = script_u8(&r->script);
    return (struct request_run){
        .first = script_near(&r->script, r->message),
        .count = count < 250 ? 1 + count % 32 : (uint32_t)script_number(&r->script, 4),
        .size = sizes[script_below(&r->script, sizeof sizes / sizeof sizes[0])],
    };
}

static inline void hear_request(struct run *r)
{
    uint8_t datagram[CONTROL_BYTES];
    uint32_t runs = script_below(&r->script, 5);
    for (uint32_t i = 0; i < runs; i++) {
        struct request_run run = choose_run(r);
        request_run_encode(datagram + (size_t)i * REQUEST_RUN_BYTES, &run);
    }
    uint32_t answers = script_u8(&r->script);
    struct request request = {.pairing = choose_pairing(r),
                              .capacity = (uint32_t)script_number(&r->script, 2) << (runs * 4),
                              .length = (uint16_t)runs,
                              .wants_offer = answers % 4 == 1,
                              .runs = datagram};
    r->wants_offers |= request.wants_offer;
    if (answers >= 192 && r->question.nonce != 0) {
        request.nonce = r->question.nonce;
        request.pairing = (struct pairing){.session = 1 + answers, .tag = r->question.pairing.tag};
        r->pairing = request.pairing;
    }
    sender_receive(r->sender, r->now, datagram,
                   request_encode(datagram, sizeof datagram, &request));
}

/* A cookie for the last question, or for one like it, by a receiver in some session. */
static inline void hear_cookie(struct run *r)
{
    uint8_t datagram[TRAILER_BYTES];
    uint32_t shape = script_u8(&r->script);
    struct cookie_answer answer = {
        .pairing = {.session = shape / 32, .tag = r->question.pairing.tag},
        .nonce = r->question.nonce ^ (shape >= 250),
        .cookie = 1 + shape};
    if (answer.nonce == 0 || answer.pairing.tag == 0)
        return;
    (void)cookie_answer_encode(datagram, sizeof datagram, &answer);
    sender_receive(r->sender, r->now, datagram, sizeof datagram);
}

static inline void hear_version(struct run *r)
{
    uint8_t datagram[VERSION_ANSWER_BYTES];
    struct pairing echoed = r->question.pairing;
    echoed.tag += script_below(&r->script, 8) == 0;
    if (echoed.tag == 0)
        return;
    version_answer_encode(datagram, echoed);
    datagram[VERSION_ANSWER_BYTES - 1] ^= (uint8_t)(script_u8(&r->script) << 4);
    sender_receive(r->sender, r->now, datagram, sizeof datagram);
}

/* The answer to the last probe, or to one like it. */
static inline void hear_path_answer(struct run *r)
{
    uint8_t datagram[TRAILER_BYTES];
    uint32_t shape = script_u8(&r->script);
    struct path_probe answer = r->probe;
    if (shape >= 200)
        answer.bytes = (uint32_t)script_number(&r->script, 4);
    if (shape >= 240)
        answer.number += shape - 248;
    path_answer_encode(datagram, &answer);
    sender_receive(r->sender, r->now, datagram, sizeof datagram);
}

static inline void hear_anything(struct run *r)
{
    size_t count;
    const uint8_t *bytes = script_bytes(&r->script, script_u8(&r->script), &count);
    sender_receive(r->sender, r->now, bytes, count);
}

#endif
