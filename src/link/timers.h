/* The timeout turn: does what is due by the time. */
#ifndef ZCRP_LINK_TIMERS_H
#define ZCRP_LINK_TIMERS_H

#include "entity.h"

/* Of the reader and its other half, what is due now; by a waiter. Locked. */
void timers_turn(struct zcrp_entity *reader, instant now);

/* The engine's: something may be due. */
void timers_on_due(void *client);

/* The engine's: the process of the peer, which is on this host, has ended. What it has sent is
 * received for a moment still, and for as long as something is unread, ten seconds at most. Then
 * messages end, and a connection with them. */
void timers_on_peer_ended(void *client);

#endif
