/* Steps of the sender in which several parts move together. They only call down.
 * sender_fail (sender.h) is one of them. */
#ifndef ZCRP_CORE_SENDER_STEPS_H
#define ZCRP_CORE_SENDER_STEPS_H

#include "sender_state.h"

enum { PROBE_UNITS = 2 }; /* RFC 9002, 6.2.4; with a probe of the path one of them */

/* Asks for a receiver with the next hello. With keys there is no other session: the hello asks the
 * receiver of this one whether it is there. */
void sender_ask(struct sender *s);

/* Something of the pairing arrived: the receiver is there, and no other need be asked for. If the
 * session is abandoned, it came late, and says nothing. */
void sender_hear(struct sender *s, instant now);

/* Leaves the session: everything in transit is forgotten, an open sender asks for another. */
void sender_leave(struct sender *s, instant now);

/* The peer has closed the session: `first` is the lowest number of which its acknowledgement, which
 * was worked off, says whether it came. Leaves the session if that tells all; else asks the peer
 * for what it may have (sender_parting.c). */
void sender_on_peer_closed(struct sender *s, instant now, uint64_t first);

/* Leaves the session that the peer has closed: what is left it does not have. */
void sender_part(struct sender *s, instant now);

/* Behind what may have queued a unit to be repeated; `was_waiting`: there was one before, or one in
 * transit (sender_is_waiting). Else the peer's time to acknowledge something begins now. */
void sender_wait(struct sender *s, instant now, bool was_waiting);

/* A closing sender whose last LIVE message is over does not wait for buffers to tell the receiver
 * of those that will not come. To be called when either may have become true. */
void sender_finish(struct sender *s);

/* Gives up what is late, and tells the path and congestion control. True if all that was lost turns
 * out to be no congestion, but that the kernel's cut bursts do not arrive. */
bool sender_lose(struct sender *s, instant now);

/* The oldest `units` in transit that are still needed go again, whatever the window says; so an
 * acknowledgement comes back, and tells what became of the others. Units before them that nobody
 * needs are given up. What was cut counts for the question whether such bursts arrive. Returns the
 * largest one's bytes of data. */
uint32_t sender_repeat_oldest(struct sender *s, instant now, uint32_t units);

/* The same of the one with the first bytes of the oldest message, whenever it was sent. */
uint32_t sender_repeat_first(struct sender *s, instant now);

/* All that was learnt of the path is forgotten, and everything in transit goes again. */
void sender_begin_anew(struct sender *s, instant now);

/* The path has changed so: congestion control counts in the new units. True if it fell. */
bool sender_follow_path(struct sender *s, enum path_change change);

#endif
