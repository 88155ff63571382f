/* TCP as well as one can use it: no delay, unless the manner is to join small writes, writes of
 * what it says straight from the message's memory, reads straight into the memory of as many
 * messages as one call takes. */
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "common/quantity.h"
#include "zcrp-bench/control/connection.h"
#include "zcrp-bench/transports/stream.h"

static int port_of(int fd)
{
    struct socket_address local;

    return socket_address_local(fd, &local) < 0 ? -1 : socket_address_port(&local);
}

static void tune(struct transport *transport)
{
    int has_no_delay = !transport->manner.is_joined;

    setsockopt(transport->fd, IPPROTO_TCP, TCP_NODELAY, &has_no_delay, sizeof has_no_delay);
    connection_limit(transport->fd, STREAM_PAUSE_MS * INT64_C(1000000));
}

int tcp_offer(struct transport *transport)
{
    return port_of(transport->listener);
}

int tcp_accept(struct transport *transport)
{
    struct address peer;

    if (address_peer(transport->control->fd, transport->port, &peer) < 0)
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
    char writes[1 + QUANTITY_ROOM] = "";
    socklen_t length = sizeof congestion - 1;

    getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, congestion, &length);
    if (manner->is_joined)
        strcpy(writes, "+joined");
    else if (manner->write_bytes != 0)
        quantity_bytes(strcpy(writes, "+") + 1, manner->write_bytes);
    snprintf(name, TRANSPORT_CHANNEL_ROOM, "tcp/%s%.13s", congestion, writes);
}

int tcp_connect(struct transport *transport)
{
    const struct settings *settings = transport->settings;
    struct address peer;

    if (address_peer(transport->control->fd, transport->port, &peer) < 0)
        return -1;
    transport->fd =
        connection_open(&peer, transport->manner.congestion, (int64_t)settings->limit_ns);
    if (transport->fd < 0)
        return -1;
    tune(transport);
    tcp_name(transport->fd, &transport->manner, transport->channel);
    return port_of(transport->fd);
}

struct look tcp_look(struct transport *transport)
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
    .crowd = &crowd_tcp,
    .has_manners = true,
    .offer = tcp_offer,
    .accept = tcp_accept,
    .connect = tcp_connect,
    STREAM_CALLS(&stream_of_socket),
    .look = tcp_look,
};
