/* AAL5 by option, by descriptor and by name. The other end-to-end tests run over it, too; these are
 * about what it alone has. */
#include "../support/shared_keys.h"

#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

LOAD(asleep)

static bool has_right(void)
{
    int fd = zcrp_aal5_listen("127.0.0.1");

    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

static const struct zcrp_options by_option = {.channel = ZCRP_CHANNEL_AAL5};

/* Any socket can be declared; IPv6 and AF_UNIX, too. */
TEST(aal5__by_option, .rows = 6)
{
    static const enum loopback_kind kinds[] = {LOOPBACK_UDP4, LOOPBACK_UDP6, LOOPBACK_UNIX};
    struct ends e = ends_open(kinds[_i % 3], _i >= 3, &by_option);
    struct zcrp_stats stats;

    ends_move(&e, 3000001, 1);
    ck_assert_int_eq(zcrp_stats(e.receiver, &stats), 0);
    ck_assert_uint_ge(stats.units, 3000001 / 9180);
    ck_assert_uint_eq(stats.drop_damaged + stats.drop_circuit, 0);
    ends_close(&e);
}

/* A send buffer that does not hold the packets of a PDU: they were sent in part again and again,
 * and none ever whole. */
TEST(aal5__small_send_buffer, .rows = 4)
{
    static const uint32_t mtu[] = {9180, 65535};
    struct loopback sockets = loopback_open(LOOPBACK_UNIX, false);
    struct zcrp_options o = {.channel = ZCRP_CHANNEL_AAL5,
                             .send_buffer = 4096,
                             .progress_ns = 5 * ENDS_SECOND,
                             .aal5 = {.mtu = mtu[_i / 2]}};

    ck_assert_int_eq(
        setsockopt(sockets.sender[0], SOL_SOCKET, SO_SNDBUF, &(int){4096}, sizeof(int)), 0);
    if (_i % 2 == 1 && has_keys())
        o.keys = shared("alice", key);
    struct ends e = ends_open_at(&sockets, &o, &o);
    zcrp_keys_free(o.keys);
    for (uint64_t i = 0; i < 5; i++)
        ends_move(&e, 300000, i);
    ends_close(&e);
}

/* What comes over another circuit is dropped and counted; by the kernel, where a socket of its own
 * has a filter. */
TEST(aal5__other_circuit)
{
    struct loopback sockets = loopback_open(LOOPBACK_UDP4, false);
    struct zcrp_options there = by_option, here = by_option;
    struct zcrp_stats stats = {0};

    there.aal5.vpi = 1;
    there.linger_ns = here.linger_ns = 1;
    struct ends e = ends_open_at(&sockets, &there, &here);
    for (int i = 0; i < (loopback_is_raw() ? 200 : 5000) && stats.drop_circuit == 0; i++) {
        usleep(1000);
        ck_assert_int_eq(zcrp_stats(e.receiver, &stats), 0);
    }
    ck_assert_int_eq(stats.drop_circuit > 0, !loopback_is_raw());
    ck_assert_uint_eq(stats.units, 0);
    (void)zcrp_close(e.sender);
    (void)zcrp_close(e.receiver);
    loopback_close(&sockets);
}

TEST(aal5__refused_options)
{
    static const struct zcrp_aal5 bad[] = {
        {.vci = 31},
        {.vci = 4128},
        {.vpi = 256},
        {.vpi = 255, .vci = 4112},
        {.vci_control = 5},
        {.mtu = 1199},
        {.mtu = 65536},
        {.faults = {.loss = 1000001}},
        {.faults = {.discard = 3}},
    };
    struct loopback sockets = loopback_open(LOOPBACK_UDP4, false);

    for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct zcrp_options o = {.channel = ZCRP_CHANNEL_AAL5, .aal5 = bad[i]};
        struct zcrp_entity *e;
        ck_assert_int_eq(zcrp_open_sender(&e, sockets.sender, &o), ZCRP_ERROR_ARGUMENT);
        ck_assert_ptr_null(e);
    }
    loopback_close(&sockets);
}

