/* The sending turn: bursts go from a machine to its channel.
 *
 *     take a burst  ->  send it, by the transport        ->  tell the machine what became of it
 *     locked            not locked, under the claim             locked
 *
 * zcrp-sending does it, and any thread that has changed something, within its own locked section.
 */
#ifndef ZCRP_LINK_TX_H
#define ZCRP_LINK_TX_H

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
bool tx_drain(struct zcrp_entity *e, int bursts);

/* A sender whose peer reads shared memory: sends the messages that may go there as a whole. True if
 * nothing is left to be sent; not so while another thread sends. Within a locked section, which it
 * leaves and enters again around a system call, for messages in memory that the user brought. */
bool tx_send_wholes(struct zcrp_entity *e);

/* Sends what waits for more, because no more comes. Not locked. */
void tx_end_gathering(struct zcrp_entity *e);

/* Tells the machine of what the system has hinted at since the last time. Of the halves of a
 * connection that is the sender, which asks the peer for both. Locked. */
void tx_pass_hints(struct zcrp_entity *e);

/* The engine's: the entity has something to send; its socket has room again. */
void tx_on_ready(void *client);
void tx_on_room(void *client);

#endif
