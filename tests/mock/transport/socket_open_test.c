/* wrap: getsockopt setsockopt getpeername */
/* The kernel for tests of channel_init: one socket, whose options are kept as they are set. */
#include "transport/udp/socket.h"

#include "../../support/mock.h"

#include <arpa/inet.h>
#include <linux/filter.h>
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
    int filter;        /* its steps; 0: it has none */
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

/* The options that hold a number; one that the kernel may not know has `is_known`. */
static const struct {
    int level, name;
    int *value;
    const bool *is_known;
} options[] = {
    {SOL_SOCKET, SO_TYPE, &fake.type, NULL},
    {SOL_SOCKET, SO_DOMAIN, &fake.domain, NULL},
    {SOL_SOCKET, SO_PROTOCOL, &fake.protocol, NULL},
    {SOL_SOCKET, SO_RCVBUF, &fake.receive_buffer, NULL},
    {SOL_SOCKET, SO_SNDBUF, &fake.send_buffer, NULL},
    {SOL_SOCKET, SO_RXQ_OVFL, &fake.overflow, NULL},
    {IPPROTO_UDP, UDP_SEGMENT, &fake.segment, &fake.knows_gso},
    {IPPROTO_UDP, UDP_GRO, &fake.gro, &fake.knows_gro},
    {IPPROTO_IP, IP_MTU, &fake.mtu, NULL},
    {IPPROTO_IP, IP_MTU_DISCOVER, &fake.discovery, NULL},
    {IPPROTO_IP, IP_TOS, &fake.tos, &fake.knows_ecn},
    {IPPROTO_IP, IP_RECVTOS, &fake.tells_tos, &fake.knows_ecn},
    {IPPROTO_IPV6, IPV6_MTU, &fake.mtu, NULL},
    {IPPROTO_IPV6, IPV6_MTU_DISCOVER, &fake.discovery, NULL},
    {IPPROTO_IPV6, IPV6_TCLASS, &fake.class, &fake.knows_ecn},
    {IPPROTO_IPV6, IPV6_RECVTCLASS, &fake.tells_class, &fake.knows_ecn},
};

static int *find_option(int level, int name)
{
    for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
        if (options[i].level != level || options[i].name != name)
            continue;
        bool is_known = options[i].is_known == NULL || *options[i].is_known;
        return is_known && (level != IPPROTO_IPV6 || fake.domain == AF_INET6) ? options[i].value
                                                                              : NULL;
    }
    return NULL;
}

