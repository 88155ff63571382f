/* What an entity does with keys. It is one half of a connection; without keys all of this does
 * nothing.
 *
 *     connecting side    handshake --> keyrings of both halves --> the machines are admitted
 *     listening side     the listener has done that before there are halves
 *
 * What the machine sends is sealed once it has left the mutex, by the thread that has the claim to
 * send; what arrives is opened by the machine, under the mutex. What crosses through memory on one
 * host (nearby.h) is not sealed: both ends showed that they have the keys when they met there. */
#ifndef ZCRP_ENTITY_KEYED_H
#define ZCRP_ENTITY_KEYED_H

#include "core/instant.h"
#include "core/wire/burst.h"
#include "greeting.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct zcrp_entity;

/* All (c) but for what the pointers lead to. */
struct keyed {
    struct keyring *keyring;     /* of this half, the connection's; NULL: there are no keys */
    uint8_t *staging;            /* SEAL_STAGING bytes, of the thread that sends */
    struct admission *admission; /* of the connection, for the sender that has a greeting */
    struct greeting *greeting;   /* (m) NULL: the handshake is over, or another half has it */
    bool is_news; /* (m) to a sender with a greeting, that its receiver hears the peer */
};

/* Takes the keyring of this half, and, for a sender whose handshake is to come, begins that with
 * these keys (NULL: it is over). False: no memory. */
__attribute__((warn_unused_result)) bool
keyed_init(struct zcrp_entity *e, struct admission *admission, struct zcrp_keys *keys);
void keyed_fini(struct zcrp_entity *e);

/* A sender hears a datagram. Returns what the handshake ended with, if it ended well just now: the
 * sender has taken its keyring from that, and the rest is for the receiver. Else NULL. Locked. */
struct admission *keyed_hear(struct zcrp_entity *e, instant now, const uint8_t *datagram,
                             size_t size);

/* The receiver has heard the peer: true if the sender, its twin, is to be told. Locked. */
bool keyed_on_arrivals(struct zcrp_entity *receiver);

/* The sender is told: what is sealed with the keys of the session shows that the peer is through.
 * Locked. */
void keyed_confirm(struct zcrp_entity *sender, instant now);

/* The connection's receiver takes its keyring. Locked. */
void keyed_admit(struct zcrp_entity *receiver, struct admission *made, instant now);

/* The handshake's next datagram, as a burst; false if there is none. Locked. */
bool keyed_take(struct zcrp_entity *e, instant now, struct burst *burst);
bool keyed_has_datagram(const struct zcrp_entity *e);

/* Seals what the machine sends. False if it cannot be sent: then it is lost. By the thread that
 * has the claim to send. */
bool keyed_seal(struct zcrp_entity *e, struct burst *burst);

/* The first `sent` datagrams of the burst crossed unsealed, through memory. By the same thread. */
void keyed_skip(struct zcrp_entity *e, const struct burst *burst, uint32_t sent);

/* Time, for the handshake. Locked. */
instant keyed_deadline(const struct zcrp_entity *e);
void keyed_expire(struct zcrp_entity *e, instant now);

#endif
