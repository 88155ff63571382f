/* The kernel for tests of socket_send: it remembers each call, and its result is what the test
 * queued; and what these tests give to it: a channel over UDP, and a burst of units of one size. */
#ifndef ZCRP_TESTS_MOCK_SOCKET_SEND_RIG_H
#define ZCRP_TESTS_MOCK_SOCKET_SEND_RIG_H

#include "transport/udp/socket.h"

#include "../../support/mock.h"

#include <netinet/in.h>
#include <netinet/udp.h>
#include <string.h>
#include <sys/socket.h>

enum { FD = 5, LAST_BYTE = 0x11, WIDEST = 65507 };

static struct channel c;
static struct burst b;
static uint8_t data[1 << 16];

/* Each datagram is `segment` bytes, the last of which is LAST_BYTE. */
static inline void fill_burst(uint32_t datagrams, uint32_t segment)
{
    b = (struct burst){.datagrams = datagrams, .segment = segment, .bytes = datagrams * segment};
    for (uint32_t i = 0; i < datagrams; i++) {
        b.iov[2 * i] = (struct iovec){data, segment - TRAILER_BYTES};
        b.iov[2 * i + 1] = (struct iovec){b.trailer[i], TRAILER_BYTES};
        b.trailer[i][TRAILER_BYTES - 1] = LAST_BYTE;
    }
}

static inline void setup_channel(void)
{
    c = (struct channel){.fd = FD, .kind = CHANNEL_UDP4, .datagram_max = WIDEST};
    atomic_init(&c.gso_segments, BURST_CUT);
}

static inline void expect_send(enum channel_verdict verdict, uint32_t sent)
{
    uint32_t taken = 12345;

    assert_int_equal(socket_send(&c, &b, &taken), verdict);
    assert_int_equal(taken, sent);
}

static inline void expect_counter(enum channel_counter which, uint64_t count)
{
    assert_int_equal(channel_count(&c, which), count);
}

enum { DATA = 1440, SEGMENT = DATA + TRAILER_BYTES };

/* One call as the kernel saw it: datagrams [from, from + count), cut at `segment` or, 0, not. Where
 * it has several messages, each but the last has as many datagrams. */
struct call {
    uint32_t from, count, segment;
};

static struct call call[4 + 2 * FAULT_LATE_MOST];
static int calls;

static void note_call(uint32_t from, uint32_t count, uint32_t segment)
{
    assert_true((size_t)calls < sizeof call / sizeof call[0]);
    call[calls++] = (struct call){from, count, segment};
}

static uint32_t first_datagram(const struct msghdr *m)
{
    return (uint32_t)(m->msg_iov - b.iov) / 2;
}

static uint32_t segment_of(const struct msghdr *m)
{
    const struct cmsghdr *note = CMSG_FIRSTHDR(m);
    uint16_t segment;

    if (!note)
        return 0;
    assert_int_equal(note->cmsg_level, IPPROTO_UDP);
    assert_int_equal(note->cmsg_type, UDP_SEGMENT);
    assert_int_equal(note->cmsg_len, CMSG_LEN(sizeof(segment)));
    memcpy(&segment, CMSG_DATA(note), sizeof(segment));
    return segment;
}

ssize_t __wrap_sendmsg(int fd, const struct msghdr *m, int flags)
{
    assert_int_equal(fd, FD);
    assert_int_equal(flags, MSG_DONTWAIT | MSG_NOSIGNAL);
    note_call(first_datagram(m), (uint32_t)m->msg_iovlen / 2, segment_of(m));
    return MOCK_RESULT();
}

int __wrap_sendmmsg(int fd, struct mmsghdr *m, unsigned count, int flags)
{
    uint32_t first = first_datagram(&m[0].msg_hdr);
    uint32_t each = (uint32_t)m[0].msg_hdr.msg_iovlen / 2;
    uint32_t segment = segment_of(&m[0].msg_hdr);
    uint32_t datagrams = 0;

    assert_int_equal(fd, FD);
    assert_int_equal(flags, MSG_DONTWAIT | MSG_NOSIGNAL);
    for (unsigned i = 0; i < count; i++) {
        uint32_t here = (uint32_t)m[i].msg_hdr.msg_iovlen / 2;
        assert_int_equal(first_datagram(&m[i].msg_hdr), first + datagrams);
        assert_true(here == each || (i + 1 == count && here < each));
        assert_int_equal(segment_of(&m[i].msg_hdr), here > 1 ? segment : 0);
        datagrams += here;
    }
    note_call(first, datagrams, segment);
    return MOCK_RESULT();
}

int __wrap_setsockopt(int fd, int level, int name, const void *value, socklen_t size)
{
    (void)fd, (void)level, (void)name, (void)value, (void)size;
    fail();
    return 0;
}

/* 44 units, as many as one call cuts, over Ethernet. */
static void setup(void)
{
    setup_channel();
    fill_burst(44, SEGMENT);
    calls = 0;
}

static void expect_call(int i, uint32_t from, uint32_t count, uint32_t segment)
{
    assert_int_equal(call[i].from, from);
    assert_int_equal(call[i].count, count);
    assert_int_equal(call[i].segment, segment);
}

#endif