int __wrap_getsockopt(int fd, int level, int name, void *value, socklen_t *size)
{
    const int *found = find_option(level, name);

    assert_int_equal(fd, FD);
    if (fake.type_error)
        return fail_with(fake.type_error);
    if (level == SOL_SOCKET && name == SO_MEMINFO) {
        assert_int_equal(*size, SK_MEMINFO_VARS * sizeof(uint32_t));
        ((uint32_t *)value)[SK_MEMINFO_DROPS] = (uint32_t)fake.drops;
        return 0;
    }
    if (level == SOL_SOCKET && name == SO_GET_FILTER) {
        assert_int_equal(*size, 0); /* it asks how many steps there are */
        *size = (socklen_t)fake.filter;
        return 0;
    }
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
    if (level == SOL_SOCKET && name == SO_ATTACH_FILTER) {
        fake.filter = ((const struct sock_fprog *)value)->len;
        return 0;
    }
    assert_int_equal(size, sizeof(number));
    memcpy(&number, value, sizeof(number));
    if (level == SOL_SOCKET && (name == SO_RCVBUF || name == SO_RCVBUFFORCE))
        return set_buffer(&fake.receive_buffer, number, name == SO_RCVBUFFORCE);
    if (level == SOL_SOCKET && (name == SO_SNDBUF || name == SO_SNDBUFFORCE))
        return set_buffer(&fake.send_buffer, number, name == SO_SNDBUFFORCE);
    if (level == SOL_SOCKET && name == SO_DETACH_FILTER)
        fake.filter = 0;
    int *found = find_option(level, name);
    if (!found)
        return fail_with(ENOPROTOOPT);
    *found = number;
    return 0;
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

/* ---- What a socket is, and what is left of the opening when it is given back. */

static const struct channel_options everything = {.use_gso = true, .use_gro = true};

FIXTURE(setup, NULL)

TEST(channel_init__mistakes)
{
    fake.type_error = EBADF;
    assert_int_equal(channel_init(&c, FD, &everything), -EBADF);
    fake.type_error = ENOTSOCK;
    assert_int_equal(channel_init(&c, FD, &everything), -ENOTSOCK);
    fake = udp4;
    fake.type = SOCK_STREAM;
    assert_int_equal(channel_init(&c, FD, &everything), -EPROTOTYPE);
    fake = udp4;
    fake.domain = AF_NETLINK;
    assert_int_equal(channel_init(&c, FD, &everything), -EAFNOSUPPORT);
    fake = udp4;
    fake.protocol = IPPROTO_ICMP;
    assert_int_equal(channel_init(&c, FD, &everything), -EAFNOSUPPORT);
    fake = udp4;
    fake.peer_error = ENOTCONN;
    assert_int_equal(channel_init(&c, FD, &everything), -ENOTCONN);
    assert_int_equal(fake.discovery, IP_PMTUDISC_WANT); /* and nothing was touched */
    assert_int_equal(fake.gro, -1);
}

TEST(channel_init__udp4)
{
    assert_int_equal(channel_init(&c, FD, &everything), 0);
    assert_int_equal(c.fd, FD);
    assert_int_equal(c.kind, CHANNEL_UDP4);
    assert_int_equal(c.datagram_max, 65507);
    assert_int_equal(c.path_bytes, 1472);
    assert_int_equal(c.receive_buffer, 212992);
    assert_int_equal(c.drops_seen, 4);
    assert_int_equal(gso_segments(), BURST_CUT);
    assert_true(c.has_gro);
    assert_int_equal(fake.gro, 1);
    assert_int_equal(fake.overflow, 1);
    assert_int_equal(fake.discovery, IP_PMTUDISC_PROBE);
    for (int i = 0; i < CHANNEL_COUNTERS; i++)
        assert_int_equal(channel_count(&c, (enum channel_counter)i), 0);
}

TEST(channel_init__path_bytes)
{
    static const struct {
        int domain;
        const char *peer6;
        int mtu;
        uint32_t path_bytes;
    } row[] = {
        {AF_INET, NULL, 1500, 1472},       {AF_INET, NULL, 9000, 8972},
        {AF_INET, NULL, 65536, 65507},     {AF_INET, NULL, 68, 1216}, /* a lie, or as good as one */
        {AF_INET, NULL, 1243, 1216},       {AF_INET, NULL, 1245, 1217},
        {AF_INET6, "::1", 65536, 65488},   {AF_INET6, "::1", 1280, 1232},
        {AF_INET6, "::1", 1 << 20, 65527}, {AF_INET6, "::ffff:192.0.2.1", 1500, 1472},
    };

    for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
        setup();
        fake.domain = row[i].domain;
        fake.peer6 = row[i].peer6;
        fake.mtu = row[i].mtu;
        assert_int_equal(channel_init(&c, FD, &everything), 0);
        assert_int_equal(c.path_bytes, row[i].path_bytes);
    }
}

TEST(channel_init__unix)
{
    fake.domain = AF_UNIX;
    fake.protocol = 0;
    assert_int_equal(channel_init(&c, FD, &everything), 0);
    assert_int_equal(c.kind, CHANNEL_UNIX);
    assert_int_equal(c.path_bytes, 65507);
    assert_int_equal(gso_segments(), 1);
    assert_false(c.has_gro);
    assert_int_equal(fake.gro, -1);
    assert_int_equal(fake.discovery, IP_PMTUDISC_WANT);
    fake.send_buffer = 4608;
    assert_int_equal(channel_init(&c, FD, &everything), 0);
    assert_int_equal(c.path_bytes, 4608 - 32);
}

TEST(channel_fini__gives_back)
{
    assert_int_equal(channel_init(&c, FD, &everything), 0);
    assert_int_equal(fake.filter, 1);
    channel_fini(&c);
    assert_int_equal(fake.gro, 0);
    assert_int_equal(fake.filter, 0);
    assert_int_equal(fake.discovery, IP_PMTUDISC_WANT);
}

TEST(channel_fini__leaves_the_users_filter)
{
    fake.filter = 7;
    assert_int_equal(channel_init(&c, FD, &everything), 0);
    assert_int_equal(fake.filter, 7);
    channel_fini(&c);
    assert_int_equal(fake.filter, 7);
}

TEST(channel_fini__touches_no_more_than_open)
{
    fake.domain = AF_UNIX;
    assert_int_equal(channel_init(&c, FD, &everything), 0);
    channel_fini(&c);
    assert_int_equal(fake.gro, -1);
    assert_int_equal(fake.discovery, IP_PMTUDISC_WANT);
}

/* ---- What a user asks of a socket: its buffers, the offloads, lending, ECN. */

TEST(channel_init__buffer)
{
    static const struct {
        bool may_force;
        uint32_t wanted, granted;
    } row[] = {
        {true, 0, 212992},
        {true, 4 << 20, 8 << 20},
        {false, 4 << 20, 2 << 20},
        {false, 300000, 600000},
        {true, 1000, 212992}, /* large enough already */
        {true, UINT32_MAX, INT32_MAX - 1},
    };

    for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
        setup();
        fake.may_force = row[i].may_force;
        assert_int_equal(
            channel_init(&c, FD, &(struct channel_options){.receive_bytes = row[i].wanted}), 0);
        assert_int_equal(c.receive_buffer, row[i].granted);
        assert_int_equal(fake.send_buffer, 212992);
    }
}

