#include "zcrp-bench/transports/stream.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/complain.h"
#include "zcrp-bench/job/record.h"

enum { ENOUGH = 1 << 20 };

/* What became of a call that has moved nothing. */
static ssize_t nothing_moved(const struct transport *transport, const char *doing)
{
    if (errno == EAGAIN || errno == EINTR)
        return 0;
    return complain("%s: cannot %s: %s", transport->kind->name, doing, strerror(errno));
}

ssize_t stream_sent(const struct transport *transport, ssize_t sent)
{
    return sent < 0 ? nothing_moved(transport, "send") : sent;
}

static ssize_t write_to_socket(struct transport *transport, const void *bytes, size_t size)
{
    uint64_t most = transport->manner.write_bytes;
    size_t part = most != 0 && most < size ? most : size;

    return stream_sent(transport, send(transport->fd, bytes, part, MSG_NOSIGNAL));
}

ssize_t stream_read(struct transport *transport, const struct iovec *pieces, int count)
{
    ssize_t got = readv(transport->fd, pieces, count);

    if (got == 0)
        return complain("%s: the connection ended in the middle of a job", transport->kind->name);
    return got < 0 ? nothing_moved(transport, "receive") : got;
}

const struct stream stream_of_socket = {write_to_socket, stream_read, STREAM_PIECES};

static int put(struct transport *transport, const uint8_t *bytes, uint64_t size)
{
    int64_t since = 0;

    while (size > 0) {
        ssize_t moved = transport->kind->stream->write(transport, bytes, size);

        if (moved < 0 || transport_go_on(transport, moved > 0, &since) < 0)
            return -1;
        bytes += moved;
        size -= (uint64_t)moved;
    }
    return 0;
}

int stream_send(struct transport *transport, struct job *job)
{
    for (uint64_t n = 0; n < job->count; n++) {
        if (put(transport, job_outgoing(job, n), job->size) < 0)
            return -1;
    }
    return 0;
}

/* The memory of the messages from n on, of which `filled` bytes are there already: as many as are
 * worth one call, `most` at most. */
static int plan(const struct job *job, uint64_t n, uint64_t filled, struct iovec *pieces, int most)
{
    uint64_t end = job->count - n < job->depth ? job->count : n + job->depth;
    uint64_t bytes = 0;
    int count = 0;

    for (; n < end && count < most && bytes < ENOUGH; n++, count++, filled = 0) {
        uint64_t length = job->size - filled;

        pieces[count].iov_base = memory_slot(&job->memory, n) + filled;
        pieces[count].iov_len = length;
        bytes += length;
    }
    return count;
}

/* Hands over the messages that `got` more bytes complete; moves *n and *filled on. */
static int hand_over(struct job *job, uint64_t got, uint64_t *n, uint64_t *filled)
{
    while (got > 0) {
        uint64_t missing = job->size - *filled;

        if (got < missing) {
            *filled += got;
            return 0;
        }
        if (job_incoming(job, *n, memory_slot(&job->memory, *n)) < 0)
            return -1;
        got -= missing;
        *filled = 0;
        ++*n;
    }
    return 0;
}

int stream_receive(struct transport *transport, struct job *job)
{
    const struct stream *stream = transport->kind->stream;
    struct iovec pieces[STREAM_PIECES];
    uint64_t filled = 0;
    uint64_t n = 0;
    int64_t since = 0;

    while (n < job->count) {
        int count = plan(job, n, filled, pieces, stream->pieces);
        ssize_t got = stream->read(transport, pieces, count);

        if (got < 0 || transport_go_on(transport, got > 0, &since) < 0 ||
            hand_over(job, (uint64_t)got, &n, &filled) < 0)
            return -1;
    }
    return 0;
}

int stream_put(struct transport *transport, const struct job *job, uint64_t n, uint64_t slot)
{
    (void)n;
    return put(transport, memory_slot(&job->memory, slot), job->size);
}

/* One message, and nothing behind it. */
int stream_take(struct transport *transport, const struct job *job, uint64_t n, uint64_t slot)
{
    struct iovec piece = {memory_slot(&job->memory, slot), job->size};
    int64_t since = 0;

    (void)n;
    while (piece.iov_len > 0) {
        ssize_t moved = transport->kind->stream->read(transport, &piece, 1);

        if (moved < 0 || transport_go_on(transport, moved > 0, &since) < 0)
            return -1;
        piece.iov_base = (uint8_t *)piece.iov_base + moved;
        piece.iov_len -= (size_t)moved;
    }
    return 0;
}
