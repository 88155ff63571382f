/* What drives an entity: turns. The engine's threads do them, or a user's thread that waits:
 *
 *     zcrp-sending    tx.h
 *     zcrp-update     rx.h, of a sender that reads for itself
 *     zcrp-receiving  rx.h, of a receiver, and its connection's sender
 *     zcrp-timeout    timers.h
 *
 * For a link that is in no queue the engine's threads do them, socket by socket. For a link in a
 * completion queue the thread that polls the queue's sockets does them (workers/sockets.h), a
 * taker's or the engine's. */
#ifndef ZCRP_LINK_TURNS_H
#define ZCRP_LINK_TURNS_H

#include "entity.h"

/* The entity joins the engine, which does no turn of it yet. 0, or the system's negative error
 * number. */
__attribute__((warn_unused_result)) int turns_join(struct zcrp_entity *e);

/* The engine's threads drive the entity from now on. */
void turns_start(struct zcrp_entity *e);

/* No turn runs any more except the turns of waiting users. */
void turns_end(struct zcrp_entity *e);

/* From now on the thread that polls these sockets receives for the entity's link, in place of the
 * engine. If the sockets have no room, the engine goes on. Lasts until turns_unqueue. `e` is any
 * half of the link. */
void turns_queue(struct zcrp_entity *e, struct sockets *s);
void turns_unqueue(struct zcrp_entity *e, struct sockets *s);

#endif
