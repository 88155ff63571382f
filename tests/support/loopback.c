#include "loopback.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { PROTOCOL = 137, PORT = 6635, IP_HEAD = 20 };

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

static bool is_channel(const char *name)
{
    const char *wanted = getenv("ZCRP_TEST_CHANNEL");
    return wanted && strcmp(wanted, name) == 0;
}

bool loopback_is_raw(void)
{
    return is_channel("aal5");
}

bool loopback_is_aal5(void)
{
    return loopback_is_raw() || is_channel("aal5-udp");
}

bool loopback_is_udp(void)
{
    return !loopback_is_aal5();
}

bool loopback_is_lossy(void)
{
    const char *faults = getenv("ZCRP_AAL5");
    return loopback_is_aal5() && faults && strstr(faults, "loss=");
}

bool loopback_is_permitted(void)
{
    int fd = loopback_is_raw() ? socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC, PROTOCOL) : -1;

    if (fd >= 0)
        close(fd);
    return !loopback_is_raw() || fd >= 0;
}

size_t loopback_head(void)
{
    return loopback_is_raw() ? IP_HEAD : 0;
}

/* The process's own addresses, one after the other: what other programs test at the same time is
 * not heard. */
static int bind_aal5(void)
{
    static unsigned count;
    union address a = {.any.sa_family = AF_INET};
    uint32_t pid = (uint32_t)getpid();
    int fd = loopback_is_raw() ? socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC, PROTOCOL)
                               : socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    must(fd >= 0, "socket (IP protocol 137 needs CAP_NET_RAW)");
    a.ip4.sin_port = htons(loopback_is_raw() ? 0 : PORT);
    a.ip4.sin_addr.s_addr =
        htonl(127U << 24 | (64 | (pid >> 8 & 127)) << 16 | (pid & 255) << 8 | (1 + count++ % 254));
    must(bind(fd, &a.any, sizeof(a.ip4)) == 0, "bind");
    return fd;
}

static int bind_ip(int family)
{
    union address a = {.any.sa_family = (sa_family_t)family};
    int fd = socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    must(fd >= 0, "socket");
    if (family == AF_INET)
        a.ip4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    else
        a.ip6.sin6_addr = in6addr_loopback;
    must(bind(fd, &a.any, family == AF_INET ? sizeof(a.ip4) : sizeof(a.ip6)) == 0, "bind");
    return fd;
}

static int bind_to(int family)
{
    int fd = loopback_is_aal5() ? bind_aal5() : bind_ip(family);
    int bytes = 4 << 20;

    (void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes));
    return fd;
}

int loopback_bind(void)
{
    return bind_to(AF_INET);
}

/* Until it was bound and connected a raw socket has heard what all others say. */
static void drop_strange(int fd)
{
    char byte;

    while (recv(fd, &byte, 1, MSG_DONTWAIT) >= 0)
        continue;
}

void loopback_connect(int fd, int to)
{
    union address a;
    socklen_t size = sizeof(a);

    must(getsockname(to, &a.any, &size) == 0, "getsockname");
    must(connect(fd, &a.any, size) == 0, "connect");
    if (loopback_is_raw())
        drop_strange(fd);
}

void loopback_pair(enum loopback_kind kind, int pair[2])
{
    if (kind == LOOPBACK_UNIX && !loopback_is_aal5()) {
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
