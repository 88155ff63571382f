/* Sockets by host and port: a convenience of the public API. The channel takes any connected socket
 * that it knows, wherever it comes from.
 *
 * A host is a name or an address ("example.org", "192.0.2.1", "::1"). NULL is this machine's any
 * address, and where it names a peer, this machine itself. A port is a number or a service's name;
 * a local port of NULL or "0" leaves the choice to the system. Addresses are tried in the order in
 * which the name resolves, until one works. Looking up a name may block for long.
 *
 * All return 0 or a negative code: the system's error number (-EADDRINUSE), or, where a name does
 * not resolve, one for getaddrinfo's EAI_ code. udp_open_text has words for both. On failure *fd is
 * -1 and nothing stays open. Sockets are close-on-exec, and the caller's to close. */
#ifndef ZCRP_TRANSPORT_NAMES_H
#define ZCRP_TRANSPORT_NAMES_H

#include "core/instant.h"

#include <stdbool.h>

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

/* A raw socket of IP protocol 137, connected to the host, or bound to one of this machine's (NULL:
 * any). -EPERM without the right to raw sockets. */
__attribute__((warn_unused_result)) int aal5_socket_connect(const char *host, int *fd);
__attribute__((warn_unused_result)) int aal5_socket_bind(const char *host, int *fd);

/* Is it a UDP socket, and port 6635, which says that it carries AAL5, its own or its peer's? */
bool aal5_socket_has_port(int fd);

/* Waits for the peer of a bound socket: the first that shows that it reads what is sent to its
 * address (core/wire/cookie.h). (accept.c)
 *
 * Answers hellos, and connects the socket to where the first hello with a good cookie came from.
 * That hello stays in the socket, for the receiver that is opened with it. What came before it is
 * gone; the channel drops what others sent meanwhile. On raw sockets of AAL5, and on UDP port 6635,
 * hellos come in PDUs of any circuit, and are answered on the same.
 *
 * 0; -ETIMEDOUT after the deadline (NEVER: no limit), or another negative error number: then the
 * socket is as it was, connected to nobody. A machine with several addresses should bind to the one
 * that its peer uses: to the peer, an answer from another one would be a stranger's. */
__attribute__((warn_unused_result)) int accept_peer(int fd, instant deadline);

#endif
