/* A link in a completion queue. The thread that polls the queue's sockets, a taker or the engine's,
 * does the link's turns (workers/sockets.h). The turns of a link that is in no queue are the
 * engine's, socket by socket (turns.h). `e` and `client` are any half of the link. */
#ifndef ZCRP_LINK_LOOKS_H
#define ZCRP_LINK_LOOKS_H

#include "entity.h"

/* From now on the thread that polls these sockets receives for the entity's link, in place of the
 * engine. If the sockets have no room, the engine goes on. Lasts until looks_end. */
void looks_begin(struct zcrp_entity *e, struct sockets *s);
void looks_end(struct zcrp_entity *e, struct sockets *s);

#endif
