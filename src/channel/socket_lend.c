#include "socket_lend.h"

#include "fault.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    PIPE_BYTES = 2 * LEND_MOST, /* a pipe holds so many pages, or parts of pages */
    MORE_CALLS = 2,             /* than the one that the burst counts */
};

/* A datagram that is put together in parts has its checksum computed over every byte, unless the
 * kernel expects to cut it; so it is told a size to cut at that no datagram exceeds. */
static bool set_segment(const struct channel *c, int bytes)
{
    return setsockopt(c->fd, IPPROTO_UDP, UDP_SEGMENT, &bytes, sizeof(bytes)) == 0;
}

static bool open_pipe(int pipe[2])
{
    if (pipe2(pipe, O_CLOEXEC | O_NONBLOCK) != 0)
        return false;
    if (fcntl(pipe[1], F_SETPIPE_SZ, PIPE_BYTES) >= PIPE_BYTES)
        return true;
    close(pipe[0]);
    close(pipe[1]);
    return false;
}

void socket_lend_begin(struct channel *c)
{
    if (channel_path_bytes(c) < LEND_LEAST || !set_segment(c, (int)channel_path_bytes(c)))
        return;
    c->is_lending = open_pipe(c->lend_pipe);
    if (!c->is_lending)
        (void)set_segment(c, 0);
}

void socket_lend_end(struct channel *c)
{
    if (!c->is_lending)
        return;
    c->is_lending = false;
    (void)set_segment(c, 0);
    close(c->lend_pipe[0]);
    close(c->lend_pipe[1]);
}

bool socket_lend_fits(const struct channel *c, const struct burst *b, uint32_t i)
{
    size_t data = b->iov[2 * i].iov_len;

    return c->is_lending && b->may_lend && data >= LEND_LEAST && data <= LEND_MOST;
}

/* The pages go into the pipe, which is empty. What they are is the user's business, and none of the
 * network's: there is memory that can be copied but not lent. */
static bool lend_pages(const struct channel *c, const struct iovec *data)
{
    ssize_t bytes;

    do
        bytes = vmsplice(c->lend_pipe[1], data, 1, 0);
    while (bytes < 0 && errno == EINTR);
    return bytes >= 0 && (size_t)bytes == data->iov_len;
}

/* And on into the socket, where they wait for the trailer. */
static int pass_pages(const struct channel *c, size_t left)
{
    while (left > 0) {
        ssize_t bytes = splice(c->lend_pipe[0], NULL, c->fd, NULL, left, SPLICE_F_MORE);
        if (bytes < 0 && errno != EINTR)
            return errno;
        if (bytes == 0)
            return EPIPE;
        left -= bytes > 0 ? (size_t)bytes : 0;
    }
    return 0;
}

static int send_end(const struct channel *c, const void *end, size_t size)
{
    ssize_t bytes;

    do
        bytes = send(c->fd, end, size, MSG_DONTWAIT | MSG_NOSIGNAL);
    while (bytes < 0 && errno == EINTR);
    return bytes < 0 ? errno : 0;
}

/* The socket may hold a beginning, although the kernel drops it itself with most errors: it goes
 * out as a datagram of no version (core/datagram.h), which nobody reads. And only a new pipe is
 * sure to be empty. */
static void abandon(struct channel *c, int error)
{
    static const uint8_t no_version = 0;
    bool goes_on = fault_is_of_network(error);

    if (goes_on)
        (void)fault_note(c, error);
    else
        channel_note(c, CHANNEL_FALLBACKS, 1);
    socket_lend_end(c);
    (void)send_end(c, &no_version, sizeof(no_version));
    if (goes_on)
        socket_lend_begin(c);
}

bool socket_lend(struct channel *c, const struct burst *b, uint32_t i)
{
    const struct iovec *piece = &b->iov[2 * i];
    int error = lend_pages(c, &piece[0]) ? pass_pages(c, piece[0].iov_len) : EFAULT;

    if (!error)
        error = send_end(c, piece[1].iov_base, piece[1].iov_len);
    if (!error) {
        channel_note(c, CHANNEL_LOANS, 1);
        channel_note(c, CHANNEL_CALLS_OUT, MORE_CALLS);
        return true;
    }
    abandon(c, error);
    return false;
}
