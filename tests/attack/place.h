/* Where datagrams come from and go to on the stage, by IPv4 or by IPv6, as the stage is. An address
 * is a number in either case: over IPv6 0xC6120001 is fd00:5a:c612:1::1, in a network of its own.
 */
#ifndef ZCRP_TESTS_ATTACK_PLACE_H
#define ZCRP_TESTS_ATTACK_PLACE_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

struct raw_end {
    uint32_t address; /* in the host's order */
    uint16_t port;
};

/* The family of the stage that was opened last: AF_INET, or AF_INET6. */
extern int place_family;

static inline bool place_is_ipv6(void)
{
    return place_family == AF_INET6;
}

/* A socket's address for the end, and its size. */
union place_address {
    struct sockaddr any;
    struct sockaddr_in in;
    struct sockaddr_in6 in6;
};
union place_address place_address_of(struct raw_end end, socklen_t *size);

/* The end of a socket's address; and the address of a text. 0 if it is none of the stage's. */
struct raw_end place_end_of(const union place_address *address);
uint32_t place_number(const char *text);

/* The address as a text. */
void place_text(uint32_t address, char text[INET6_ADDRSTRLEN]);

/* The 16 bytes of an address of IPv6, and back. */
void place_put(uint8_t bytes[16], uint32_t address);
uint32_t place_get(const uint8_t bytes[16]);

#endif
