/* Real sockets on this machine: a burst goes out of one buffer and lands in place in another. */
#include "channel/channel.h"

#include "channel/socket_lend.h"
#include "channel/udp_open.h"
#include "platform/clock.h"
#include "platform/wake.h"

#include "../support/suite.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { UNITS = 44, DATA = 1440, SEGMENT = DATA + TRAILER_BYTES, LAST = 777 };

enum family { IP4, IP6, IP4_OVER_6, LOCAL, FAMILIES };

/* Two ends, and what lies between them. */
struct pair {
    int fd[2];
    struct channel sender, receiver;
    struct burst burst;
    struct landing landing;
    uint8_t from[UNITS * DATA], to[UNITS * DATA];
    uint8_t spill[LANDING_DATAGRAM];
};

static struct pair *pair;

static void port_of(int fd, char text[8])
{
    struct sockaddr_storage any;
    struct sockaddr_in6 address;
    socklen_t size = sizeof(any);

    ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&any, &size), 0);
    memcpy(&address, &any, sizeof(address));
    snprintf(text, 8, "%u", ntohs(address.sin6_port));
}

static void open_sockets(enum family family, int fd[2])
{
    static const char *const here[] = {"127.0.0.1", "::1", "::"};
    static const char *const there[] = {"127.0.0.1", "::1", "127.0.0.1"};
    char port[8];

    if (family == LOCAL) {
        ck_assert_int_eq(socketpair(AF_UNIX, SOCK_DGRAM, 0, fd), 0);
        return;
    }
    ck_assert_int_eq(udp_bind(here[family], NULL, &fd[1]), 0);
    port_of(fd[1], port);
    ck_assert_int_eq(udp_open(NULL, NULL, there[family], port, &fd[0]), 0);
    ck_assert_int_eq(send(fd[0], "?", 1, 0), 1);
    ck_assert_int_eq(udp_accept(fd[1], clock_now() + 60 * SECOND), 0);
    ck_assert_int_eq(recv(fd[1], port, 1, MSG_DONTWAIT), 1);
}

static void open_pair(enum family family, bool use_gso, bool use_gro)
{
    struct channel_options out = {.use_gso = use_gso};
    struct channel_options in = {.use_gro = use_gro, .receive_bytes = 1 << 20};

    pair = calloc(1, sizeof(*pair));
    open_sockets(family, pair->fd);
    ck_assert_int_eq(channel_init(&pair->sender, pair->fd[0], &out), 0);
    ck_assert_int_eq(channel_init(&pair->receiver, pair->fd[1], &in), 0);
}

static void close_pair(void)
{
    channel_fini(&pair->sender);
    channel_fini(&pair->receiver);
    close(pair->fd[0]);
    close(pair->fd[1]);
    free(pair);
}

/* A burst of UNITS units; the last is shorter. */
static void fill_burst(void)
{
    struct burst *b = &pair->burst;

    b->datagrams = UNITS;
    b->segment = SEGMENT;
    b->bytes = (UNITS - 1) * SEGMENT + LAST + TRAILER_BYTES;
    for (uint32_t i = 0; i < sizeof(pair->from); i++)
        pair->from[i] = (uint8_t)(i * 2654435761u >> 24);
    for (uint32_t i = 0; i < UNITS; i++) {
        uint32_t length = i == UNITS - 1 ? LAST : DATA;
        b->iov[2 * i] = (struct iovec){&pair->from[i * DATA], length};
        b->iov[2 * i + 1] = (struct iovec){b->trailer[i], TRAILER_BYTES};
        memset(b->trailer[i], (int)i, TRAILER_BYTES);
    }
}

/* One opening for all units from `unit` on, or `openings` for a unit each. */
static void plan(uint32_t unit, uint32_t openings)
{
    struct landing *l = &pair->landing;
    uint16_t n = 0;

    l->openings = 0;
    while (l->openings < openings && unit < UNITS) {
        l->first[l->openings++] = n;
        do {
            l->iov[n++] = (struct iovec){&pair->to[unit * DATA], unit == UNITS - 1 ? LAST : DATA};
            l->iov[n++] = (struct iovec){l->trailer[unit], TRAILER_BYTES};
            unit++;
        } while (openings == 1 && unit < UNITS);
        l->iov[n++] = (struct iovec){pair->spill, sizeof(pair->spill)};
    }
    l->first[l->openings] = n;
}

static uint32_t units_in(uint32_t opening)
{
    uint32_t bytes = pair->landing.bytes[opening];
    uint32_t segment = pair->landing.segment[opening];

    return segment == 0 ? 1 : (bytes + segment - 1) / segment;
}

