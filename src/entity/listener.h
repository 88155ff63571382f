/* A listener: a socket that any number of peers call, and those that have been admitted and not
 * accepted yet. The engine's receiving thread hears the socket; zcrp_accept takes from the backlog.
 *
 *     callers --hear--> [ backlog: connected sockets ] --zcrp_accept--> connections
 *
 * The listener knows the peers of its connections and of its backlog, so that a hello that comes
 * twice makes no second connection. It is freed when it is closed and its last connection is. */
#ifndef ZCRP_ENTITY_LISTENER_H
#define ZCRP_ENTITY_LISTENER_H

#include "channel/address.h"

struct zcrp_listener;

/* The connection to this peer is over. */
void listener_forget(struct zcrp_listener *l, const union address *peer);

#endif
