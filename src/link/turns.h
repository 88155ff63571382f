/* What drives an entity: turns. The engine's threads do them, or a user's thread that waits:
 *
 *     zcrp-sending    tx.h
 *     zcrp-update     rx.h, of a sender that reads for itself
 *     zcrp-receiving  rx.h, of a receiver, and its connection's sender
 *     zcrp-timeout    timers.h
 *     a queue's taker rx.h, rx_on_look
 *
 * This is what the engine has to do with them. */
#ifndef ZCRP_LINK_TURNS_H
#define ZCRP_LINK_TURNS_H

#include "entity.h"

/* The entity joins the engine, which does no turn of it yet. 0, or the system's negative error
 * number. */
__attribute__((warn_unused_result)) int turns_join(struct zcrp_entity *e);

/* The engine's threads drive the entity from now on. */
void turns_start(struct zcrp_entity *e);

/* Whoever looks at these sockets receives for the entity's link, in the place of the engine; where
 * there is no room among them the engine goes on. Until the halves that have entered have left. */
void turns_enter(struct zcrp_entity *e, struct sockets *s);
void turns_leave(struct zcrp_entity *e, struct sockets *s);

/* No turn runs any more except the turns of waiting users. */
void turns_end(struct zcrp_entity *e);

#endif
