/* wrap: sendmsg sendmmsg getsockopt setsockopt */
/* sources: src/channel/socket_send.c src/channel/socket_path.c src/channel/fault.c */
/* sources: src/platform/check.c src/channel/socket_lend.c */
#include "channel/socket_send.h"

#include "../support/mock.h"

#include <netinet/in.h>
#include <netinet/udp.h>
#include <string.h>
#include <sys/socket.h>

enum { FD = 5, DATA = 1440, SEGMENT = DATA + TRAILER_BYTES, ETHERNET = 1472 };

/* One call as the kernel saw it: datagrams [from, from + count), cut at `segment` or, 0, not. */
struct call {
    uint32_t from, count, segment;
};

static struct channel c;
static struct burst b;
static uint8_t data[DATA];
static struct call call[16];
static int calls;
static int mtu;

ssize_t __wrap_sendmsg(int fd, const struct msghdr *m, int flags);
int __wrap_sendmmsg(int fd, struct mmsghdr *m, unsigned count, int flags);
int __wrap_getsockopt(int fd, int level, int name, void *value, socklen_t *size);
int __wrap_setsockopt(int fd, int level, int name, const void *value, socklen_t size);

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
    call[calls++] = (struct call){first_datagram(m), (uint32_t)m->msg_iovlen / 2, segment_of(m)};
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
    call[calls++] = (struct call){first, count, 0};
    return MOCK_RESULT();
}

int __wrap_getsockopt(int fd, int level, int name, void *value, socklen_t *size)
{
    assert_int_equal(fd, FD);
    assert_int_equal(level, IPPROTO_IP);
    assert_int_equal(name, IP_MTU);
    assert_int_equal(*size, sizeof(int));
    memcpy(value, &mtu, sizeof(mtu));
    return 0;
}

int __wrap_setsockopt(int fd, int level, int name, const void *value, socklen_t size)
{
    (void)fd, (void)level, (void)name, (void)value, (void)size;
    fail();
    return 0;
}

static void fill_burst(uint32_t datagrams, uint32_t segment)
{
    b.datagrams = datagrams;
    b.segment = segment;
    b.bytes = datagrams * segment;
    for (uint32_t i = 0; i < datagrams; i++) {
        b.iov[2 * i] = (struct iovec){data, segment - TRAILER_BYTES};
        b.iov[2 * i + 1] = (struct iovec){b.trailer[i], TRAILER_BYTES};
    }
}

static int setup(void **state)
{
    (void)state;
    c = (struct channel){.fd = FD, .kind = CHANNEL_UDP4, .datagram_max = 65507};
    atomic_init(&c.path_bytes, ETHERNET);
    atomic_init(&c.gso_segments, BURST_UNITS);
    fill_burst(44, SEGMENT);
    calls = 0;
    mtu = ETHERNET + 28;
    return 0;
}

static int setup_plain(void **state)
{
    (void)setup(state);
    atomic_store(&c.gso_segments, 1);
    return 0;
}

static void expect_send(enum channel_verdict verdict, uint32_t sent)
{
    uint32_t taken = 12345;

    assert_int_equal(socket_send(&c, &b, &taken), verdict);
    assert_int_equal(taken, sent);
}

static void expect_call(int i, uint32_t from, uint32_t count, uint32_t segment)
{
    assert_int_equal(call[i].from, from);
    assert_int_equal(call[i].count, count);
    assert_int_equal(call[i].segment, segment);
}

static void expect_counter(enum channel_counter which, uint64_t count)
{
    assert_int_equal(channel_count(&c, which), count);
}

/* ---- offload in use */

static void segmented__one_call(void **state)
{
    (void)state;
    will_return(__wrap_sendmsg, 44 * SEGMENT);
    expect_send(CHANNEL_OK, 44);
    assert_int_equal(calls, 1);
    expect_call(0, 0, 44, SEGMENT);
    expect_counter(CHANNEL_CALLS_OUT, 1);
}

static void segmented__single_datagram_is_not_cut(void **state)
{
    (void)state;
    fill_burst(1, SEGMENT);
    will_return(__wrap_sendmsg, SEGMENT);
    expect_send(CHANNEL_OK, 1);
    expect_call(0, 0, 1, 0);
}

