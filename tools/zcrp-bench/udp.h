/* The UDP sockets below ZCRP and udp-limit, opened through the library. */
#ifndef BENCH_UDP_H
#define BENCH_UDP_H

#include "transport.h"

/* As the functions of the same names in struct transport_kind: transport->fd is the socket. Each
 * returns a port, udp_accept 0; or -1 with a complaint. */
int udp_offer(struct transport *transport);
int udp_accept(struct transport *transport, int port);
int udp_connect(struct transport *transport, int port);

/* Complains that the transport cannot do `what`, because of a code of the library. -1. */
int udp_failed(const struct transport *transport, const char *what, int code);

#endif
