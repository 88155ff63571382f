/* A link in a completion queue: the turns of whoever looks at the queue's sockets, a taker or the
 * engine's thread (workers/sockets.h). Until then the engine does them, socket by socket
 * (turns.h). `e` and `client` are any half of the link. */
#ifndef ZCRP_LINK_LOOKS_H
#define ZCRP_LINK_LOOKS_H

#include "entity.h"

/* Whoever looks at these sockets receives for the entity's link, in the place of the engine; where
 * there is no room among them the engine goes on. Until the halves that have begun have ended. */
void looks_begin(struct zcrp_entity *e, struct sockets *s);
void looks_end(struct zcrp_entity *e, struct sockets *s);

#endif
