/* SCTP in user space (usrsctp), over UDP: one association, one stream, without Nagle's delay. A
 * message is handed over in pieces, so that it may be larger than the buffers (explicit EOR).
 *
 * usrsctp has threads and one UDP port for the whole process. Its sockets do not wait here: their
 * upcall says that something happened, and we wait for that, so that a peer that fell silent is
 * noticed. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <usrsctp.h>

#include "common/complain.h"
#include "peer_address.h"
#include "stream.h"
#include "watch.h"

enum { PIECE = 256 << 10, STEPS_TO_FINISH = 100, STEP_NS = 10000000 };

struct sctp_end {
    struct socket *listener;
    struct socket *socket;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    uint64_t events; /* upcalls so far (m) */
};

static int failed(const char *doing)
{
    return complain("sctp: cannot %s: %s", doing, strerror(errno));
}

/* In a thread of usrsctp's. */
static void on_event(struct socket *socket, void *argument, int flags)
{
    struct sctp_end *end = argument;

    (void)socket;
    (void)flags;
    pthread_mutex_lock(&end->mutex);
    end->events++;
    pthread_cond_signal(&end->changed);
    pthread_mutex_unlock(&end->mutex);
}

static uint64_t events_so_far(struct sctp_end *end)
{
    uint64_t events;

    pthread_mutex_lock(&end->mutex);
    events = end->events;
    pthread_mutex_unlock(&end->mutex);
    return events;
}

/* Until there was another event than `seen`, for STREAM_PAUSE_MS at most. */
static void wait_for_event(struct sctp_end *end, uint64_t seen)
{
    struct timespec until;
    int status = 0;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += STREAM_PAUSE_MS * 1000000L;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_mutex_lock(&end->mutex);
    while (end->events == seen && status == 0)
        status = pthread_cond_timedwait(&end->changed, &end->mutex, &until);
    pthread_mutex_unlock(&end->mutex);
}

static int set(struct socket *socket, int option)
{
    int one = 1;

    return usrsctp_setsockopt(socket, IPPROTO_SCTP, option, &one, sizeof one);
}

/* Closing aborts: all that matters has arrived by then. */
static int tune(struct sctp_end *end, struct socket *socket)
{
    const struct linger none = {.l_onoff = 1};

    if (usrsctp_set_non_blocking(socket, 1) < 0 || usrsctp_set_upcall(socket, on_event, end) < 0 ||
        set(socket, SCTP_NODELAY) < 0 || set(socket, SCTP_EXPLICIT_EOR) < 0 ||
        usrsctp_setsockopt(socket, SOL_SOCKET, SO_LINGER, &none, sizeof none) < 0)
        return failed("set up a socket");
    return 0;
}

static struct socket *make_socket(struct sctp_end *end, struct peer_address *here)
{
    struct socket *socket =
        usrsctp_socket(here->any.sa_family, SOCK_STREAM, IPPROTO_SCTP, NULL, NULL, 0, NULL);

    if (socket == NULL) {
        failed("make a socket");
        return NULL;
    }
    if (tune(end, socket) == 0) {
        if (usrsctp_bind(socket, &here->any, here->length) == 0)
            return socket;
        failed("bind");
    }
    usrsctp_close(socket);
    return NULL;
}

/* Both ends' beginning. A socket at this end; its port, of SCTP and of UDP, is in *port. */
static struct socket *start(struct transport *transport, int *port)
{
    struct sctp_end *end = calloc(1, sizeof *end);
    struct peer_address here;

    *port = peer_address_free_port(transport->control);
    if (end == NULL || *port < 0 || peer_address_here(transport->control, *port, &here) < 0) {
        free(end);
        return NULL;
    }
    transport->state = end;
    pthread_mutex_init(&end->mutex, NULL);
    pthread_cond_init(&end->changed, NULL);
    usrsctp_init((uint16_t)*port, NULL, NULL);
    usrsctp_sysctl_set_sctp_sendspace(STREAM_BUFFER);
    usrsctp_sysctl_set_sctp_recvspace(STREAM_BUFFER);
    return make_socket(end, &here);
}

static int offer(struct transport *transport, int listener)
{
    struct socket *socket;
    struct sctp_end *end;
    int port;

    (void)listener;
    socket = start(transport, &port);
    if (socket == NULL)
        return -1;
    end = transport->state;
    end->listener = socket;
    return usrsctp_listen(socket, 1) < 0 ? failed("listen") : port;
}

