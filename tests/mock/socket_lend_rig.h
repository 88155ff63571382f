/* The kernel for tests of lending: a pipe, a socket, and calls that fail where they are told to. */
#ifndef ZCRP_TESTS_MOCK_SOCKET_LEND_RIG_H
#define ZCRP_TESTS_MOCK_SOCKET_LEND_RIG_H

#include "channel/socket_lend.h"
#include "socket_rig.h"

#include <fcntl.h>

enum { OUT = 20, IN = 21, DATA = LEND_MOST, SEGMENT = DATA + TRAILER_BYTES, UNITS = 3 };

/* The calls that may be told to fail, or to do a part only. */
enum step { OPTION, PIPE, SIZE, PAGES, PASS, END, COPY, STEPS };

/* The kernel: a pipe, a socket with a datagram that is being put together, and what left it. */
struct fake {
    int result[STEPS][8]; /* of the next calls: bytes, or minus an error number; 0: all */
    int calls[STEPS];
    bool dries_up, is_dry;     /* after a part of it splice passes nothing more; so it is */
    int pipes_open, pipes;     /* now, and ever */
    int segment;               /* UDP_SEGMENT */
    size_t in_pipe, in_socket; /* bytes */
    size_t left_bytes[16];     /* datagrams that left by send */
    uint8_t left_end[16];      /* and the last byte of each */
    int left, copied;          /* how many; how many by sendmsg and sendmmsg */
};

static struct fake fake;

ssize_t __wrap_vmsplice(int fd, const struct iovec *iov, size_t count, unsigned flags);
ssize_t __wrap_splice(int in, off_t *in_at, int out, off_t *out_at, size_t size, unsigned flags);
ssize_t __wrap_send(int fd, const void *bytes, size_t size, int flags);
ssize_t __wrap_sendmsg(int fd, const struct msghdr *m, int flags);
int __wrap_sendmmsg(int fd, struct mmsghdr *m, unsigned count, int flags);
int __wrap_setsockopt(int fd, int level, int name, const void *value, socklen_t size);
int __wrap_pipe2(int fd[2], int flags);
int __wrap_fcntl(int fd, int command, ...);
int __wrap_close(int fd);

/* What the next call at a step does with `size` bytes: how many, or -1 and errno. */
static ssize_t take(enum step step, size_t size)
{
    int result = fake.result[step][fake.calls[step]++ % 8];

    if (result < 0)
        return mock_result(result);
    return result == 0 || (size_t)result > size ? (ssize_t)size : result;
}

ssize_t __wrap_vmsplice(int fd, const struct iovec *iov, size_t count, unsigned flags)
{
    assert_int_equal(fd, IN);
    assert_int_equal(count, 1);
    assert_int_equal(flags, 0); /* not a gift: the pages stay the user's */
    assert_int_equal(fake.pipes_open, 1);
    assert_int_equal(fake.in_pipe, 0);
    ssize_t bytes = take(PAGES, iov->iov_len);
    fake.in_pipe += bytes > 0 ? (size_t)bytes : 0;
    return bytes;
}

ssize_t __wrap_splice(int in, off_t *in_at, int out, off_t *out_at, size_t size, unsigned flags)
{
    assert_int_equal(in, OUT);
    assert_int_equal(out, FD);
    assert_null(in_at);
    assert_null(out_at);
    assert_int_equal(flags, SPLICE_F_MORE);
    assert_int_equal(size, fake.in_pipe);
    ssize_t bytes = take(PASS, fake.is_dry ? 0 : size);
    fake.is_dry = bytes > 0 && fake.dries_up;
    if (bytes < 0 && errno != EINTR)
        fake.in_socket = 0; /* as the kernel does */
    if (bytes > 0) {
        fake.in_pipe -= (size_t)bytes;
        fake.in_socket += (size_t)bytes;
    }
    return bytes;
}