/* Receives what is there; the units that arrived, all in order. */
static uint32_t receive_from(uint32_t unit, uint32_t openings)
{
    uint32_t units = 0;

    plan(unit, openings);
    int filled = channel_receive(&pair->receiver, &pair->landing);
    ck_assert_int_ge(filled, 0);
    ck_assert_uint_eq(pair->landing.received, (uint32_t)filled);
    for (uint32_t d = 0; d < pair->landing.received; d++) {
        ck_assert_uint_ge(pair->landing.bytes[d], LAST + TRAILER_BYTES);
        units += units_in(d);
    }
    return units;
}

static struct burst *rest_of_burst(uint32_t sent)
{
    static struct burst rest;

    rest = pair->burst;
    rest.datagrams -= sent;
    memmove(rest.iov, &rest.iov[2 * sent], 2 * rest.datagrams * sizeof(rest.iov[0]));
    return &rest;
}

/* Sends the burst and receives it, in as many steps as it takes. Returns the number of receives. */
static int move_burst(uint32_t openings)
{
    uint32_t sent = 0, received = 0;
    int receives = 0;

    while (received < UNITS) {
        uint32_t taken = 0;
        enum channel_verdict verdict = channel_send(&pair->sender, rest_of_burst(sent), &taken);

        sent += taken;
        ck_assert(verdict == CHANNEL_BLOCKED || (verdict == CHANNEL_OK && sent == UNITS));
        ck_assert_int_eq(channel_wait(&pair->receiver, -1, clock_now() + 60 * SECOND),
                         CHANNEL_READABLE);
        received += receive_from(received, openings);
        receives++;
    }
    ck_assert_uint_eq(received, UNITS);
    return receives;
}

static void expect_landed(void)
{
    ck_assert_mem_eq(pair->to, pair->from, (UNITS - 1) * DATA + LAST);
    ck_assert_mem_eq(pair->landing.trailer, pair->burst.trailer, UNITS * TRAILER_BYTES);
}

/* Every family, with and without each offload, with one opening and with many. Without UDP_GRO an
 * opening takes one datagram; with it and one opening, the burst is one receive. */
START_TEST(channel__burst_lands_in_place)
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
END_TEST

START_TEST(channel_init__properties)
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
    ck_assert_uint_eq(channel_path_bytes(&pair->receiver), row[_i].path_bytes);
    ck_assert_uint_gt(pair->receiver.receive_buffer, 0);
    close_pair();
}
END_TEST

/* path_bytes is no empty promise: exactly so much goes through, in one piece. */
START_TEST(channel_send__as_large_as_the_path)
{
    static uint8_t big[65536];
    struct burst *b;
    uint32_t sent;

    open_pair((enum family)_i, true, false);
    uint32_t path_bytes = channel_path_bytes(&pair->sender);
    b = &pair->burst;
    b->datagrams = 1;
    b->segment = b->bytes = path_bytes;
    b->iov[0] = (struct iovec){big, path_bytes - TRAILER_BYTES};
    b->iov[1] = (struct iovec){b->trailer[0], TRAILER_BYTES};
    ck_assert_int_eq(channel_send(&pair->sender, b, &sent), CHANNEL_OK);
    ck_assert_uint_eq(sent, 1);
    ck_assert_int_eq(channel_receive_control(&pair->receiver, big, sizeof(big)), (int)path_bytes);
    ck_assert_int_eq(channel_receive_control(&pair->receiver, big, sizeof(big)), 0);
    close_pair();
}
END_TEST

START_TEST(channel_send__larger_than_any_datagram)
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
END_TEST

START_TEST(channel_receive__nothing_there)
{
    uint8_t buffer[CONTROL_BYTES];

    open_pair((enum family)_i, true, true);
    plan(0, 1);
    ck_assert_int_eq(channel_receive(&pair->receiver, &pair->landing), 0);
    plan(0, 8);
    ck_assert_int_eq(channel_receive(&pair->receiver, &pair->landing), 0);
    ck_assert_int_eq(channel_receive_control(&pair->sender, buffer, sizeof(buffer)), 0);
    ck_assert_int_eq(channel_wait(&pair->sender, -1, clock_now() + MILLISECOND), 0);
    close_pair();
}
END_TEST

