/* What the library's threads do. Each is a pair: `rest` sleeps until there is something to do, and
 * is false when the thread shall end; `turn` does it, within bounds. A turn may be done by any
 * thread, also by a test; a rest belongs to its thread. None is called with the mutex held, but for
 * sending_drain. */
#ifndef ZCRP_ENTITY_TURNS_H
#define ZCRP_ENTITY_TURNS_H

#include "entity.h"

/* Sending (sending.c): takes bursts from the machine and gives them to the channel. */
bool sending_rest(struct zcrp_entity *e);
void sending_turn(struct zcrp_entity *e);

/* The same within a locked section, which it leaves and enters again around each call of the
 * channel; at most so many bursts. Nothing happens if another thread is at it: that one goes on.
 * True if anything was sent. */
bool sending_drain(struct zcrp_entity *e, int bursts);

enum {
    SENDING_BURSTS = 64,  /* in one go, if there is no reason for fewer */
    SENDING_AT_ONCE = 24, /* by the thread that submits a message, if nothing is under way */
};

/* Update (update.c): gives the machine one datagram from the receiver, and sends what that lets
 * go. True if there was anything to do. */
bool update_once(struct zcrp_entity *e);
void update_turn(struct zcrp_entity *e);

/* Receiving (receiving.c): plans, receives, lands; sends what the machine has to answer. True if
 * anything came. */
bool receiving_once(struct zcrp_entity *e);
void receiving_turn(struct zcrp_entity *e);

/* The one of both that is the entity's. (arriving.c) */
bool arriving_turn(struct zcrp_entity *e);

/* Sleeps until a datagram arrives, `wake` is signalled, or the deadline; with a nap, whatever
 * arrives, for no longer than that. As channel_wait. (arriving.c) */
int arriving_sleep(struct zcrp_entity *e, struct wake *wake, duration nap, instant deadline);

/* The rest of both: until a datagram arrives. (arriving.c) */
bool arriving_rest(struct zcrp_entity *e);

/* The user's tap as a channel's. (tapping.c) */
struct channel_tap tapping_of(struct zcrp_entity *e);

/* Shows the user's trace what has changed since the last time. Locked. (stats.c) */
void stats_trace(struct zcrp_entity *e);

/* Timeout (timeout.c): does what is due by the time. */
bool timeout_rest(struct zcrp_entity *e);
void timeout_turn(struct zcrp_entity *e);

#endif