TEST(channel_init__send_buffer)
{
    assert_int_equal(channel_init(&c, FD, &(struct channel_options){.send_bytes = 500000}), 0);
    assert_int_equal(fake.send_buffer, 1000000);
    assert_int_equal(c.receive_buffer, 212992);
}

TEST(channel_init__offloads)
{
    static const struct {
        bool knows_gso, knows_gro;
        struct channel_options options;
        const char *variable, *value;
        bool gso, gro;
    } row[] = {
        {false, true, {.use_gso = true, .use_gro = true}, "X", "1", false, true},
        {true, false, {.use_gso = true, .use_gro = true}, "X", "1", true, false},
        {true, true, {.use_gso = false, .use_gro = true}, "X", "1", false, true},
        {true, true, {.use_gso = true, .use_gro = false}, "X", "1", true, false},
        {true, true, {.use_gso = true, .use_gro = true}, "ZCRP_NO_SEGMENT", "1", false, true},
        {true, true, {.use_gso = true, .use_gro = true}, "ZCRP_NO_GRO", "1", true, false},
        {true, true, {.use_gso = true, .use_gro = true}, "ZCRP_NO_OFFLOAD", "1", false, false},
        {true, true, {.use_gso = true, .use_gro = true}, "ZCRP_NO_OFFLOAD", "0", true, true},
        {true, true, {.use_gso = true, .use_gro = true}, "ZCRP_NO_OFFLOAD", "", true, true},
    };

    for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
        setup();
        fake.knows_gso = row[i].knows_gso;
        fake.knows_gro = row[i].knows_gro;
        setenv(row[i].variable, row[i].value, 1);
        assert_int_equal(channel_init(&c, FD, &row[i].options), 0);
        assert_int_equal(gso_segments(), row[i].gso ? BURST_CUT : 1);
        assert_int_equal(c.has_gro, row[i].gro);
        assert_int_equal(fake.gro, row[i].gro ? 1 : -1);
    }
}

/* One call for each change, and none for a socket whose datagrams the kernel does not join. */
TEST(channel_join__leaves_and_comes_back)
{
    for (int has_gro = 0; has_gro < 2; has_gro++) {
        setup();
        fake.knows_gro = has_gro;
        assert_int_equal(channel_init(&c, FD, &(struct channel_options){.use_gro = true}), 0);
        channel_join(&c, false);
        assert_int_equal(fake.gro, has_gro ? 0 : -1);
        fake.gro = -2; /* it is not set again */
        channel_join(&c, false);
        assert_int_equal(fake.gro, -2);
        channel_join(&c, true);
        assert_int_equal(fake.gro, has_gro ? 1 : -2);
        fake.gro = -2;
        channel_join(&c, true);
        assert_int_equal(fake.gro, -2);
    }
}

/* Each kind by its own option, beside the DSCP that the user set, and only on request. */
TEST(channel_init__ecn)
{
    static const struct {
        int domain;
        const char *peer6;
        bool knows, sends, reads;
        int tos, class, tells_tos, tells_class;
        const char *variable;
    } row[] = {
        {AF_INET, NULL, true, true, false, 0xb8 | 2, 0xb9, 0, 0, "X"},
        {AF_INET, NULL, true, false, true, 0xb9, 0xb9, 1, 0, "X"},
        {AF_INET, NULL, true, false, false, 0xb9, 0xb9, 0, 0, "X"},
        {AF_INET, NULL, false, true, true, 0xb9, 0xb9, 0, 0, "X"},
        {AF_INET6, "2001:db8::1", true, true, true, 0xb9, 0xb8 | 2, 0, 1, "X"},
        {AF_INET6, "::ffff:192.0.2.1", true, true, true, 0xb8 | 2, 0xb9, 1, 0, "X"},
        {AF_INET, NULL, true, true, true, 0xb9, 0xb9, 0, 0, "ZCRP_NO_ECN"},
    };

    for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
        const struct channel_options wanted = {.sends_ecn = row[i].sends,
                                               .reads_ecn = row[i].reads};

        setup();
        setenv(row[i].variable, "1", 1);
        fake.domain = row[i].domain;
        fake.peer6 = row[i].peer6;
        fake.knows_ecn = row[i].knows;
        fake.tos = fake.class = 0xb9;
        assert_int_equal(channel_init(&c, FD, &wanted), 0);
        assert_int_equal(fake.tos, row[i].tos);
        assert_int_equal(fake.class, row[i].class);
        assert_int_equal(fake.tells_tos, row[i].tells_tos);
        assert_int_equal(fake.tells_class, row[i].tells_class);
        channel_fini(&c);
        assert_int_equal(fake.tos, 0xb9);
        assert_int_equal(fake.class, 0xb9);
    }
}