START_TEST(channel_receive_control__too_long)
{
    uint8_t buffer[100];

    open_pair((enum family)_i, false, false);
    ck_assert_int_eq(send(pair->fd[1], pair->to, 101, 0), 101);
    ck_assert_int_eq(send(pair->fd[1], pair->to, 99, 0), 99);
    ck_assert_int_eq(channel_receive_control(&pair->sender, buffer, sizeof(buffer)), 0);
    ck_assert_uint_eq(channel_count(&pair->sender, CHANNEL_TRUNCATIONS), 1);
    ck_assert_int_eq(channel_receive_control(&pair->sender, buffer, sizeof(buffer)), 99);
    close_pair();
}
END_TEST

START_TEST(channel_wait__wake)
{
    struct wake wake;

    open_pair((enum family)_i, true, true);
    ck_assert_int_eq(wake_init(&wake), 0);
    wake_signal(&wake);
    ck_assert_int_eq(channel_wait(&pair->sender, wake_fd(&wake), NEVER), CHANNEL_WOKEN);
    ck_assert_int_eq(channel_wait_writable(&pair->sender, CHANNEL_BLOCKED, wake_fd(&wake), NEVER),
                     CHANNEL_WOKEN);
    wake_clear(&wake);
    ck_assert_int_eq(channel_wait_writable(&pair->sender, CHANNEL_BLOCKED, wake_fd(&wake), NEVER),
                     0);
    ck_assert_int_eq(channel_wait_writable(&pair->sender, CHANNEL_CROWDED, wake_fd(&wake), NEVER),
                     0);
    wake_fini(&wake);
    close_pair();
}
END_TEST

/* Fills the queue of a local peer until it is full; a receive makes room again. */
START_TEST(channel_send__blocked_until_read)
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
    while (channel_receive_control(&pair->receiver, pair->spill, sizeof(pair->spill)) > 0)
        total--;
    ck_assert_uint_eq(total, 0);
    ck_assert_int_eq(channel_wait_writable(&pair->sender, verdict, -1, NEVER), 0);
    ck_assert_int_ne(channel_send(&pair->sender, &pair->burst, &sent), CHANNEL_BROKEN);
    ck_assert_uint_gt(sent, 0);
    close_pair();
}
END_TEST

/* Overruns the receive buffer; what is lost shows in the next datagram that is not. */
START_TEST(channel_receive__drops_are_counted)
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
END_TEST

START_TEST(channel_send__nobody_listens)
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
    ck_assert_int_eq(channel_receive_control(&pair->sender, pair->spill, CONTROL_BYTES), 0);
    ck_assert_int_eq(channel_fault(&pair->sender), 0);
    pair->fd[1] = dup(pair->fd[0]); /* for close_pair */
    close_pair();
}
END_TEST

START_TEST(channel__descriptor_closed_under_it)
{
    uint8_t buffer[CONTROL_BYTES];
    uint32_t sent;

    open_pair(IP4, true, true);
    fill_burst();
    close(pair->fd[0]);
    ck_assert_int_eq(channel_send(&pair->sender, &pair->burst, &sent), CHANNEL_BROKEN);
    ck_assert_int_eq(channel_fault(&pair->sender), EBADF);
    ck_assert_int_eq(channel_receive_control(&pair->sender, buffer, sizeof(buffer)),
                     CHANNEL_BROKEN);
    ck_assert_int_eq(channel_wait(&pair->sender, -1, NEVER), CHANNEL_BROKEN);
    pair->fd[0] = dup(pair->fd[1]);
    close_pair();
}
END_TEST

/* ---- lending */

enum { LOANS = 4 };

static uint8_t lent[LOANS][LEND_MOST + 64];

static void open_lending(enum family family)
{
    struct channel_options out = {.use_gso = true, .use_lending = true, .send_bytes = 1 << 20};

    open_pair(family, true, false);
    channel_fini(&pair->sender);
    ck_assert_int_eq(channel_init(&pair->sender, pair->fd[0], &out), 0);
}

/* A burst of units that begin anywhere in a page. */
static void fill_loans(uint32_t bytes)
{
    struct burst *b = &pair->burst;

    b->may_lend = true;
    b->datagrams = LOANS;
    b->segment = bytes + TRAILER_BYTES;
    for (uint32_t i = 0; i < LOANS; i++) {
        for (uint32_t at = 0; at < sizeof(lent[i]); at++)
            lent[i][at] = (uint8_t)((i * 7919 + at) * 2654435761u >> 24);
        b->iov[2 * i] = (struct iovec){&lent[i][13 * i], bytes};
        b->iov[2 * i + 1] = (struct iovec){b->trailer[i], TRAILER_BYTES};
        memset(b->trailer[i], (int)i + 1, TRAILER_BYTES);
    }
}

