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
#include "zcrp-bench/job/watch.h"
#include "zcrp-bench/peers/peers.h"

enum {
    EVENTS = 256,
    READ_BYTES = 65536, /* at once, of small messages */
    CALLS = 64,         /* on one socket, before the others have their turn */
};

struct line {
    int fd;
    uint64_t at;   /* in the message that is under way */
    uint64_t slot; /* that it has */
};

struct lines {
    int listener;
    struct line *line;
    uint8_t *memory;  /* for small messages */
    int64_t moved_ns; /* when a socket was last ready */
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
    lines->line = calloc(crowd->stage->peers, sizeof *lines->line);
    lines->memory = malloc(READ_BYTES);
    crowd->state = lines;
    return lines->line != NULL && lines->memory != NULL ? lines : NULL;
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
        lines->line[i].fd = connection_accept(lines->listener, limit_ns);
        if (lines->line[i].fd < 0)
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
        lines->line[i].fd =
            connection_open(&there, stage->manner.congestion, (int64_t)stage->settings.limit_ns);
        if (lines->line[i].fd < 0)
            return -1;
    }
    tcp_name(lines->line[0].fd, &stage->manner, stage->channel);
    return 0;
}

static int begin(struct crowd *crowd, bool is_sender)
{
    struct lines *lines = crowd->state;

    for (uint64_t i = 0; i < crowd->stage->peers; i++) {
        struct epoll_event event = {.events = is_sender ? EPOLLOUT : EPOLLIN, .data.u64 = i};
        if (epoll_ctl(crowd->epoll, EPOLL_CTL_ADD, lines->line[i].fd, &event) < 0)
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

static ssize_t send_piece(struct crowd *crowd, uint64_t peer, struct line *line)
{
    uint64_t left = crowd->stage->size - line->at;
    uint64_t most = crowd->stage->manner.write_bytes;
    ssize_t sent = send(line->fd, crowd_slot(crowd, peer, line->slot) + line->at,
                        most != 0 && most < left ? most : left, MSG_DONTWAIT | MSG_NOSIGNAL);

    if (sent > 0)
        advance(crowd, line, (uint64_t)sent);
    return sent;
}

static ssize_t receive_piece(struct crowd *crowd, uint64_t peer, struct line *line)
{
    struct lines *lines = crowd->state;
    bool is_small = crowd->stage->size < READ_BYTES;
    uint8_t *to = is_small ? lines->memory : crowd_slot(crowd, peer, line->slot) + line->at;
    uint64_t most = is_small ? READ_BYTES : crowd->stage->size - line->at;
    ssize_t got = recv(line->fd, to, most, MSG_DONTWAIT);

    if (got <= 0)
        return got;
    crowd->received[peer] += (uint64_t)got;
    if (!is_small)
        advance(crowd, line, (uint64_t)got);
    return got;
}

static int serve(struct crowd *crowd, uint64_t peer, bool is_sender)
{
    struct lines *lines = crowd->state;
    struct line *line = &lines->line[peer];
    ssize_t moved = 1;

    for (int i = 0; i < CALLS && moved > 0; i++)
        moved = is_sender ? send_piece(crowd, peer, line) : receive_piece(crowd, peer, line);
    if (moved > 0 || (moved < 0 && errno == EAGAIN) || crowd->stage->phase == PEERS_OVER)
        return 0;
    if (moved == 0)
        errno = ECONNRESET;
    return failed(is_sender ? "send" : "receive");
}

static int turn(struct crowd *crowd, bool is_sender)
{
    struct epoll_event event[EVENTS];
    struct lines *lines = crowd->state;
    int count = epoll_wait(crowd->epoll, event, EVENTS, PEERS_LOOK_MS);
    int64_t now_ns = watch_now_ns();

    for (int i = 0; i < count; i++) {
        if (serve(crowd, event[i].data.u64, is_sender) < 0)
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
