/* The largest datagram that a connected socket's path takes in one piece. The kernel says
 * something when the channel is opened; from then on the core finds out by itself (path_mtu.h). */
#ifndef ZCRP_CHANNEL_SOCKET_PATH_H
#define ZCRP_CHANNEL_SOCKET_PATH_H

#include "channel.h"

/* Has the kernel send datagrams in one piece, and of any size that the interface takes: it finds no
 * path MTU itself, because anybody can send the ICMP that it would believe. Sets datagram_max,
 * path_bytes, path_most and discovery_before. A kernel that will not is lived with: cannot fail. */
void socket_path_begin(struct channel *c);

/* The kernel's word on the path now; what nearly any path carries where it has none or says less.
 */
uint32_t socket_path_bytes(const struct channel *c);

/* Gives the socket's former path discovery back. */
void socket_path_end(struct channel *c);

#endif
