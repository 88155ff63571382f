#include "socket_lend.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <sys/socket.h>
#include <unistd.h>

enum { PIPE_BYTES = 2 * LEND_MOST }; /* a pipe holds so many pages, or parts of pages */

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

/* The pages go into the pipe, which is empty. */
static int lend_pages(const struct channel *c, const struct iovec *data)
{
    ssize_t bytes;

    do
        bytes = vmsplice(c->lend_pipe[1], data, 1, 0);
    while (bytes < 0 && errno == EINTR);
    if (bytes < 0)
        return errno;
    return (size_t)bytes == data->iov_len ? 0 : EMSGSIZE;
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

static int send_trailer(const struct channel *c, const struct iovec *trailer)
{
    ssize_t bytes;

    do
        bytes = send(c->fd, trailer->iov_base, trailer->iov_len, MSG_DONTWAIT | MSG_NOSIGNAL);
    while (bytes < 0 && errno == EINTR);
    return bytes < 0 ? errno : 0;
}

int socket_lend(struct channel *c, const struct burst *b, uint32_t i)
{
    const struct iovec *data = &b->iov[2 * i];
    int error = lend_pages(c, data);

    if (!error)
        error = pass_pages(c, data->iov_len);
    if (!error)
        error = send_trailer(c, &data[1]);
    if (!error) {
        channel_note(c, CHANNEL_LOANS, 1);
        return 0;
    }
    /* The pipe may hold pages yet, and the socket a beginning, which goes out as rubbish that no
     * receiver takes for a unit; the kernel drops it itself with most errors. */
    socket_lend_end(c);
    (void)send(c->fd, NULL, 0, MSG_DONTWAIT | MSG_NOSIGNAL);
    return error;
}