static void send_loans(void)
{
    uint32_t sent;

    ck_assert_int_eq(channel_send(&pair->sender, &pair->burst, &sent), CHANNEL_OK);
    ck_assert_uint_eq(sent, LOANS);
}

/* Datagram i arrives as the burst's pieces are now. */
static void expect_loan(uint32_t i)
{
    static uint8_t buffer[65536];
    const struct iovec *data = &pair->burst.iov[2 * i];
    int bytes = channel_receive_control(&pair->receiver, buffer, sizeof(buffer));

    ck_assert_int_eq(bytes, (int)data->iov_len + TRAILER_BYTES);
    ck_assert_mem_eq(buffer, data->iov_base, data->iov_len);
    ck_assert_mem_eq(buffer + data->iov_len, pair->burst.trailer[i], TRAILER_BYTES);
}

static const uint32_t loan_bytes[] = {LEND_LEAST - 1, LEND_LEAST, LEND_LEAST + 1, 50000,
                                      LEND_MOST - 1,  LEND_MOST,  LEND_MOST + 1};
enum { LOAN_SIZES = sizeof(loan_bytes) / sizeof(loan_bytes[0]) };

/* Sizes around the limits; a change after receipt, and to a trailer at once, does no harm. */
START_TEST(channel_send__lends)
{
    enum family family = (enum family)(_i / LOAN_SIZES);
    uint32_t bytes = loan_bytes[_i % LOAN_SIZES];
    bool fits = family != LOCAL && bytes >= LEND_LEAST && bytes <= LEND_MOST;

    open_lending(family);
    fill_loans(bytes);
    send_loans();
    ck_assert_uint_eq(channel_count(&pair->sender, CHANNEL_LOANS), fits ? LOANS : 0);
    for (uint32_t i = 0; i < LOANS; i++) {
        expect_loan(i);
        memset(lent[i], 0, sizeof(lent[i]));
    }
    ck_assert_uint_eq(channel_count(&pair->sender, CHANNEL_FALLBACKS), 0);
    close_pair();
}
END_TEST

/* What was lent is the receiver's though the sender has closed everything. */
START_TEST(channel_send__lent_then_closed)
{
    open_lending(IP4);
    fill_loans(LEND_MOST);
    send_loans();
    channel_fini(&pair->sender);
    close(pair->fd[0]);
    for (uint32_t i = 0; i < LOANS; i++)
        expect_loan(i);
    pair->fd[0] = dup(pair->fd[1]); /* for close_pair */
    close_pair();
}
END_TEST

/* Memory of a child's own: what the parent changes after a fork is the parent's, and arrives. */
START_TEST(channel_send__lends_after_fork)
{
    open_lending(IP4);
    fill_loans(LEND_MOST);
    pid_t child = fork();
    if (child == 0) {
        memset(lent, 0, sizeof(lent));
        _exit(0);
    }
    lent[0][0] ^= 1;
    lent[LOANS - 1][20000] ^= 1;
    send_loans();
    ck_assert_int_eq(waitpid(child, NULL, 0), child);
    for (uint32_t i = 0; i < LOANS; i++)
        expect_loan(i);
    close_pair();
}
END_TEST

