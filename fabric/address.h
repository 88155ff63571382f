/* Where an endpoint listens: an address of IPv4 or IPv6 and a port. Programs see it as a sockaddr.
 */
#ifndef FABRIC_ADDRESS_H
#define FABRIC_ADDRESS_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

struct address {
    bool is_ip6;
    uint16_t port;     /* in the host's order */
    uint8_t bytes[16]; /* of IPv4 the first four, then zeros */
};

enum { ADDRESS_TEXT = INET6_ADDRSTRLEN, PORT_TEXT = 6 };

bool address_is_same(const struct address *a, const struct address *b);

/* 0 is an address of the system's choice, as for bind. */
bool address_is_any(const struct address *a);

bool address_is_loopback(const struct address *a);

/* False if it is neither of IPv4 nor of IPv6, or `size` is too small for it. */
bool address_read(struct address *a, const void *sockaddr, size_t size);

/* Returns its size. */
size_t address_write(const struct address *a, struct sockaddr_storage *sockaddr);

/* As fi_getname has it: fills as much as there is room for, and sets *size. 0 or -FI_ETOOSMALL. */
int address_hand_out(const struct address *a, void *sockaddr, size_t *size);

/* The number alone, without the port. */
void address_text(const struct address *a, char text[ADDRESS_TEXT]);

/* The first address of a name, or number, and service; either may be NULL. Flags: FI_SOURCE, it is
 * this machine's own; FI_NUMERICHOST, no name. 0 or -FI_ENODATA. */
int address_resolve(struct address *a, const char *node, const char *service, uint64_t flags,
                    uint32_t format);

/* The address of this machine that datagrams to `to` leave from. False: there is no route. */
bool address_toward(struct address *own, const struct address *to);

#endif
