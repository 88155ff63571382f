/* What drives an entity: turns. The engine's threads do them, or a user's thread that waits:
 *
 *     zcrp-sending    bursts go from the machine to the channel
 *     zcrp-update     a sender's arriving turn: one datagram from the receiver after the other
 *     zcrp-receiving  a receiver's arriving turn: plans, receives, lands
 *     zcrp-timeout    does what is due by the time
 *
 * The caller of a turn does not hold the mutex, but for sending_drain. */
#ifndef ZCRP_ENTITY_TURNS_H
#define ZCRP_ENTITY_TURNS_H

#include "entity.h"

enum {
    SENDING_BURSTS = 64,    /* in one go, if there is no reason for fewer */
    SENDING_AT_ONCE = 24,   /* by the thread that submits a message, if it sends itself */
    SENDING_CALL = 1 << 16, /* bytes; a burst of more counts as several */
};

/* Takes bursts from the machine, about `bursts` of them at most, gives them to the channel, and
 * tells the machine what became of them. Within a locked section, which it leaves and enters again
 * around each call of the channel. While another thread does so, nothing happens: that one goes on.
 * True if anything was sent. */
bool sending_drain(struct zcrp_entity *e, int bursts);

/* What a turn found. */
enum arrival {
    ARRIVAL_NONE,
    ARRIVAL_SOME, /* something came, or went, and there is no more */
    ARRIVAL_FULL, /* there may be more */
};

/* Where a turn looks: a system call is saved where only the neighbour is expected. */
enum hearing { HEAR_ALL, HEAR_NEIGHBOUR };

/* Receives once into the workspace, and sends what the machine then has to send, or holds it
 * (waiting/wait_policy.h, answering). */
enum arrival arriving_turn(struct zcrp_entity *e, struct workspace *w, enum hearing hearing);

/* The neighbours of the reader and its other half are to call from now on. False if one of them has
 * something already. Not locked. */
bool arriving_may_sleep(struct zcrp_entity *reader);

/* A waiter at the reader's helm looks at the neighbours, which need not call. So nobody else does,
 * until arriving_arm. Not locked. */
void arriving_wake(struct zcrp_entity *reader);

/* The engine receives for it from now on. Not locked. */
void arriving_arm(struct zcrp_entity *reader);

/* Nothing is there any more: how long not even arrivals shall end the sleep; 0: they shall. Locked.
 */
duration arriving_rest(struct zcrp_entity *e);

/* Sleeps until a datagram arrives, `wake` is signalled, or the deadline. With a nap, arrivals do
 * not end it, and it is no longer than the nap. As channel_wait. */
int arriving_sleep(struct zcrp_entity *e, struct wake *wake, duration nap, instant deadline);

/* Sends what was held for the user's answer, because the user waits on. Not locked. */
void turns_release(struct zcrp_entity *e);

/* Sends what waits for more, because no more comes. Not locked. */
void turns_end_gathering(struct zcrp_entity *e);

/* The user of the connection sends a message: that answers what it got, if it got one. Locked; `e`
 * is the receiver. */
void turns_on_answer(struct zcrp_entity *e);

/* A receiver that has joined hears a hello that arrived before it was there, and answers. */
void turns_hear(struct zcrp_entity *e, const uint8_t *hello, size_t size);

/* A sender that has started, and whose handshake is over, hears a request that came before that. */
void turns_hear_request(struct zcrp_entity *e, const uint8_t *request, size_t size);

/* Does what is due by the time, of the reader and its other half. Not locked. */
void timeout_turn(struct zcrp_entity *reader, instant now);

/* The entity joins the engine, which does no turn of it yet. 0, or the system's negative error
 * number. */
__attribute__((warn_unused_result)) int turns_join(struct zcrp_entity *e);

/* The engine's threads drive the entity from now on. */
void turns_start(struct zcrp_entity *e);

/* No turn runs any more but those of users that wait. */
void turns_end(struct zcrp_entity *e);

#endif