/* There is nothing to be lent at a bad address, nor to be copied. */
START_TEST(channel_send__lends_bad_memory)
{
    uint32_t sent;

    open_lending(IP4);
    fill_loans(LEND_MOST);
    pair->burst.iov[2].iov_base =
        mmap(NULL, LEND_MOST, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ck_assert_int_eq(channel_send(&pair->sender, &pair->burst, &sent), CHANNEL_BROKEN);
    ck_assert_uint_eq(sent, 1);
    ck_assert_int_eq(channel_fault(&pair->sender), EFAULT);
    expect_loan(0);
    munmap(pair->burst.iov[2].iov_base, LEND_MOST);
    close_pair();
}
END_TEST

/* Nobody listens: refusals do not end the lending. */
START_TEST(channel_send__lends_to_nobody)
{
    uint32_t sent;

    open_lending(IP4);
    fill_loans(LEND_MOST);
    close(pair->fd[1]);
    for (int i = 0; i < 5; i++) {
        enum channel_verdict verdict = channel_send(&pair->sender, &pair->burst, &sent);
        ck_assert(verdict == CHANNEL_OK || verdict == CHANNEL_REFUSED);
    }
    ck_assert_uint_gt(channel_count(&pair->sender, CHANNEL_REFUSALS), 0);
    ck_assert_uint_gt(channel_count(&pair->sender, CHANNEL_LOANS), 0);
    ck_assert(pair->sender.is_lending);
    pair->fd[1] = dup(pair->fd[0]);
    close_pair();
}
END_TEST

/* ---- init and fini */

static int open_with(int fd)
{
    struct channel c;
    int error = channel_init(&c, fd, &(struct channel_options){.use_gso = true, .use_gro = true});

    if (fd >= 0)
        close(fd);
    return error;
}

START_TEST(channel_init__mistakes)
{
    int fd;

    ck_assert_int_eq(open_with(-1), -EBADF);
    ck_assert_int_eq(open_with(open("/dev/null", O_RDWR)), -ENOTSOCK);
    ck_assert_int_eq(open_with(socket(AF_INET, SOCK_STREAM, 0)), -EPROTOTYPE);
    ck_assert_int_eq(open_with(socket(AF_UNIX, SOCK_SEQPACKET, 0)), -EPROTOTYPE);
    ck_assert_int_eq(open_with(socket(AF_INET, SOCK_DGRAM, 0)), -ENOTCONN);
    ck_assert_int_eq(open_with(socket(AF_UNIX, SOCK_DGRAM, 0)), -ENOTCONN);
    ck_assert_int_eq(udp_bind("::1", NULL, &fd), 0);
    ck_assert_int_eq(open_with(fd), -ENOTCONN);
}
END_TEST

static int option(int fd, int level, int name)
{
    int value = -1;
    socklen_t size = sizeof(value);

    ck_assert_int_eq(getsockopt(fd, level, name, &value, &size), 0);
    return value;
}

START_TEST(channel_fini__leaves_the_socket_as_it_was)
{
    struct channel_options both = {.use_gso = true, .use_lending = true, .use_gro = true};
    struct channel c;
    int fd[2];

    open_sockets(IP4, fd);
    int flags = fcntl(fd[0], F_GETFL);
    int discovery = option(fd[0], IPPROTO_IP, IP_MTU_DISCOVER);
    ck_assert_int_eq(channel_init(&c, fd[0], &both), 0);
    ck_assert_int_eq(fcntl(fd[0], F_GETFL), flags);
    ck_assert_int_eq(option(fd[0], IPPROTO_IP, IP_MTU_DISCOVER), IP_PMTUDISC_DO);
    ck_assert(c.is_lending);
    channel_fini(&c);
    ck_assert_int_eq(fcntl(fd[0], F_GETFL), flags);
    ck_assert_int_eq(option(fd[0], IPPROTO_IP, IP_MTU_DISCOVER), discovery);
    ck_assert_int_eq(option(fd[0], IPPROTO_UDP, UDP_GRO), 0);
    ck_assert_int_eq(option(fd[0], IPPROTO_UDP, UDP_SEGMENT), 0);
    ck_assert_int_eq(fcntl(c.lend_pipe[0], F_GETFD), -1);
    ck_assert_int_eq(fcntl(c.lend_pipe[1], F_GETFD), -1);
    close(fd[0]);
    close(fd[1]);
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("channel");
    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, channel__burst_lands_in_place, 0, 8 * FAMILIES);
    tcase_add_loop_test(tcase, channel_init__properties, 0, FAMILIES);
    tcase_add_loop_test(tcase, channel_send__as_large_as_the_path, 0, FAMILIES);
    tcase_add_loop_test(tcase, channel_send__larger_than_any_datagram, 0, LOCAL);
    tcase_add_loop_test(tcase, channel_receive__nothing_there, 0, FAMILIES);
    tcase_add_loop_test(tcase, channel_receive_control__too_long, 0, FAMILIES);
    tcase_add_loop_test(tcase, channel_wait__wake, 0, FAMILIES);
    tcase_add_test(tcase, channel_send__blocked_until_read);
    tcase_add_test(tcase, channel_receive__drops_are_counted);
    tcase_add_loop_test(tcase, channel_send__nobody_listens, 0, FAMILIES);
    tcase_add_test(tcase, channel__descriptor_closed_under_it);
    tcase_add_loop_test(tcase, channel_send__lends, 0, FAMILIES * LOAN_SIZES);
    tcase_add_test(tcase, channel_send__lent_then_closed);
    tcase_add_test(tcase, channel_send__lends_after_fork);
    tcase_add_test(tcase, channel_send__lends_bad_memory);
    tcase_add_test(tcase, channel_send__lends_to_nobody);
    tcase_add_test(tcase, channel_init__mistakes);
    tcase_add_test(tcase, channel_fini__leaves_the_socket_as_it_was);
    return suite_run("channel", tcase);
}
