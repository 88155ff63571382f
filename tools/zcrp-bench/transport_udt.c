/* UDT as a stream of bytes, so that a message may be larger than the buffers. */
#include <stdio.h>
#include <stdlib.h>

#include "common/complain.h"
#include "peer_address.h"
#include "stream.h"
#include "udt_shim.h"

enum { NONE = -1 };

struct udt_end {
    int listener;
    int socket;
};

static int failed(const char *doing)
{
    return complain("udt: cannot %s: %s", doing, udt_shim_reason());
}

/* A socket at this end, and the state that it goes into. */
static struct udt_end *start(struct transport *transport, int *socket)
{
    struct udt_end *end = calloc(1, sizeof *end);
    int buffer = (int)transport->settings->buffer_bytes;
    struct peer_address here;

    transport->state = end;
    if (end == NULL) {
        complain("udt: no memory");
        return NULL;
    }
    end->listener = end->socket = NONE;
    if (buffer == 0)
        buffer = STREAM_SOCKET;
    if (udt_shim_startup() < 0)
        failed("start");
    else if (peer_address_here(transport->control, 0, &here) == 0) {
        *socket = udt_shim_open(&here.any, here.length, buffer, STREAM_PAUSE_MS);
        if (*socket >= 0)
            return end;
        failed("make a socket");
    }
    return NULL;
}

static int port_of(int socket)
{
    struct peer_address address;

    return udt_shim_here(socket, &address.any, sizeof address.v6) < 0 ? failed("find its port")
                                                                      : peer_address_port(&address);
}

static int offer(struct transport *transport, int listener)
{
    int socket = NONE;
    struct udt_end *end = start(transport, &socket);

    (void)listener;
    if (end == NULL)
        return -1;
    end->listener = socket;
    return udt_shim_listen(socket) < 0 ? failed("listen") : port_of(socket);
}

/* The connection has been made already: the other end says so. */
static int accept_one(struct transport *transport, int listener, int port)
{
    struct udt_end *end = transport->state;

    (void)listener;
    (void)port;
    end->socket = udt_shim_accept(end->listener);
    return end->socket < 0 ? failed("accept a connection") : 0;
}

static int connect_to(struct transport *transport, int port)
{
    struct peer_address there;
    int socket = NONE;
    struct udt_end *end = start(transport, &socket);

    if (end == NULL || peer_address_there(transport->control, port, &there) < 0)
        return -1;
    end->socket = socket;
    snprintf(transport->channel, sizeof transport->channel, "udt");
    if (udt_shim_connect(socket, &there.any, there.length) < 0)
        return failed("connect");
    return port_of(socket);
}

static ssize_t write_some(struct transport *transport, const void *bytes, size_t size)
{
    const struct udt_end *end = transport->state;
    ssize_t sent = udt_shim_write(end->socket, bytes, size);

    return sent >= 0 ? sent : failed("send");
}

static ssize_t read_some(struct transport *transport, void *bytes, size_t size)
{
    const struct udt_end *end = transport->state;
    ssize_t got = udt_shim_read(end->socket, bytes, size);

    return got >= 0 ? got : failed("receive");
}

static const struct stream stream = {write_some, read_some};

static void close_end(struct transport *transport)
{
    struct udt_end *end = transport->state;

    if (end == NULL)
        return;
    if (end->socket >= 0)
        udt_shim_close(end->socket);
    if (end->listener >= 0)
        udt_shim_close(end->listener);
    udt_shim_cleanup();
    free(end);
}

const struct transport_kind transport_udt = {
    .name = "udt",
    .offer = offer,
    .accept = accept_one,
    .connect = connect_to,
    .prepare = transport_prepare_nothing,
    .stream = &stream,
    .send = stream_send,
    .receive = stream_receive,
    .ping = stream_ping,
    .pong = stream_pong,
    .count = transport_count_nothing,
    .close = close_end,
};
