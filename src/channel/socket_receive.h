/* Receiving from a datagram socket, straight into a landing. */
#ifndef ZCRP_CHANNEL_SOCKET_RECEIVE_H
#define ZCRP_CHANNEL_SOCKET_RECEIVE_H

#include "channel.h"

/* What channel_receive and channel_receive_control promise. */
int socket_receive(struct channel *c, struct landing *l);
int socket_receive_control(struct channel *c, uint8_t *buffer, size_t size);

#endif
