/* TCP sockets: the control connection, and TCP's own channel. Each function returns a descriptor,
 * or -1 with a complaint. */
#ifndef BENCH_CONNECTION_H
#define BENCH_CONNECTION_H

#include <stdint.h>

#include "address.h"

/* A socket that listens. Port "0" is any free one. */
int connection_listen(const struct address *address);

/* A connection; a peer that refuses is tried again until limit_ns has passed. `congestion` names
 * the congestion control; "" leaves the machine's. */
int connection_open(const struct address *address, const char *congestion, int64_t limit_ns);

/* The next connection to a listening socket, within limit_ns (negative: for ever). */
int connection_accept(int listener, int64_t limit_ns);

/* From now on reading and writing fail after limit_ns in which nothing moved (0: never). */
void connection_limit(int fd, int64_t limit_ns);

#endif
