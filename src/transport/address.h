/* Addresses of peers: comparing them, and the number that stands for one in a cookie.
 *
 * A socket of IPv6 has a peer by IPv4 at a mapped address (::ffff:192.0.2.1). Here that is the
 * same as the address of IPv4: it compares equal to it, and is written like it. */
#ifndef ZCRP_TRANSPORT_ADDRESS_H
#define ZCRP_TRANSPORT_ADDRESS_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

/* Room for any address. */
union address {
    struct sockaddr any;
    struct sockaddr_in ip4;
    struct sockaddr_in6 ip6;
    struct sockaddr_storage room;
};

/* Turns a mapped address (IPv6) back into its IPv4 address; leaves others alone. */
void address_unmap(union address *a);

/* Bytes of the address, as the system's calls want them. */
socklen_t address_bytes(const union address *a);

/* Same family, host and port, and on the same link? An address of no family is like none. */
bool address_is_same(const union address *a, const union address *b);

/* Is the host the same, whatever the ports? */
bool address_has_host(const union address *a, const struct sockaddr *host);

/* The port; 0 if the family has none. */
uint16_t address_port(const union address *a);

/* The address of a connected socket's peer, and the one that a socket is bound to, not mapped;
 * family 0 and errno if the system does not say. */
union address address_of_peer(int fd);
union address address_of_socket(int fd);

/* The family that the socket was made with; a socket of IPv6 may have a peer by IPv4. */
int address_family_of(int fd);

/* Writes host and port: "192.0.2.1:7000", "[2001:db8::1]:7000". 0; -ENOSPC if `size` bytes are too
 * few (64 are enough); -EAFNOSUPPORT if the family is neither of IP's. */
__attribute__((warn_unused_result)) int address_write(const union address *a, char *text,
                                                      size_t size);

/* A number that stands for host and port, the same for equal addresses in one process; 0 if the
 * family is neither of IP's. */
uint64_t address_number(const union address *a);

/* The same of the host alone, whatever the port. In IPv6 all addresses of one network of 64 bits
 * are one host, because one host may take any of them. */
uint64_t address_host_number(const union address *a);

#endif
