#include "names.h"

#include "address.h"
#include "core/wire/aal5.h"
#include "udp/socket.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stddef.h>
#include <sys/socket.h>
#include <unistd.h>

_Static_assert(EAI_NONAME < 0, "the resolver's codes are negative");

/* One of the two calls that give a socket an address. */
typedef int (*address_call)(int fd, const struct sockaddr *address, socklen_t size);

static int open_at(const struct addrinfo *a, int protocol, address_call call)
{
    int type = protocol == IPPROTO_UDP ? SOCK_DGRAM : SOCK_RAW;
    int fd = socket(a->ai_family, type | SOCK_CLOEXEC, protocol);

    if (fd < 0)
        return -errno;
    if (call(fd, a->ai_addr, a->ai_addrlen) == 0)
        return fd;
    int error = -errno;
    (void)close(fd);
    return error;
}

/* To any address of IPv6, and so of IPv4, too, whatever the system's default is. */
static int bind_both(int fd, const struct sockaddr *address, socklen_t size)
{
    int off = 0;

    if (setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off)) != 0)
        return -1;
    return bind(fd, address, size);
}

/* Does the error say only that this machine has nothing to do with the address? Names have
 * addresses of several families, and this says less than what is wrong with another of them. */
static bool is_of_family(int error)
{
    return error == -EAFNOSUPPORT || error == -EADDRNOTAVAIL || error == -ENETUNREACH;
}

/* The socket of the first address that works; where none does, the error of the last one whose
 * error says something. */
static int open_by_name(const char *host, const char *port, int family, int protocol,
                        address_call call)
{
    const struct addrinfo hints = {
        .ai_family = family,
        .ai_socktype = SOCK_DGRAM,
        .ai_protocol = IPPROTO_UDP,
        .ai_flags = call == connect ? 0 : AI_PASSIVE,
    };
    struct addrinfo *list;
    errno = 0; /* a resolver may fail with EAI_SYSTEM, and set none */
    int error = getaddrinfo(host, port ? port : "0", &hints, &list);
    int fd = -EADDRNOTAVAIL;

    if (error == EAI_SYSTEM)
        return errno > 0 ? -errno : -EIO;
    if (error == EAI_MEMORY)
        return -ENOMEM;
    if (error)
        return NAMES_RESOLVER + error;
    for (const struct addrinfo *a = list; fd < 0 && a; a = a->ai_next) {
        int result = open_at(a, protocol, call);
        if (is_of_family(fd) || !is_of_family(result))
            fd = result;
    }
    freeaddrinfo(list);
    return fd;
}

int udp_connect(const char *host, const char *port)
{
    return open_by_name(host, port, AF_UNSPEC, IPPROTO_UDP, connect);
}

int udp_bind(const char *host, const char *port)
{
    if (host != NULL)
        return open_by_name(host, port, AF_UNSPEC, IPPROTO_UDP, bind);
    int fd = open_by_name(NULL, port, AF_INET6, IPPROTO_UDP, bind_both);
    return is_of_family(fd) ? open_by_name(NULL, port, AF_INET, IPPROTO_UDP, bind) : fd;
}

/* The address that the system chooses now; no family: no route leads to the peer. */
static union address choose_own(const union address *peer)
{
    union address own = {.room = {.ss_family = AF_UNSPEC}};
    int fd = socket(peer->any.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, IPPROTO_UDP);

    if (fd < 0)
        return own;
    if (connect(fd, &peer->any, address_bytes(peer)) == 0)
        own = address_of_socket(fd);
    (void)close(fd);
    return own;
}

bool udp_bind_anew(int fd, const union address *peer)
{
    const struct sockaddr nobody = {.sa_family = AF_UNSPEC};
    union address present = address_of_socket(fd), chosen = choose_own(peer);
    bool is_connected = address_of_peer(fd).any.sa_family != AF_UNSPEC;

    if (chosen.any.sa_family == AF_UNSPEC ||
        (is_connected && address_has_host(&chosen, &present.any)))
        return false;
    if (connect(fd, &nobody, sizeof(nobody)) != 0 ||
        connect(fd, &peer->any, address_bytes(peer)) != 0)
        return false;
    union address now = address_of_socket(fd); /* one that its owner has bound keeps its address */
    return !is_connected || !address_has_host(&now, &present.any);
}

int aal5_connect(const char *host)
{
    return open_by_name(host, NULL, AF_UNSPEC, AAL5_PROTOCOL, connect);
}

int aal5_bind(const char *host)
{
    return open_by_name(host, NULL, AF_UNSPEC, AAL5_PROTOCOL, bind);
}

bool aal5_has_port(int fd)
{
    if (socket_get(fd, SOL_SOCKET, SO_PROTOCOL) != IPPROTO_UDP)
        return false;
    union address own = address_of_socket(fd), peer = address_of_peer(fd);
    return address_port(&own) == AAL5_UDP_PORT || address_port(&peer) == AAL5_UDP_PORT;
}
