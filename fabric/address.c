#include "address.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <rdma/fabric.h>
#include <rdma/fi_errno.h>
#include <string.h>
#include <unistd.h>

bool address_is_same(const struct address *a, const struct address *b)
{
    return a->is_ip6 == b->is_ip6 && a->port == b->port &&
           memcmp(a->bytes, b->bytes, sizeof(a->bytes)) == 0;
}

bool address_is_any(const struct address *a)
{
    static const uint8_t zeros[16];

    return memcmp(a->bytes, zeros, sizeof(zeros)) == 0;
}

bool address_is_loopback(const struct address *a)
{
    static const uint8_t one[16] = {[15] = 1};

    return a->is_ip6 ? memcmp(a->bytes, one, sizeof(one)) == 0 : a->bytes[0] == 127;
}

bool address_read(struct address *a, const void *sockaddr, size_t size)
{
    struct sockaddr_in ip4;
    struct sockaddr_in6 ip6;
    sa_family_t family;

    *a = (struct address){.port = 0};
    if (sockaddr == NULL || size < offsetof(struct sockaddr, sa_data))
        return false;
    memcpy(&family, (const char *)sockaddr + offsetof(struct sockaddr, sa_family), sizeof(family));
    if (family == AF_INET && size >= sizeof(ip4)) {
        memcpy(&ip4, sockaddr, sizeof(ip4));
        a->port = ntohs(ip4.sin_port);
        memcpy(a->bytes, &ip4.sin_addr, sizeof(ip4.sin_addr));
        return true;
    }
    if (family == AF_INET6 && size >= sizeof(ip6)) {
        memcpy(&ip6, sockaddr, sizeof(ip6));
        a->is_ip6 = true;
        a->port = ntohs(ip6.sin6_port);
        memcpy(a->bytes, &ip6.sin6_addr, sizeof(ip6.sin6_addr));
        return true;
    }
    return false;
}

size_t address_write(const struct address *a, struct sockaddr_storage *sockaddr)
{
    struct sockaddr_in ip4 = {.sin_family = AF_INET, .sin_port = htons(a->port)};
    struct sockaddr_in6 ip6 = {.sin6_family = AF_INET6, .sin6_port = htons(a->port)};

    *sockaddr = (struct sockaddr_storage){.ss_family = AF_UNSPEC};
    if (a->is_ip6) {
        memcpy(&ip6.sin6_addr, a->bytes, sizeof(ip6.sin6_addr));
        memcpy(sockaddr, &ip6, sizeof(ip6));
        return sizeof(ip6);
    }
    memcpy(&ip4.sin_addr, a->bytes, sizeof(ip4.sin_addr));
    memcpy(sockaddr, &ip4, sizeof(ip4));
    return sizeof(ip4);
}

int address_hand_out(const struct address *a, void *sockaddr, size_t *size)
{
    struct sockaddr_storage whole;
    size_t bytes = address_write(a, &whole);
    size_t room = *size;

    *size = bytes;
    if (room > 0 && sockaddr != NULL)
        memcpy(sockaddr, &whole, room < bytes ? room : bytes);
    return room < bytes || sockaddr == NULL ? -FI_ETOOSMALL : 0;
}

void address_text(const struct address *a, char text[ADDRESS_TEXT])
{
    if (inet_ntop(a->is_ip6 ? AF_INET6 : AF_INET, a->bytes, text, ADDRESS_TEXT) == NULL)
        text[0] = '\0';
}

int address_resolve(struct address *a, const char *node, const char *service, uint64_t flags,
                    uint32_t format)
{
    const struct addrinfo hints = {.ai_family = format == FI_SOCKADDR_IN    ? AF_INET
                                                : format == FI_SOCKADDR_IN6 ? AF_INET6
                                                                            : AF_UNSPEC,
                                   .ai_socktype = SOCK_DGRAM,
                                   .ai_flags =
                                       ((flags & FI_SOURCE) != 0 ? AI_PASSIVE : 0) |
                                       ((flags & FI_NUMERICHOST) != 0 ? AI_NUMERICHOST : 0)};
    struct addrinfo *found;

    if (getaddrinfo(node, service, &hints, &found) != 0)
        return -FI_ENODATA;
    bool is_good = address_read(a, found->ai_addr, found->ai_addrlen);
    freeaddrinfo(found);
    return is_good ? 0 : -FI_ENODATA;
}

bool address_toward(struct address *own, const struct address *to)
{
    struct sockaddr_storage there, here;
    socklen_t size = (socklen_t)address_write(to, &there);
    int fd = socket(there.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    bool is_found = false;

    if (fd < 0)
        return false;
    if (connect(fd, (const struct sockaddr *)&there, size) == 0) {
        size = sizeof(here);
        is_found =
            getsockname(fd, (struct sockaddr *)&here, &size) == 0 && address_read(own, &here, size);
    }
    (void)close(fd);
    own->port = 0;
    return is_found;
}
