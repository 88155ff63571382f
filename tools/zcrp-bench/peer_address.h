/* Addresses for channels of peers: the control connection's two ends, at other ports. */
#ifndef BENCH_PEER_ADDRESS_H
#define BENCH_PEER_ADDRESS_H

#include <netinet/in.h>
#include <sys/socket.h>

#include "control.h"

struct peer_address {
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    };
    socklen_t length;
};

/* This end and the other end, at `port`; 0 is any free one. 0, or -1 with a complaint. */
int peer_address_here(const struct control *control, int port, struct peer_address *address);
int peer_address_there(const struct control *control, int port, struct peer_address *address);

int peer_address_port(const struct peer_address *address);

/* A free UDP port at this end, or -1 with a complaint. It may be taken by another process before it
 * is used. */
int peer_address_free_port(const struct control *control);

#endif
