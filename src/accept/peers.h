/* The peers of a listener: admitted ones, whose connections wait to be accepted in the order in
 * which they came, and the peers of the connections that were accepted. A caller that is known
 * already gets no second connection, however often its hello comes. A host that has taken much of
 * the room gets no more of it (peers_may_share), so that there is a place for a host that is new.
 *
 *     reserve -> (a connection is made) -> admit --> [ connections ] --take, take_late-->
 *                                     \--> forget, and lack: take tells what this process lacks
 *
 * The listener and each connection hold it; the last one that lets go frees it. One thread at a
 * time reserves and admits, or fails. Any thread does anything else. Where a comment says "in a
 * child", it is so that a thread which is not there may hold the mutex. */
#ifndef ZCRP_ACCEPT_PEERS_H
#define ZCRP_ACCEPT_PEERS_H

#include "core/instant.h"
#include "transport/address.h"
#include "waiting/completions.h"
#include "zcrp.h"

struct peers;

/* No peers, held once; room for `most`, of which `waiting` are not accepted yet. NULL: no memory.
 */
struct peers *peers_create(uint32_t most, uint32_t waiting);

/* A connection holds it, too. The same peers. */
struct peers *peers_hold(struct peers *p);

/* Lets go of it: the listener, which turns those away that wait; a connection, whose peer is
 * forgotten. NULL is fine. */
void peers_close(struct peers *p, bool is_in_child);
void peers_leave(struct peers *p, const union address *peer, bool is_in_child);

enum { PEERS_SHARE = 7 };

/* May a host that has `taken` places have another one, while `left` are left? A host that takes
 * all that it can get leaves an eighth of what was free, a second one an eighth of that. */
static inline bool peers_may_share(uint32_t taken, uint32_t left)
{
    return left > 0 && taken <= (uint64_t)PEERS_SHARE * left;
}

/* Is there room for this peer, and is it a new one? A new one that finds no room counts as dropped.
 * O(peers). */
bool peers_have_room(struct peers *p, const union address *peer);

/* The same; if there is room, the peer is known from then on. */
__attribute__((warn_unused_result)) bool peers_reserve(struct peers *p, const union address *peer);

/* A peer comes to another address. False if another peer is known there. */
__attribute__((warn_unused_result)) bool peers_move(struct peers *p, const union address *from,
                                                    const union address *to);

/* Their sessions, by name. */
struct sessions *peers_sessions(const struct peers *p);

/* The peer for which was reserved is admitted: its connection waits. Or it is not. */
void peers_admit(struct peers *p, struct zcrp_connection *connection, const union address *peer,
                 instant now);
void peers_forget(struct peers *p, const union address *peer);

/* A caller could not be admitted because of what this process, or its system, lacks, as a negative
 * error number says: the next take tells its code. */
void peers_lack(struct peers *p, int error);

/* Takes the connection that has waited longest, which is the caller's; waits for one. ZCRP_OK,
 * ZCRP_ERROR_TIMEOUT, _INTERRUPTED, or what this process lacked. */
__attribute__((warn_unused_result)) int
peers_take(struct peers *p, struct zcrp_connection **connection, instant deadline);

/* Takes one that waits since `before`, or longer; it counts as dropped. NULL: there is none. */
struct zcrp_connection *peers_take_late(struct peers *p, instant before);

/* When the connection came that has waited longest (NEVER: none waits), and how often that was
 * asked: an answer with a higher count is newer. */
uint32_t peers_oldest(struct peers *p, instant *since);

/* Ends the waits. A signal handler may call it. */
void peers_interrupt(struct peers *p);

/* They are told of in the queue's completions: those that wait, and each that comes. `owner` is
 * whose they are. False: they are in a queue already. */
bool peers_join_queue(struct peers *p, struct completions *queue, void *context, void *owner);

/* They leave that queue (NULL: any). True if they were in it. */
bool peers_leave_queue(struct peers *p, const struct completions *from);

/* Is readable while take would not wait; or the system's negative error number. */
int peers_descriptor(struct peers *p);

/* Says how many were admitted, how many found no room or were not accepted in time, and how many
 * are known. */
void peers_add_stats(struct peers *p, struct zcrp_listener_stats *stats);

#endif
