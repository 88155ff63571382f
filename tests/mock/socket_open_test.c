/* wrap: getsockopt setsockopt getpeername */
/* sources: src/channel/socket_ecn.c */
/* sources: src/channel/socket_open.c src/channel/socket_path.c src/channel/socket_send.c */
/* sources: src/channel/socket_receive.c src/channel/fault.c src/platform/check.c */
/* sources: src/channel/socket_lend.c src/channel/aal5_open.c src/channel/aal5_send.c */
/* sources: src/channel/aal5_receive.c src/channel/aal5_environment.c src/channel/crc.c */
/* sources: src/core/aal5.c src/core/aal5_head.c src/core/aal5_reassembly.c src/core/aal5_fault.c */
/* sources: src/core/crc32.c src/platform/clock.c src/channel/aal5_tap.c src/channel/aal5_point.c */
#include "channel/socket_open.h"

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

static const struct channel_options everything = {.use_gso = true, .use_gro = true};

static struct fake fake;
static struct channel c;

int __wrap_getsockopt(int fd, int level, int name, void *value, socklen_t *size);
int __wrap_setsockopt(int fd, int level, int name, const void *value, socklen_t size);
int __wrap_getpeername(int fd, struct sockaddr *address, socklen_t *size);

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

static int setup(void **state)
{
    (void)state;
    fake = udp4;
    unsetenv("ZCRP_NO_SEGMENT");
    unsetenv("ZCRP_NO_GRO");
    unsetenv("ZCRP_NO_LEND");
    unsetenv("ZCRP_NO_OFFLOAD");
    unsetenv("ZCRP_NO_ECN");
    return 0;
}

static uint32_t gso_segments(void)
{
    return atomic_load(&c.gso_segments);
}

static void socket_open__mistakes(void **state)
{
    (void)state;
    fake.type_error = EBADF;
    assert_int_equal(socket_open(&c, FD, &everything), -EBADF);
    fake.type_error = ENOTSOCK;
    assert_int_equal(socket_open(&c, FD, &everything), -ENOTSOCK);
    fake = udp4;
    fake.type = SOCK_STREAM;
    assert_int_equal(socket_open(&c, FD, &everything), -EPROTOTYPE);
    fake = udp4;
    fake.domain = AF_NETLINK;
    assert_int_equal(socket_open(&c, FD, &everything), -EAFNOSUPPORT);
    fake = udp4;
    fake.protocol = IPPROTO_ICMP;
    assert_int_equal(socket_open(&c, FD, &everything), -EAFNOSUPPORT);
    fake = udp4;
    fake.peer_error = ENOTCONN;
    assert_int_equal(socket_open(&c, FD, &everything), -ENOTCONN);
    assert_int_equal(fake.discovery, IP_PMTUDISC_WANT); /* and nothing was touched */
    assert_int_equal(fake.gro, -1);
}

static void socket_open__udp4(void **state)
{
    (void)state;
    assert_int_equal(socket_open(&c, FD, &everything), 0);
    assert_int_equal(c.fd, FD);
    assert_int_equal(c.kind, CHANNEL_UDP4);
    assert_int_equal(c.datagram_max, 65507);
    assert_int_equal(channel_path_bytes(&c), 1472);
    assert_int_equal(c.receive_buffer, 212992);
    assert_int_equal(c.drops_seen, 4);
    assert_int_equal(gso_segments(), BURST_UNITS);
    assert_true(c.has_gro);
    assert_int_equal(fake.gro, 1);
    assert_int_equal(fake.overflow, 1);
    assert_int_equal(fake.discovery, IP_PMTUDISC_DO);
    for (int i = 0; i < CHANNEL_COUNTERS; i++)
        assert_int_equal(channel_count(&c, (enum channel_counter)i), 0);
}

static void socket_open__path_bytes(void **state)
{
    static const struct {
        int domain;
        const char *peer6;
        int mtu;
        uint32_t path_bytes;
    } row[] = {
        {AF_INET, NULL, 1500, 1472},       {AF_INET, NULL, 9000, 8972},
        {AF_INET, NULL, 65536, 65507},     {AF_INET, NULL, 68, CONTROL_BYTES},
        {AF_INET6, "::1", 65536, 65488},   {AF_INET6, "::1", 1280, 1232},
        {AF_INET6, "::1", 1 << 20, 65527}, {AF_INET6, "::ffff:192.0.2.1", 1500, 1472},
    };

    for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
        (void)setup(state);
        fake.domain = row[i].domain;
        fake.peer6 = row[i].peer6;
        fake.mtu = row[i].mtu;
        assert_int_equal(socket_open(&c, FD, &everything), 0);
        assert_int_equal(channel_path_bytes(&c), row[i].path_bytes);
    }
}

static void socket_open__unix(void **state)
{
    (void)state;
    fake.domain = AF_UNIX;
    fake.protocol = 0;
    assert_int_equal(socket_open(&c, FD, &everything), 0);
    assert_int_equal(c.kind, CHANNEL_UNIX);
    assert_int_equal(channel_path_bytes(&c), 65507);
    assert_int_equal(gso_segments(), 1);
    assert_false(c.has_gro);
    assert_int_equal(fake.gro, -1);
    assert_int_equal(fake.discovery, IP_PMTUDISC_WANT);
    fake.send_buffer = 4608;
    assert_int_equal(socket_open(&c, FD, &everything), 0);
    assert_int_equal(channel_path_bytes(&c), 4608 - 32);
}

