/* Connections of TCP: sockets that do not block. A message is one write, or as few as the socket
 * takes. What arrives is read in as large pieces as there are, large messages into their memory. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/complain.h"
#include "zcrp-bench/control/connection.h"
#include "zcrp-bench/job/record.h"
#include "zcrp-bench/peers/peers.h"

enum {
    EVENTS = 256,
    READ_BYTES = 65536, /* at once, of small messages */
    CALLS = 64,         /* on one socket, before the others have their turn */
};

struct line {
    uint64_t at;   /* in the message that is under way */
    uint64_t slot; /* that it has */
};

struct lines {
    int listener;
    int *fd;           /* of each peer */
    struct line *line; /* of each way */
    uint8_t *memory;   /* for small messages */
    int64_t moved_ns;  /* when a socket was last ready */
};

static int failed(const char *what)
{
    return complain("--peers: TCP: %s: %s", what, strerror(errno));
}

static struct lines *make_lines(struct crowd *crowd)
{
    struct lines *lines = calloc(1, sizeof *lines);

    if (lines == NULL)
        return NULL;
    lines->fd = calloc(crowd->stage->peers, sizeof *lines->fd);
    lines->line = calloc(crowd->stage->ways, sizeof *lines->line);
    lines->memory = malloc(READ_BYTES);
    crowd->state = lines;
    return lines->fd != NULL && lines->line != NULL && lines->memory != NULL ? lines : NULL;
}

static int listen_here(struct crowd *crowd)
{
    struct sockaddr_in here = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof here;
    struct lines *lines = make_lines(crowd);

    if (lines == NULL)
        return failed("memory");
    lines->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (lines->listener < 0 || bind(lines->listener, (struct sockaddr *)&here, size) < 0 ||
        listen(lines->listener, SOMAXCONN) < 0 ||
        getsockname(lines->listener, (struct sockaddr *)&here, &size) < 0)
        return failed("listen");
    return ntohs(here.sin_port);
}

static int accept_all(struct crowd *crowd)
{
    struct lines *lines = crowd->state;
    int64_t limit_ns = (int64_t)crowd->stage->settings.limit_ns;

    for (uint64_t i = 0; i < crowd->stage->peers; i++) {
        lines->fd[i] = connection_accept(lines->listener, limit_ns);
        if (lines->fd[i] < 0)
            return -1;
    }
    return 0;
}

static int connect_all(struct crowd *crowd, int port)
{
    struct stage *stage = crowd->stage;
    struct address there = {.host = "127.0.0.1"};
    struct lines *lines = make_lines(crowd);

    if (lines == NULL)
        return failed("memory");
    snprintf(there.port, sizeof there.port, "%d", port);
    for (uint64_t i = 0; i < stage->peers; i++) {
        lines->fd[i] =
            connection_open(&there, stage->manner.congestion, (int64_t)stage->settings.limit_ns);
        if (lines->fd[i] < 0)
            return -1;
    }
    tcp_name(lines->fd[0], &stage->manner, stage->channel);
    return 0;
}

static int begin(struct crowd *crowd)
{
    struct lines *lines = crowd->state;
    bool is_duplex = crowd->stage->ways > crowd->stage->peers;
    uint32_t events = (crowd->is_sender || is_duplex ? EPOLLOUT : 0U) |
                      (!crowd->is_sender || is_duplex ? EPOLLIN : 0U);

    for (uint64_t i = 0; i < crowd->stage->peers; i++) {
        struct epoll_event event = {.events = events, .data.u64 = i};
        if (epoll_ctl(crowd->epoll, EPOLL_CTL_ADD, lines->fd[i], &event) < 0)
            return failed("epoll");
    }
    lines->moved_ns = watch_now_ns();
    return 0;
}

/* `bytes` of the message have moved. */
static void advance(const struct crowd *crowd, struct line *line, uint64_t bytes)
{
    line->at += bytes;
    if (line->at < crowd->stage->size)
        return;
    line->at = 0;
    line->slot = (line->slot + 1) % crowd->stage->depth;
}

static ssize_t send_piece(struct crowd *crowd, uint64_t way, int fd, struct line *line)
{
    uint64_t left = crowd->stage->size - line->at;
    uint64_t most = crowd->stage->manner.write_bytes;
    ssize_t sent = send(fd, crowd_slot(crowd, way, line->slot) + line->at,
                        most != 0 && most < left ? most : left, MSG_DONTWAIT | MSG_NOSIGNAL);

    if (sent > 0)
        advance(crowd, line, (uint64_t)sent);
    return sent;
}

static ssize_t receive_piece(struct crowd *crowd, uint64_t way, int fd, struct line *line)
{
    struct lines *lines = crowd->state;
    bool is_small = crowd->stage->size < READ_BYTES;
    uint8_t *to = is_small ? lines->memory : crowd_slot(crowd, way, line->slot) + line->at;
    uint64_t most = is_small ? READ_BYTES : crowd->stage->size - line->at;
    ssize_t got = recv(fd, to, most, MSG_DONTWAIT);

    if (got <= 0)
        return got;
    crowd->received[way] += (uint64_t)got;
    if (!is_small)
        advance(crowd, line, (uint64_t)got);
    return got;
}

static int serve(struct crowd *crowd, uint64_t way)
{
    struct lines *lines = crowd->state;
    struct line *line = &lines->line[way];
    int fd = lines->fd[way % crowd->stage->peers];
    bool sends = crowd_sends(crowd, way);
    ssize_t moved = 1;

    for (int i = 0; i < CALLS && moved > 0; i++)
        moved = sends ? send_piece(crowd, way, fd, line) : receive_piece(crowd, way, fd, line);
    if (moved > 0 || (moved < 0 && errno == EAGAIN) || crowd->stage->phase == PEERS_OVER)
        return 0;
    if (moved == 0)
        errno = ECONNRESET;
    return failed(sends ? "send" : "receive");
}

/* One way after the other, of the peer whose socket is ready. */
static int serve_peer(struct crowd *crowd, uint64_t peer)
{
    for (uint64_t way = peer; way < crowd->stage->ways; way += crowd->stage->peers)
        if (serve(crowd, way) < 0)
            return -1;
    return 0;
}

static int turn(struct crowd *crowd)
{
    struct epoll_event event[EVENTS];
    struct lines *lines = crowd->state;
    int count = epoll_wait(crowd->epoll, event, EVENTS, PEERS_LOOK_MS);
    int64_t now_ns = watch_now_ns();

    for (int i = 0; i < count; i++) {
        if (serve_peer(crowd, event[i].data.u64) < 0)
            return -1;
    }
    if (count > 0)
        lines->moved_ns = now_ns;
    if (now_ns - lines->moved_ns > (int64_t)crowd->stage->settings.limit_ns)
        return complain("--peers: TCP: nothing moves");
    return 0;
}

/* `connect` has named it. */
static void name(struct crowd *crowd)
{
    (void)crowd;
}

const struct crowd_kind crowd_tcp = {listen_here, accept_all, connect_all, begin, turn, name};
