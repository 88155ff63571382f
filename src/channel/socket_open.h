/* Looking a socket over before it becomes a channel: what it is, and what it can do. */
#ifndef ZCRP_CHANNEL_SOCKET_OPEN_H
#define ZCRP_CHANNEL_SOCKET_OPEN_H

#include "channel.h"

/* What channel_init promises, for sockets. */
__attribute__((warn_unused_result)) int socket_open(struct channel *c, int fd,
                                                    const struct channel_options *options);

/* What channel_fini promises. */
void socket_restore(struct channel *c);

#endif
