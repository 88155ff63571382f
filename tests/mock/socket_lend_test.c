/* wrap: vmsplice splice send setsockopt pipe2 fcntl close sendmsg sendmmsg getsockopt */
/* sources: src/channel/socket_lend.c src/channel/socket_send.c src/channel/socket_path.c */
/* sources: src/channel/fault.c src/platform/check.c */
#include "channel/socket_lend.h"
#include "channel/socket_send.h"

#include "../support/mock.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <string.h>
#include <sys/socket.h>

enum { FD = 5, OUT = 20, IN = 21, PATH = 65507, DATA = LEND_MOST, SEGMENT = DATA + TRAILER_BYTES };
enum { UNITS = 3 };

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
    int left, copied, mtu;     /* how many; how many by sendmsg and sendmmsg */
};

static struct fake fake;
static struct channel c;
static struct burst b;
static uint8_t data[1 << 16];

ssize_t __wrap_vmsplice(int fd, const struct iovec *iov, size_t count, unsigned flags);
ssize_t __wrap_splice(int in, off_t *in_at, int out, off_t *out_at, size_t size, unsigned flags);
ssize_t __wrap_send(int fd, const void *bytes, size_t size, int flags);
ssize_t __wrap_sendmsg(int fd, const struct msghdr *m, int flags);
int __wrap_sendmmsg(int fd, struct mmsghdr *m, unsigned count, int flags);
int __wrap_setsockopt(int fd, int level, int name, const void *value, socklen_t size);
int __wrap_getsockopt(int fd, int level, int name, void *value, socklen_t *size);
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

int __wrap_getsockopt(int fd, int level, int name, void *value, socklen_t *size)
{
    assert_int_equal(fd, FD);
    assert_int_equal(level, IPPROTO_IP);
    assert_int_equal(name, IP_MTU);
    assert_int_equal(*size, sizeof(int));
    memcpy(value, &fake.mtu, sizeof(int));
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

static void fill_burst(uint32_t datagrams, uint32_t segment)
{
    b = (struct burst){.datagrams = datagrams, .segment = segment, .may_lend = true};
    for (uint32_t i = 0; i < datagrams; i++) {
        b.iov[2 * i] = (struct iovec){data, segment - TRAILER_BYTES};
        b.iov[2 * i + 1] = (struct iovec){b.trailer[i], TRAILER_BYTES};
        b.trailer[i][TRAILER_BYTES - 1] = 0x11;
    }
}

static int setup(void **state)
{
    (void)state;
    c = (struct channel){.fd = FD, .kind = CHANNEL_UDP4, .datagram_max = PATH};
    atomic_init(&c.path_bytes, PATH);
    atomic_init(&c.gso_segments, BURST_UNITS);
    fake = (struct fake){.mtu = 65536};
    fill_burst(UNITS, SEGMENT);
    return 0;
}

/* With lending begun. */
static int setup_lending(void **state)
{
    (void)setup(state);
    socket_lend_begin(&c);
    memset(fake.calls, 0, sizeof(fake.calls));
    return c.is_lending ? 0 : -1;
}

static void expect_counter(enum channel_counter which, uint64_t count)
{
    assert_int_equal(channel_count(&c, which), count);
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
    assert_int_equal(fake.segment, PATH);
    assert_int_equal(fake.pipes_open, 1);
    assert_int_equal(fake.in_pipe, 0);
    assert_int_equal(fake.in_socket, 0);
}

static void expect_send(enum channel_verdict verdict, uint32_t sent)
{
    uint32_t taken = 12345;

    assert_int_equal(socket_send(&c, &b, &taken), verdict);
    assert_int_equal(taken, sent);
}

/* ---- begin and end */

static void begin__prepares(void **state)
{
    (void)state;
    socket_lend_begin(&c);
    expect_going_on();
    socket_lend_end(&c);
    expect_over();
    socket_lend_end(&c);
    assert_int_equal(fake.pipes, 1);
}

static void begin__path_too_small(void **state)
{
    (void)state;
    atomic_store(&c.path_bytes, LEND_LEAST - 1);
    socket_lend_begin(&c);
    assert_false(c.is_lending);
    assert_int_equal(fake.calls[OPTION] + fake.calls[PIPE], 0);
}

/* Each call that begin needs; a pipe that stays too small, too. */
static void begin__refused(void **state)
{
    static const struct {
        enum step step;
        int result;
    } row[] = {{OPTION, -ENOPROTOOPT}, {PIPE, -EMFILE}, {SIZE, -EPERM}, {SIZE, 1 << 16}};

    for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
        (void)setup(state);
        fake.result[row[i].step][0] = row[i].result;
        socket_lend_begin(&c);
        expect_over();
        expect_counter(CHANNEL_FALLBACKS, 0);
    }
}