/* Units larger and smaller than a packet, with all that an ATM network does. */
TEST(aal5__faults, .rows = 6)
{
    static const struct zcrp_atm_faults faults[] = {
        {.loss = 10000},
        {.loss = 5000, .discard = 1},
        {.loss = 5000, .discard = 2},
        {.swapped = 5000},
        {.merged = 100000},
        {.tagged = 500000, .tagged_loss = 10000, .congested = 200000},
    };
    struct zcrp_options o = {.channel = ZCRP_CHANNEL_AAL5,
                             .linger_ns = ENDS_SECOND,
                             .aal5 = {.mtu = 1500, .faults = faults[_i]}};
    struct zcrp_stats stats;

    o.aal5.faults.seed = 1998;
    struct ends e = ends_open(LOOPBACK_UDP4, false, &o);
    ends_move(&e, 300000, 1);
    ck_assert_int_eq(zcrp_stats(e.sender, &stats), 0);
    ck_assert_uint_gt(stats.units_repeated, 0);
    ck_assert_int_eq(stats.cells_lost > 0, faults[_i].swapped == 0);
    ck_assert_int_eq(stats.units_marked > 0, faults[_i].congested > 0);
    ck_assert_int_eq(zcrp_stats(e.receiver, &stats), 0);
    ck_assert_int_eq(stats.units_marked > 0, faults[_i].congested > 0);
    (void)zcrp_close(e.sender);
    (void)zcrp_close(e.receiver);
    loopback_close(&e.sockets);
}

/* A network that loses nothing but says that it is congested: the sender hears of it, and slows
 * down. */
TEST(aal5__congestion)
{
    struct zcrp_options o = {.channel = ZCRP_CHANNEL_AAL5,
                             .congestion = ZCRP_CONGESTION_RENO,
                             .linger_ns = ENDS_SECOND,
                             .aal5 = {.mtu = 1500, .faults = {.congested = 1000000}}};
    struct ends e = ends_open(LOOPBACK_UDP4, false, &o);
    struct zcrp_stats sent, received;

    ends_move(&e, 1000000, 1);
    ck_assert_int_eq(zcrp_stats(e.sender, &sent), 0);
    ck_assert_int_eq(zcrp_stats(e.receiver, &received), 0);
    ck_assert_uint_ge(received.units_marked, received.units);
    ck_assert_uint_gt(sent.units_marked, 0);
    ck_assert_uint_le(sent.units_marked, received.units_marked);
    ck_assert_uint_lt(sent.window_bytes, 5 * 1500);
    ends_close(&e);
}

/* Both ends on one address hear each other, and themselves: units and control have a circuit each.
 * A second pair of ends on two more does not disturb the first. */
TEST(aal5__one_address, .rows = 2, .needs = has_right)
{
    static const char *const hosts[] = {"127.0.0.1", "::1"};
    struct ends e[2];

    for (unsigned i = 0; i < 2; i++) {
        uint32_t vci = 32 + ((uint32_t)getpid() * 4 + i * 2) % 4000;
        struct zcrp_options o = {.aal5 = {.vci = vci, .vci_control = vci + 1}};
        int out = zcrp_aal5_connect(hosts[_i]), in = zcrp_aal5_connect(hosts[_i]);
        ck_assert_int_ge(out, 0);
        ck_assert_int_ge(in, 0);
        e[i] = ends_open_at(&(struct loopback){{out, out}, {in, in}}, &o, &o);
    }
    for (unsigned round = 0; round < 10; round++)
        for (unsigned i = 0; i < 2; i++)
            ends_move(&e[i], 100000, round);
    for (unsigned i = 0; i < 2; i++)
        ends_close(&e[i]);
}

/* A sender and a receiver on the same two sockets, at both ends: each hears its own circuit on one
 * of them, whatever the other one sends there. */
TEST(aal5__roles_share_two_sockets, .rows = 2, .needs = has_right)
{
    uint32_t vci = 32 + (uint32_t)getpid() * 4 % 4000;
    const struct zcrp_options there = {.aal5 = {.vci = vci, .vci_control = vci + 1}},
                              back = {.aal5 = {.vci = vci + 2, .vci_control = vci + 3}};
    const char *host = _i == 0 ? "127.0.0.1" : "::1";
    struct loopback sockets;

    for (int i = 0; i < 2; i++) {
        sockets.sender[i] = zcrp_aal5_connect(host);
        sockets.receiver[i] = zcrp_aal5_connect(host);
        ck_assert_int_ge(sockets.sender[i], 0);
        ck_assert_int_ge(sockets.receiver[i], 0);
    }
    const struct loopback swapped = {{sockets.receiver[0], sockets.receiver[1]},
                                     {sockets.sender[0], sockets.sender[1]}};
    struct ends e[] = {ends_open_at(&sockets, &there, &there),
                       ends_open_at(&swapped, &back, &back)};
    for (unsigned round = 0; round < 10; round++)
        for (unsigned i = 0; i < 2; i++)
            ends_move(&e[i], 100000, round);
    for (unsigned i = 0; i < 2; i++) {
        ck_assert_int_eq(zcrp_close(e[i].sender), ZCRP_OK);
        ck_assert_int_eq(zcrp_close(e[i].receiver), ZCRP_OK);
    }
    loopback_close(&sockets);
}