static void segmented__empty_burst(void **state)
{
    (void)state;
    fill_burst(0, 0);
    expect_send(CHANNEL_OK, 0);
    assert_int_equal(calls, 0);
}

/* 45 x 1472 = 66,240 bytes are more than one IPv4 datagram. */
static void segmented__split_at_64_kib(void **state)
{
    (void)state;
    fill_burst(45, SEGMENT);
    will_return(__wrap_sendmsg, 44 * SEGMENT);
    will_return(__wrap_sendmsg, SEGMENT);
    expect_send(CHANNEL_OK, 45);
    expect_call(0, 0, 44, SEGMENT);
    expect_call(1, 44, 1, 0);
}

static void segmented__units_as_large_as_the_call(void **state)
{
    (void)state;
    mtu = 65536;
    atomic_store(&c.path_bytes, 65507);
    fill_burst(2, 65504);
    will_return(__wrap_sendmmsg, 2);
    expect_send(CHANNEL_OK, 2);
    expect_call(0, 0, 2, 0);
}

static void segmented__interrupted(void **state)
{
    (void)state;
    will_return_count(__wrap_sendmsg, -EINTR, 3);
    will_return(__wrap_sendmsg, 44 * SEGMENT);
    expect_send(CHANNEL_OK, 44);
    assert_int_equal(calls, 4);
}

static void segmented__blocked_in_the_middle(void **state)
{
    (void)state;
    fill_burst(60, SEGMENT);
    will_return(__wrap_sendmsg, 44 * SEGMENT);
    will_return(__wrap_sendmsg, -EAGAIN);
    expect_send(CHANNEL_BLOCKED, 44);
    expect_call(1, 44, 16, SEGMENT);
    expect_counter(CHANNEL_BLOCKS, 1);
}

static void segmented__eio_leaves_the_offload(void **state)
{
    (void)state;
    will_return(__wrap_sendmsg, -EIO);
    will_return(__wrap_sendmmsg, 44);
    expect_send(CHANNEL_OK, 44);
    expect_call(0, 0, 44, SEGMENT);
    expect_call(1, 0, 44, 0);
    expect_counter(CHANNEL_FALLBACKS, 1);
    will_return(__wrap_sendmmsg, 44); /* from then on */
    expect_send(CHANNEL_OK, 44);
    assert_int_equal(calls, 3);
}

/* What went out before stays out, and nothing goes out twice. */
static void segmented__eio_in_the_middle(void **state)
{
    (void)state;
    fill_burst(60, SEGMENT);
    will_return(__wrap_sendmsg, 44 * SEGMENT);
    will_return(__wrap_sendmsg, -EIO);
    will_return(__wrap_sendmmsg, 10);
    will_return(__wrap_sendmmsg, -EAGAIN);
    expect_send(CHANNEL_BLOCKED, 54);
    expect_call(2, 44, 16, 0);
    expect_call(3, 54, 6, 0);
}

static void segmented__old_kernel_takes_64(void **state)
{
    (void)state;
    fill_burst(128, 200);
    will_return(__wrap_sendmsg, -EINVAL);
    will_return_count(__wrap_sendmsg, 64 * 200, 2);
    expect_send(CHANNEL_OK, 128);
    expect_call(0, 0, 128, 200);
    expect_call(1, 0, 64, 200);
    expect_call(2, 64, 64, 200);
    assert_int_equal(atomic_load(&c.gso_segments), 64);
    expect_counter(CHANNEL_FALLBACKS, 1);
}

static void segmented__einval_twice_leaves_the_offload(void **state)
{
    (void)state;
    fill_burst(128, 200);
    will_return_count(__wrap_sendmsg, -EINVAL, 2);
    will_return(__wrap_sendmmsg, 128);
    expect_send(CHANNEL_OK, 128);
    assert_int_equal(atomic_load(&c.gso_segments), 1);
    expect_counter(CHANNEL_FALLBACKS, 2);
}

/* Kernels differ in what they call a segment that the path does not take; neither is a reason to
 * leave the offload. */