/* ---- fits */

static void fits__table(void **state)
{
    static const struct {
        uint32_t data;
        bool may_lend, is_lending, fits;
    } row[] = {
        {LEND_LEAST - 1, true, true, false},
        {LEND_LEAST, true, true, true},
        {LEND_MOST, true, true, true},
        {LEND_MOST + 1, true, true, false},
        {LEND_MOST, false, true, false},
        {LEND_MOST, true, false, false},
        {0, true, true, false},
    };

    for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
        (void)setup(state);
        c.is_lending = row[i].is_lending;
        fill_burst(2, row[i].data + TRAILER_BYTES);
        b.may_lend = row[i].may_lend;
        assert_int_equal(socket_lend_fits(&c, &b, 1), row[i].fits);
    }
}

/* ---- lend */

/* Three calls, and everything left as one datagram. */
static void lend__whole(void **state)
{
    (void)state;
    assert_true(socket_lend(&c, &b, 1));
    assert_int_equal(fake.left, 1);
    assert_int_equal(fake.left_bytes[0], SEGMENT);
    assert_int_equal(fake.left_end[0], 0x11);
    assert_int_equal(fake.calls[PAGES] + fake.calls[PASS] + fake.calls[END], 3);
    expect_counter(CHANNEL_LOANS, 1);
    expect_going_on();
}

static void lend__interrupted(void **state)
{
    (void)state;
    for (enum step step = PAGES; step <= END; step++)
        fake.result[step][0] = fake.result[step][1] = -EINTR;
    assert_true(socket_lend(&c, &b, 0));
    assert_int_equal(fake.left_bytes[0], SEGMENT);
    assert_int_equal(fake.calls[PAGES] + fake.calls[PASS] + fake.calls[END], 9);
    expect_going_on();
}

static void lend__spliced_in_parts(void **state)
{
    (void)state;
    fake.result[PASS][0] = 4096;
    fake.result[PASS][1] = 1;
    fake.result[PASS][2] = -EINTR;
    assert_true(socket_lend(&c, &b, 0));
    assert_int_equal(fake.calls[PASS], 4);
    assert_int_equal(fake.left, 1);
    assert_int_equal(fake.left_bytes[0], SEGMENT);
}

/* Nothing was sent but, at most, what nobody takes for a unit. */
static void expect_failed(void)
{
    assert_false(socket_lend(&c, &b, 0));
    assert_true(fake.left <= 1);
    assert_true(fake.left == 0 || fake.left_end[0] == 0);
    expect_counter(CHANNEL_LOANS, 0);
    expect_counter(CHANNEL_CALLS_OUT, 0);
    assert_int_equal(channel_fault(&c), 0);
}

/* Not the network's doing, whatever the number: some memory cannot be lent. */
static void lend__pages_fail(void **state)
{
    static const int result[] = {-EFAULT, -ENOMEM, -EAGAIN, -EPERM, -ENOSYS, -EINVAL, 4096};

    for (size_t i = 0; i < sizeof(result) / sizeof(result[0]); i++) {
        (void)setup_lending(state);
        fake.result[PAGES][0] = result[i];
        expect_failed();
        assert_int_equal(fake.calls[PASS], 0);
        expect_over();
        expect_counter(CHANNEL_FALLBACKS, 1);
        assert_int_equal(fake.pipes, 1);
    }
}

