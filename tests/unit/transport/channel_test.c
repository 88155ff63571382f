/* Real sockets on this machine: a burst goes out of one buffer and lands in place in another. */
#include "channel_pair.h"

/* Every family, with and without each offload, with one opening and with many. Without UDP_GRO an
 * opening takes one datagram; with it and one opening, the burst is one receive. */
TEST(channel__burst_lands_in_place, .rows = 8 * FAMILIES)
{
    enum family family = (enum family)(_i % FAMILIES);
    bool use_gso = _i / FAMILIES % 2, use_gro = _i / FAMILIES / 2 % 2;
    uint32_t openings = _i / FAMILIES / 4 ? LANDING_OPENINGS : 1;

    open_pair(family, use_gso, use_gro);
    if (pair->receiver.has_gro && openings > 1)
        openings = 1; /* a joined burst needs the whole plan in its opening */
    fill_burst();
    int receives = move_burst(openings);
    expect_landed();
    if (use_gso && family != LOCAL)
        ck_assert_uint_eq(channel_count(&pair->sender, CHANNEL_CALLS_OUT), 1);
    if (use_gso && pair->receiver.has_gro)
        ck_assert_int_eq(receives, 1);
    ck_assert_uint_eq(channel_count(&pair->sender, CHANNEL_FALLBACKS), 0);
    ck_assert_uint_eq(channel_count(&pair->receiver, CHANNEL_DROPS), 0);
    close_pair();
}

/* Units from several pieces of memory leave as others do, also several with a call. */
TEST(channel__scattered_burst, .rows = 2 * FAMILIES)
{
    bool use_gso = _i / FAMILIES;

    open_pair((enum family)(_i % FAMILIES), use_gso, false);
    fill_burst();
    split_unit(&pair->burst, 0, UNIT_PIECES);
    split_unit(&pair->burst, 7, 2);
    split_unit(&pair->burst, UNITS - 1, 5);
    (void)move_burst(LANDING_OPENINGS);
    expect_landed();
    if (use_gso && _i % FAMILIES != LOCAL)
        ck_assert_uint_eq(channel_count(&pair->sender, CHANNEL_CALLS_OUT), 1);
    close_pair();
}

TEST(channel_init__properties, .rows = FAMILIES)
{
    static const struct {
        enum channel_kind kind;
        uint32_t datagram_max, path_bytes;
    } row[FAMILIES] = {
        {CHANNEL_UDP4, 65507, 65507},
        {CHANNEL_UDP6, 65527, 65488},
        {CHANNEL_UDP4, 65507, 65507},
        {CHANNEL_UNIX, 65507, 65507},
    };

    open_pair((enum family)_i, true, true);
    ck_assert_int_eq(pair->receiver.kind, row[_i].kind);
    ck_assert_uint_eq(pair->receiver.datagram_max, row[_i].datagram_max);
    ck_assert_uint_eq(pair->receiver.path_bytes, row[_i].path_bytes);
    ck_assert_uint_eq(pair->receiver.path_most, row[_i].path_bytes);
    ck_assert_uint_gt(pair->receiver.receive_buffer, 0);
    close_pair();
}

/* path_bytes is no empty promise: exactly so much goes through, in one piece. */
TEST(channel_send__as_large_as_the_path, .rows = FAMILIES)
{
    static uint8_t big[65536];
    struct burst *b;
    uint32_t sent;

    open_pair((enum family)_i, true, false);
    uint32_t path_bytes = pair->sender.path_bytes;
    b = &pair->burst;
    b->datagrams = 1;
    b->segment = b->bytes = path_bytes;
    b->iov[0] = (struct iovec){big, path_bytes - TRAILER_BYTES};
    b->iov[1] = (struct iovec){b->trailer[0], TRAILER_BYTES};
    ck_assert_int_eq(channel_send(&pair->sender, b, &sent), CHANNEL_OK);
    ck_assert_uint_eq(sent, 1);
    ck_assert_int_eq(receive_one(&pair->receiver), (int)path_bytes);
    ck_assert_int_eq(receive_one(&pair->receiver), 0);
    close_pair();
}

