/* ENet: reliable packets on one channel, one a message. The library has no threads: it works while
 * enet_host_service is called, at both ends. It copies what it sends, and delivers packets in
 * memory of its own, from where they are copied to their places. */
#include <enet/enet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/complain.h"
#include "peer_address.h"
#include "stream.h"
#include "watch.h"

enum {
    PATIENCE_MS = 3600000, /* the library's; ours is --timeout */
    MOST_QUEUED = 256,     /* packets: more are no faster, and searched through */
    WAIT_MS = 1,
};

struct enet_end {
    ENetHost *host;
    ENetPeer *peer; /* once connected */
    uint64_t sent;  /* packets handed to the library, */
    uint64_t ended; /* and those that it has let go of: acknowledged, all of them */
};

static int failed(const char *doing)
{
    return complain("enet: cannot %s", doing);
}

/* A message of the largest size has to fit, and ENet's own sizes end at 32 bits. */
static void tune(const struct transport *transport, ENetHost *host)
{
    int buffer = (int)transport->settings->buffer_bytes;

    if (buffer == 0)
        buffer = STREAM_SOCKET;
    enet_socket_set_option(host->socket, ENET_SOCKOPT_RCVBUF, buffer);
    enet_socket_set_option(host->socket, ENET_SOCKOPT_SNDBUF, buffer);
    host->maximumPacketSize = UINT32_MAX;
    host->maximumWaitingData = SIZE_MAX;
}

static int start(struct transport *transport, const ENetAddress *here)
{
    struct enet_end *end = calloc(1, sizeof *end);

    transport->state = end;
    if (end == NULL || enet_initialize() < 0)
        return failed("start");
    end->host = enet_host_create(here, 1, 1, 0, 0);
    if (end->host == NULL)
        return failed("make a socket");
    tune(transport, end->host);
    return 0;
}

static int only_ipv4(const struct peer_address *address, ENetAddress *out)
{
    if (address->any.sa_family != AF_INET)
        return failed("use IPv6");
    out->host = address->v4.sin_addr.s_addr;
    out->port = (enet_uint16)peer_address_port(address);
    return 0;
}

static int offer(struct transport *transport, int listener)
{
    struct peer_address address;
    struct enet_end *end;
    ENetAddress here;

    (void)listener;
    if (peer_address_here(transport->control, 0, &address) < 0 || only_ipv4(&address, &here) < 0 ||
        start(transport, &here) < 0)
        return -1;
    end = transport->state;
    return end->host->address.port;
}

/* Lets the library work until something happens, for wait_ms at most. 1 if something did, 0 if not,
 * -1 with a complaint. A packet that came is the caller's. */
static int serve(struct transport *transport, ENetEvent *event, enet_uint32 wait_ms)
{
    struct enet_end *end = transport->state;
    int status = enet_host_service(end->host, event, wait_ms);

    if (status < 0)
        return failed("use its socket");
    if (status > 0 && event->type == ENET_EVENT_TYPE_DISCONNECT) {
        end->peer = NULL;
        return complain("enet: the connection ended");
    }
    if (status > 0 && event->type == ENET_EVENT_TYPE_CONNECT) {
        end->peer = event->peer;
        enet_peer_timeout(end->peer, UINT16_MAX, PATIENCE_MS, PATIENCE_MS);
    }
    return status;
}

static int accept_one(struct transport *transport, int listener, int port)
{
    const struct enet_end *end = transport->state;
    int64_t since = watch_now_ns();
    ENetEvent event;

    (void)listener;
    (void)port;
    while (end->peer == NULL) {
        if (serve(transport, &event, WAIT_MS) < 0 || transport_despair(transport, since) < 0)
            return -1;
    }
    enet_host_flush(end->host);
    return 0;
}

static int connect_to(struct transport *transport, int port)
{
    struct peer_address address;
    struct enet_end *end;
    ENetAddress there;

    if (peer_address_there(transport->control, port, &address) < 0 ||
        only_ipv4(&address, &there) < 0 || start(transport, NULL) < 0)
        return -1;
    snprintf(transport->channel, sizeof transport->channel, "enet");
    end = transport->state;
    return enet_host_connect(end->host, &there, 1, 0) != NULL ? port : failed("connect");
}

