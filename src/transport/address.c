#include "address.h"

#include "keyed_hash.h"

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>

enum { HOST_AT = 4, HOST_BYTES = 16, LINK_AT = HOST_AT + HOST_BYTES, PLACE_BYTES = LINK_AT + 4 };

void address_unmap(union address *a)
{
    struct sockaddr_in ip4 = {.sin_family = AF_INET, .sin_port = a->ip6.sin6_port};

    if (a->any.sa_family != AF_INET6 || !IN6_IS_ADDR_V4MAPPED(&a->ip6.sin6_addr))
        return;
    memcpy(&ip4.sin_addr, &a->ip6.sin6_addr.s6_addr[12], sizeof(ip4.sin_addr));
    *a = (union address){.ip4 = ip4};
}

socklen_t address_bytes(const union address *a)
{
    switch (a->any.sa_family) {
    case AF_INET:
        return sizeof(a->ip4);
    case AF_INET6:
        return sizeof(a->ip6);
    default:
        return sizeof(*a);
    }
}

/* Family, port, host, and of a host that is known on one link only that link, as bytes: equal for
 * equal addresses. False if the family is none of IP's. */
static bool place_of(const union address *address, uint8_t place[PLACE_BYTES])
{
    union address unmapped = *address;
    const union address *a = &unmapped;

    address_unmap(&unmapped);
    memset(place, 0, PLACE_BYTES);
    place[0] = (uint8_t)a->any.sa_family;
    if (a->any.sa_family == AF_INET) {
        memcpy(place + 2, &a->ip4.sin_port, 2);
        memcpy(place + HOST_AT, &a->ip4.sin_addr, sizeof(a->ip4.sin_addr));
    } else if (a->any.sa_family == AF_INET6) {
        memcpy(place + 2, &a->ip6.sin6_port, 2);
        memcpy(place + HOST_AT, &a->ip6.sin6_addr, sizeof(a->ip6.sin6_addr));
        if (IN6_IS_ADDR_LINKLOCAL(&a->ip6.sin6_addr))
            memcpy(place + LINK_AT, &a->ip6.sin6_scope_id, sizeof(a->ip6.sin6_scope_id));
    } else {
        return false;
    }
    return true;
}

bool address_is_same(const union address *a, const union address *b)
{
    uint8_t place_a[PLACE_BYTES], place_b[PLACE_BYTES];

    return place_of(a, place_a) && place_of(b, place_b) &&
           memcmp(place_a, place_b, PLACE_BYTES) == 0;
}

bool address_has_host(const union address *a, const struct sockaddr *host)
{
    union address other = {.room = {.ss_family = AF_UNSPEC}};
    uint8_t place_a[PLACE_BYTES], place_b[PLACE_BYTES];

    if (host->sa_family == AF_INET)
        memcpy(&other, host, sizeof(struct sockaddr_in));
    else if (host->sa_family == AF_INET6)
        memcpy(&other, host, sizeof(struct sockaddr_in6));
    if (!place_of(a, place_a) || !place_of(&other, place_b) || place_a[0] != place_b[0])
        return false;
    return memcmp(place_a + HOST_AT, place_b + HOST_AT, HOST_BYTES) == 0;
}

uint16_t address_port(const union address *a)
{
    uint8_t place[PLACE_BYTES];

    (void)place_of(a, place);
    return (uint16_t)(place[2] << 8 | place[3]);
}

/* What one of the two calls says of the socket. */
static union address ask(int fd, int (*call)(int fd, struct sockaddr *address, socklen_t *size))
{
    union address told = {.room = {.ss_family = AF_UNSPEC}};
    socklen_t size = sizeof(told);

    if (call(fd, &told.any, &size) != 0)
        told.room.ss_family = AF_UNSPEC;
    address_unmap(&told);
    return told;
}

union address address_of_peer(int fd)
{
    return ask(fd, getpeername);
}

union address address_of_socket(int fd)
{
    return ask(fd, getsockname);
}

int address_family_of(int fd)
{
    int family = AF_UNSPEC;
    socklen_t size = sizeof(family);

    (void)getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &family, &size);
    return family;
}

int address_write(const union address *address, char *text, size_t size)
{
    char host[NI_MAXHOST], port[NI_MAXSERV];
    union address a = *address;

    address_unmap(&a);
    bool is_ip6 = a.any.sa_family == AF_INET6;
    if ((a.any.sa_family != AF_INET && !is_ip6) ||
        getnameinfo(&a.any, sizeof(a), host, sizeof(host), port, sizeof(port),
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0)
        return -EAFNOSUPPORT;
    int length = snprintf(text, size, is_ip6 ? "[%s]:%s" : "%s:%s", host, port);
    return length >= 0 && (size_t)length < size ? 0 : -ENOSPC;
}

uint64_t address_number(const union address *a)
{
    struct cookie_jar jar = keyed_hash_jar();
    uint8_t place[PLACE_BYTES];

    return place_of(a, place) ? jar.hash(jar.key, place, sizeof(place)) : 0;
}

/* Are the last 64 bits the host's own choice? Not in ::/64, where this machine itself is and IPv4
 * is embedded, and not on one link only. */
static bool has_network(const uint8_t *host)
{
    static const uint8_t none[8];
    bool is_link = host[0] == 0xFE && (host[1] & 0xC0) == 0x80;

    return memcmp(host, none, sizeof(none)) != 0 && !is_link;
}

uint64_t address_host_number(const union address *a)
{
    struct cookie_jar jar = keyed_hash_jar();
    uint8_t place[PLACE_BYTES];

    if (!place_of(a, place))
        return 0;
    memset(place + 2, 0, 2);
    if (place[0] == AF_INET6 && has_network(place + HOST_AT))
        memset(place + HOST_AT + HOST_BYTES / 2, 0, HOST_BYTES / 2);
    return jar.hash(jar.key, place, sizeof(place));
}
