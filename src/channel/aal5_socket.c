#include "aal5_socket.h"

#include "core/wire/aal5.h"
#include "udp_open.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stddef.h>
#include <sys/socket.h>
#include <unistd.h>

/* One of the two calls that give a socket an address. */
typedef int (*address_call)(int fd, const struct sockaddr *address, socklen_t size);

static int open_one(const struct addrinfo *a, address_call call, int *fd)
{
    int error;

    *fd = socket(a->ai_family, SOCK_RAW | SOCK_CLOEXEC, AAL5_PROTOCOL);
    if (*fd < 0)
        return -errno;
    if (call(*fd, a->ai_addr, a->ai_addrlen) == 0)
        return 0;
    error = -errno;
    (void)close(*fd);
    *fd = -1;
    return error;
}

static int open_by_name(const char *host, int flags, address_call call, int *fd)
{
    struct addrinfo *list;
    int error = udp_resolve(host, flags, &list);

    *fd = -1;
    if (error)
        return error;
    for (const struct addrinfo *a = list; a; a = a->ai_next) {
        error = open_one(a, call, fd);
        if (!error)
            break;
    }
    freeaddrinfo(list);
    return error;
}

int aal5_socket_connect(const char *host, int *fd)
{
    return open_by_name(host, 0, connect, fd);
}

int aal5_socket_bind(const char *host, int *fd)
{
    return open_by_name(host, AI_PASSIVE, bind, fd);
}

union address {
    struct sockaddr any;
    struct sockaddr_in ip4;
    struct sockaddr_in6 ip6;
    struct sockaddr_storage room;
};

static bool is_port(const union address *a)
{
    if (a->any.sa_family == AF_INET)
        return a->ip4.sin_port == htons(AAL5_UDP_PORT);
    return a->any.sa_family == AF_INET6 && a->ip6.sin6_port == htons(AAL5_UDP_PORT);
}

bool aal5_socket_has_port(int fd)
{
    union address own = {0}, peer = {0};
    socklen_t own_size = sizeof(own), peer_size = sizeof(peer), size = sizeof(int);
    int protocol = 0;

    if (getsockopt(fd, SOL_SOCKET, SO_PROTOCOL, &protocol, &size) != 0 || protocol != IPPROTO_UDP)
        return false;
    return (getsockname(fd, &own.any, &own_size) == 0 && is_port(&own)) ||
           (getpeername(fd, &peer.any, &peer_size) == 0 && is_port(&peer));
}
