/* A peer that speaks the protocol by its text, and keeps none of its promises: a plain UDP socket,
 * and datagrams that the test writes. It pairs with a victim as a receiver or as a sender; what it
 * says afterwards is the test's. */
#ifndef ZCRP_TESTS_ATTACK_HOSTILE_H
#define ZCRP_TESTS_ATTACK_HOSTILE_H

#include "raw.h"
#include "wire.h"

struct hostile {
    int fd;
    struct raw_end peer; /* who was heard last */
    struct wire_pairing pairing;
    uint64_t nonce; /* of the question that led to it */
    size_t bytes;   /* heard last, */
    struct wire_heard heard;
    uint8_t datagram[WIRE_BYTES]; /* with these bytes */
    uint8_t out[WIRE_BYTES];      /* room for what is said */
};

/* A socket with that address and port on that side. */
void hostile_open(struct hostile *h, const struct stage *stage, enum stage_side side,
                  struct raw_end own);
void hostile_close(struct hostile *h);

/* The next datagram of this version within that time. */
bool hostile_hear(struct hostile *h, int milliseconds);

/* Sends the first bytes of `out` to the peer. */
void hostile_say(struct hostile *h, size_t bytes);

/* Answers the sender's questions until a unit comes: gives it a cookie, enters a session with it,
 * and announces the run (NULL: nothing, and waits for no unit). */
bool hostile_be_receiver(struct hostile *h, const struct wire_run *run, int milliseconds);

/* Asks the receiver at `peer` until it answers with a session, under that tag. */
bool hostile_be_sender(struct hostile *h, struct raw_end peer, uint32_t tag, int milliseconds);

/* As a sender: one unit that is its whole message. */
void hostile_send(struct hostile *h, uint32_t message, uint32_t seq, const uint8_t *data,
                  uint16_t bytes);

/* As a receiver: acknowledges [first, last). */
void hostile_acknowledge(struct hostile *h, uint32_t first, uint32_t last);

#endif
