/* Sockets by host and port: a convenience of the public API. The channel takes any connected socket
 * that it knows, wherever it comes from.
 *
 * A host is a name or an address ("example.org", "192.0.2.1", "::1"). NULL is any address
 * of this machine, or, for a peer, this machine itself. A port is a number or a service's name;
 * a local port of NULL or "0" leaves the choice to the system. Addresses are tried in the order in
 * which the name resolves, until one works: until a socket can be connected or bound. This
 * does not show whether anybody listens there. Looking up a name may block for long.
 *
 * Each returns a descriptor, close-on-exec and the caller's to close; or the system's negative
 * error number; or, if the name does not resolve, a number from which names_resolver has what the
 * resolver says. */
#ifndef ZCRP_TRANSPORT_NAMES_H
#define ZCRP_TRANSPORT_NAMES_H

#include "core/instant.h"

#include "address.h"

#include <stdbool.h>

/* Results of the resolver are below all error numbers. */
enum { NAMES_RESOLVER = -0x1000 };

/* The resolver's code (EAI_NONAME, ...) in a result; 0 if that is not the resolver's. */
static inline int names_resolver(int result)
{
    return result < NAMES_RESOLVER ? result - NAMES_RESOLVER : 0;
}

/* A UDP socket connected to its peer, or bound to a local address, where it waits for its peer
 * (accept_peer). Bound to any address it takes IPv6 and IPv4: it is an IPv6 socket, which shows
 * IPv4 peers by mapped addresses. Only on a machine without IPv6 it is an IPv4 socket. */
__attribute__((warn_unused_result)) int udp_connect(const char *host, const char *port);
__attribute__((warn_unused_result)) int udp_bind(const char *host, const char *port);

/* Would the system choose another address of this machine's for a socket that is connected to
 * `peer` as `fd` is, because the present one is gone, or no route leads from there? Then `fd` is
 * connected anew, with that address and another port: true. A socket without a peer is connected,
 * too. Nobody uses it meanwhile. Some system calls. */
bool udp_bind_anew(int fd, const union address *peer);

/* A raw socket of IP protocol 137, also connected or bound; but any address is any IPv4 address,
 * because raw IPv6 sockets take IPv6 alone. -EPERM without the right to raw sockets. */
__attribute__((warn_unused_result)) int aal5_connect(const char *host);
__attribute__((warn_unused_result)) int aal5_bind(const char *host);

/* Is it a UDP socket, and port 6635, which says that it carries AAL5, its own or its peer's? */
bool aal5_has_port(int fd);

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