ssize_t __wrap_send(int fd, const void *bytes, size_t size, int flags)
{
    assert_int_equal(fd, FD);
    assert_int_equal(flags, MSG_DONTWAIT | MSG_NOSIGNAL);
    ssize_t sent = take(END, size);
    if (sent < 0) {
        fake.in_socket = errno == EINTR ? fake.in_socket : 0;
        return sent;
    }
    fake.left_bytes[fake.left] = fake.in_socket + size;
    fake.left_end[fake.left++] = ((const uint8_t *)bytes)[size - 1];
    fake.in_socket = 0;
    return sent;
}

ssize_t __wrap_sendmsg(int fd, const struct msghdr *m, int flags)
{
    assert_int_equal(fd, FD);
    assert_int_equal(flags, MSG_DONTWAIT | MSG_NOSIGNAL);
    assert_int_equal(fake.in_socket, 0);
    ssize_t bytes = take(COPY, m->msg_iov[0].iov_len + m->msg_iov[1].iov_len);
    fake.copied += bytes > 0;
    return bytes;
}

int __wrap_sendmmsg(int fd, struct mmsghdr *m, unsigned count, int flags)
{
    assert_int_equal(fd, FD);
    assert_int_equal(flags, MSG_DONTWAIT | MSG_NOSIGNAL);
    assert_int_equal(fake.in_socket, 0);
    assert_non_null(m);
    int taken = (int)take(COPY, count);
    fake.copied += taken > 0 ? taken : 0;
    return taken;
}

int __wrap_setsockopt(int fd, int level, int name, const void *value, socklen_t size)
{
    assert_int_equal(fd, FD);
    assert_int_equal(level, IPPROTO_UDP);
    assert_int_equal(name, UDP_SEGMENT);
    assert_int_equal(size, sizeof(int));
    if (take(OPTION, 1) < 0)
        return -1;
    memcpy(&fake.segment, value, sizeof(int));
    return 0;
}

int __wrap_pipe2(int fd[2], int flags)
{
    assert_int_equal(flags, O_CLOEXEC | O_NONBLOCK);
    if (take(PIPE, 1) < 0)
        return -1;
    fd[0] = OUT;
    fd[1] = IN;
    fake.pipes_open++;
    fake.pipes++;
    fake.in_pipe = 0;
    return 0;
}

int __wrap_fcntl(int fd, int command, ...)
{
    assert_int_equal(fd, IN);
    assert_int_equal(command, F_SETPIPE_SZ);
    return (int)take(SIZE, 1 << 17);
}

int __wrap_close(int fd)
{
    static int closed;

    assert_true(fd == OUT || fd == IN);
    assert_true(fake.pipes_open > 0);
    closed += fd == OUT ? 1 : 16;
    if (closed == 17) {
        closed = 0;
        fake.pipes_open--;
    }
    return 0;
}

static int setup(void **state)
{
    (void)state;
    setup_channel(WIDEST);
    fake = (struct fake){0};
    mtu = 65536;
    fill_burst(UNITS, SEGMENT);
    b.may_lend = true;
    return 0;
}

/* With lending begun. */
static inline int setup_lending(void **state)
{
    (void)setup(state);
    socket_lend_begin(&c);
    memset(fake.calls, 0, sizeof(fake.calls));
    return c.is_lending ? 0 : -1;
}

/* Lending is over, and the socket as it was. */
static void expect_over(void)
{
    assert_false(c.is_lending);
    assert_int_equal(fake.segment, 0);
    assert_int_equal(fake.pipes_open, 0);
    assert_int_equal(fake.in_socket, 0);
}

/* Lending goes on with an empty pipe. */
static void expect_going_on(void)
{
    assert_true(c.is_lending);
    assert_int_equal(fake.segment, WIDEST);
    assert_int_equal(fake.pipes_open, 1);
    assert_int_equal(fake.in_pipe, 0);
    assert_int_equal(fake.in_socket, 0);
}

#endif