/* Two that hear one socket would take each other's packets. */
TEST(aal5__two_that_hear_one_socket, .rows = 2, .needs = has_right)
{
    const struct zcrp_options quick = {.linger_ns = 1};
    struct zcrp_entity *sender, *receiver;
    int fd = zcrp_aal5_connect("127.0.0.1"), other = zcrp_aal5_connect("127.0.0.1");

    ck_assert_int_ge(fd, 0);
    ck_assert_int_ge(other, 0);
    ck_assert_int_eq(zcrp_open_sender(&sender, (int[]){fd, _i == 0 ? fd : other}, &quick), ZCRP_OK);
    ck_assert_int_eq(zcrp_open_receiver(&receiver, (int[]){fd, fd}, &quick), ZCRP_ERROR_BUSY);
    ck_assert_ptr_null(receiver);
    (void)zcrp_close(sender);
    close(fd);
    close(other);
}

/* Without the right the reason is told, by name. Who has it gives it up in a process of its own. */
TEST(aal5__no_right)
{
    pid_t child = fork();
    int status;

    if (child == 0) {
        if (geteuid() == 0 && setresuid(65534, 65534, 65534) != 0)
            _exit(2);
        _exit(zcrp_aal5_connect("127.0.0.1") == ZCRP_ERROR_PERMISSION &&
                      zcrp_aal5_listen(NULL) == ZCRP_ERROR_PERMISSION
                  ? 0
                  : 1);
    }
    waitpid(child, &status, 0);
    ck_assert_int_eq(status, 0);
    ck_assert_ptr_nonnull(strstr(zcrp_strerror(ZCRP_ERROR_PERMISSION), "CAP_NET_RAW"));
    ck_assert_ptr_nonnull(strstr(zcrp_strerror(ZCRP_ERROR_PERMISSION), "6635"));
}

TEST(aal5__by_name_errors)
{
    ck_assert_int_eq(zcrp_aal5_connect(NULL), ZCRP_ERROR_ARGUMENT);
    ck_assert_int_eq(zcrp_aal5_connect("no such host"), ZCRP_ERROR_ADDRESS);
    ck_assert_int_eq(zcrp_aal5_listen("no such host"), ZCRP_ERROR_ADDRESS);
}

/* A receiver that listens, by port and by protocol, drops what is no PDU, and finds its sender. An
 * address of the process's own keeps other tests away. */
TEST(aal5__accepts, .rows = 2)
{
    char host[16];
    bool is_raw = _i == 1;
    struct zcrp_msg *in = ends_empty(100000), *out = ends_filled(100000, 1);

    if (is_raw && !has_right())
        return;
    snprintf(host, sizeof host, "127.%d.%d.13", getpid() >> 8 & 0xFF, getpid() & 0xFF);
    int here = is_raw ? zcrp_aal5_listen(host) : zcrp_udp_listen(host, "6635");
    int there = is_raw ? zcrp_aal5_connect(host) : zcrp_udp_connect(host, "6635");
    struct ends e = {.sockets = {.sender = {there, there}, .receiver = {here, here}}};
    ck_assert_int_ge(here, 0);
    ck_assert_int_ge(there, 0);
    ck_assert_int_eq(send(there, "no PDU", 6, 0), 6);
    ck_assert_int_eq(ends_open_role(&e.sender, &e.sockets, true, NULL), ZCRP_OK);
    ck_assert_int_eq(zcrp_submit(e.sender, out, 100000), ZCRP_OK);
    ck_assert_int_eq(zcrp_udp_accept(here, 20 * ENDS_SECOND), ZCRP_OK);
    ck_assert_int_eq(ends_open_role(&e.receiver, &e.sockets, false, NULL), ZCRP_OK);
    ck_assert_int_eq(zcrp_submit(e.receiver, in, 100000), ZCRP_OK);
    ends_finish(in, out, 100000, 1);
    ends_close(&e);
}

/* A raw socket that has no peer is no channel; nor one of another protocol. */
TEST(aal5__refused_sockets, .needs = has_right)
{
    struct zcrp_entity *e;
    int unconnected = zcrp_aal5_listen("127.0.0.1");
    int other = socket(AF_INET, SOCK_RAW, 253);

    ck_assert_int_ge(other, 0);
    ck_assert_int_eq(zcrp_open_sender(&e, (int[]){unconnected, unconnected}, NULL),
                     ZCRP_ERROR_NOT_CONNECTED);
    ck_assert_int_eq(zcrp_open_sender(&e, (int[]){other, other}, NULL), ZCRP_ERROR_NOT_SOCKET);
    close(unconnected);
    close(other);
}
