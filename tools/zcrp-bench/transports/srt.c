/* SRT as its own tools use it for files: file mode (no time stamps, nothing dropped, its congestion
 * control for files), a stream of bytes, so that a message may be larger than the buffers. */
#include <assert.h>
#include <limits.h>
#include <srt/srt.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/complain.h"
#include "zcrp-bench/control/connection.h"
#include "zcrp-bench/transports/stream.h"

enum { NS_A_MILLISECOND = 1000000, USUAL_BUFFER = 4 << 20 /* as ZCRP asks for */ };

struct srt_end {
    SRTSOCKET listener;
    SRTSOCKET socket;
};

static int failed(const char *doing)
{
    return complain("srt: cannot %s: %s", doing, srt_getlasterror_str());
}

static int set(SRTSOCKET socket, SRT_SOCKOPT option, int value)
{
    return srt_setsockflag(socket, option, &value, sizeof value);
}

/* Larger than ZCRP's window already by default: what SRT buffers itself. */
static SRTSOCKET create(const struct transport *transport)
{
    SRTSOCKET socket = srt_create_socket();
    const struct linger none = {0};
    int buffer = (int)transport->settings->buffer_bytes;

    if (buffer == 0)
        buffer = USUAL_BUFFER;
    if (socket == SRT_INVALID_SOCK || set(socket, SRTO_TRANSTYPE, SRTT_FILE) < 0 ||
        set(socket, SRTO_UDP_SNDBUF, buffer) < 0 || set(socket, SRTO_UDP_RCVBUF, buffer) < 0 ||
        set(socket, SRTO_SNDTIMEO, STREAM_PAUSE_MS) < 0 ||
        set(socket, SRTO_RCVTIMEO, STREAM_PAUSE_MS) < 0 ||
        srt_setsockflag(socket, SRTO_LINGER, &none, sizeof none) < 0)
        failed("make a socket");
    return socket;
}

/* Both ends' beginning: *socket is new, and at `here`. */
static int start(struct transport *transport, SRTSOCKET **socket, bool is_listener)
{
    struct srt_end *end = calloc(1, sizeof *end);
    struct socket_address here;

    if (end == NULL)
        return complain("srt: no memory");
    transport->state = end;
    end->listener = end->socket = SRT_INVALID_SOCK;
    *socket = is_listener ? &end->listener : &end->socket;
    if (srt_startup() < 0)
        return failed("start");
    srt_setloglevel(0);
    **socket = create(transport);
    if (**socket == SRT_INVALID_SOCK || socket_address_local(transport->control->fd, &here) < 0)
        return -1;
    socket_address_set_port(&here, 0);
    return srt_bind(**socket, &here.any, (int)here.length) < 0 ? failed("bind") : 0;
}

static int port_of(SRTSOCKET socket)
{
    struct socket_address address;
    int length = sizeof address.v6;

    return srt_getsockname(socket, &address.any, &length) < 0 ? failed("find its port")
                                                              : socket_address_port(&address);
}

static int offer(struct transport *transport)
{
    SRTSOCKET *socket = NULL;

    if (start(transport, &socket, true) < 0)
        return -1;
    assert(socket != NULL);
    return srt_listen(*socket, 1) < 0 ? failed("listen") : port_of(*socket);
}

/* The connection has been made already: the other end says so. */
static int accept_one(struct transport *transport)
{
    struct srt_end *end = transport->state;

    end->socket = srt_accept(end->listener, NULL, NULL);
    return end->socket == SRT_INVALID_SOCK ? failed("accept a connection") : 0;
}

static int connect_to(struct transport *transport)
{
    struct socket_address there;
    SRTSOCKET *socket = NULL;

    if (start(transport, &socket, false) < 0 ||
        socket_address_peer(transport->control->fd, &there) < 0)
        return -1;
    socket_address_set_port(&there, transport->port);
    snprintf(transport->channel, sizeof transport->channel, "srt/file");
    assert(socket != NULL);
    set(*socket, SRTO_CONNTIMEO, (int)(transport->settings->limit_ns / NS_A_MILLISECOND));
    if (srt_connect(*socket, &there.any, (int)there.length) < 0)
        return failed("connect");
    return port_of(*socket);
}

/* What became of a call that moved nothing. */
static ssize_t nothing_moved(const char *doing)
{
    int reason = srt_getlasterror(NULL);

    return reason == SRT_ETIMEOUT || reason == SRT_EASYNCSND || reason == SRT_EASYNCRCV
               ? 0
               : failed(doing);
}

static ssize_t write_some(struct transport *transport, const void *bytes, size_t size)
{
    const struct srt_end *end = transport->state;
    int sent = srt_send(end->socket, bytes, size < INT_MAX ? (int)size : INT_MAX);

    return sent > 0 ? sent : nothing_moved("send");
}

static ssize_t read_some(struct transport *transport, const struct iovec *piece, int count)
{
    const struct srt_end *end = transport->state;
    size_t size = piece->iov_len;
    int got = srt_recv(end->socket, piece->iov_base, size < INT_MAX ? (int)size : INT_MAX);

    (void)count;
    return got > 0 ? got : nothing_moved("receive");
}

static const struct stream stream = {write_some, read_some, 1};

static void close_end(struct transport *transport)
{
    struct srt_end *end = transport->state;

    if (end == NULL)
        return;
    if (end->socket != SRT_INVALID_SOCK)
        srt_close(end->socket);
    if (end->listener != SRT_INVALID_SOCK)
        srt_close(end->listener);
    srt_cleanup();
    free(end);
}

const struct transport_kind transport_srt = {
    .name = "srt",
    .offer = offer,
    .accept = accept_one,
    .connect = connect_to,
    STREAM_CALLS(&stream),
    .close = close_end,
};
