/* The peers of a listener: of its backlog and of its connections. A caller that is known already
 * gets no second connection, however often its hello comes.
 *
 * The listener and each connection hold it; the last one that lets go frees it. Any thread. */
#ifndef ZCRP_ENTITY_PEERS_H
#define ZCRP_ENTITY_PEERS_H

#include "channel/address.h"

#include <stdint.h>

struct peers;

enum peers_verdict { PEERS_ADDED, PEERS_KNOWN, PEERS_FULL };

/* An empty set for up to `most` peers, held once; NULL if there is no memory. */
struct peers *peers_create(uint32_t most);

/* Holds it once more; returns it. Lets go; NULL is fine. */
struct peers *peers_hold(struct peers *p);
void peers_release(struct peers *p);

/* Lets go of it in a child, where a thread of the parent's may hold its mutex. NULL is fine. */
void peers_abandon(struct peers *p);

/* How many there are. */
uint32_t peers_count(struct peers *p);

/* O(peers). */
enum peers_verdict peers_add(struct peers *p, const union address *peer);
void peers_remove(struct peers *p, const union address *peer);

#endif
