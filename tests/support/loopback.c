#include "loopback.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

union address {
    struct sockaddr any;
    struct sockaddr_in ip4;
    struct sockaddr_in6 ip6;
    struct sockaddr_storage room;
};

static void must(bool is_good, const char *what)
{
    if (is_good)
        return;
    perror(what);
    abort();
}

static int bind_to(int family)
{
    union address a = {.any.sa_family = (sa_family_t)family};
    int fd = socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    int bytes = 4 << 20;

    must(fd >= 0, "socket");
    if (family == AF_INET)
        a.ip4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    else
        a.ip6.sin6_addr = in6addr_loopback;
    must(bind(fd, &a.any, family == AF_INET ? sizeof(a.ip4) : sizeof(a.ip6)) == 0, "bind");
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes));
    return fd;
}

int loopback_bind(void)
{
    return bind_to(AF_INET);
}

void loopback_connect(int fd, int to)
{
    union address a;
    socklen_t size = sizeof(a);

    must(getsockname(to, &a.any, &size) == 0, "getsockname");
    must(connect(fd, &a.any, size) == 0, "connect");
}

void loopback_pair(enum loopback_kind kind, int pair[2])
{
    if (kind == LOOPBACK_UNIX) {
        must(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, pair) == 0, "socketpair");
        return;
    }
    for (int i = 0; i < 2; i++)
        pair[i] = bind_to(kind == LOOPBACK_UDP4 ? AF_INET : AF_INET6);
    loopback_connect(pair[0], pair[1]);
    loopback_connect(pair[1], pair[0]);
}

struct loopback loopback_open(enum loopback_kind kind, bool is_simplex)
{
    int units[2];
    int control[2];

    loopback_pair(kind, units);
    if (is_simplex)
        loopback_pair(kind, control);
    return (struct loopback){
        .sender = {is_simplex ? control[0] : units[0], units[0]},
        .receiver = {is_simplex ? control[1] : units[1], units[1]},
    };
}

void loopback_close(const struct loopback *l)
{
    close(l->sender[1]);
    close(l->receiver[1]);
    if (l->sender[0] == l->sender[1])
        return;
    close(l->sender[0]);
    close(l->receiver[0]);
}
