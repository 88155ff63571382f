/* What a completion queue has to know of a listener. */
#ifndef ZCRP_ACCEPT_LISTENER_H
#define ZCRP_ACCEPT_LISTENER_H

#include "peers.h"

/* Its backlog, and the generation of the process that opened it: constant while it is open. */
struct peers *listener_peers(const struct zcrp_listener *l);
uint32_t listener_generation(const struct zcrp_listener *l);

#endif
