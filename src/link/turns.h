/* What drives an entity: turns. The engine's threads do them, or a user's thread that waits:
 *
 *     zcrp-sending    tx.h
 *     zcrp-update     rx.h, of a sender that reads for itself
 *     zcrp-receiving  rx.h, of a receiver, and its connection's sender
 *     zcrp-timeout    timers.h
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

/* No turn runs any more except the turns of waiting users. */
void turns_end(struct zcrp_entity *e);

#endif
