/* The peers of a listener: those that have been admitted, and wait to be accepted in the order in
 * which they came, and those of its connections. A caller that is known already gets no second
 * connection, however often its hello comes. A host that has taken much of the room gets no more of
 * it (peers_may_share), so that there is a place for a host that is new.
 *
 *     reserve -> (the peer gets a socket) -> admit ---> [ accept infos ] --take--> connections
 *                                      \---> fail: what this process lacks is told to take
 *
 * The listener and each connection hold it; the last one that lets go frees it. One thread at a
 * time reserves and admits, or fails. Any thread does anything else. What is said to be in a child
 * is so that a thread which is not there may hold the mutex. */
#ifndef ZCRP_ACCEPT_PEERS_H
#define ZCRP_ACCEPT_PEERS_H

#include "core/instant.h"
#include "transport/address.h"
#include "zcrp.h"

struct accept_info;
struct peers;

/* Nobody, held once; for so many peers, of which so many wait. NULL: no memory. */
struct peers *peers_create(uint32_t most, uint32_t waiting);

/* Lets go of it: the listener, with those that wait; a connection, of itself. NULL is fine. */
void peers_close(struct peers *p, bool is_in_child);
void peers_leave(struct peers *p, const union address *peer, bool is_in_child);

enum { PEERS_SHARE = 7 };

/* May a host that has `taken` places have another one, while so many are left? A host that takes
 * all that it can get leaves an eighth of what was free, a second one an eighth of that. */
static inline bool peers_may_share(uint32_t taken, uint32_t left)
{
    return left > 0 && taken <= (uint64_t)PEERS_SHARE * left;
}

/* Is there room for this peer, and is it a new one? It is known from then on. O(peers). */
__attribute__((warn_unused_result)) bool peers_reserve(struct peers *p, const union address *peer);

/* The peer for which was reserved is admitted, and the accept info is handed over; or it is
 * forgotten, because of the system's negative error number. */
void peers_admit(struct peers *p, const struct accept_info *info);
void peers_fail(struct peers *p, const union address *peer, int error);

/* Takes the first accept info, which is the caller's, as is a hold on the peers; waits for one.
 * ZCRP_OK, ZCRP_ERROR_TIMEOUT, _INTERRUPTED, or what this process lacked. */
__attribute__((warn_unused_result)) int peers_take(struct peers *p, struct accept_info *info,
                                                   instant deadline);

/* Ends the waits. A signal handler may call it. */
void peers_interrupt(struct peers *p);

/* Is readable while take would not wait; or the system's negative error number. */
int peers_descriptor(struct peers *p);

/* Says how many were admitted, how often one found no room, and how many are known. */
void peers_add_stats(struct peers *p, struct zcrp_listener_stats *stats);

#endif