TEST(channel_send__larger_than_any_datagram, .rows = LOCAL)
{
    static uint8_t big[70000];
    struct burst *b;
    uint32_t sent;

    open_pair((enum family)_i, true, false);
    b = &pair->burst;
    b->datagrams = 1;
    b->segment = b->bytes = sizeof(big);
    b->iov[0] = (struct iovec){big, sizeof(big) - TRAILER_BYTES};
    b->iov[1] = (struct iovec){b->trailer[0], TRAILER_BYTES};
    ck_assert_int_eq(channel_send(&pair->sender, b, &sent), CHANNEL_TOO_BIG);
    ck_assert_uint_eq(sent, 0);
    close_pair();
}

TEST(channel_receive__nothing_there, .rows = FAMILIES)
{
    open_pair((enum family)_i, true, true);
    plan(0, 1);
    ck_assert_int_eq(channel_receive(&pair->receiver, &pair->landing), 0);
    plan(0, 8);
    ck_assert_int_eq(channel_receive(&pair->receiver, &pair->landing), 0);
    ck_assert_int_eq(receive_one(&pair->sender), 0);
    ck_assert_int_eq(channel_wait(&pair->sender, -1, clock_now() + MILLISECOND), 0);
    close_pair();
}

TEST(channel_wait__wake, .rows = FAMILIES)
{
    struct wake wake;

    open_pair((enum family)_i, true, true);
    ck_assert_int_eq(wake_init(&wake), 0);
    wake_signal(&wake);
    ck_assert_int_eq(channel_wait(&pair->sender, wake_fd(&wake), NEVER), CHANNEL_WOKEN);
    wake_fini(&wake);
    close_pair();
}

/* Fills the queue of a local peer until it is full; a receive makes room again. */
TEST(channel_send__blocked_until_read)
{
    uint32_t sent, total = 0;
    enum channel_verdict verdict;

    open_pair(LOCAL, false, false);
    fill_burst();
    while ((verdict = channel_send(&pair->sender, &pair->burst, &sent)) == CHANNEL_OK)
        total += sent;
    total += sent;
    ck_assert_int_eq(verdict, CHANNEL_BLOCKED);
    ck_assert_uint_gt(channel_count(&pair->sender, CHANNEL_BLOCKS), 0);
    while (receive_one(&pair->receiver) > 0)
        total--;
    ck_assert_uint_eq(total, 0);
    ck_assert_int_ne(channel_send(&pair->sender, &pair->burst, &sent), CHANNEL_BROKEN);
    ck_assert_uint_gt(sent, 0);
    close_pair();
}

/* Overruns the receive buffer; what is lost shows in the next datagram that is not. */
TEST(channel_receive__drops_are_counted)
{
    uint32_t sent, total = 0, received = 0, units;

    open_pair(IP4, true, false);
    fill_burst();
    while (total < 4096) {
        ck_assert_int_eq(channel_send(&pair->sender, &pair->burst, &sent), CHANNEL_OK);
        total += sent;
    }
    while ((units = receive_from(0, LANDING_OPENINGS)) > 0)
        received += units;
    ck_assert_int_eq(channel_send(&pair->sender, &pair->burst, &sent), CHANNEL_OK);
    ck_assert_uint_gt(receive_from(0, LANDING_OPENINGS), 0);
    ck_assert_uint_eq(channel_count(&pair->receiver, CHANNEL_DROPS), total - received);
    close_pair();
}

TEST(channel_send__nobody_listens, .rows = FAMILIES)
{
    uint32_t sent;

    open_pair((enum family)_i, true, false);
    fill_burst();
    close(pair->fd[1]);
    for (int i = 0; i < 3; i++) {
        enum channel_verdict verdict = channel_send(&pair->sender, &pair->burst, &sent);
        ck_assert(verdict == CHANNEL_OK || verdict == CHANNEL_REFUSED);
    }
    ck_assert_uint_gt(channel_count(&pair->sender, CHANNEL_REFUSALS), 0);
    ck_assert_int_eq(receive_one(&pair->sender), 0);
    pair->fd[1] = dup(pair->fd[0]); /* for close_pair */
    close_pair();
}

