/* The channel of --peers: many connections, all busy at once, which one thread serves, as a program
 * with many peers does: ZCRP's with a completion queue, TCP's with epoll.
 *
 *      sending end                                 receiving end
 *      message n by a connection that has  ----->  counts messages, whichever
 *      room: `depth` by each                       connection they come by
 *
 * Each connection has a way there, with `depth` slots of the job's memory. All jobs have messages
 * of one size, so what is posted for one job and not used there is for the next.
 *
 * TCP's kernel joins small writes here, which is its best: TCP_NODELAY is not set. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/complain.h"
#include "common/environment.h"
#include "zcrp-bench/control/connection.h"
#include "zcrp-bench/transports/carrier.h"
#include "zcrp-bench/transports/stream.h"

enum {
    EVENTS = 256,
    CALLS = 64,   /* on one socket of TCP, before the others have their turn */
    READ = 65536, /* bytes at once, of TCP's small messages */
};

/* The direction of a connection in which messages go. */
struct way {
    struct zcrp_entity *entity; /* ZCRP: the half of the connection */
    struct zcrp_msg **message;  /* all, */
    struct zcrp_msg **idle;     /* and those that wait for their turn: a stack */
    uint64_t message_count, idle_count;
    bool is_busy;  /* TCP: with a message to send */
    uint64_t at;   /* bytes of the message under way */
    uint64_t slot; /* that it has */
};

struct crowd {
    uint64_t peers;
    bool is_sender;
    bool has_begun;           /* has been prepared for its first job */
    int epoll;                /* of TCP */
    struct zcrp_queue *queue; /* of ZCRP */
    struct job *job;
    uint64_t begun, ended;  /* of the job's messages that this end sends */
    uint64_t arrived;       /* of those that it receives */
    uint64_t arrived_bytes; /* of the job */
    double *peer_bytes;     /* the same, by each connection */
    struct way *way;
    struct zcrp_connection **connection; /* of ZCRP, */
    struct zcrp_listener *listener;
    int *fd;              /* of TCP, of each connection, */
    uint64_t write_bytes; /* most in one write; 0: the whole message */
    uint8_t small[READ];  /* takes what comes of small messages */
};

/* How messages move. Each returns 0, or -1 with a complaint. */
struct crowd_calls {
    int (*begin)(struct transport *transport, const struct job *job); /* before the first job */
    int (*fill)(struct crowd *crowd); /* begins messages wherever there is room, in turns */
    int (*look)(
        struct crowd *crowd); /* serves what is ready, for STREAM_PAUSE_MS at most: how many */
};

static uint8_t *slot_of(const struct job *job, uint64_t way, uint64_t slot)
{
    return memory_slot(&job->memory, way * job->depth + slot);
}

/* Each connection has a descriptor or two. */
static int raise_limit(uint64_t count)
{
    uint64_t wanted = 3 * count + 100;

    if (environment_descriptors() >= wanted)
        return 0;
    return complain("--peers %llu needs %llu descriptors: `ulimit -n` allows fewer",
                    (unsigned long long)count, (unsigned long long)wanted);
}

/* When no connection is left. */
static void crowd_destroy(struct crowd *crowd)
{
    if (crowd->epoll >= 0)
        close(crowd->epoll);
    (void)zcrp_queue_close(crowd->queue);
    free(crowd->peer_bytes);
    free(crowd->way);
    free(crowd->connection);
    free(crowd->fd);
    free(crowd);
}

/* Both ends' beginning, transport->state: NULL with a complaint. */
static struct crowd *crowd_create(struct transport *transport, bool is_listening)
{
    uint64_t count = transport->settings->peers;
    struct crowd *crowd = raise_limit(count) < 0 ? NULL : calloc(1, sizeof *crowd);

    if (crowd == NULL)
        return NULL;
    crowd->peers = count;
    crowd->is_sender = is_listening == transport->is_back;
    crowd->epoll = epoll_create1(EPOLL_CLOEXEC);
    crowd->peer_bytes = calloc(count, sizeof *crowd->peer_bytes);
    crowd->way = calloc(count, sizeof *crowd->way);
    crowd->connection = calloc(count, sizeof(struct zcrp_connection *));
    crowd->fd = calloc(count, sizeof *crowd->fd);
    record_mark();
    if (crowd->epoll >= 0 && crowd->peer_bytes != NULL && crowd->way != NULL &&
        crowd->connection != NULL && crowd->fd != NULL)
        return transport->state = crowd;
    complain("no memory or no descriptor for %llu peers: %s", (unsigned long long)count,
             strerror(errno));
    crowd_destroy(crowd);
    return NULL;
}

