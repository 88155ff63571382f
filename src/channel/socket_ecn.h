/* Explicit congestion notification (RFC 3168) on a UDP socket: what is sent says that it may be
 * marked instead of dropped, and the kernel tells how what arrives was marked. Only the two bits of
 * ECN are touched; those of DSCP stay the user's. A kernel that will not is lived with. */
#ifndef ZCRP_CHANNEL_SOCKET_ECN_H
#define ZCRP_CHANNEL_SOCKET_ECN_H

#include "channel.h"

#include <sys/socket.h>

/* Sends as ECT(0), and has arrivals told, as the options say; UDP only. Sets ecn_before. */
void socket_ecn_begin(struct channel *c, const struct channel_options *options);

/* Gives the socket's former marks back. */
void socket_ecn_end(struct channel *c);

/* What this note says of its datagram, or of all that were joined: IPTOS_ECN_CE and its like; 0 if
 * it is about something else. */
int socket_ecn_of(const struct cmsghdr *note);

#endif
