/* Sending bursts over a datagram socket: as one message that the kernel cuts (UDP_SEGMENT), else as
 * many messages in one call (sendmmsg). */
#ifndef ZCRP_CHANNEL_SOCKET_SEND_H
#define ZCRP_CHANNEL_SOCKET_SEND_H

#include "channel.h"

/* What channel_send promises. */
enum channel_verdict socket_send(struct channel *c, const struct burst *b, uint32_t *sent);

#endif
