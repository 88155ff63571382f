/* What drives an entity: turns, and the library's threads, which do them.
 *
 *     zcrp-sending    bursts go from the machine to the channel
 *     zcrp-update     a sender's arriving turn: one datagram from the receiver after the other
 *     zcrp-receiving  a receiver's arriving turn: plans, receives, lands
 *     zcrp-timeout    does what is due by the time
 *
 * Each thread repeats two functions: its rest sleeps until there is something to do, its turn does
 * it, within bounds. Any thread may do a turn, also a user's that waits, and a test; a rest belongs
 * to its thread. The caller of a turn does not hold the mutex, but for sending_drain. */
#ifndef ZCRP_ENTITY_TURNS_H
#define ZCRP_ENTITY_TURNS_H

#include "entity.h"

enum {
    SENDING_BURSTS = 64,  /* in one go, if there is no reason for fewer */
    SENDING_AT_ONCE = 24, /* by the thread that submits a message, if nothing is under way */
};

/* Takes bursts from the machine, at most `bursts` of them, gives them to the channel, and tells the
 * machine what became of them. Within a locked section, which it leaves and enters again around
 * each call of the channel. While another thread does so, nothing happens: that one goes on. True
 * if anything was sent. */
bool sending_drain(struct zcrp_entity *e, int bursts);

/* Receives once, and sends what the machine then has to send. True if anything came, or went. */
bool arriving_turn(struct zcrp_entity *e);

/* Sleeps until a datagram arrives, `wake` is signalled, or the deadline. With a nap, arrivals do
 * not end it, and it is no longer than the nap. As channel_wait. */
int arriving_sleep(struct zcrp_entity *e, struct wake *wake, duration nap, instant deadline);

/* Does what is due by the time. */
void timeout_turn(struct zcrp_entity *e);

/* Starts the threads of the entity's role (ZCRP 1.7). 0, or the system's negative error number;
 * then none is left. */
__attribute__((warn_unused_result)) int workers_start(struct zcrp_entity *e);

/* Tells the threads to end, and joins them in the order in which they were started. */
void workers_stop(struct zcrp_entity *e);

#endif
