/* A peer that comes to another address: what a listener's connection with keys does about it. Its
 * socket is connected to the peer's old address, so datagrams from elsewhere arrive at the
 * listener's socket, which posts copies of them here.
 *
 *     listener's thread --post--> [ letters ] --hear, under the claim to receive-->  verified, told
 *          to address_check.h --> a challenge to the new address --> its answer, which comes the
 *          same way --> expire: all claims, connect(2) --> both machines begin anew
 *
 * Whoever posts knows only that a datagram names a session that is here. It is verified by the
 * thread that receives, because only that thread may use the keys. What was verified is used up: it
 * shows where the peer is, and the peer sends again what was in it.
 *
 * Nobody can move over AAL5, or where both ends are on one host and may meet in memory.
 *
 * Lock letters: (c) constant; (m) the link's mutex; (p) the mutex of the letters, which is taken
 * beneath any other. */
#ifndef ZCRP_LINK_PEER_MOVE_H
#define ZCRP_LINK_PEER_MOVE_H

#include "core/instant.h"
#include "core/wire/burst.h"
#include "transport/address.h"
#include "zcrp.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct link;
struct peer_move;
struct zcrp_entity;

/* What the owner of a connection does about it. */
struct peer_move_rules {
    /* The peer is about to be there. False if it cannot be, because another peer is. Locked. */
    bool (*admit)(void *context, const union address *to);
    void *context;
};

/* Lets the peer of a link with both halves move, if that can be. Before anybody else knows the
 * link. False: no memory. */
__attribute__((warn_unused_result)) bool peer_move_begin(struct link *l,
                                                         const struct peer_move_rules *rules);
void peer_move_end(struct peer_move *m);     /* NULL is fine */
void peer_move_abandon(struct peer_move *m); /* the same in a child */

/* A datagram has come from there that names a session of this link. Any thread, while the link
 * lives. */
void peer_move_post(struct link *l, const union address *from, const uint8_t *datagram,
                    size_t size);

/* Was anything posted that nobody has heard yet? Whoever says that it sleeps asks behind that, and
 * whoever posts wakes it behind that: so one of them sees the other. */
bool peer_move_has_letters(const struct link *l);

/* Locked, with the claim to receive: what was posted. */
void peer_move_hear(struct link *l);

/* Locked: the next datagram of a receiver about it, and where that goes. */
bool peer_move_has_burst(const struct zcrp_entity *receiver);
bool peer_move_take(struct zcrp_entity *receiver, struct burst *burst, union address *to);

/* Locked: when the link moves, and that time has come. The second leaves the section meanwhile. */
instant peer_move_deadline(const struct zcrp_entity *e);
void peer_move_expire(struct zcrp_entity *e, instant now);

/* Locked: how often either side has moved. */
void peer_move_add_stats(const struct zcrp_entity *e, struct zcrp_stats *stats);

/* ---- all claims, for own_move.h, too ---- */

/* Locked. Nobody uses the link's socket until they are given back; false if somebody does. */
bool move_claim_all(struct link *l);

/* Locked: gives them back, and sends what there is. If the link `has_moved` its machines begin anew
 * first. */
void move_release_all(struct link *l, bool has_moved);

#endif