static void segmented__path_became_narrower(void **state)
{
    static const int error[] = {-EINVAL, -EMSGSIZE};

    for (int i = 0; i < 2; i++) {
        (void)setup(state);
        mtu = 1400;
        will_return(__wrap_sendmsg, error[i]);
        expect_send(CHANNEL_TOO_BIG, 0);
        assert_int_equal(channel_path_bytes(&c), 1400 - 28);
        assert_int_equal(atomic_load(&c.gso_segments), BURST_UNITS);
        expect_counter(CHANNEL_TOO_BIGS, 1);
        expect_counter(CHANNEL_FALLBACKS, 0);
    }
}

/* A router's complaint about a datagram of long ago, told to a burst that fits. */
static void segmented__late_emsgsize(void **state)
{
    (void)state;
    will_return(__wrap_sendmsg, -EMSGSIZE);
    will_return(__wrap_sendmsg, 44 * SEGMENT);
    expect_send(CHANNEL_OK, 44);
    assert_int_equal(atomic_load(&c.gso_segments), BURST_UNITS);
    assert_int_equal(channel_path_bytes(&c), ETHERNET);
}

static void segmented__stubborn_emsgsize(void **state)
{
    (void)state;
    will_return_count(__wrap_sendmsg, -EMSGSIZE, 2);
    will_return(__wrap_sendmmsg, -EMSGSIZE);
    expect_send(CHANNEL_TOO_BIG, 0);
    assert_int_equal(atomic_load(&c.gso_segments), 1);
    assert_int_equal(channel_path_bytes(&c), CONTROL_BYTES);
}

static void segmented__crowded(void **state)
{
    (void)state;
    will_return(__wrap_sendmsg, -ENOBUFS);
    expect_send(CHANNEL_CROWDED, 0);
    will_return(__wrap_sendmsg, -ENOMEM);
    expect_send(CHANNEL_CROWDED, 0);
    expect_counter(CHANNEL_CROWDS, 2);
    assert_int_equal(atomic_load(&c.gso_segments), BURST_UNITS);
}

static void segmented__late_refusal(void **state)
{
    (void)state;
    will_return(__wrap_sendmsg, -ECONNREFUSED);
    will_return(__wrap_sendmsg, 44 * SEGMENT);
    expect_send(CHANNEL_OK, 44);
    expect_counter(CHANNEL_REFUSALS, 1);
}

static void segmented__refused(void **state)
{
    (void)state;
    will_return_count(__wrap_sendmsg, -ECONNREFUSED, 2);
    expect_send(CHANNEL_REFUSED, 0);
    expect_counter(CHANNEL_REFUSALS, 2);
    assert_int_equal(channel_fault(&c), 0);
}

static void segmented__broken(void **state)
{
    static const int error[] = {EBADF, ENOTSOCK, EPIPE, EFAULT};

    for (size_t i = 0; i < sizeof(error) / sizeof(error[0]); i++) {
        (void)setup(state);
        will_return(__wrap_sendmsg, -error[i]);
        expect_send(CHANNEL_BROKEN, 0);
        assert_int_equal(channel_fault(&c), error[i]);
        assert_int_equal(calls, 1);
    }
}

/* ---- offload not in use */

static void several__one_call(void **state)
{
    (void)state;
    will_return(__wrap_sendmmsg, 44);
    expect_send(CHANNEL_OK, 44);
    assert_int_equal(calls, 1);
}

static void several__short_counts(void **state)
{
    (void)state;
    will_return(__wrap_sendmmsg, 20);
    will_return(__wrap_sendmmsg, 1);
    will_return(__wrap_sendmmsg, 22);
    will_return(__wrap_sendmsg, SEGMENT); /* one is left */
    expect_send(CHANNEL_OK, 44);
    expect_call(1, 20, 24, 0);
    expect_call(2, 21, 23, 0);
    expect_call(3, 43, 1, 0);
}

static void several__nothing_taken_and_no_error(void **state)
{
    (void)state;
    will_return(__wrap_sendmmsg, 0);
    expect_send(CHANNEL_BLOCKED, 0);
}

