/* TCP as a message transport, as well as one can use it: no delay, writes of what the manner says
 * straight from the message's memory, reads straight into the memory of as many messages as one
 * call takes. */
#include <errno.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "common/complain.h"
#include "common/quantity.h"
#include "zcrp-bench/control/connection.h"
#include "zcrp-bench/job/watch.h"
#include "zcrp-bench/transports/transport.h"

enum { PIECES = 256, ENOUGH = 1 << 20 };

static int port_of(int fd)
{
    struct address local;

    return address_local(fd, &local) < 0 ? -1 : (int)strtol(local.port, NULL, 10);
}

static void tune(struct transport *transport)
{
    int one = 1;

    setsockopt(transport->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    connection_limit(transport->fd, (int64_t)transport->settings->limit_ns);
}

static int tcp_offer(struct transport *transport)
{
    return port_of(transport->listener);
}

static int tcp_accept(struct transport *transport, int port)
{
    struct address peer;

    if (address_peer(transport->control->fd, port, &peer) < 0)
        return -1;
    transport->fd =
        connection_accept_from(transport->listener, &peer, (int64_t)transport->settings->limit_ns);
    if (transport->fd < 0)
        return -1;
    tune(transport);
    return 0;
}

void tcp_name(int fd, const struct manner *manner, char name[TRANSPORT_CHANNEL_ROOM])
{
    char congestion[MANNER_NAME] = "";
    char writes[QUANTITY_ROOM] = "";
    socklen_t length = sizeof congestion - 1;

    getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, congestion, &length);
    if (manner->write_bytes != 0)
        quantity_bytes(writes, manner->write_bytes);
    snprintf(name, TRANSPORT_CHANNEL_ROOM, "tcp/%s%s%.12s", congestion,
             manner->write_bytes != 0 ? "+" : "", writes);
}

static int tcp_connect(struct transport *transport, int port)
{
    const struct settings *settings = transport->settings;
    struct address peer;

    if (address_peer(transport->control->fd, port, &peer) < 0)
        return -1;
    transport->fd =
        connection_open(&peer, transport->manner.congestion, (int64_t)settings->limit_ns);
    if (transport->fd < 0)
        return -1;
    tune(transport);
    tcp_name(transport->fd, &transport->manner, transport->channel);
    return port_of(transport->fd);
}

static int broken(const char *doing, uint64_t message)
{
    bool is_late = errno == EAGAIN || errno == EWOULDBLOCK;

    return complain("tcp: cannot %s message %llu: %s", doing, (unsigned long long)message,
                    is_late ? "nothing moves" : strerror(errno));
}

/* Sends a message in writes of at most `most` bytes. */
static int send_message(int fd, const struct job *job, uint64_t n, const uint8_t *at, uint64_t most)
{
    uint64_t left = job_length(job, n);

    while (left > 0) {
        ssize_t sent = send(fd, at, left < most ? left : most, MSG_NOSIGNAL);

        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0)
            return broken("send", n);
        at += sent;
        left -= (uint64_t)sent;
    }
    return 0;
}

static int tcp_send(struct transport *transport, struct job *job)
{
    uint64_t most = transport->manner.write_bytes != 0 ? transport->manner.write_bytes : UINT64_MAX;

    for (uint64_t n = 0; n < job->count; n++) {
        if (send_message(transport->fd, job, n, job_outgoing(job, n), most) < 0)
            return -1;
    }
    return 0;
}

/* The memory of the messages from n on, of which `filled` bytes are there already: as many as are
 * worth one call. */
static int plan(const struct job *job, uint64_t n, uint64_t filled, struct iovec pieces[PIECES])
{
    uint64_t end = job->count - n < job->depth ? job->count : n + job->depth;
    uint64_t bytes = 0;
    int count = 0;

    for (; n < end && count < PIECES && bytes < ENOUGH; n++, count++, filled = 0) {
        uint64_t length = job_length(job, n) - filled;

        pieces[count].iov_base = memory_slot(&job->memory, n) + filled;
        pieces[count].iov_len = length;
        bytes += length;
    }
    return count;
}

/* Hands over the messages that `got` more bytes complete; moves *n and *filled on. */
static int take(struct job *job, uint64_t got, uint64_t *n, uint64_t *filled)
{
    while (got > 0) {
        uint64_t missing = job_length(job, *n) - *filled;

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

/* Waits for bytes of message n, and those behind it as far as the pieces go; how many, or -1. */
static ssize_t read_some(int fd, const struct iovec *pieces, int count, uint64_t n)
{
    ssize_t got;

    do
        got = readv(fd, pieces, count);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        return broken("receive", n);
    if (got == 0)
        return complain("tcp: the connection ended in message %llu", (unsigned long long)n);
    return got;
}

static int tcp_receive(struct transport *transport, struct job *job)
{
    struct iovec pieces[PIECES];
    uint64_t filled = 0;
    uint64_t n = 0;

    while (n < job->count) {
        ssize_t got = read_some(transport->fd, pieces, plan(job, n, filled, pieces), n);

        if (got < 0 || take(job, (uint64_t)got, &n, &filled) < 0)
            return -1;
    }
    return 0;
}

static int receive_message(int fd, const struct job *job, uint64_t n)
{
    uint8_t *at = memory_slot(&job->memory, n);
    uint64_t left = job_length(job, n);

    while (left > 0) {
        ssize_t got = read_some(fd, &(struct iovec){at, left}, 1, n);

        if (got < 0)
            return -1;
        at += got;
        left -= (uint64_t)got;
    }
    return 0;
}

static int tcp_ask(struct transport *there, const struct job *job, uint64_t n)
{
    return send_message(there->fd, job, n, job_bytes(job, n), UINT64_MAX);
}

static int tcp_hear(struct transport *there, struct transport *back, const struct job *job,
                    uint64_t n, int64_t *at_ns)
{
    (void)back;
    if (receive_message(there->fd, job, n) < 0)
        return -1;
    *at_ns = watch_now_ns();
    return 0;
}

static int tcp_pong(struct transport *there, struct transport *back, const struct job *job)
{
    (void)back;
    if (control_say(there->control, "ready") < 0)
        return -1;
    for (uint64_t n = 0; n < job->count; n++) {
        if (receive_message(there->fd, job, n) < 0 ||
            send_message(there->fd, job, n, job_bytes(job, n), UINT64_MAX) < 0)
            return -1;
    }
    return 0;
}

static struct look tcp_look(struct transport *transport)
{
    struct tcp_info info = {0};
    socklen_t size = sizeof info;

    if (getsockopt(transport->fd, IPPROTO_TCP, TCP_INFO, &info, &size) < 0 ||
        size < offsetof(struct tcp_info, tcpi_bytes_received))
        return (struct look){.is_known = false};
    return (struct look){
        .is_known = true,
        .bytes = info.tcpi_bytes_acked,
        .repeated = info.tcpi_total_retrans,
        .window_bytes = (uint64_t)info.tcpi_snd_cwnd * info.tcpi_snd_mss,
        .rtt_ns = (uint64_t)info.tcpi_rtt * 1000,
    };
}

const struct transport_kind transport_tcp = {
    .name = "tcp",
    .offer = tcp_offer,
    .accept = tcp_accept,
    .connect = tcp_connect,
    .send = tcp_send,
    .receive = tcp_receive,
    .ask = tcp_ask,
    .hear = tcp_hear,
    .pong = tcp_pong,
    .look = tcp_look,
};
