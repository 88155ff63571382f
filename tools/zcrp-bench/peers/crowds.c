/* How messages move over the connections of a crowd (peers.h), by ZCRP and by TCP. */
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
#include "zcrp-bench/peers/peers.h"
#include "zcrp-bench/transports/carrier.h"
#include "zcrp.h"

/* Connections of ZCRP: each half's descriptor says when messages have ended. */

enum { PORT_ROOM = 8, PAGE = 4096 };

struct houses {
    struct zcrp_listener *listener;
    struct zcrp_entity **entity; /* of each way: a half of its connection */
    struct zcrp_connection **connection;
};

static int houses_failed(const struct crowd *crowd, const char *what, int code)
{
    char channel[TRANSPORT_CHANNEL_ROOM];

    carrier_name(&crowd->stage->settings, channel);
    return complain("--peers: connections over %s: %s: %s", channel, what, zcrp_explain(code));
}

/* The same at both ends, circuits and keys included; the caller frees the keys. Connecting fails
 * after the limit of the settings, too, and so does a message that does not move. A code. */
static int make_options(const struct crowd *crowd, struct zcrp_options *options)
{
    *options = carrier_options(&crowd->stage->settings, false);
    options->connect_ns = options->silence_ns;
    options->progress_ns = options->silence_ns;
    options->connections = 2 * (uint32_t)crowd->stage->peers; /* one host gets seven of eight */
    if (crowd->stage->settings.channel == CARRIER_MAPPED)
        options->mapped_bytes = 2 * crowd->stage->depth * (crowd->stage->size + PAGE);
    return carrier_keys(&crowd->stage->settings, &options->keys);
}

static struct houses *make_houses(struct crowd *crowd)
{
    struct houses *houses = calloc(1, sizeof *houses);

    if (houses == NULL)
        return NULL;
    houses->entity = calloc(crowd->stage->ways, sizeof(struct zcrp_entity *));
    houses->connection = calloc(crowd->stage->peers, sizeof(struct zcrp_connection *));
    crowd->state = houses;
    return houses->entity != NULL && houses->connection != NULL ? houses : NULL;
}

static int houses_listen(struct crowd *crowd)
{
    struct houses *houses = make_houses(crowd);
    struct zcrp_options options;
    int code = houses == NULL ? ZCRP_ERROR_MEMORY : make_options(crowd, &options);

    if (code == ZCRP_OK) {
        code = zcrp_listen(&houses->listener, "127.0.0.1", "0", &options);
        zcrp_keys_free(options.keys);
    }
    return code == ZCRP_OK ? zcrp_listener_port(houses->listener)
                           : houses_failed(crowd, "listen", code);
}

static int houses_accept(struct crowd *crowd)
{
    struct houses *houses = crowd->state;
    int64_t limit_ns = (int64_t)crowd->stage->settings.limit_ns;

    for (uint64_t i = 0; i < crowd->stage->peers; i++) {
        int code = zcrp_accept(houses->listener, &houses->connection[i], limit_ns);
        if (code != ZCRP_OK)
            return houses_failed(crowd, "accept", code);
    }
    return 0;
}

static int houses_connect(struct crowd *crowd, int port)
{
    struct houses *houses = make_houses(crowd);
    struct zcrp_options options;
    char text[PORT_ROOM];
    int code = houses == NULL ? ZCRP_ERROR_MEMORY : make_options(crowd, &options);

    if (code != ZCRP_OK)
        return houses_failed(crowd, "connect", code);
    snprintf(text, sizeof text, "%d", port);
    carrier_name(&crowd->stage->settings, crowd->stage->channel);
    for (uint64_t i = 0; i < crowd->stage->peers && code == ZCRP_OK; i++)
        code = zcrp_connect(&houses->connection[i], "127.0.0.1", text, &options, -1);
    zcrp_keys_free(options.keys);
    return code == ZCRP_OK ? 0 : houses_failed(crowd, "connect", code);
}

/* Of the library's memory if both ends are to map it. */
static struct zcrp_msg *make_message(struct crowd *crowd, uint64_t way, uint64_t slot)
{
    struct houses *houses = crowd->state;
    nlong size = crowd->stage->size;

    if (crowd->stage->settings.channel == CARRIER_MAPPED)
        return zcrp_connection_alloc_msg(houses->connection[way % crowd->stage->peers], size);
    return zcrp_wrap_msg(crowd_slot(crowd, way, slot), size);
}

static int begin_way(struct crowd *crowd, uint64_t way)
{
    struct houses *houses = crowd->state;
    struct zcrp_entity *entity = houses->entity[way];
    int fd = zcrp_descriptor(entity);
    struct epoll_event event = {.events = EPOLLIN, .data.u64 = way};
    nlong size = crowd->stage->size;

    if (fd < 0 || epoll_ctl(crowd->epoll, EPOLL_CTL_ADD, fd, &event) < 0)
        return houses_failed(crowd, "a descriptor", fd < 0 ? fd : ZCRP_ERROR_SYSTEM);
    for (uint64_t i = 0; i < crowd->stage->depth; i++) {
        struct zcrp_msg *message = make_message(crowd, way, i);
        int code = message == NULL ? ZCRP_ERROR_MEMORY : zcrp_submit(entity, message, size);
        if (code != ZCRP_OK)
            return houses_failed(crowd, "submit", code);
    }
    return 0;
}

