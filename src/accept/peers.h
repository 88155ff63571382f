/* The peers of a listener: of its backlog and of its connections. A caller that is known already
 * gets no second connection, however often its hello comes. A host that has taken much of the room
 * gets no more of it (peers_may_share), so that there is a place for a host that is new.
 *
 * The listener and each connection hold it; the last one that lets go frees it. Any thread. */
#ifndef ZCRP_ACCEPT_PEERS_H
#define ZCRP_ACCEPT_PEERS_H

#include "transport/address.h"

#include <stdbool.h>
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

enum { PEERS_SHARE = 7 };

/* May a host that has `taken` places have another one, while so many are left? A host that takes
 * all that it can get leaves an eighth of what was free, a second one an eighth of that. */
static inline bool peers_may_share(uint32_t taken, uint32_t left)
{
    return left > 0 && taken <= (uint64_t)PEERS_SHARE * left;
}

/* FULL: there is no room, or none for this host. O(peers). */
enum peers_verdict peers_add(struct peers *p, const union address *peer);
void peers_remove(struct peers *p, const union address *peer);

#endif
