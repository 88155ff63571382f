/* wrap: recvmsg recvmmsg */
/* The kernel for tests of socket_receive: it hands out arrivals, and its result is what the test
 * queued. */
#include "transport/udp/socket.h"

#include "../../support/mock.h"

#include <netinet/in.h>
#include <netinet/udp.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

enum { FD = 5 };

/* What the kernel says beside the data of each message. */
struct arrival {
    unsigned bytes;
    int segment;    /* 0: no cmsg */
    uint32_t drops; /* 0: no cmsg */
    int flags;
    int tos, class; /* of IPv4, IPv6; 0: no cmsg */
};

static struct channel c;
static struct landing l;
static struct arrival arrival[LANDING_OPENINGS];
static int calls;

static void write_notes(struct msghdr *m, const struct arrival *a)
{
    struct cmsghdr *note = CMSG_FIRSTHDR(m);

    memset(m->msg_control, 0, m->msg_controllen);
    if (a->drops) {
        *note = (struct cmsghdr){CMSG_LEN(sizeof(a->drops)), SOL_SOCKET, SO_RXQ_OVFL};
        memcpy(CMSG_DATA(note), &a->drops, sizeof(a->drops));
        note = CMSG_NXTHDR(m, note);
    }
    if (a->segment) {
        *note = (struct cmsghdr){CMSG_LEN(sizeof(a->segment)), IPPROTO_UDP, UDP_GRO};
        memcpy(CMSG_DATA(note), &a->segment, sizeof(a->segment));
        note = CMSG_NXTHDR(m, note);
    }
    if (a->tos) {
        uint8_t tos = (uint8_t)a->tos;
        *note = (struct cmsghdr){CMSG_LEN(sizeof(tos)), IPPROTO_IP, IP_TOS};
        memcpy(CMSG_DATA(note), &tos, sizeof(tos));
        note = CMSG_NXTHDR(m, note);
    }
    if (a->class) {
        *note = (struct cmsghdr){CMSG_LEN(sizeof(a->class)), IPPROTO_IPV6, IPV6_TCLASS};
        memcpy(CMSG_DATA(note), &a->class, sizeof(a->class));
    }
    m->msg_controllen = (a->drops ? CMSG_SPACE(sizeof(uint32_t)) : 0) +
                        (a->segment ? CMSG_SPACE(sizeof(int)) : 0) + (a->tos ? CMSG_SPACE(1) : 0) +
                        (a->class ? CMSG_SPACE(sizeof(int)) : 0);
    m->msg_flags = a->flags;
}

static uint16_t from_port; /* of the host 0.0.0.0 */

static void write_name(struct msghdr *m)
{
    const struct sockaddr_in from = {.sin_family = AF_INET, .sin_port = htons(from_port)};

    assert_true(m->msg_namelen >= sizeof(from));
    memcpy(m->msg_name, &from, sizeof(from));
    m->msg_namelen = sizeof(from);
}

/* A result that is not negative is the number of the arrival. */
ssize_t __wrap_recvmsg(int fd, struct msghdr *m, int flags)
{
    int result = MOCK_RESULT();

    assert_int_equal(fd, FD);
    assert_int_equal(flags, MSG_DONTWAIT);
    calls++;
    if (result < 0)
        return result;
    if (m->msg_name)
        write_name(m);
    write_notes(m, &arrival[result]);
    return arrival[result].bytes;
}

int __wrap_recvmmsg(int fd, struct mmsghdr *m, unsigned count, int flags, struct timespec *limit)
{
    int filled = MOCK_RESULT();

    assert_int_equal(fd, FD);
    assert_int_equal(flags, MSG_DONTWAIT);
    assert_null(limit);
    assert_int_equal(count, l.openings);
    calls++;
    for (int d = 0; d < filled; d++) {
        assert_ptr_equal(m[d].msg_hdr.msg_iov, &l.iov[l.first[d]]);
        assert_int_equal(m[d].msg_hdr.msg_iovlen, l.first[d + 1] - l.first[d]);
        m[d].msg_len = arrival[d].bytes;
        write_notes(&m[d].msg_hdr, &arrival[d]);
    }
    return filled;
}

/* Openings of 3, 5, 3, 5, ... pieces. */
static void plan(uint32_t openings)
{
    l.openings = openings;
    for (uint32_t d = 0; d < openings; d++)
        l.first[d + 1] = (uint16_t)(l.first[d] + (d % 2 ? 5 : 3));
}

static void setup(void)
{
    c = (struct channel){.fd = FD, .kind = CHANNEL_UDP4, .has_gro = true};
    memset(&l, 0, sizeof(l));
    l.received = 99;
    memset(arrival, 0, sizeof(arrival));
    plan(1);
    calls = 0;
}

static inline void expect_opening(uint32_t d, uint32_t bytes, uint32_t segment)
{
    assert_int_equal(l.bytes[d], bytes);
    assert_int_equal(l.segment[d], segment);
}

/* ---- landing */

FIXTURE(setup, NULL)