static void socket_open__buffer(void **state)
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
        (void)setup(state);
        fake.may_force = row[i].may_force;
        assert_int_equal(
            socket_open(&c, FD, &(struct channel_options){.receive_bytes = row[i].wanted}), 0);
        assert_int_equal(c.receive_buffer, row[i].granted);
        assert_int_equal(fake.send_buffer, 212992);
    }
}

static void socket_open__send_buffer(void **state)
{
    (void)state;
    assert_int_equal(socket_open(&c, FD, &(struct channel_options){.send_bytes = 500000}), 0);
    assert_int_equal(fake.send_buffer, 1000000);
    assert_int_equal(c.receive_buffer, 212992);
}

static void socket_open__offloads(void **state)
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
        (void)setup(state);
        fake.knows_gso = row[i].knows_gso;
        fake.knows_gro = row[i].knows_gro;
        setenv(row[i].variable, row[i].value, 1);
        assert_int_equal(socket_open(&c, FD, &row[i].options), 0);
        assert_int_equal(gso_segments(), row[i].gso ? BURST_UNITS : 1);
        assert_int_equal(c.has_gro, row[i].gro);
        assert_int_equal(fake.gro, row[i].gro ? 1 : -1);
    }
}

/* Units are lent where they are large, the kernel cuts, and nobody objects. */
static void socket_open__lending(void **state)
{
    static const struct {
        int mtu;
        bool knows_gso;
        struct channel_options options;
        const char *variable;
        bool lends;
    } row[] = {
        {65536, true, {.use_gso = true, .use_lending = true}, "X", true},
        {1500, true, {.use_gso = true, .use_lending = true}, "X", false},
        {65536, false, {.use_gso = true, .use_lending = true}, "X", false},
        {65536, true, {.use_gso = true}, "X", false},
        {65536, true, {.use_lending = true}, "X", false},
        {65536, true, {.use_gso = true, .use_lending = true}, "ZCRP_NO_LEND", false},
        {65536, true, {.use_gso = true, .use_lending = true}, "ZCRP_NO_SEGMENT", false},
        {65536, true, {.use_gso = true, .use_lending = true}, "ZCRP_NO_OFFLOAD", false},
    };

    for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
        (void)setup(state);
        fake.mtu = row[i].mtu;
        fake.knows_gso = row[i].knows_gso;
        setenv(row[i].variable, "1", 1);
        assert_int_equal(socket_open(&c, FD, &row[i].options), 0);
        assert_int_equal(c.is_lending, row[i].lends);
        assert_int_equal(fake.segment, row[i].lends ? 65507 : 0);
        socket_restore(&c);
        assert_int_equal(fake.segment, 0);
        assert_false(c.is_lending);
    }
}

/* Each kind by its own option, beside the DSCP that the user set, and only on request. */
static void socket_open__ecn(void **state)
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

        (void)setup(state);
        setenv(row[i].variable, "1", 1);
        fake.domain = row[i].domain;
        fake.peer6 = row[i].peer6;
        fake.knows_ecn = row[i].knows;
        fake.tos = fake.class = 0xb9;
        assert_int_equal(socket_open(&c, FD, &wanted), 0);
        assert_int_equal(fake.tos, row[i].tos);
        assert_int_equal(fake.class, row[i].class);
        assert_int_equal(fake.tells_tos, row[i].tells_tos);
        assert_int_equal(fake.tells_class, row[i].tells_class);
        socket_restore(&c);
        assert_int_equal(fake.tos, 0xb9);
        assert_int_equal(fake.class, 0xb9);
    }
}

static void socket_restore__gives_back(void **state)
{
    (void)state;
    assert_int_equal(socket_open(&c, FD, &everything), 0);
    socket_restore(&c);
    assert_int_equal(fake.gro, 0);
    assert_int_equal(fake.discovery, IP_PMTUDISC_WANT);
}

static void socket_restore__touches_no_more_than_open(void **state)
{
    (void)state;
    fake.domain = AF_UNIX;
    assert_int_equal(socket_open(&c, FD, &everything), 0);
    socket_restore(&c);
    assert_int_equal(fake.gro, -1);
    assert_int_equal(fake.discovery, IP_PMTUDISC_WANT);
}

int main(void)
{
    const struct CMUnitTest test[] = {
        cmocka_unit_test_setup(socket_open__mistakes, setup),
        cmocka_unit_test_setup(socket_open__udp4, setup),
        cmocka_unit_test_setup(socket_open__path_bytes, setup),
        cmocka_unit_test_setup(socket_open__unix, setup),
        cmocka_unit_test_setup(socket_open__buffer, setup),
        cmocka_unit_test_setup(socket_open__send_buffer, setup),
        cmocka_unit_test_setup(socket_open__offloads, setup),
        cmocka_unit_test_setup(socket_open__lending, setup),
        cmocka_unit_test_setup(socket_open__ecn, setup),
        cmocka_unit_test_setup(socket_restore__gives_back, setup),
        cmocka_unit_test_setup(socket_restore__touches_no_more_than_open, setup),
    };
    return cmocka_run_group_tests_name("socket_open", test, NULL, NULL);
}
