/* Large messages, which go from the sender's buffer into the receiver's (wire.h, "rendezvous"). */
#ifndef FABRIC_BULK_H
#define FABRIC_BULK_H

#include "way.h"

/* Tells the peer of a send, which then waits for its CTS. A zcrp code; unless it is 0 the operation
 * is still the caller's. */
int bulk_announce(struct way *w, struct op *op, const struct envelope *e);

/* A message that is a CTS (envelope_decode). False: the peer has not been told of a message that it
 * grants. */
bool bulk_on_cts(struct way *w, const uint8_t *bytes, uint64_t size);

/* A receive has its message (op_arrived): posts its buffer, and grants it. While the way's control
 * link is handled (w->gathers) grants wait for each other, as many as a CTS has, if the peer has
 * something to send until then. */
void bulk_accept(struct way *w, struct op *op, uint32_t id);

/* Goes on with the receives that were gathered, or for which there was no bulk link, or no room for
 * a CTS. */
void bulk_pump(struct way *w);

/* A message over the operation's memory. `is_eager`: behind its envelope. NULL: no memory. */
struct zcrp_msg *bulk_wrap(struct op *op, bool is_eager);

#endif