static int houses_begin(struct crowd *crowd)
{
    struct houses *houses = crowd->state;

    for (uint64_t i = 0; i < crowd->stage->ways; i++) {
        struct zcrp_connection *c = houses->connection[i % crowd->stage->peers];
        houses->entity[i] =
            crowd_sends(crowd, i) ? zcrp_connection_sender(c) : zcrp_connection_receiver(c);
        if (begin_way(crowd, i) < 0)
            return -1;
    }
    return 0;
}

/* What has ended is submitted again. */
static int houses_serve(struct crowd *crowd, uint64_t way)
{
    struct houses *houses = crowd->state;
    struct zcrp_entity *entity = houses->entity[way];
    struct zcrp_msg *message;

    while ((message = zcrp_collect(entity)) != NULL) {
        int code = zcrp_error(message);
        crowd->received[way] += message->length;
        if (code == ZCRP_OK)
            code = zcrp_submit(entity, message, crowd->stage->size);
        if (code != ZCRP_OK && crowd->stage->phase != PEERS_OVER)
            return houses_failed(crowd, "a message", code);
        if (code != ZCRP_OK)
            return 0;
    }
    return 0;
}

/* Over all connections, since they were opened. */
static void houses_name(struct crowd *crowd)
{
    struct houses *houses = crowd->state;
    struct counts sum = {.is_known = true};

    if (crowd->stage->settings.channel != CARRIER_AUTO)
        return;
    for (uint64_t i = 0; i < crowd->stage->ways; i++) {
        struct zcrp_stats stats = {0};
        zcrp_stats(houses->entity[i], &stats);
        const struct counts counts = counts_of_stats(&stats);
        counts_add(&sum, &counts);
    }
    if (carrier_was_memory(&sum, sum.value[COUNT_bytes]))
        snprintf(crowd->stage->channel, sizeof crowd->stage->channel, "%s",
                 carrier_names[CARRIER_MEMORY]);
}

const struct crowd_kind crowd_zcrp = {
    .listen = houses_listen,
    .accept = houses_accept,
    .connect = houses_connect,
    .begin = houses_begin,
    .serve = houses_serve,
    .name = houses_name,
};

/* Connections of TCP: sockets that do not block. A message is one write, or as few as the socket
 * takes. What arrives is read in as large pieces as there are, large messages into their memory. */

enum {
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
};

static int lines_failed(const char *what)
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

static int lines_listen(struct crowd *crowd)
{
    struct sockaddr_in here = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof here;
    struct lines *lines = make_lines(crowd);

    if (lines == NULL)
        return lines_failed("memory");
    lines->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (lines->listener < 0 || bind(lines->listener, (struct sockaddr *)&here, size) < 0 ||
        listen(lines->listener, SOMAXCONN) < 0 ||
        getsockname(lines->listener, (struct sockaddr *)&here, &size) < 0)
        return lines_failed("listen");
    return ntohs(here.sin_port);
}

static int lines_accept(struct crowd *crowd)
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

static int lines_connect(struct crowd *crowd, int port)
{
    struct stage *stage = crowd->stage;
    struct address there = {.host = "127.0.0.1"};
    struct lines *lines = make_lines(crowd);

    if (lines == NULL)
        return lines_failed("memory");
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

static int lines_begin(struct crowd *crowd)
{
    struct lines *lines = crowd->state;
    bool is_duplex = crowd->stage->ways > crowd->stage->peers;
    uint32_t events = (crowd->is_sender || is_duplex ? EPOLLOUT : 0U) |
                      (!crowd->is_sender || is_duplex ? EPOLLIN : 0U);

    for (uint64_t i = 0; i < crowd->stage->peers; i++) {
        struct epoll_event event = {.events = events, .data.u64 = i};
        if (epoll_ctl(crowd->epoll, EPOLL_CTL_ADD, lines->fd[i], &event) < 0)
            return lines_failed("epoll");
    }
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

static int serve_way(struct crowd *crowd, uint64_t way)
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
    return lines_failed(sends ? "send" : "receive");
}

/* One way after the other, of the peer whose socket is ready. */
static int lines_serve(struct crowd *crowd, uint64_t peer)
{
    for (uint64_t way = peer; way < crowd->stage->ways; way += crowd->stage->peers)
        if (serve_way(crowd, way) < 0)
            return -1;
    return 0;
}

const struct crowd_kind crowd_tcp = {
    .listen = lines_listen,
    .accept = lines_accept,
    .connect = lines_connect,
    .begin = lines_begin,
    .serve = lines_serve,
    .when_idle = "TCP: nothing moves",
};
