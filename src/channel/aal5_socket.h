/* Sockets for AAL5: raw ones by name, and UDP ones that say by their port what they carry. */
#ifndef ZCRP_CHANNEL_AAL5_SOCKET_H
#define ZCRP_CHANNEL_AAL5_SOCKET_H

#include <stdbool.h>

/* A raw socket of IP protocol 137, connected to the host, or bound to one of this machine's (NULL:
 * any). 0, and `*fd` is the caller's; else a code as udp_open.h has them, -EPERM without the right
 * to raw sockets, and `*fd` is -1. */
__attribute__((warn_unused_result)) int aal5_socket_connect(const char *host, int *fd);
__attribute__((warn_unused_result)) int aal5_socket_bind(const char *host, int *fd);

/* Is it a UDP socket, and port 6635 its own or its peer's? */
bool aal5_socket_has_port(int fd);

#endif
