/* A crowd of TCP's connections: sockets that do not block. A message is one write, or as few as the
 * socket takes. What arrives is read in as large pieces as there are, large messages into their
 * memory. */
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/complain.h"
#include "zcrp-bench/control/connection.h"
#include "zcrp-bench/transports/crowd.h"

enum { CALLS = 64 /* on one socket, before the others have their turn */ };

static int failed(const char *what)
{
    return complain("connections of TCP: %s: %s", what, strerror(errno));
}

static int offer(struct transport *transport)
{
    return crowd_create(transport, true) == NULL ? -1 : tcp_offer(transport);
}

static int accept_all(struct transport *transport)
{
    const struct crowd *crowd = transport->state;

    for (uint64_t i = 0; i < crowd->peers; i++) {
        crowd->fd[i] =
            connection_accept(transport->listener, (int64_t)transport->settings->limit_ns);
        if (crowd->fd[i] < 0)
            return -1;
    }
    return 0;
}

static int connect_all(struct transport *transport)
{
    struct crowd *crowd = transport->state;
    struct address there;

    if (address_peer(transport->control->fd, transport->port, &there) < 0)
        return -1;
    for (uint64_t i = 0; i < crowd->peers; i++) {
        crowd->fd[i] = connection_open(&there, transport->manner.congestion,
                                       (int64_t)transport->settings->limit_ns);
        if (crowd->fd[i] < 0)
            return -1;
    }
    crowd->write_bytes = transport->manner.write_bytes;
    tcp_name(crowd->fd[0], &transport->manner, transport->channel);
    return 0;
}

/* From now on epoll tells of this connection when it can be read, and when it can be written if
 * there is a message. */
static int watch(const struct crowd *crowd, uint64_t peer, int operation)
{
    struct epoll_event event = {.data.u64 = peer};

    for (uint64_t way = peer; way < crowd->ways; way += crowd->peers) {
        if (!crowd_sends_on(crowd, way))
            event.events |= EPOLLIN;
        else if (crowd->way[way].is_busy)
            event.events |= EPOLLOUT;
    }
    return epoll_ctl(crowd->epoll, operation, crowd->fd[peer], &event) < 0 ? failed("epoll") : 0;
}

static int begin(struct transport *transport, const struct job *job)
{
    const struct crowd *crowd = transport->state;

    (void)job;
    for (uint64_t peer = 0; peer < crowd->peers; peer++) {
        if (watch(crowd, peer, EPOLL_CTL_ADD) < 0)
            return -1;
    }
    return 0;
}

static int fill(struct crowd *crowd)
{
    for (uint64_t way = 0; way < crowd->ways; way++) {
        struct way *line = &crowd->way[way];

        if (line->is_busy || !crowd_sends_on(crowd, way) || !crowd_begin_message(crowd))
            continue;
        line->is_busy = true;
        if (watch(crowd, way % crowd->peers, EPOLL_CTL_MOD) < 0)
            return -1;
    }
    return 0;
}

/* `bytes` of the message have moved. True at its end. */
static bool advance(const struct crowd *crowd, struct way *line, uint64_t bytes)
{
    line->at += bytes;
    if (line->at < crowd->job->size)
        return false;
    line->at = 0;
    line->slot = (line->slot + 1) % crowd->job->depth;
    return true;
}

/* 1 if more may be sent, 0 if not now, -1 with a complaint. */
static int send_piece(struct crowd *crowd, uint64_t way)
{
    struct way *line = &crowd->way[way];
    uint64_t left = crowd->job->size - line->at;
    uint64_t most = crowd->write_bytes;

    if (!line->is_busy)
        return 0;
    ssize_t sent =
        send(crowd->fd[way % crowd->peers], crowd_slot(crowd->job, way, line->slot) + line->at,
             most != 0 && most < left ? most : left, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0)
        return errno == EAGAIN ? 0 : failed("send");
    if (!advance(crowd, line, (uint64_t)sent))
        return 1;
    crowd->ended++;
    line->is_busy = crowd_begin_message(crowd);
    return line->is_busy || watch(crowd, way % crowd->peers, EPOLL_CTL_MOD) == 0 ? 1 : -1;
}

/* The same of what comes. */
static int receive_piece(struct crowd *crowd, uint64_t way)
{
    struct way *line = &crowd->way[way];
    bool is_small = crowd->job->size < CROWD_READ;
    uint8_t *to = is_small ? crowd->small : crowd_slot(crowd->job, way, line->slot) + line->at;
    ssize_t got = recv(crowd->fd[way % crowd->peers], to,
                       is_small ? CROWD_READ : crowd->job->size - line->at, MSG_DONTWAIT);

    if (got < 0)
        return errno == EAGAIN ? 0 : failed("receive");
    if (got == 0)
        return complain("connections of TCP: one ended");
    if (!is_small)
        (void)advance(crowd, line, (uint64_t)got);
    return crowd_arrive(crowd, way, (uint64_t)got) < 0 ? -1 : 1;
}

/* One way after the other, of the peer whose socket is ready. */
static int serve(struct crowd *crowd, uint64_t peer)
{
    for (uint64_t way = peer; way < crowd->ways; way += crowd->peers) {
        int more = 1;

        for (int i = 0; i < CALLS && more > 0; i++)
            more = crowd_sends_on(crowd, way) ? send_piece(crowd, way) : receive_piece(crowd, way);
        if (more < 0)
            return -1;
    }
    return 0;
}

static void close_all(struct transport *transport)
{
    struct crowd *crowd = transport->state;

    if (crowd == NULL)
        return;
    for (uint64_t i = 0; i < crowd->peers; i++) {
        if (crowd->fd[i] > 0)
            close(crowd->fd[i]);
    }
    crowd_destroy(crowd);
}

static const struct crowd_calls calls = {begin, fill, serve};

const struct transport_kind crowd_tcp = {
    .name = "tcp",
    .has_manners = true,
    CROWD_CALLS(&calls),
    .offer = offer,
    .accept = accept_all,
    .meet = connect_all,
    .close = close_all,
};