/* Each error at the socket, before anything is in it, in the middle, and at the end. */
static void lend__socket_fails(void **state)
{
    static const struct {
        int error;
        enum channel_counter counter;
    } row[] = {
        {EAGAIN, CHANNEL_BLOCKS},         {ENOBUFS, CHANNEL_CROWDS},
        {ENOMEM, CHANNEL_CROWDS},         {ECONNREFUSED, CHANNEL_REFUSALS},
        {EHOSTUNREACH, CHANNEL_REFUSALS}, {EPERM, CHANNEL_REFUSALS},
        {EMSGSIZE, CHANNEL_FALLBACKS},    {EINVAL, CHANNEL_FALLBACKS},
        {EIO, CHANNEL_FALLBACKS},         {EBADF, CHANNEL_FALLBACKS},
        {EPIPE, CHANNEL_FALLBACKS},
    };

    for (size_t i = 0; i < 3 * sizeof(row) / sizeof(row[0]); i++) {
        (void)setup_lending(state);
        fake.result[PASS][0] = i % 3 == 0 ? -row[i / 3].error : i % 3 == 1 ? 4096 : 0;
        fake.result[PASS][1] = i % 3 == 1 ? -row[i / 3].error : 0;
        fake.result[END][0] = i % 3 == 2 ? -row[i / 3].error : 0;
        expect_failed();
        expect_counter(row[i / 3].counter, 1);
        if (row[i / 3].counter == CHANNEL_FALLBACKS)
            expect_over();
        else
            expect_going_on();
    }
}

/* The socket holds a beginning: it leaves with an end that makes it rubbish. */
static void lend__nothing_more_to_splice(void **state)
{
    (void)state;
    fake.result[PASS][0] = 8192;
    fake.dries_up = true;
    expect_failed();
    assert_int_equal(fake.left, 1);
    assert_int_equal(fake.left_bytes[0], 8192 + 1);
    expect_over();
    expect_counter(CHANNEL_FALLBACKS, 1);
}

/* No new pipe: lending ends quietly. */
static void lend__no_new_pipe(void **state)
{
    (void)state;
    fake.result[PASS][0] = -EAGAIN;
    fake.result[PIPE][0] = -EMFILE;
    expect_failed();
    expect_over();
}

/* ---- through socket_send */

static void send__all_lent(void **state)
{
    (void)state;
    expect_send(CHANNEL_OK, UNITS);
    assert_int_equal(fake.left, UNITS);
    assert_int_equal(fake.copied, 0);
    expect_counter(CHANNEL_LOANS, UNITS);
    expect_counter(CHANNEL_CALLS_OUT, 3 * UNITS);
}

/* A last unit too short for it is copied. */
static void send__short_end(void **state)
{
    (void)state;
    b.iov[2 * (UNITS - 1)].iov_len = 100;
    expect_send(CHANNEL_OK, UNITS);
    assert_int_equal(fake.left, UNITS - 1);
    assert_int_equal(fake.copied, 1);
}

/* Each error at the second datagram: that one and the third are copied in one call, and in the next
 * burst all are lent, or copied, again. */
