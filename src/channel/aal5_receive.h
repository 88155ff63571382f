/* Receiving PDUs of AAL5 straight into a landing, several packets with one call (recvmmsg).
 *
 *     packet   head | cells                    head | cells
 *     pointed       | slot, first cells             | slot, the rest; trailer; PAD and tail to
 * spill
 *
 * A packet is pointed at that part of an opening where it belongs if everything comes as planned.
 * Afterwards the openings are written anew, a PDU each, as the pieces of memory where it landed
 * indeed; so the landing moves what came down elsewhere, as it always does, and nothing else is
 * copied. Only of a PDU that is not complete at the end of the call the beginning is set aside,
 * because its slot will not be its own any more. */
#ifndef ZCRP_CHANNEL_AAL5_RECEIVE_H
#define ZCRP_CHANNEL_AAL5_RECEIVE_H

#include "channel.h"

/* What channel_receive and channel_receive_control promise, of packets instead of openings. The
 * landing was planned with one unit an opening. */
int aal5_receive(struct channel *c, struct landing *l);
int aal5_receive_control(struct channel *c, uint8_t *buffer, size_t size);

#endif
