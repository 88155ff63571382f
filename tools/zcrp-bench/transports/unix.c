/* A stream between AF_UNIX sockets, as programs of one host use it. It asks for the best buffer of
 * those that a process without rights may have, which are 64 KiB to 4 MiB as the kernel counts
 * them. With 256 KiB messages of 16 KiB to 1 MiB are a tenth faster than with the system's 208 KiB;
 * above 400 KiB they are slower, because what is under way leaves the cache. */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/complain.h"
#include "common/quantity.h"
#include "zcrp-bench/control/connection.h"
#include "zcrp-bench/transports/stream.h"

enum { NO_PORT = 1, BEST_BYTES = 128 << 10 /* the kernel doubles it */ };

struct name {
    struct sockaddr_un address;
    socklen_t length;
};

/* Outside the file system, so that nothing is left behind. A control connection opens one channel
 * at a time: the ports of its two ends make the name. */
static struct name name_of(const struct address *listening, const struct address *connecting)
{
    struct name name = {.address.sun_family = AF_UNIX};
    char *path = &name.address.sun_path[1];
    int length = snprintf(path, sizeof name.address.sun_path - 1, "zcrp-bench/%s/%s",
                          listening->port, connecting->port);

    name.length = (socklen_t)(path - (char *)&name.address + length);
    return name;
}

static int failed(const struct transport *transport, const char *doing)
{
    return complain("%s: cannot %s: %s", transport->kind->name, doing, strerror(errno));
}

static int create(struct transport *transport)
{
    transport->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    return transport->fd >= 0 ? 0 : failed(transport, "make a socket");
}

/* What this end sends waits in a buffer of this end. */
static void tune(struct transport *transport)
{
    int buffer = (int)transport->settings->buffer_bytes;

    if (buffer == 0)
        buffer = BEST_BYTES;
    setsockopt(transport->fd, SOL_SOCKET, SO_SNDBUF, &buffer, sizeof buffer);
    connection_limit(transport->fd, STREAM_PAUSE_MS * INT64_C(1000000));
}

int unix_offer(struct transport *transport)
{
    struct address here;
    struct address there;

    if (address_local(transport->control->fd, &here) < 0 ||
        address_peer(transport->control->fd, 0, &there) < 0 || create(transport) < 0)
        return -1;
    struct name name = name_of(&here, &there);
    if (bind(transport->fd, (const struct sockaddr *)&name.address, name.length) < 0 ||
        listen(transport->fd, 1) < 0)
        return failed(transport, "listen");
    return NO_PORT;
}

int unix_accept(struct transport *transport, int port)
{
    int listener = transport->fd;

    (void)port;
    transport->fd = connection_accept(listener, (int64_t)transport->settings->limit_ns);
    close(listener);
    if (transport->fd < 0)
        return -1;
    tune(transport);
    return 0;
}

void unix_name(struct transport *transport, uint64_t buffer_bytes)
{
    char buffer[QUANTITY_ROOM];

    quantity_bytes(buffer, buffer_bytes);
    snprintf(transport->channel, sizeof transport->channel, "%.8s/%.24s", transport->kind->name,
             buffer);
}

int unix_connect(struct transport *transport, int port)
{
    struct address here;
    struct address there;
    int buffer = 0;
    socklen_t size = sizeof buffer;

    (void)port;
    if (address_local(transport->control->fd, &here) < 0 ||
        address_peer(transport->control->fd, 0, &there) < 0 || create(transport) < 0)
        return -1;
    struct name name = name_of(&there, &here);
    if (connect(transport->fd, (const struct sockaddr *)&name.address, name.length) < 0)
        return failed(transport, "connect");
    tune(transport);
    getsockopt(transport->fd, SOL_SOCKET, SO_SNDBUF, &buffer, &size);
    unix_name(transport, (uint64_t)buffer);
    return NO_PORT;
}

const struct transport_kind transport_unix = {
    .name = "unix",
    .is_local = true,
    .offer = unix_offer,
    .accept = unix_accept,
    .connect = unix_connect,
    STREAM_CALLS(&stream_of_socket),
};
