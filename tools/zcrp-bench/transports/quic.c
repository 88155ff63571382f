/* QUIC as a transport: one stream from the connecting end, the client, to the server. */
#include <stdio.h>
#include <sys/socket.h>

#include "zcrp-bench/transports/carrier.h"
#include "zcrp-bench/transports/quic_connection.h"
#include "zcrp-bench/transports/stream.h"

/* Both ends' beginning, once the socket is connected. */
static int start(struct transport *transport, bool is_client)
{
    uint64_t buffer = transport->settings->buffer_bytes;

    udp_grow(transport->fd, SO_RCVBUF, SO_RCVBUFFORCE, buffer);
    udp_grow(transport->fd, SO_SNDBUF, SO_SNDBUFFORCE, buffer);
    transport->state = quic_create(transport->fd, is_client);
    return transport->state != NULL ? 0 : -1;
}

static int connect_to(struct transport *transport)
{
    int own = udp_connect(transport);

    snprintf(transport->channel, sizeof transport->channel, "quic/aes");
    return own < 0 || start(transport, true) < 0 ? -1 : own;
}

/* Until this end is connected and, at the client's, the other end has something to say: that it is
 * connected too. */
static int shake_hands(struct transport *transport, bool is_server)
{
    struct quic *end = transport->state;
    int64_t since = watch_now_ns();

    while (!quic_is_connected(end) || (!is_server && !control_has_news(transport->control))) {
        if (quic_work(end, is_server ? STREAM_PAUSE_MS : 1) < 0 ||
            transport_despair(transport, since) < 0)
            return -1;
    }
    return 0;
}

static int accept_one(struct transport *transport)
{
    return udp_accept(transport) < 0 || start(transport, false) < 0 ? -1
                                                                    : shake_hands(transport, true);
}

static int meet(struct transport *transport)
{
    return shake_hands(transport, false);
}

static ssize_t write_some(struct transport *transport, const void *bytes, size_t size)
{
    struct quic *end = transport->state;
    size_t taken = quic_write(end, bytes, size);

    return quic_work(end, taken > 0 ? 0 : STREAM_PAUSE_MS) < 0 ? -1 : (ssize_t)taken;
}

static ssize_t read_some(struct transport *transport, const struct iovec *piece, int count)
{
    struct quic *end = transport->state;
    size_t taken = quic_read(end, piece->iov_base, piece->iov_len);

    (void)count;
    return taken == 0 ? quic_work(end, STREAM_PAUSE_MS) : (ssize_t)taken;
}

static const struct stream stream = {write_some, read_some, 1};

/* The last bytes are on their way until they are acknowledged, or the other end says that it has
 * got all it waits for. */
static int send_job(struct transport *transport, struct job *job)
{
    struct quic *end = transport->state;
    uint64_t left = 0;
    int64_t since = 0;

    if (stream_send(transport, job) < 0)
        return -1;
    while (quic_left(end) > 0 && !control_has_news(transport->control)) {
        if (quic_work(end, 1) < 0 || transport_go_on(transport, quic_left(end) != left, &since) < 0)
            return -1;
        left = quic_left(end);
    }
    return 0;
}

/* Then once more: the acknowledgement of the last bytes. */
static int receive_job(struct transport *transport, struct job *job)
{
    return stream_receive(transport, job) < 0 ? -1 : quic_work(transport->state, 0);
}

static void close_end(struct transport *transport)
{
    quic_destroy(transport->state);
}

const struct transport_kind transport_quic = {
    .name = "quic",
    .stream = &stream,
    .is_one_way = true,
    .offer = udp_offer,
    .accept = accept_one,
    .connect = connect_to,
    .meet = meet,
    .send = send_job,
    .receive = receive_job,
    .close = close_end,
};
