/* What a half does with keys. Without keys nothing of this does anything.
 *
 *     connection, connecting side   the sender's handshake --> keyrings of both halves --> the
 *                                   machines are admitted; it begins anew if the listening side
 *                                   has forgotten it before it has admitted this side
 *     connection, listening side    the listener had the handshake before there were halves
 *     sender over descriptors       as the connecting side; if that does not end, it begins anew
 *     receiver over descriptors     pending handshakes with one place, until one ends well
 *
 * What the machine sends is sealed by the transport, what arrives is opened by the machine: both
 * without the mutex. */
#ifndef ZCRP_LINK_KEYED_H
#define ZCRP_LINK_KEYED_H

#include "core/instant.h"
#include "core/wire/burst.h"
#include "handshake/tls_handshake.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct datagram_queue;
struct landing_mail;
struct pending;
struct zcrp_entity;

/* All (c) but for what the pointers lead to. */
struct keyed {
    struct keyring *keyring;         /* of this half; NULL: there are no keys */
    struct tls_handshake *handshake; /* (m) of a sender; NULL: it is over, or there is none */
    struct zcrp_keys *keys;          /* held by a sender, to begin anew; else NULL */
    instant anew;                    /* (m) when it does, because its peer has forgotten the
                                        handshake; NEVER: not for that */
    struct pending *pending;         /* of a receiver over descriptors; else NULL */
    struct datagram_queue *answers;  /* (m) to its callers */
};

/* Takes the keyring of this half from its link; a sender whose handshake is to come begins it.
 * False: no memory. */
__attribute__((warn_unused_result)) bool keyed_init(struct zcrp_entity *e);
void keyed_fini(struct zcrp_entity *e);

/* Opens a receiver over descriptors to callers; ends that, for which it waits for the handshake
 * that is being computed, and for the user's lookup. Nothing happens for other entities. Start: 0,
 * or the system's negative error number. Not locked. */
__attribute__((warn_unused_result)) int keyed_start(struct zcrp_entity *e);
void keyed_stop(struct zcrp_entity *e);

/* A sender hears a datagram. False if it is not of its handshake: then it is the machine's, sealed
 * or not. Locked. */
bool keyed_hear_handshake(struct zcrp_entity *sender, instant now, const uint8_t *datagram,
                          size_t size);

/* The machine has heard one: the first that was sealed for the session shows that the peer is
 * through, and the handshake is over. Locked. */
void keyed_on_heard(struct zcrp_entity *sender);

/* The receiver has heard the peer: is that news to its connection's sender? Locked. */
bool keyed_is_news(const struct zcrp_entity *receiver);

/* The sender is told: what is sealed with the keys of the session shows that the peer is through.
 * Locked. */
void keyed_confirm(struct zcrp_entity *sender, instant now);

/* Is this a receiver over descriptors without a session yet? Then what comes is for the following.
 * Locked. */
bool keyed_awaits_caller(const struct zcrp_entity *e);

/* It hears what has come. Not locked. */
void keyed_hear_callers(struct zcrp_entity *receiver, const struct landing_mail *mail);

/* The next datagram of a handshake, or answer to a caller, as a burst; false if there is none.
 * Locked. */
bool keyed_take(struct zcrp_entity *e, instant now, struct burst *burst);
bool keyed_has_datagram(const struct zcrp_entity *e);

/* Who the peer is; NULL: there are no keys, or the handshake is not over. Locked. */
const char *keyed_identity(const struct zcrp_entity *e);

void keyed_add_stats(const struct zcrp_entity *e, struct zcrp_stats *stats);

/* Time, for the handshake. Locked. */
instant keyed_deadline(const struct zcrp_entity *e);
void keyed_expire(struct zcrp_entity *e, instant now);

#endif