TEST(receive__no_opening)
{
    l.openings = 0;
    assert_int_equal(socket_receive(&c, &l), 0);
    assert_int_equal(l.received, 0);
    assert_int_equal(calls, 0);
}

TEST(receive__one_datagram)
{
    arrival[0] = (struct arrival){.bytes = 1000};
    will_return(__wrap_recvmsg, 0);
    assert_int_equal(socket_receive(&c, &l), 1);
    assert_int_equal(l.received, 1);
    expect_opening(0, 1000, 0);
    assert_int_equal(channel_count(&c, CHANNEL_CALLS_IN), 1);
}

TEST(receive__joined)
{
    arrival[0] = (struct arrival){.bytes = 44 * 1472, .segment = 1472, .drops = 3};
    will_return(__wrap_recvmsg, 0);
    assert_int_equal(socket_receive(&c, &l), 1);
    expect_opening(0, 44 * 1472, 1472);
    assert_int_equal(channel_count(&c, CHANNEL_DROPS), 3);
}

/* The byte of IPv4 or the word of IPv6 counts for each datagram that was joined; every note of the
 * kernel's finds room at once. */
TEST(receive__marked)
{
    static const struct {
        int segment, tos, class, ecn;
    } row[] = {
        {0, 0, 0, 0}, {0, 2, 0, 2},    {0, 3, 0, 3},    {0, 0xbb, 0, 3}, {0, 0, 0xbb, 3},
        {0, 0, 1, 1}, {1472, 3, 0, 3}, {1472, 0, 3, 3}, {1472, 2, 0, 2}, {0, 0xb8, 0xb8, 0},
    };

    for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
        arrival[0] = (struct arrival){.bytes = 1000,
                                      .segment = row[i].segment,
                                      .drops = 3,
                                      .tos = row[i].tos,
                                      .class = row[i].class};
        l.ecn[0] = 9;
        will_return(__wrap_recvmsg, 0);
        assert_int_equal(socket_receive(&c, &l), 1);
        expect_opening(0, 1000, (uint32_t)row[i].segment);
        assert_int_equal(l.ecn[0], row[i].ecn);
    }
}

/* Until the socket was empty once, what comes from elsewhere was there before it was connected. */
TEST(receive__leftovers)
{
    c.has_leftovers = true;
    c.peer.room.ss_family = AF_INET;
    from_port = 7;
    arrival[0] = (struct arrival){.bytes = 1000};
    will_return(__wrap_recvmsg, 0);
    assert_int_equal(socket_receive(&c, &l), 1);
    expect_opening(0, 0, 0);
    assert_true(l.is_spoilt);
    assert_int_equal(channel_count(&c, CHANNEL_LEFTOVERS), 1);
    from_port = 0;
    l.is_spoilt = false;
    will_return(__wrap_recvmsg, 0);
    assert_int_equal(socket_receive(&c, &l), 1);
    expect_opening(0, 1000, 0);
    assert_true(l.is_spoilt); /* a wrong checksum may have been found behind some bytes */
    will_return(__wrap_recvmsg, -EAGAIN);
    assert_int_equal(socket_receive(&c, &l), 0);
    assert_false(c.has_leftovers);
    l.is_spoilt = false;
    will_return(__wrap_recvmsg, 0);
    assert_int_equal(socket_receive(&c, &l), 1);
    assert_false(l.is_spoilt);
}

TEST(receive__empty_datagram)
{
    will_return(__wrap_recvmsg, 0);
    assert_int_equal(socket_receive(&c, &l), 1);
    expect_opening(0, 0, 0);
}

TEST(receive__truncated)
{
    arrival[0] = (struct arrival){.bytes = 500, .segment = 100, .flags = MSG_TRUNC};
    will_return(__wrap_recvmsg, 0);
    assert_int_equal(socket_receive(&c, &l), 1);
    expect_opening(0, 0, 0);
    assert_int_equal(channel_count(&c, CHANNEL_TRUNCATIONS), 1);
}

/* The user's own notes may leave no room for the kernel's. */
TEST(receive__notes_truncated)
{
    static const struct {
        bool has_gro;
        int segment;
        uint32_t bytes;
    } row[] = {{true, 0, 0}, {true, 250, 500}, {false, 0, 500}};

    for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
        setup();
        c.has_gro = row[i].has_gro;
        arrival[0] = (struct arrival){.bytes = 500, .segment = row[i].segment, .flags = MSG_CTRUNC};
        will_return(__wrap_recvmsg, 0);
        assert_int_equal(socket_receive(&c, &l), 1);
        expect_opening(0, row[i].bytes, (uint32_t)row[i].segment);
    }
}

