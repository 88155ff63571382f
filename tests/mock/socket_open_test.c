/* wrap: getsockopt setsockopt getpeername */
/* What a socket is, and what is left of the opening when it is given back. */
#include "socket_open_rig.h"

static const struct channel_options everything = {.use_gso = true, .use_gro = true};

FIXTURE(setup, NULL)

TEST(socket_open__mistakes)
{
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

TEST(socket_open__udp4)
{
    assert_int_equal(socket_open(&c, FD, &everything), 0);
    assert_int_equal(c.fd, FD);
    assert_int_equal(c.kind, CHANNEL_UDP4);
    assert_int_equal(c.datagram_max, 65507);
    assert_int_equal(c.path_bytes, 1472);
    assert_int_equal(c.receive_buffer, 212992);
    assert_int_equal(c.drops_seen, 4);
    assert_int_equal(gso_segments(), BURST_UNITS);
    assert_true(c.has_gro);
    assert_int_equal(fake.gro, 1);
    assert_int_equal(fake.overflow, 1);
    assert_int_equal(fake.discovery, IP_PMTUDISC_PROBE);
    for (int i = 0; i < CHANNEL_COUNTERS; i++)
        assert_int_equal(channel_count(&c, (enum channel_counter)i), 0);
}

TEST(socket_open__path_bytes)
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
        assert_int_equal(socket_open(&c, FD, &everything), 0);
        assert_int_equal(c.path_bytes, row[i].path_bytes);
    }
}

TEST(socket_open__unix)
{
    fake.domain = AF_UNIX;
    fake.protocol = 0;
    assert_int_equal(socket_open(&c, FD, &everything), 0);
    assert_int_equal(c.kind, CHANNEL_UNIX);
    assert_int_equal(c.path_bytes, 65507);
    assert_int_equal(gso_segments(), 1);
    assert_false(c.has_gro);
    assert_int_equal(fake.gro, -1);
    assert_int_equal(fake.discovery, IP_PMTUDISC_WANT);
    fake.send_buffer = 4608;
    assert_int_equal(socket_open(&c, FD, &everything), 0);
    assert_int_equal(c.path_bytes, 4608 - 32);
}

TEST(socket_restore__gives_back)
{
    assert_int_equal(socket_open(&c, FD, &everything), 0);
    socket_restore(&c);
    assert_int_equal(fake.gro, 0);
    assert_int_equal(fake.discovery, IP_PMTUDISC_WANT);
}

TEST(socket_restore__touches_no_more_than_open)
{
    fake.domain = AF_UNIX;
    assert_int_equal(socket_open(&c, FD, &everything), 0);
    socket_restore(&c);
    assert_int_equal(fake.gro, -1);
    assert_int_equal(fake.discovery, IP_PMTUDISC_WANT);
}