/* Begins the job's next message, when it is due. False if all have begun. */
static bool begin_message(struct crowd *crowd)
{
    if (crowd->begun == crowd->job->count)
        return false;
    job_due(crowd->job, crowd->begun++);
    return true;
}

/* Bytes have come by this way. 0, or -1 with a complaint. */
static int arrive(struct crowd *crowd, uint64_t way, uint64_t bytes)
{
    crowd->peer_bytes[way] += (double)bytes;
    crowd->arrived_bytes += bytes;
    while (crowd->arrived_bytes >= (crowd->arrived + 1) * crowd->job->size) {
        if (job_arrived(crowd->job, crowd->arrived) < 0)
            return -1;
        crowd->arrived++;
    }
    return 0;
}

static bool is_over(const struct crowd *crowd)
{
    return crowd->is_sender ? crowd->ended == crowd->job->count
                            : crowd->arrived >= crowd->job->count;
}

static int crowd_prepare(struct transport *transport, const struct job *job)
{
    struct crowd *crowd = transport->state;

    if (crowd->has_begun)
        return 0;
    crowd->has_begun = true;
    return transport->kind->crowd_calls->begin(transport, job);
}

/* A job, whichever part of it is this end's. The course of a job adds messages to it. */
static int crowd_run(struct transport *transport, struct job *job)
{
    const struct crowd_calls *calls = transport->kind->crowd_calls;
    struct crowd *crowd = transport->state;
    int64_t moved_ns = clock_now_ns();
    uint64_t known = 0;

    crowd->job = job;
    crowd->begun = crowd->ended = crowd->arrived = crowd->arrived_bytes = 0;
    for (uint64_t i = 0; i < crowd->peers; i++)
        crowd->peer_bytes[i] = 0;
    while (!is_over(crowd)) {
        if (known != job->count) {
            known = job->count;
            if (crowd->is_sender && calls->fill(crowd) < 0)
                return -1;
        }
        int count = calls->look(crowd);
        if (count < 0)
            return -1;
        if (count > 0)
            moved_ns = clock_now_ns();
        else if (transport_despair(transport, moved_ns) < 0)
            return -1;
    }
    return 0;
}

static double crowd_fairness(struct transport *transport)
{
    const struct crowd *crowd = transport->state;

    return fairness_index(crowd->peer_bytes, crowd->peers);
}

static int crowd_connect(struct transport *transport)
{
    return crowd_create(transport, false) == NULL ? -1 : transport->port;
}

#define CROWD_CALLS(calls)                                                                         \
    .crowd_calls = (calls), .connect = crowd_connect, .prepare = crowd_prepare, .send = crowd_run, \
    .receive = crowd_run, .fairness = crowd_fairness

/* ---- TCP: sockets that do not block. A message is one write, or as few as the socket takes. What
 * arrives is read in as large pieces as there are, large messages into their memory. ---- */

static int tcp_failed(const char *what)
{
    return complain("connections of TCP: %s: %s", what, strerror(errno));
}

static int crowd_tcp_offer(struct transport *transport)
{
    return crowd_create(transport, true) == NULL ? -1 : tcp_offer(transport);
}

static int crowd_tcp_accept(struct transport *transport)
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

static int crowd_tcp_meet(struct transport *transport)
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

    if (!crowd->is_sender)
        event.events |= EPOLLIN;
    else if (crowd->way[peer].is_busy)
        event.events |= EPOLLOUT;
    return epoll_ctl(crowd->epoll, operation, crowd->fd[peer], &event) < 0 ? tcp_failed("epoll")
                                                                           : 0;
}

static int crowd_tcp_begin(struct transport *transport, const struct job *job)
{
    const struct crowd *crowd = transport->state;

    (void)job;
    for (uint64_t peer = 0; peer < crowd->peers; peer++)
        if (watch(crowd, peer, EPOLL_CTL_ADD) < 0)
            return -1;
    return 0;
}

