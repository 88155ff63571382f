#include "zcrp-bench/control/connection.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "common/complain.h"
#include "zcrp-bench/job/record.h"

enum { RETRY_NS = 50000000, NS_A_MILLISECOND = 1000000, NS_A_SECOND = 1000000000 };

static int resolve(const struct address *address, int flags, struct addrinfo **found)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = flags};
    const char *host = address->host[0] != '\0' ? address->host : NULL;
    int error = getaddrinfo(host, address->port, &hints, found);

    if (error != 0)
        return complain("cannot resolve %s:%s: %s", address->host, address->port,
                        gai_strerror(error));
    return 0;
}

static int listen_at(const struct addrinfo *info)
{
    int fd = socket(info->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int one = 1;

    if (fd < 0)
        return -1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (bind(fd, info->ai_addr, info->ai_addrlen) == 0 && listen(fd, 64) == 0)
        return fd;
    close(fd);
    return -1;
}

int connection_listen(const struct address *address)
{
    struct addrinfo *found;
    int fd = -1;

    if (resolve(address, AI_PASSIVE, &found) < 0)
        return -1;
    for (struct addrinfo *info = found; info != NULL && fd < 0; info = info->ai_next)
        fd = listen_at(info);
    freeaddrinfo(found);
    if (fd < 0)
        return complain("cannot listen at %s:%s: %s", address->host, address->port,
                        strerror(errno));
    return fd;
}

void connection_limit(int fd, int64_t limit_ns)
{
    struct timeval limit = {
        .tv_sec = limit_ns / NS_A_SECOND,
        .tv_usec = limit_ns % NS_A_SECOND / 1000,
    };

    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
}

/* -1: errno says why; ENOPROTOOPT stands for an unknown congestion control. */
static int connect_to(const struct addrinfo *info, const char *congestion, int64_t limit_ns)
{
    int fd = socket(info->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    socklen_t length = (socklen_t)strlen(congestion);

    if (fd < 0)
        return -1;
    connection_limit(fd, limit_ns); /* connect obeys it too */
    if (length > 0 && setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, congestion, length) < 0) {
        errno = ENOPROTOOPT;
    } else if (connect(fd, info->ai_addr, info->ai_addrlen) == 0) {
        return fd;
    }
    int error = errno;
    close(fd);
    errno = error;
    return -1;
}

static int connect_to_any(const struct addrinfo *found, const char *congestion, int64_t limit_ns)
{
    int fd = -1;

    for (const struct addrinfo *info = found; info != NULL && fd < 0; info = info->ai_next)
        fd = connect_to(info, congestion, limit_ns);
    return fd;
}

int connection_open(const struct address *address, const char *congestion, int64_t limit_ns)
{
    struct watch start = watch_read();
    struct timespec pause = {.tv_nsec = RETRY_NS};
    struct addrinfo *found;
    int fd;

    if (resolve(address, 0, &found) < 0)
        return -1;
    while ((fd = connect_to_any(found, congestion, limit_ns)) < 0 && errno == ECONNREFUSED &&
           watch_since(start).wall_ns + RETRY_NS < limit_ns)
        nanosleep(&pause, NULL);
    freeaddrinfo(found);
    if (fd < 0 && errno == ENOPROTOOPT)
        return complain("this machine has no TCP congestion control '%s'", congestion);
    if (fd < 0)
        return complain("nobody answers at %s:%s: %s", address->host, address->port,
                        strerror(errno == EINPROGRESS ? ETIMEDOUT : errno));
    return fd;
}

int connection_accept(int listener, int64_t limit_ns)
{
    struct pollfd waiting = {.fd = listener, .events = POLLIN};
    int limit_ms = limit_ns < 0 ? -1 : (int)(limit_ns / NS_A_MILLISECOND);
    int ready = poll(&waiting, 1, limit_ms);
    int fd;

    if (ready == 0)
        return complain("nobody connected within %d s", limit_ms / 1000);
    fd = ready < 0 ? -1 : accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    if (fd < 0)
        return complain("cannot accept a connection: %s", strerror(errno));
    return fd;
}

enum { MOST_PORT = 65535 };

/* A number in range, or a name. The resolver would take larger numbers modulo 2^16. */
static bool may_be_port(const char *text)
{
    bool is_number = text[strspn(text, "0123456789")] == '\0';

    return *text != '\0' && (!is_number || strtoul(text, NULL, 10) <= MOST_PORT);
}

/* Where the port begins: behind the last colon that is not part of an address in brackets. ""
 * stands for the usual one. */
static const char *port_in(const char *text, size_t *host_length)
{
    const char *colon = strrchr(text, ':');
    const char *bracket = strrchr(text, ']');

    if (colon == NULL || (bracket != NULL && colon < bracket)) {
        *host_length = strlen(text);
        return ADDRESS_PORT;
    }
    *host_length = (size_t)(colon - text);
    return colon + 1;
}

int address_parse(const char *text, struct address *address)
{
    size_t length;
    const char *port = port_in(text, &length);

    if (!may_be_port(port))
        return -1;
    if (length >= 2 && text[0] == '[' && text[length - 1] == ']') {
        text++;
        length -= 2;
    } else if (memchr(text, ':', length) != NULL) {
        return -1;
    }
    if (length >= sizeof address->host || strlen(port) >= sizeof address->port)
        return -1;
    memcpy(address->host, text, length);
    address->host[length] = '\0';
    memcpy(address->port, port, strlen(port) + 1);
    return 0;
}

/* What getsockname or getpeername has said. */
static int check_address(int status)
{
    return status == 0 ? 0 : complain("a socket has no address: %s", strerror(errno));
}

int socket_address_local(int fd, struct socket_address *address)
{
    address->length = sizeof address->v6;
    return check_address(getsockname(fd, &address->any, &address->length));
}

int socket_address_peer(int fd, struct socket_address *address)
{
    address->length = sizeof address->v6;
    return check_address(getpeername(fd, &address->any, &address->length));
}

int socket_address_port(const struct socket_address *address)
{
    return ntohs(address->any.sa_family == AF_INET6 ? address->v6.sin6_port : address->v4.sin_port);
}

void socket_address_set_port(struct socket_address *address, int port)
{
    if (address->any.sa_family == AF_INET6)
        address->v6.sin6_port = htons((uint16_t)port);
    else
        address->v4.sin_port = htons((uint16_t)port);
}

static int in_numbers(const struct socket_address *name, struct address *address)
{
    int error = getnameinfo(&name->any, name->length, address->host, sizeof address->host,
                            address->port, sizeof address->port, NI_NUMERICHOST | NI_NUMERICSERV);

    return error == 0 ? 0 : complain("a socket has no address: %s", gai_strerror(error));
}

int address_local(int fd, struct address *address)
{
    struct socket_address name;

    return socket_address_local(fd, &name) < 0 ? -1 : in_numbers(&name, address);
}

int address_peer(int fd, int port, struct address *address)
{
    struct socket_address name;

    if (socket_address_peer(fd, &name) < 0)
        return -1;
    if (port != 0)
        socket_address_set_port(&name, port);
    return in_numbers(&name, address);
}

static bool is_from(int fd, const struct address *peer)
{
    struct address there;

    return address_peer(fd, 0, &there) == 0 && strcmp(there.host, peer->host) == 0 &&
           strcmp(there.port, peer->port) == 0;
}

int connection_accept_from(int listener, const struct address *peer, int64_t limit_ns)
{
    static const char busy[] = "failed it is busy with another run\n";
    int fd;

    while ((fd = connection_accept(listener, limit_ns)) >= 0 && !is_from(fd, peer)) {
        (void)!send(fd, busy, sizeof busy - 1, MSG_NOSIGNAL | MSG_DONTWAIT);
        close(fd);
    }
    return fd;
}
