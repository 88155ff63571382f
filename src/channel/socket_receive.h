/* Receiving from a datagram socket, straight into a landing. */
#ifndef ZCRP_CHANNEL_SOCKET_RECEIVE_H
#define ZCRP_CHANNEL_SOCKET_RECEIVE_H

#include "channel.h"

#include <sys/socket.h>

/* What channel_receive and channel_receive_control promise. */
int socket_receive(struct channel *c, struct landing *l);
int socket_receive_control(struct channel *c, uint8_t *buffer, size_t size);

/* For kinds of channel that receive by themselves: room for what the kernel says beside the data,
 * that is the size of joined datagrams, the socket's drops, the type of service of IPv4 or IPv6,
 * and whatever else the user asked for. */
union socket_notes {
    struct cmsghdr head; /* aligns */
    uint8_t room[192];
};

/* Counts what the notes of a packet say of drops. */
void socket_count_notes(struct channel *c, struct msghdr *message);

/* What to do about an error number: true to try again, else `*result` is 0 or BROKEN. `*was_late`
 * is false at first. */
bool socket_judge_receive(struct channel *c, int error, bool *was_late, int *result);

#endif
