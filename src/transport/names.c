#include "names.h"

#include "address.h"
#include "core/wire/aal5.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* EAI codes are small negative numbers, as our own are: they start behind every errno. */
enum { RESOLVE_CODES = 4096 };

static int resolve(const char *host, const char *port, int family, int flags,
                   struct addrinfo **list)
{
    struct addrinfo hints = {
        .ai_family = family,
        .ai_socktype = SOCK_DGRAM,
        .ai_protocol = IPPROTO_UDP,
        .ai_flags = flags,
    };
    int error = getaddrinfo(host, port ? port : "0", &hints, list);

    if (error == EAI_SYSTEM)
        return -errno;
    return error ? error - RESOLVE_CODES : 0;
}

/* A socket bound to one address. */
static int bind_one(const struct addrinfo *a, int *fd)
{
    int error;

    *fd = socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC, a->ai_protocol);
    if (*fd < 0)
        return -errno;
    if (bind(*fd, a->ai_addr, a->ai_addrlen) == 0)
        return 0;
    error = -errno;
    (void)close(*fd);
    *fd = -1;
    return error;
}

static int bind_family(const char *host, const char *port, int family, int *fd)
{
    struct addrinfo *list;
    int error = resolve(host, port, family, AI_PASSIVE, &list);

    *fd = -1;
    if (error)
        return error;
    for (const struct addrinfo *a = list; a; a = a->ai_next) {
        error = bind_one(a, fd);
        if (!error)
            break;
    }
    freeaddrinfo(list);
    return error;
}

int udp_bind(const char *host, const char *port, int *fd)
{
    return bind_family(host, port, AF_UNSPEC, fd);
}

static int family_of(int fd)
{
    int family;
    socklen_t size = sizeof(family);

    return getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &family, &size) == 0 ? family : -errno;
}

int udp_connect_fd(int fd, const char *host, const char *port)
{
    struct addrinfo *list;
    int family = family_of(fd);
    int error = family < 0 ? family : resolve(host, port, family, AI_V4MAPPED, &list);

    if (error)
        return error;
    for (const struct addrinfo *a = list; a; a = a->ai_next) {
        error = connect(fd, a->ai_addr, a->ai_addrlen) == 0 ? 0 : -errno;
        if (!error)
            break;
    }
    freeaddrinfo(list);
    return error;
}

static int open_one(const char *local_host, const char *local_port, const struct addrinfo *remote,
                    int *fd)
{
    int error = bind_family(local_host, local_port, remote->ai_family, fd);

    if (error || connect(*fd, remote->ai_addr, remote->ai_addrlen) == 0)
        return error;
    error = -errno;
    (void)close(*fd);
    *fd = -1;
    return error;
}

int udp_open(const char *local_host, const char *local_port, const char *remote_host,
             const char *remote_port, int *fd)
{
    struct addrinfo *list;
    int error = resolve(remote_host, remote_port, AF_UNSPEC, 0, &list);

    *fd = -1;
    if (error)
        return error;
    for (const struct addrinfo *a = list; a; a = a->ai_next) {
        error = open_one(local_host, local_port, a, fd);
        if (!error)
            break;
    }
    freeaddrinfo(list);
    return error;
}

const char *udp_open_text(int code)
{
    return code < -RESOLVE_CODES / 2 ? gai_strerror(code + RESOLVE_CODES) : strerror(-code);
}

/* ---- AAL5 ---- */

/* One of the two calls that give a socket an address. */
typedef int (*address_call)(int fd, const struct sockaddr *address, socklen_t size);

static int open_raw(const struct addrinfo *a, address_call call, int *fd)
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

static int open_raw_by_name(const char *host, int flags, address_call call, int *fd)
{
    struct addrinfo *list;
    int error = resolve(host, NULL, AF_UNSPEC, flags, &list);

    *fd = -1;
    if (error)
        return error;
    for (const struct addrinfo *a = list; a; a = a->ai_next) {
        error = open_raw(a, call, fd);
        if (!error)
            break;
    }
    freeaddrinfo(list);
    return error;
}

int aal5_socket_connect(const char *host, int *fd)
{
    return open_raw_by_name(host, 0, connect, fd);
}

int aal5_socket_bind(const char *host, int *fd)
{
    return open_raw_by_name(host, AI_PASSIVE, bind, fd);
}

bool aal5_socket_has_port(int fd)
{
    union address own = {.room = {.ss_family = AF_UNSPEC}}, peer;
    socklen_t own_size = sizeof(own), size = sizeof(int);
    int protocol = 0;

    if (getsockopt(fd, SOL_SOCKET, SO_PROTOCOL, &protocol, &size) != 0 || protocol != IPPROTO_UDP)
        return false;
    if (getsockname(fd, &own.any, &own_size) == 0 && address_port(&own) == AAL5_UDP_PORT)
        return true;
    peer = address_of_peer(fd);
    return address_port(&peer) == AAL5_UDP_PORT;
}