static int accept_one(struct transport *transport, int listener, int port)
{
    struct sctp_end *end = transport->state;
    int64_t since = watch_now_ns();

    (void)listener;
    (void)port;
    for (;;) {
        uint64_t seen = events_so_far(end);

        end->socket = usrsctp_accept(end->listener, NULL, NULL);
        if (end->socket != NULL)
            return tune(end, end->socket);
        if (errno != EWOULDBLOCK)
            return failed("accept a connection");
        wait_for_event(end, seen);
        if (transport_despair(transport, since) < 0)
            return -1;
    }
}

/* Until the association is there. */
static int wait_for_connection(struct transport *transport)
{
    struct sctp_end *end = transport->state;
    int64_t since = watch_now_ns();

    for (;;) {
        uint64_t seen = events_so_far(end);
        int events = usrsctp_get_events(end->socket);

        if (events & SCTP_EVENT_ERROR)
            return complain("sctp: cannot connect");
        if (events & SCTP_EVENT_WRITE)
            return 0;
        wait_for_event(end, seen);
        if (transport_despair(transport, since) < 0)
            return -1;
    }
}

static int connect_to(struct transport *transport, int port)
{
    struct sctp_udpencaps tunnel = {.sue_port = htons((uint16_t)port)};
    struct peer_address there;
    struct socket *socket;
    struct sctp_end *end;
    int own;

    socket = start(transport, &own);
    if (socket == NULL || peer_address_there(transport->control, port, &there) < 0)
        return -1;
    end = transport->state;
    end->socket = socket;
    snprintf(transport->channel, sizeof transport->channel, "sctp/udp");
    memcpy(&tunnel.sue_address, &there.any, there.length);
    if (usrsctp_setsockopt(socket, IPPROTO_SCTP, SCTP_REMOTE_UDP_ENCAPS_PORT, &tunnel,
                           sizeof tunnel) < 0 ||
        (usrsctp_connect(socket, &there.any, there.length) < 0 && errno != EINPROGRESS))
        return failed("connect");
    return wait_for_connection(transport) < 0 ? -1 : own;
}

/* What a call that moved nothing and returned `result` meant; waits for something to happen if it
 * would have waited. */
static ssize_t nothing_moved(struct sctp_end *end, ssize_t result, uint64_t seen, const char *doing)
{
    if (result < 0 && errno != EWOULDBLOCK)
        return failed(doing);
    wait_for_event(end, seen);
    return 0;
}

static ssize_t write_some(struct transport *transport, const void *bytes, size_t size)
{
    struct sctp_end *end = transport->state;
    uint64_t seen = events_so_far(end);
    bool is_last = size <= PIECE;
    struct sctp_sndinfo info = {.snd_flags = is_last ? SCTP_EOR : 0};
    ssize_t sent = usrsctp_sendv(end->socket, bytes, is_last ? size : PIECE, NULL, 0, &info,
                                 sizeof info, SCTP_SENDV_SNDINFO, 0);

    return sent > 0 ? sent : nothing_moved(end, sent, seen, "send");
}

static ssize_t read_some(struct transport *transport, void *bytes, size_t size)
{
    struct sctp_end *end = transport->state;
    uint64_t seen = events_so_far(end);
    socklen_t no_address = 0;
    socklen_t no_info = 0;
    unsigned type = 0;
    int flags = 0;
    ssize_t got =
        usrsctp_recvv(end->socket, bytes, size, NULL, &no_address, NULL, &no_info, &type, &flags);

    if (got == 0)
        return complain("sctp: the connection ended");
    return got > 0 ? got : nothing_moved(end, got, seen, "receive");
}

static const struct stream stream = {write_some, read_some};

/* usrsctp's threads end once all associations are gone. */
static void finish(void)
{
    struct timespec step = {.tv_nsec = STEP_NS};

    for (int i = 0; i < STEPS_TO_FINISH && usrsctp_finish() != 0; i++)
        nanosleep(&step, NULL);
}

static void close_end(struct transport *transport)
{
    struct sctp_end *end = transport->state;

    if (end == NULL)
        return;
    if (end->socket != NULL)
        usrsctp_close(end->socket);
    if (end->listener != NULL)
        usrsctp_close(end->listener);
    finish();
    pthread_cond_destroy(&end->changed);
    pthread_mutex_destroy(&end->mutex);
    free(end);
}

const struct transport_kind transport_sctp = {
    .name = "sctp",
    .stream = &stream,
    .offer = offer,
    .accept = accept_one,
    .connect = connect_to,
    .prepare = transport_prepare_nothing,
    .send = stream_send,
    .receive = stream_receive,
    .ping = stream_ping,
    .pong = stream_pong,
    .count = transport_count_nothing,
    .close = close_end,
};
