/* What an error number of a send or receive call means for the protocol. */
#ifndef ZCRP_CHANNEL_FAULT_H
#define ZCRP_CHANNEL_FAULT_H

#include "channel.h"

/* Sorts the error into a verdict (never OK) and counts it by name; BROKEN is also remembered in the
 * channel. EINTR is none of its business. Cannot fail. */
enum channel_verdict fault_note(struct channel *c, int error);

/* Does it come from the network or the state it is in, whatever was sent and however? Not a size:
 * that depends. Cannot fail. */
bool fault_is_of_network(int error);

#endif