/* Until the other end has something to say: that it is connected too. */
static int meet(struct transport *transport)
{
    const struct enet_end *end = transport->state;
    int64_t since = watch_now_ns();
    ENetEvent event;

    while (end->peer == NULL || !control_has_news(transport->control)) {
        if (serve(transport, &event, WAIT_MS) < 0 || transport_despair(transport, since) < 0)
            return -1;
    }
    return 0;
}

static void on_end(ENetPacket *packet)
{
    struct enet_end *end = packet->userData;

    end->ended++;
}

static int send_packet(struct enet_end *end, const uint8_t *bytes, uint64_t size)
{
    ENetPacket *packet = enet_packet_create(bytes, size, ENET_PACKET_FLAG_RELIABLE);

    if (packet == NULL)
        return failed("make a packet");
    packet->userData = end;
    packet->freeCallback = on_end;
    if (enet_peer_send(end->peer, 0, packet) < 0) {
        enet_packet_destroy(packet);
        return failed("send so much in one packet");
    }
    end->sent++;
    return 0;
}

/* Until no more than `most` packets are under way. */
static int wait_for_ends(struct transport *transport, uint64_t most)
{
    const struct enet_end *end = transport->state;
    uint64_t ended = end->ended;
    int64_t since = watch_now_ns();
    ENetEvent event;

    while (end->sent - end->ended > most) {
        if (serve(transport, &event, WAIT_MS) < 0)
            return -1;
        if (end->ended != ended)
            since = watch_now_ns();
        else if (transport_despair(transport, since) < 0)
            return -1;
        ended = end->ended;
        if (most == 0 && control_has_news(transport->control))
            return 0; /* the other end has got all, though we have not heard of it */
    }
    return 0;
}

static int send_job(struct transport *transport, struct job *job)
{
    struct enet_end *end = transport->state;
    uint64_t most = job->depth < MOST_QUEUED ? job->depth : MOST_QUEUED;

    for (uint64_t n = 0; n < job->count; n++) {
        if (send_packet(end, job_outgoing(job, n), job_length(job, n)) < 0 ||
            wait_for_ends(transport, most - 1) < 0)
            return -1;
    }
    return wait_for_ends(transport, 0);
}

/* Takes a packet, which is as long as the message that it is, and destroys it. */
static int take(struct job *job, uint64_t n, ENetPacket *packet)
{
    uint8_t *slot = memory_slot(&job->memory, n);
    bool fits = packet->dataLength == job_length(job, n);

    if (fits)
        memcpy(slot, packet->data, packet->dataLength);
    enet_packet_destroy(packet);
    return fits ? job_incoming(job, n, slot) : complain("enet: a message has the wrong length");
}

/* What arrives is noticed by counting datagrams: a large message is no event until it is whole. */
static int receive_job(struct transport *transport, struct job *job)
{
    const struct enet_end *end = transport->state;
    enet_uint32 datagrams = end->host->totalReceivedPackets;
    int64_t since = watch_now_ns();
    ENetEvent event;
    uint64_t n = 0;

    while (n < job->count) {
        int status = serve(transport, &event, STREAM_PAUSE_MS);

        if (status < 0)
            return -1;
        if (status > 0 && event.type == ENET_EVENT_TYPE_RECEIVE && take(job, n++, event.packet) < 0)
            return -1;
        if (datagrams != end->host->totalReceivedPackets)
            since = watch_now_ns();
        else if (transport_despair(transport, since) < 0)
            return -1;
        datagrams = end->host->totalReceivedPackets;
    }
    enet_host_flush(end->host);
    return 0;
}

static void close_end(struct transport *transport)
{
    struct enet_end *end = transport->state;

    if (end == NULL)
        return;
    if (end->host != NULL)
        enet_host_destroy(end->host);
    enet_deinitialize();
    free(end);
}

const struct transport_kind transport_enet = {
    .name = "enet",
    .offer = offer,
    .accept = accept_one,
    .connect = connect_to,
    .meet = meet,
    .prepare = transport_prepare_nothing,
    .send = send_job,
    .receive = receive_job,
    .count = transport_count_nothing,
    .close = close_end,
};
