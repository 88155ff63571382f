/* wrap: sendmmsg getsockopt */
#include "transport/aal5/aal5_channel.h"

#include "../../support/mock.h"
#include "transport/udp/socket.h"

#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum { DATA = 4000, UNITS = 3, PATH = 1472, PACKETS = 3 /* of a unit */ };

static int path_mtu;
static struct aal5_head sent[64]; /* heads of the packets that were taken */
static unsigned sent_count;

/* What was queued is how many packets the kernel takes at most, or minus an error number. */
int __wrap_sendmmsg(int fd, struct mmsghdr *messages, unsigned count, int flags)
{
    int queued = mock_type(int);

    (void)fd;
    assert_int_equal(flags, MSG_DONTWAIT | MSG_NOSIGNAL);
    for (int i = 0; i < queued && (unsigned)i < count; i++)
        assert_true(aal5_head_decode(messages[i].msg_hdr.msg_iov[0].iov_base, &sent[sent_count++]));
    return mock_result(queued > (int)count ? (int)count : queued);
}

int __wrap_getsockopt(int fd, int level, int name, void *value, socklen_t *size)
{
    (void)fd;
    (void)size;
    assert_int_equal(level, IPPROTO_IP);
    assert_int_equal(name, IP_MTU);
    memcpy(value, &path_mtu, sizeof(path_mtu));
    return 0;
}

static struct channel c;
static struct burst burst;
static uint8_t data[DATA];

static void open_channel(void)
{
    c = (struct channel){.fd = 9, .kind = CHANNEL_UDP4, .path_bytes = PATH};
    path_mtu = PATH + 28;
    sent_count = 0;
    assert_int_equal(
        aal5_open(&c, &(struct channel_aal5){.out = {0, 32}, .in = {0, 32}, .mtu = 9180}), 0);
    burst.datagrams = UNITS;
    burst.segment = DATA + TRAILER_BYTES;
    for (int i = 0; i < UNITS; i++) {
        burst.iov[2 * i] = (struct iovec){data, DATA};
        burst.iov[2 * i + 1] = (struct iovec){burst.trailer[i], TRAILER_BYTES};
    }
}

static void close_channel(void)
{
    aal5_close(&c);
}

FIXTURE(open_channel, close_channel)

static void expect(enum channel_verdict verdict, uint32_t units)
{
    uint32_t done;

    assert_int_equal(aal5_send(&c, &burst, &done), verdict);
    assert_int_equal(done, units);
}

TEST(one_call_a_burst)
{
    will_return(__wrap_sendmmsg, 100);
    expect(CHANNEL_OK, UNITS);
    assert_int_equal(sent_count, UNITS * PACKETS);
    for (unsigned i = 0; i < sent_count; i++) {
        assert_int_equal(sent[i].number, i + 1);
        assert_int_equal(sent[i].is_end, i % PACKETS == PACKETS - 1);
    }
    assert_int_equal(channel_count(&c, CHANNEL_CALLS_OUT), 1);
}

TEST(interrupted_and_in_parts)
{
    will_return(__wrap_sendmmsg, -EINTR);
    will_return(__wrap_sendmmsg, 4);
    will_return(__wrap_sendmmsg, 100);
    expect(CHANNEL_OK, UNITS);
    assert_int_equal(sent[8].number, 9);
    assert_int_equal(channel_count(&c, CHANNEL_CALLS_OUT), 2);
}

/* A unit that is out in part ends with a missing number; one that is not out with none. */
TEST(blocked_in_the_middle)
{
    will_return(__wrap_sendmmsg, 4);
    will_return(__wrap_sendmmsg, -EAGAIN);
    expect(CHANNEL_BLOCKED, 1);
    will_return(__wrap_sendmmsg, 3);
    will_return(__wrap_sendmmsg, -EAGAIN);
    expect(CHANNEL_BLOCKED, 1);
    will_return(__wrap_sendmmsg, 100);
    expect(CHANNEL_OK, UNITS);
    assert_int_equal(sent[3].number, 4);
    assert_int_equal(sent[4].number, 6);
    assert_int_equal(sent[7].number, 9);
    assert_int_equal(channel_count(&c, CHANNEL_BLOCKS), 2);
}

static void take_part(enum channel_verdict verdict)
{
    will_return(__wrap_sendmmsg, PACKETS - 1);
    will_return(__wrap_sendmmsg, -EAGAIN);
    expect(verdict, 0);
}

/* A socket that takes only a part of a unit each time would take none ever. */
TEST(blocked_in_the_middle_again_and_again)
{
    for (int i = 0; i < 3; i++)
        take_part(CHANNEL_BLOCKED);
    will_return(__wrap_sendmmsg, PACKETS + 1); /* a unit fits, and the next one does not yet */
    will_return(__wrap_sendmmsg, -EAGAIN);
    expect(CHANNEL_BLOCKED, 1);
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 3; i++)
            take_part(CHANNEL_BLOCKED);
        will_return(__wrap_sendmmsg, -EAGAIN); /* nor does it say anything that nothing fits */
        expect(CHANNEL_BLOCKED, 0);
        take_part(CHANNEL_TOO_BIG);
    }
}

/* Smaller packets instead of smaller units. */
TEST(path_is_smaller)
{
    uint32_t before = c.aal5->packet_bytes;

    path_mtu = 1300;
    will_return_count(__wrap_sendmmsg, -EMSGSIZE, FAULT_LATE_MOST + 1);
    will_return(__wrap_sendmmsg, 100);
    expect(CHANNEL_OK, UNITS);
    assert_int_equal(c.aal5->packet_bytes, 1248);
    assert_true(before > 1248);
    assert_int_equal(c.path_bytes, 9180);
    assert_int_equal(sent_count, UNITS * 4);
}

/* Nor does the kernel know why: half, but never less than any path takes. */
TEST(path_is_too_small)
{
    will_return_count(__wrap_sendmmsg, -EMSGSIZE, FAULT_LATE_MOST + 2);
    path_mtu = 1500;
    expect(CHANNEL_REFUSED, 0);
    assert_int_equal(c.aal5->packet_bytes, 1152);
    assert_int_equal(channel_count(&c, CHANNEL_TOO_BIGS), FAULT_LATE_MOST + 2);
}

TEST(refused_late_and_again)
{
    will_return(__wrap_sendmmsg, -ECONNREFUSED);
    will_return(__wrap_sendmmsg, 100);
    expect(CHANNEL_OK, UNITS);
    will_return_count(__wrap_sendmmsg, -ECONNREFUSED, FAULT_LATE_MOST + 1);
    expect(CHANNEL_REFUSED, 0);
}

TEST(others)
{
    will_return(__wrap_sendmmsg, -ENOBUFS);
    expect(CHANNEL_CROWDED, 0);
    will_return(__wrap_sendmmsg, 0);
    expect(CHANNEL_BLOCKED, 0);
    will_return(__wrap_sendmmsg, -EBADF);
    expect(CHANNEL_BROKEN, 0);
}
