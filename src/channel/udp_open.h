/* Making connected UDP sockets by host and port, IPv4 and IPv6: a convenience of the public API.
 * The channel takes any connected datagram socket, wherever it comes from.
 *
 * A host is a name or an address ("example.org", "192.0.2.1", "::1"), NULL this machine's any
 * address, and where it names a peer, this machine itself; a port is a number or a service's name.
 * A local port of NULL or "0" leaves the choice to the system. Names are tried in the order in
 * which they resolve, until one works. Looking up a name may block for long.
 *
 * All return 0 or a negative code: the system's error number (-EADDRINUSE), or, where a name does
 * not resolve, one for getaddrinfo's EAI_ code. udp_open_text has words for both. On failure *fd is
 * -1 and nothing stays open. Sockets are close-on-exec, and the caller's to close. */
#ifndef ZCRP_CHANNEL_UDP_OPEN_H
#define ZCRP_CHANNEL_UDP_OPEN_H

/* A socket bound to a local address, which waits for its peer: udp_connect_fd or accept_peer. */
__attribute__((warn_unused_result)) int udp_bind(const char *host, const char *port, int *fd);

/* Connects a bound socket to its peer, which has to have an address of the socket's family. */
__attribute__((warn_unused_result)) int udp_connect_fd(int fd, const char *host, const char *port);

/* A socket bound to the local address and connected to the remote one. */
__attribute__((warn_unused_result)) int udp_open(const char *local_host, const char *local_port,
                                                 const char *remote_host, const char *remote_port,
                                                 int *fd);

/* The words for a code of this file; never NULL, static storage. */
const char *udp_open_text(int code);

struct addrinfo;

/* The addresses of a host, with port 0, for sockets of any kind; `flags` are getaddrinfo's. The
 * list is the caller's, for freeaddrinfo. */
__attribute__((warn_unused_result)) int udp_resolve(const char *host, int flags,
                                                    struct addrinfo **list);

#endif
