/* The largest datagram that a connected socket's path takes in one piece. The kernel knows: from
 * the interface at first, from routers that complain later (RFC 1191, RFC 8201). */
#ifndef ZCRP_CHANNEL_SOCKET_PATH_H
#define ZCRP_CHANNEL_SOCKET_PATH_H

#include "channel.h"

/* Makes the kernel refuse datagrams that the path would have to cut (EMSGSIZE) instead of having
 * them cut; a lost fragment would cost the whole unit. Sets datagram_max, path_bytes and
 * discovery_before. A kernel that will not is lived with: cannot fail. */
void socket_path_begin(struct channel *c);

/* The kernel's word on it now; what fits any path where it has none. */
uint32_t socket_path_bytes(const struct channel *c);

/* Gives the socket's former path discovery back. */
void socket_path_end(struct channel *c);

/* Asks the kernel again; path_bytes falls to its answer, if that is smaller. Returns path_bytes. */
uint32_t socket_path_refresh(struct channel *c);

/* A datagram of `refused` bytes was too big although it fits path_bytes: halves it, down to what
 * fits any path (CONTROL_BYTES) at the least. */
void socket_path_fall(struct channel *c, uint32_t refused);

#endif
