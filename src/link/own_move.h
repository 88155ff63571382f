/* The connecting side of a connection with keys, whose own address may change: it notices that, and
 * has its socket bound anew by connecting it again. The peer then finds it by what it seals
 * (peer_move.h). When to look is address_watch.h's.
 *
 * Lock letters: (m) the link's mutex. */
#ifndef ZCRP_LINK_OWN_MOVE_H
#define ZCRP_LINK_OWN_MOVE_H

#include "core/instant.h"

#include <stdbool.h>

struct link;
struct own_move;
struct zcrp_entity;

/* Has the link, which has both halves, look after its own address, if its channels may be bound
 * anew. Before anybody else knows the link. False: no memory. */
__attribute__((warn_unused_result)) bool own_move_begin(struct link *l);
void own_move_end(struct own_move *m); /* NULL is fine */

/* Locked: the peer has sent something; or a call failed as it does where the socket's address is
 * gone. */
void own_move_on_heard(struct link *l);
void own_move_on_homeless(struct link *l);

/* Locked: when it is time to look, and that time has come. The second leaves the section meanwhile.
 */
instant own_move_deadline(const struct link *l);
void own_move_expire(struct zcrp_entity *e, instant now);

#endif
