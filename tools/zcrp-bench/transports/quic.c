/* QUIC (ngtcp2 with GnuTLS): one stream, with datagrams in bursts and windows of 8 MiB. The library
 * has no threads and no socket: it works while quic_end_work is called, at both ends. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "common/complain.h"
#include "zcrp-bench/job/record.h"
#include "zcrp-bench/transports/quic_end.h"
#include "zcrp-bench/transports/stream.h"

/* Both ends' beginning: a socket. Its port. */
static int start(struct transport *transport)
{
    struct quic_end *end = calloc(1, sizeof *end);
    uint64_t buffer = transport->settings->buffer_bytes;

    transport->state = end;
    if (end == NULL)
        return complain("quic: no memory");
    if (peer_address_here(transport->control, 0, &end->here) < 0)
        return -1;
    int status = quic_end_open(end, buffer != 0 ? (int)buffer : STREAM_SOCKET);
    transport->fd = end->fd;
    return status < 0 ? -1 : peer_address_port(&end->here);
}

static int connect_socket(struct transport *transport, int port)
{
    struct quic_end *end = transport->state;

    if (peer_address_there(transport->control, port, &end->there) < 0)
        return -1;
    if (connect(end->fd, &end->there.any, end->there.length) < 0)
        return complain("quic: cannot connect: %s", strerror(errno));
    return 0;
}

static int connect_to(struct transport *transport, int port)
{
    int own = start(transport);

    snprintf(transport->channel, sizeof transport->channel, "quic/aes");
    if (own < 0 || connect_socket(transport, port) < 0 || quic_end_connect(transport->state) < 0)
        return -1;
    return own;
}

static int accept_one(struct transport *transport, int port)
{
    struct quic_end *end = transport->state;
    int64_t since = watch_now_ns();

    if (connect_socket(transport, port) < 0)
        return -1;
    while (!quic_end_is_connected(end)) {
        if (quic_end_work(end, STREAM_PAUSE_MS) < 0 || transport_despair(transport, since) < 0)
            return -1;
    }
    return 0;
}

/* Until the other end has something to say: that it is connected too. */
static int meet(struct transport *transport)
{
    struct quic_end *end = transport->state;
    int64_t since = watch_now_ns();

    while (!quic_end_is_connected(end) || !control_has_news(transport->control)) {
        if (quic_end_work(end, 1) < 0 || transport_despair(transport, since) < 0)
            return -1;
    }
    return 0;
}

static ssize_t write_some(struct transport *transport, const void *bytes, size_t size)
{
    struct quic_end *end = transport->state;
    size_t taken = quic_end_add(end, bytes, size);

    return quic_end_work(end, taken > 0 ? 0 : STREAM_PAUSE_MS) < 0 ? -1 : (ssize_t)taken;
}

static ssize_t read_some(struct transport *transport, const struct iovec *piece, int count)
{
    struct quic_end *end = transport->state;
    size_t taken = quic_end_take(end, piece->iov_base, piece->iov_len);

    (void)count;
    if (taken == 0 && quic_end_work(end, STREAM_PAUSE_MS) < 0)
        return -1;
    return (ssize_t)taken;
}

static const struct stream stream = {write_some, read_some, 1};

/* The last bytes are on their way until they are acknowledged, or the other end says that it has
 * got all it waits for. */
static int send_job(struct transport *transport, struct job *job)
{
    struct quic_end *end = transport->state;
    uint64_t left = UINT64_MAX;
    int64_t since = watch_now_ns();

    if (stream_send(transport, job) < 0)
        return -1;
    while (end->ring.start < end->ring.end && !control_has_news(transport->control)) {
        if (quic_end_work(end, 1) < 0)
            return -1;
        if (end->ring.end - end->ring.start < left)
            since = watch_now_ns();
        else if (transport_despair(transport, since) < 0)
            return -1;
        left = end->ring.end - end->ring.start;
    }
    return 0;
}

/* Then once more: the acknowledgement of the last bytes. */
static int receive_job(struct transport *transport, struct job *job)
{
    return stream_receive(transport, job) < 0 ? -1 : quic_end_work(transport->state, 0);
}

static void close_end(struct transport *transport)
{
    struct quic_end *end = transport->state;

    if (end == NULL)
        return;
    quic_end_fini(end);
    free(end);
}

const struct transport_kind transport_quic = {
    .name = "quic",
    .stream = &stream,
    .is_one_way = true,
    .offer = start,
    .accept = accept_one,
    .connect = connect_to,
    .meet = meet,
    .send = send_job,
    .receive = receive_job,
    .close = close_end,
};