static int crowd_tcp_fill(struct crowd *crowd)
{
    for (uint64_t way = 0; way < crowd->peers; way++) {
        struct way *line = &crowd->way[way];

        if (line->is_busy || !begin_message(crowd))
            continue;
        line->is_busy = true;
        if (watch(crowd, way, EPOLL_CTL_MOD) < 0)
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
    ssize_t sent = send(crowd->fd[way], slot_of(crowd->job, way, line->slot) + line->at,
                        most != 0 && most < left ? most : left, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0)
        return errno == EAGAIN ? 0 : tcp_failed("send");
    if (!advance(crowd, line, (uint64_t)sent))
        return 1;
    crowd->ended++;
    line->is_busy = begin_message(crowd);
    return line->is_busy || watch(crowd, way, EPOLL_CTL_MOD) == 0 ? 1 : -1;
}

/* The same of what comes. */
static int receive_piece(struct crowd *crowd, uint64_t way)
{
    struct way *line = &crowd->way[way];
    bool is_small = crowd->job->size < READ;
    uint8_t *to = is_small ? crowd->small : slot_of(crowd->job, way, line->slot) + line->at;
    ssize_t got =
        recv(crowd->fd[way], to, is_small ? READ : crowd->job->size - line->at, MSG_DONTWAIT);

    if (got < 0)
        return errno == EAGAIN ? 0 : tcp_failed("receive");
    if (got == 0)
        return complain("connections of TCP: one ended");
    if (!is_small)
        (void)advance(crowd, line, (uint64_t)got);
    return arrive(crowd, way, (uint64_t)got) < 0 ? -1 : 1;
}

/* The peer whose socket is ready. */
static int serve_peer(struct crowd *crowd, uint64_t peer)
{
    int more = 1;

    for (int i = 0; i < CALLS && more > 0; i++)
        more = crowd->is_sender ? send_piece(crowd, peer) : receive_piece(crowd, peer);
    return more < 0 ? -1 : 0;
}

static int crowd_tcp_look(struct crowd *crowd)
{
    struct epoll_event event[EVENTS];
    int count = epoll_wait(crowd->epoll, event, EVENTS, STREAM_PAUSE_MS);

    for (int i = 0; i < count; i++)
        if (serve_peer(crowd, event[i].data.u64) < 0)
            return -1;
    return count < 0 ? 0 : count;
}

static void crowd_tcp_close(struct transport *transport)
{
    struct crowd *crowd = transport->state;

    if (crowd == NULL)
        return;
    for (uint64_t i = 0; i < crowd->peers; i++)
        if (crowd->fd[i] > 0)
            close(crowd->fd[i]);
    crowd_destroy(crowd);
}

static const struct crowd_calls tcp_calls = {crowd_tcp_begin, crowd_tcp_fill, crowd_tcp_look};

const struct transport_kind crowd_tcp = {
    .name = "tcp",
    .has_manners = true,
    CROWD_CALLS(&tcp_calls),
    .offer = crowd_tcp_offer,
    .accept = crowd_tcp_accept,
    .meet = crowd_tcp_meet,
    .close = crowd_tcp_close,
};

/* ---- ZCRP: a queue tells of each half's messages that have ended ---- */

static int zcrp_failed(const char *what, int code)
{
    return complain("connections of ZCRP: %s: %s", what, zcrp_explain(code));
}

static int crowd_zcrp_offer(struct transport *transport)
{
    struct crowd *crowd = crowd_create(transport, true);

    return crowd == NULL ? -1 : carrier_listen(transport, &crowd->listener);
}

static int crowd_zcrp_accept(struct transport *transport)
{
    const struct crowd *crowd = transport->state;

    return carrier_accept(transport, crowd->listener, crowd->connection, crowd->peers);
}

static int crowd_zcrp_meet(struct transport *transport)
{
    const struct crowd *crowd = transport->state;

    carrier_name(transport->settings, transport->channel);
    return carrier_connect(transport, crowd->connection, crowd->peers);
}

/* Of the library's memory if both ends are to map it. */
static struct zcrp_msg *make_message(const struct transport *transport, const struct job *job,
                                     uint64_t way, uint64_t slot)
{
    const struct crowd *crowd = transport->state;

    if (transport->settings->channel == CARRIER_MAPPED)
        return zcrp_connection_alloc_msg(crowd->connection[way], job->size);
    return zcrp_wrap_msg(slot_of(job, way, slot), job->size);
}

/* What is to be sent waits for its turn; what is to be received is posted. */
static int begin_half(const struct transport *transport, const struct job *job, uint64_t way)
{
    const struct crowd *crowd = transport->state;
    struct way *half = &crowd->way[way];
    struct zcrp_connection *connection = crowd->connection[way];

    half->entity = crowd->is_sender ? zcrp_connection_sender(connection)
                                    : zcrp_connection_receiver(connection);
    half->message = calloc(job->depth, sizeof(struct zcrp_msg *));
    half->idle = calloc(job->depth, sizeof(struct zcrp_msg *));
    int added = half->message != NULL && half->idle != NULL
                    ? zcrp_queue_add(crowd->queue, half->entity, half)
                    : ZCRP_ERROR_MEMORY;
    if (added != ZCRP_OK)
        return zcrp_failed("the queue", added);
    for (uint64_t i = 0; i < job->depth; i++) {
        struct zcrp_msg *message = make_message(transport, job, way, i);
        int code = message != NULL ? ZCRP_OK : ZCRP_ERROR_MEMORY;

        half->message[half->message_count++] = message;
        if (crowd->is_sender)
            half->idle[half->idle_count++] = message;
        else if (code == ZCRP_OK)
            code = zcrp_submit(half->entity, message, job->size);
        if (code != ZCRP_OK)
            return zcrp_failed("submit", code);
    }
    return 0;
}

static int crowd_zcrp_begin(struct transport *transport, const struct job *job)
{
    struct crowd *crowd = transport->state;
    int code = zcrp_queue_open(&crowd->queue);

    if (code != ZCRP_OK)
        return zcrp_failed("a queue", code);
    for (uint64_t way = 0; way < crowd->peers; way++)
        if (begin_half(transport, job, way) < 0)
            return -1;
    return 0;
}

static int crowd_zcrp_fill(struct crowd *crowd)
{
    bool has_begun = true;

    while (has_begun) {
        has_begun = false;
        for (uint64_t way = 0; way < crowd->peers; way++) {
            struct way *half = &crowd->way[way];

            if (half->idle_count == 0 || !begin_message(crowd))
                continue;
            int code = zcrp_submit(half->entity, half->idle[--half->idle_count], crowd->job->size);
            if (code != ZCRP_OK)
                return zcrp_failed("submit", code);
            has_begun = true;
        }
    }
    return 0;
}

/* What has ended is submitted again. */
static int on_end(struct crowd *crowd, struct way *half, const struct zcrp_completion *c)
{
    uint64_t way = (uint64_t)(half - crowd->way);
    int code = c->code;

    if (code == ZCRP_OK && !crowd->is_sender && arrive(crowd, way, c->message->length) < 0)
        return -1;
    crowd->ended += crowd->is_sender;
    if (crowd->is_sender && !begin_message(crowd))
        half->idle[half->idle_count++] = c->message;
    else if (code == ZCRP_OK)
        code = zcrp_submit(half->entity, c->message, crowd->job->size);
    return code == ZCRP_OK ? 0 : zcrp_failed("a message", code);
}

static int crowd_zcrp_look(struct crowd *crowd)
{
    struct zcrp_completion c[EVENTS];
    int count = zcrp_queue_take(crowd->queue, c, EVENTS, STREAM_PAUSE_MS * INT64_C(1000000));

    if (count < 0)
        return zcrp_failed("take", count);
    for (int i = 0; i < count; i++)
        if (c[i].kind == ZCRP_MESSAGE_ENDED && on_end(crowd, c[i].context, &c[i]) < 0)
            return -1;
    return count;
}

static void crowd_zcrp_count(struct transport *transport, struct counts *counts)
{
    const struct crowd *crowd = transport->state;

    for (uint64_t way = 0; way < crowd->peers; way++) {
        struct zcrp_stats stats = {0};

        zcrp_stats(crowd->way[way].entity, &stats);
        const struct counts half = counts_of_stats(&stats);
        if (way == 0)
            *counts = half;
        else
            counts_add(counts, &half);
    }
}

/* Connections first: what is posted is the library's until then. */
static void crowd_zcrp_close(struct transport *transport)
{
    struct crowd *crowd = transport->state;

    if (crowd == NULL)
        return;
    (void)zcrp_listener_close(crowd->listener);
    for (uint64_t i = 0; i < crowd->peers; i++)
        (void)zcrp_connection_close(crowd->connection[i]);
    for (uint64_t way = 0; way < crowd->peers; way++) {
        struct way *half = &crowd->way[way];

        for (uint64_t i = 0; i < half->message_count; i++)
            zcrp_free_msg(half->message[i]);
        free(half->message);
        free(half->idle);
    }
    crowd_destroy(crowd);
}

static const struct crowd_calls zcrp_calls = {crowd_zcrp_begin, crowd_zcrp_fill, crowd_zcrp_look};

const struct transport_kind crowd_zcrp = {
    .name = "zcrp",
    .is_zcrp = true,
    CROWD_CALLS(&zcrp_calls),
    .offer = crowd_zcrp_offer,
    .accept = crowd_zcrp_accept,
    .meet = crowd_zcrp_meet,
    .count = crowd_zcrp_count,
    .close = crowd_zcrp_close,
};