TEST(channel__descriptor_closed_under_it)
{
    uint32_t sent;

    open_pair(IP4, true, true);
    fill_burst();
    close(pair->fd[0]);
    ck_assert_int_eq(channel_send(&pair->sender, &pair->burst, &sent), CHANNEL_BROKEN);
    ck_assert_int_eq(receive_one(&pair->sender), CHANNEL_BROKEN);
    ck_assert_int_eq(channel_wait(&pair->sender, -1, NEVER), CHANNEL_BROKEN);
    pair->fd[0] = dup(pair->fd[1]);
    close_pair();
}

/* ---- init and fini */

static int open_with(int fd)
{
    struct channel c;
    int error = channel_init(&c, fd, &(struct channel_options){.use_gso = true, .use_gro = true});

    if (fd >= 0)
        close(fd);
    return error;
}

TEST(channel_init__mistakes)
{
    ck_assert_int_eq(open_with(-1), -EBADF);
    ck_assert_int_eq(open_with(open("/dev/null", O_RDWR)), -ENOTSOCK);
    ck_assert_int_eq(open_with(socket(AF_INET, SOCK_STREAM, 0)), -EPROTOTYPE);
    ck_assert_int_eq(open_with(socket(AF_UNIX, SOCK_SEQPACKET, 0)), -EPROTOTYPE);
    ck_assert_int_eq(open_with(socket(AF_INET, SOCK_DGRAM, 0)), -ENOTCONN);
    ck_assert_int_eq(open_with(socket(AF_UNIX, SOCK_DGRAM, 0)), -ENOTCONN);
    ck_assert_int_eq(open_with(udp_bind("::1", NULL)), -ENOTCONN);
}

static int option(int fd, int level, int name)
{
    int value = -1;
    socklen_t size = sizeof(value);

    ck_assert_int_eq(getsockopt(fd, level, name, &value, &size), 0);
    return value;
}

TEST(channel_fini__leaves_the_socket_as_it_was)
{
    struct channel_options both = {.use_gso = true, .use_gro = true};
    struct channel c;
    int fd[2];

    open_sockets(IP4, fd);
    int flags = fcntl(fd[0], F_GETFL);
    int discovery = option(fd[0], IPPROTO_IP, IP_MTU_DISCOVER);
    ck_assert_int_eq(channel_init(&c, fd[0], &both), 0);
    ck_assert_int_eq(fcntl(fd[0], F_GETFL), flags);
    ck_assert_int_eq(option(fd[0], IPPROTO_IP, IP_MTU_DISCOVER), IP_PMTUDISC_PROBE);
    channel_fini(&c);
    ck_assert_int_eq(fcntl(fd[0], F_GETFL), flags);
    ck_assert_int_eq(option(fd[0], IPPROTO_IP, IP_MTU_DISCOVER), discovery);
    ck_assert_int_eq(option(fd[0], IPPROTO_UDP, UDP_GRO), 0);
    close(fd[0]);
    close(fd[1]);
}

/* A socket that was a channel before, or is one, knows as much of its path. */
TEST(channel_init__again, .rows = FAMILIES * 2)
{
    static const struct channel_options out = {.sends_ecn = true};
    struct channel first, second;
    int fd[2];

    open_sockets((enum family)(_i % FAMILIES), fd);
    ck_assert_int_eq(channel_init(&first, fd[0], &out), 0);
    if (_i < FAMILIES)
        channel_fini(&first);
    ck_assert_int_eq(channel_init(&second, fd[0], &(struct channel_options){0}), 0);
    ck_assert_uint_eq(second.path_bytes, first.path_bytes);
    ck_assert_uint_eq(second.path_most, first.path_most);
    channel_fini(&second);
    if (_i >= FAMILIES)
        channel_fini(&first);
    close(fd[0]);
    close(fd[1]);
}
