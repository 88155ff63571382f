/* TCP sockets and their addresses: HOST:PORT as text, the way getaddrinfo likes it, or as sockets
 * have them. */
#ifndef BENCH_CONNECTION_H
#define BENCH_CONNECTION_H

#include <netinet/in.h>
#include <stdint.h>
#include <sys/socket.h>

struct address {
    char host[256]; /* a name or number; "": any, to listen at */
    char port[32];
};

struct socket_address {
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    };
    socklen_t length;
};

/* Port 7000 unless another one is given. */
#define ADDRESS_PORT "7000"

/* Reads "host:port", "[v6]:port", ":port", or any of these without a port. 0 or -1, without a
 * complaint. */
int address_parse(const char *text, struct address *address);

/* The two ends of a connected or bound socket, in numbers; the peer with `port` in the place of its
 * own, unless that is 0. 0, or -1 with a complaint. */
int address_local(int fd, struct address *address);
int address_peer(int fd, int port, struct address *address);

int socket_address_local(int fd, struct socket_address *address);
int socket_address_peer(int fd, struct socket_address *address);

int socket_address_port(const struct socket_address *address);
void socket_address_set_port(struct socket_address *address, int port);

/* Each of the following returns a descriptor, or -1 with a complaint.
 *
 * A socket that listens. Port "0" is any free one. */
int connection_listen(const struct address *address);

/* A connection; a peer that refuses is tried again until limit_ns has passed. `congestion` names
 * the congestion control; "" leaves the machine's. */
int connection_open(const struct address *address, const char *congestion, int64_t limit_ns);

/* The next connection to a listening socket, within limit_ns (negative: for ever). */
int connection_accept(int listener, int64_t limit_ns);

/* The connection that comes from `peer`, in numbers. Others that come before it are told that this
 * end is busy, and closed. */
int connection_accept_from(int listener, const struct address *peer, int64_t limit_ns);

/* From now on reading and writing fail after limit_ns in which nothing moved (0: never). */
void connection_limit(int fd, int64_t limit_ns);

#endif