/* Each error after 20 datagrams; a late one is forgiven once. */
static void several__errors(void **state)
{
    static const struct {
        int error, times;
        enum channel_verdict verdict;
        enum channel_counter counter;
    } row[] = {
        {EAGAIN, 1, CHANNEL_BLOCKED, CHANNEL_BLOCKS},
        {ENOBUFS, 1, CHANNEL_CROWDED, CHANNEL_CROWDS},
        {ENOMEM, 1, CHANNEL_CROWDED, CHANNEL_CROWDS},
        {EMSGSIZE, 2, CHANNEL_TOO_BIG, CHANNEL_TOO_BIGS},
        {ECONNREFUSED, 2, CHANNEL_REFUSED, CHANNEL_REFUSALS},
        {EHOSTUNREACH, 2, CHANNEL_REFUSED, CHANNEL_REFUSALS},
        {ENETUNREACH, 2, CHANNEL_REFUSED, CHANNEL_REFUSALS},
        {EPERM, 2, CHANNEL_REFUSED, CHANNEL_REFUSALS},
        {EBADF, 1, CHANNEL_BROKEN, CHANNEL_COUNTERS},
        {EIO, 1, CHANNEL_BROKEN, CHANNEL_COUNTERS},
        {EINVAL, 1, CHANNEL_BROKEN, CHANNEL_COUNTERS},
    };

    for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
        (void)setup_plain(state);
        will_return(__wrap_sendmmsg, 20);
        will_return_count(__wrap_sendmmsg, -row[i].error, row[i].times);
        expect_send(row[i].verdict, 20);
        assert_int_equal(calls, 1 + row[i].times);
        assert_int_equal(channel_fault(&c), row[i].verdict == CHANNEL_BROKEN ? row[i].error : 0);
        if (row[i].counter != CHANNEL_COUNTERS)
            expect_counter(row[i].counter, (uint64_t)row[i].times);
    }
}

static void several__interrupted(void **state)
{
    (void)state;
    will_return(__wrap_sendmmsg, -EINTR);
    will_return(__wrap_sendmmsg, 44);
    expect_send(CHANNEL_OK, 44);
}

static void several__late_refusal_then_blocked(void **state)
{
    (void)state;
    will_return(__wrap_sendmmsg, -ECONNREFUSED);
    will_return(__wrap_sendmmsg, 5);
    will_return(__wrap_sendmmsg, -EAGAIN);
    expect_send(CHANNEL_BLOCKED, 5);
}

#define SEGMENTED(function) cmocka_unit_test_setup(function, setup)
#define SEVERAL(function) cmocka_unit_test_setup(function, setup_plain)

int main(void)
{
    const struct CMUnitTest test[] = {
        SEGMENTED(segmented__one_call),
        SEGMENTED(segmented__single_datagram_is_not_cut),
        SEGMENTED(segmented__empty_burst),
        SEGMENTED(segmented__split_at_64_kib),
        SEGMENTED(segmented__units_as_large_as_the_call),
        SEGMENTED(segmented__interrupted),
        SEGMENTED(segmented__blocked_in_the_middle),
        SEGMENTED(segmented__eio_leaves_the_offload),
        SEGMENTED(segmented__eio_in_the_middle),
        SEGMENTED(segmented__old_kernel_takes_64),
        SEGMENTED(segmented__einval_twice_leaves_the_offload),
        SEGMENTED(segmented__path_became_narrower),
        SEGMENTED(segmented__late_emsgsize),
        SEGMENTED(segmented__stubborn_emsgsize),
        SEGMENTED(segmented__crowded),
        SEGMENTED(segmented__late_refusal),
        SEGMENTED(segmented__refused),
        SEGMENTED(segmented__broken),
        SEVERAL(several__one_call),
        SEVERAL(several__short_counts),
        SEVERAL(several__nothing_taken_and_no_error),
        SEVERAL(several__errors),
        SEVERAL(several__interrupted),
        SEVERAL(several__late_refusal_then_blocked),
    };
    return cmocka_run_group_tests_name("socket_send", test, NULL, NULL);
}