TEST(receive__several)
{
    plan(LANDING_OPENINGS);
    arrival[0] = (struct arrival){.bytes = 100};
    arrival[1] = (struct arrival){.bytes = 3000, .segment = 1472, .drops = 7};
    arrival[2] = (struct arrival){.bytes = 200, .drops = 9, .flags = MSG_TRUNC};
    arrival[3] = (struct arrival){.bytes = 300, .drops = 9};
    will_return(__wrap_recvmmsg, 4);
    assert_int_equal(socket_receive(&c, &l), 4);
    assert_int_equal(l.received, 4);
    expect_opening(0, 100, 0);
    expect_opening(1, 3000, 1472);
    expect_opening(2, 0, 0);
    expect_opening(3, 300, 0);
    assert_int_equal(channel_count(&c, CHANNEL_DROPS), 9);
    assert_int_equal(channel_count(&c, CHANNEL_CALLS_IN), 1);
}

/* recvmmsg tells of a fault only the next time: the opening behind the last one may have bytes. */
TEST(receive__a_fault_behind_others)
{
    for (int can_fault = 0; can_fault < 2; can_fault++) {
        l.cannot_fault = !can_fault;
        l.is_spoilt = false;
        plan(3);
        arrival[0] = arrival[1] = (struct arrival){.bytes = 100};
        will_return(__wrap_recvmmsg, 2);
        assert_int_equal(socket_receive(&c, &l), 2);
        assert_int_equal(l.is_spoilt, can_fault);
    }
}

TEST(receive__drops_wrap_around)
{
    c.drops_seen = UINT32_MAX - 1;
    arrival[0] = (struct arrival){.bytes = 1, .drops = 3};
    will_return(__wrap_recvmsg, 0);
    assert_int_equal(socket_receive(&c, &l), 1);
    assert_int_equal(channel_count(&c, CHANNEL_DROPS), 5);
}

/* What was in the socket when it became a channel tells of fewer drops than the channel has seen.
 */
TEST(receive__drops_before_the_channel)
{
    plan(LANDING_OPENINGS);
    c.drops_seen = 13;
    arrival[0] = (struct arrival){.bytes = 1, .drops = 3};
    arrival[1] = (struct arrival){.bytes = 1, .drops = 13};
    arrival[2] = (struct arrival){.bytes = 1, .drops = 15};
    will_return(__wrap_recvmmsg, 3);
    assert_int_equal(socket_receive(&c, &l), 3);
    assert_int_equal(channel_count(&c, CHANNEL_DROPS), 2);
    assert_int_equal(c.drops_seen, 15);
}

/* ---- socket_receive where the kernel refuses: what is tried again, and what ends the channel. */

/* What each error does to a receive of one opening, or of several. */
static const struct {
    int error, times; /* until the receive gives up */
    int result;
    enum channel_counter counter;
} errors[] = {
    {EAGAIN, 1, 0, CHANNEL_COUNTERS},
    {ECONNREFUSED, 2, 0, CHANNEL_REFUSALS},
    {ECONNRESET, 2, 0, CHANNEL_REFUSALS},
    {EHOSTUNREACH, 2, 0, CHANNEL_REFUSALS},
    {EMSGSIZE, 2, 0, CHANNEL_TOO_BIGS},
    {ENOBUFS, 2, 0, CHANNEL_CROWDS},
    {ENOMEM, 2, 0, CHANNEL_CROWDS},
    {EBADF, 1, CHANNEL_BROKEN, CHANNEL_COUNTERS},
    {ENOTSOCK, 1, CHANNEL_BROKEN, CHANNEL_COUNTERS},
    {EFAULT, 1, CHANNEL_FAULT, CHANNEL_FAULTS},
    {EINVAL, 2, 0, CHANNEL_REFUSALS},
};

enum { ERRORS = sizeof(errors) / sizeof(errors[0]) };

static void expect_error(int i, int result)
{
    assert_int_equal(result, errors[i].result);
    assert_int_equal(calls, errors[i].times);
    assert_int_equal(channel_count(&c, CHANNEL_BLOCKS), 0);
    if (errors[i].counter != CHANNEL_COUNTERS)
        assert_int_equal(channel_count(&c, errors[i].counter), errors[i].times);
}

TEST(receive__errors)
{
    for (int i = 0; i < ERRORS; i++) {
        setup();
        will_return_count(__wrap_recvmsg, -errors[i].error, errors[i].times);
        expect_error(i, socket_receive(&c, &l));
        assert_int_equal(l.received, 0);
    }
}

TEST(receive__errors_of_several)
{
    for (int i = 0; i < ERRORS; i++) {
        setup();
        plan(8);
        will_return_count(__wrap_recvmmsg, -errors[i].error, errors[i].times);
        expect_error(i, socket_receive(&c, &l));
        assert_int_equal(l.received, 0);
    }
}

TEST(receive__interrupted)
{
    will_return_count(__wrap_recvmsg, -EINTR, 3);
    will_return(__wrap_recvmsg, 0);
    assert_int_equal(socket_receive(&c, &l), 1);
}

/* The error stood in front of a datagram that waits. */
TEST(receive__late_refusal)
{
    plan(2);
    arrival[0] = (struct arrival){.bytes = 77};
    will_return(__wrap_recvmmsg, -ECONNREFUSED);
    will_return(__wrap_recvmmsg, 1);
    assert_int_equal(socket_receive(&c, &l), 1);
    expect_opening(0, 77, 0);
}