static void send__falls_back(void **state)
{
    static const struct {
        enum step step;
        int error;
        bool goes_on;
    } row[] = {
        {PAGES, EFAULT, false},    {PAGES, EAGAIN, false},     {PASS, EINVAL, false},
        {PASS, EMSGSIZE, false},   {PASS, ECONNREFUSED, true}, {PASS, EAGAIN, true},
        {PASS, ENOBUFS, true},     {END, EINVAL, false},       {END, EMSGSIZE, false},
        {END, ECONNREFUSED, true}, {END, EAGAIN, true},        {END, ENOBUFS, true},
    };

    for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
        (void)setup_lending(state);
        fake.result[row[i].step][1] = -row[i].error;
        expect_send(CHANNEL_OK, UNITS);
        assert_int_equal(fake.copied, UNITS - 1);
        assert_int_equal(fake.calls[COPY], 1);
        expect_counter(CHANNEL_FALLBACKS, !row[i].goes_on);
        assert_int_equal(channel_fault(&c), 0);
        expect_send(CHANNEL_OK, UNITS);
        expect_counter(CHANNEL_LOANS, row[i].goes_on ? 1 + UNITS : 1);
        socket_lend_end(&c);
        expect_over();
    }
}

/* The error persists: copying has the last word, and what was lent before stays sent. */
static void send__verdicts(void **state)
{
    static const struct {
        int error;
        enum channel_verdict verdict;
    } row[] = {
        {EAGAIN, CHANNEL_BLOCKED}, {ENOBUFS, CHANNEL_CROWDED},      {ENOMEM, CHANNEL_CROWDED},
        {EBADF, CHANNEL_BROKEN},   {ECONNREFUSED, CHANNEL_REFUSED}, {EPERM, CHANNEL_REFUSED},
    };

    for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
        (void)setup_lending(state);
        for (int call = 0; call < 8; call++) {
            fake.result[PASS][call] = call < 1 ? 0 : -row[i].error;
            fake.result[COPY][call] = -row[i].error;
        }
        expect_send(row[i].verdict, 1);
        assert_int_equal(channel_fault(&c), row[i].verdict == CHANNEL_BROKEN ? row[i].error : 0);
        assert_int_equal(fake.copied, 0);
        expect_counter(CHANNEL_LOANS, 1);
        if (row[i].verdict != CHANNEL_BROKEN)
            expect_going_on();
    }
}

/* The path became narrower than the size to cut at. */
static void send__path_became_narrower(void **state)
{
    (void)state;
    fake.mtu = 1500;
    fake.result[PASS][0] = -EMSGSIZE;
    fake.result[COPY][0] = -EMSGSIZE;
    expect_send(CHANNEL_TOO_BIG, 0);
    assert_int_equal(channel_path_bytes(&c), 1500 - 28);
    expect_over();
}

/* A datagram that is not lent, and that the kernel refuses because of the size to cut at: without
 * lending it goes. */
static void send__dislikes_the_segment(void **state)
{
    static const int error[] = {EINVAL, EIO};

    for (int i = 0; i < 2; i++) {
        (void)setup_lending(state);
        fill_burst(1, 100);
        fake.result[COPY][0] = -error[i];
        expect_send(CHANNEL_OK, 1);
        expect_over();
        expect_counter(CHANNEL_FALLBACKS, 1);
        fake.result[COPY][2] = -error[i]; /* but it was not that */
        expect_send(CHANNEL_BROKEN, 0);
    }
}

#define PLAIN(function) cmocka_unit_test_setup(function, setup)
#define LENDING(function) cmocka_unit_test_setup(function, setup_lending)

int main(void)
{
    const struct CMUnitTest test[] = {
        PLAIN(begin__prepares),
        PLAIN(begin__path_too_small),
        PLAIN(begin__refused),
        PLAIN(fits__table),
        LENDING(lend__whole),
        LENDING(lend__interrupted),
        LENDING(lend__spliced_in_parts),
        LENDING(lend__pages_fail),
        LENDING(lend__socket_fails),
        LENDING(lend__nothing_more_to_splice),
        LENDING(lend__no_new_pipe),
        LENDING(send__all_lent),
        LENDING(send__short_end),
        LENDING(send__falls_back),
        LENDING(send__verdicts),
        LENDING(send__path_became_narrower),
        LENDING(send__dislikes_the_segment),
    };
    return cmocka_run_group_tests_name("socket_lend", test, NULL, NULL);
}
