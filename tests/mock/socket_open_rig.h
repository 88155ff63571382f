/* The kernel for tests of socket_open: one socket, whose options are kept as they are set. */
#ifndef ZCRP_TESTS_MOCK_SOCKET_OPEN_RIG_H
#define ZCRP_TESTS_MOCK_SOCKET_OPEN_RIG_H

#include "channel/socket.h"

#include "../support/mock.h"

#include <arpa/inet.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum { FD = 9 };

/* A socket as the kernel would have it; an errno in place of an answer where one is set. */
struct fake {
    int type_error, type, domain, protocol, peer_error;
    const char *peer6;
    int mtu, discovery, receive_buffer, send_buffer, buffer_limit, drops;
    bool may_force, knows_gso, knows_gro;
    int gro, overflow; /* as set; -1: not */
    int segment;       /* UDP_SEGMENT; 0: not */
    bool knows_ecn;    /* of its domain */
    int tos, class;    /* of IPv4 and IPv6 */
    int tells_tos, tells_class;
};

static const struct fake udp4 = {
    .type = SOCK_DGRAM,
    .domain = AF_INET,
    .protocol = IPPROTO_UDP,
    .mtu = 1500,
    .discovery = IP_PMTUDISC_WANT,
    .receive_buffer = 212992,
    .send_buffer = 212992,
    .buffer_limit = 1 << 20,
    .drops = 4,
    .knows_gso = true,
    .knows_gro = true,
    .gro = -1,
    .overflow = -1,
};

static struct fake fake;
static struct channel c;

static int fail_with(int error)
{
    errno = error;
    return -1;
}

static int *path_option(int level, int name)
{
    if (level == IPPROTO_IPV6 && name == IPV6_MTU)
        return fake.domain == AF_INET6 ? &fake.mtu : NULL;
    if (level == IPPROTO_IPV6 && name == IPV6_MTU_DISCOVER)
        return fake.domain == AF_INET6 ? &fake.discovery : NULL;
    if (level == IPPROTO_IP && name == IP_MTU)
        return &fake.mtu;
    if (level == IPPROTO_IP && name == IP_MTU_DISCOVER)
        return &fake.discovery;
    return NULL;
}

static int *ecn_option(int level, int name)
{
    if (!fake.knows_ecn)
        return NULL;
    if (level == IPPROTO_IP)
        return name == IP_TOS ? &fake.tos : name == IP_RECVTOS ? &fake.tells_tos : NULL;
    if (level == IPPROTO_IPV6 && fake.domain == AF_INET6)
        return name == IPV6_TCLASS       ? &fake.class
               : name == IPV6_RECVTCLASS ? &fake.tells_class
                                         : NULL;
    return NULL;
}

static int *socket_option(int name)
{
    switch (name) {
    case SO_TYPE:
        return &fake.type;
    case SO_DOMAIN:
        return &fake.domain;
    case SO_PROTOCOL:
        return &fake.protocol;
    case SO_RCVBUF:
        return &fake.receive_buffer;
    case SO_SNDBUF:
        return &fake.send_buffer;
    default:
        return NULL;
    }
}

int __wrap_getsockopt(int fd, int level, int name, void *value, socklen_t *size)
{
    static int zero;
    int *found = level == SOL_SOCKET ? socket_option(name) : path_option(level, name);

    assert_int_equal(fd, FD);
    if (fake.type_error)
        return fail_with(fake.type_error);
    if (level == SOL_SOCKET && name == SO_MEMINFO) {
        assert_int_equal(*size, SK_MEMINFO_VARS * sizeof(uint32_t));
        ((uint32_t *)value)[SK_MEMINFO_DROPS] = (uint32_t)fake.drops;
        return 0;
    }
    if (level == IPPROTO_UDP && name == UDP_SEGMENT && fake.knows_gso)
        found = &zero;
    if (!found)
        found = ecn_option(level, name);
    if (!found)
        return fail_with(ENOPROTOOPT);
    assert_int_equal(*size, sizeof(int));
    memcpy(value, found, sizeof(int));
    return 0;
}

static int set_buffer(int *buffer, int size, bool is_forced)
{
    if (is_forced && !fake.may_force)
        return fail_with(EPERM);
    *buffer = 2 * (size < fake.buffer_limit || is_forced ? size : fake.buffer_limit);
    return 0;
}

int __wrap_setsockopt(int fd, int level, int name, const void *value, socklen_t size)
{
    int number;

    assert_int_equal(fd, FD);
    assert_int_equal(size, sizeof(number));
    memcpy(&number, value, sizeof(number));
    if (level == SOL_SOCKET && (name == SO_RCVBUF || name == SO_RCVBUFFORCE))
        return set_buffer(&fake.receive_buffer, number, name == SO_RCVBUFFORCE);
    if (level == SOL_SOCKET && (name == SO_SNDBUF || name == SO_SNDBUFFORCE))
        return set_buffer(&fake.send_buffer, number, name == SO_SNDBUFFORCE);
    if (level == SOL_SOCKET && name == SO_RXQ_OVFL) {
        fake.overflow = number;
        return 0;
    }
    if (level == IPPROTO_UDP && name == UDP_GRO && fake.knows_gro) {
        fake.gro = number;
        return 0;
    }
    if (level == IPPROTO_UDP && name == UDP_SEGMENT && fake.knows_gso) {
        fake.segment = number;
        return 0;
    }
    if (ecn_option(level, name)) {
        *ecn_option(level, name) = number;
        return 0;
    }
    if (name == IP_MTU_DISCOVER || name == IPV6_MTU_DISCOVER) {
        *path_option(level, name) = number;
        return 0;
    }
    return fail_with(ENOPROTOOPT);
}

int __wrap_getpeername(int fd, struct sockaddr *address, socklen_t *size)
{
    struct sockaddr_in6 *peer = (struct sockaddr_in6 *)(void *)address;

    assert_int_equal(fd, FD);
    assert_true(*size >= sizeof(*peer));
    if (fake.peer_error)
        return fail_with(fake.peer_error);
    address->sa_family = (sa_family_t)fake.domain;
    if (fake.peer6)
        assert_int_equal(inet_pton(AF_INET6, fake.peer6, &peer->sin6_addr), 1);
    return 0;
}

static void setup(void)
{
    fake = udp4;
    unsetenv("ZCRP_NO_SEGMENT");
    unsetenv("ZCRP_NO_GRO");
    unsetenv("ZCRP_NO_OFFLOAD");
    unsetenv("ZCRP_NO_ECN");
}

static inline uint32_t gso_segments(void)
{
    return atomic_load(&c.gso_segments);
}

#endif
