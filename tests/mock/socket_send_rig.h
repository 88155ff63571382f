/* The kernel for tests of socket_send: it remembers each call, and its result is
 * what the test queued. */
#ifndef ZCRP_TESTS_MOCK_SOCKET_SEND_RIG_H
#define ZCRP_TESTS_MOCK_SOCKET_SEND_RIG_H

#include "channel/socket.h"
#include "socket_rig.h"

enum { DATA = 1440, SEGMENT = DATA + TRAILER_BYTES };

/* One call as the kernel saw it: datagrams [from, from + count), cut at `segment` or, 0, not. */
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

    assert_int_equal(fd, FD);
    assert_int_equal(flags, MSG_DONTWAIT | MSG_NOSIGNAL);
    for (unsigned i = 0; i < count; i++) {
        assert_int_equal(first_datagram(&m[i].msg_hdr), first + i);
        assert_int_equal(m[i].msg_hdr.msg_iovlen, 2);
        assert_null(m[i].msg_hdr.msg_control);
    }
    note_call(first, count, 0);
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
