#include "stream.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/complain.h"
#include "common/environment.h"
#include "sockets.h"

enum {
    READS_AT_ONCE = 8,
    WORN = 16,
    FIRST_BYTES = 16 << 10,
    PEER_ROOM = 64,
    MEASURE_NS = 20000000,
    CLOSE_AGAIN_US = 10000,
    DESCRIPTORS_SPARE = 64, /* the library's, and the process's own */
    CONNECTIONS_MOST = 1 << 18,
    BACKLOG = 4096,
    MESSAGES_LEAST = 64,
    MESSAGES_BESIDE = 16, /* of a connection, under way: beside its buffers */
};

static const int64_t second_ns = 1000000000, refused_ns = 5000000000;

/* How long the other end may take to get all that came before a socket broke. */
static const int64_t broken_ns = 10000000000;

/* How long a handshake may take, at either end: the one that goes on would wait for nothing. */
static const int64_t connect_ns = 30000000000;
static const uint64_t sending_least = 4 * STREAM_BYTES;

static struct stream *all;
static unsigned credit_most;
static bool is_verbose;

static struct {
    uint64_t streams, refused, reset; /* since the start: opened, of these refused or reset */
    uint64_t bytes_out, bytes_in;     /* from this end's TCP sockets, and to them */
    unsigned open, connections;       /* now */
} counts;

struct zcrp_options stream_setup(const struct stream_settings *settings, struct zcrp_keys *keys)
{
    uint64_t most = environment_descriptors();
    uint32_t messages;

    most = most > 2 * DESCRIPTORS_SPARE ? (most - DESCRIPTORS_SPARE) / 2 : DESCRIPTORS_SPARE;
    most = most < CONNECTIONS_MOST ? most : CONNECTIONS_MOST;
    credit_most = (unsigned)(settings->window / STREAM_BYTES);
    messages = credit_most + MESSAGES_BESIDE;
    buffers_limit(settings->memory);
    is_verbose = settings->is_verbose;
    return (struct zcrp_options){
        .keys = keys,
        .connections = (uint32_t)most,
        .backlog = (uint32_t)(most < BACKLOG ? most : BACKLOG),
        .messages = messages > MESSAGES_LEAST ? messages : MESSAGES_LEAST,
        .silence_ns = settings->silence_ns,
        .connect_ns = connect_ns,
        .window_bytes = 2 * settings->window,
        .flags = ZCRP_NO_MEMORY,
        .stats_directory = "1",
    };
}

/* The peer's host: each connection has a port of its own. */
static void find_host(const struct stream *stream, char host[PEER_ROOM])
{
    char peer[PEER_ROOM] = "";

    (void)zcrp_connection_peer(stream->connection, peer, sizeof(peer));
    bool has_brackets = peer[0] == '['; /* it is one of IPv6 */
    char *end = strrchr(peer, has_brackets ? ']' : ':');
    if (end != NULL)
        *end = '\0';
    (void)snprintf(host, PEER_ROOM, "%s", peer + has_brackets);
}

/* ---- for people ---- */

void stream_note(const struct stream *stream, const char *what)
{
    char peer[PEER_ROOM] = "?";

    if (!is_verbose)
        return;
    (void)zcrp_connection_peer(stream->connection, peer, sizeof(peer));
    (void)complain("%s: %s: %s", peer, stream->name, what);
}

const char *stream_explain(int code, bool has_answered)
{
    bool was_closed = code == ZCRP_ERROR_PEER_CLOSED || code == ZCRP_ERROR_CUT_OFF;

    return was_closed && !has_answered
               ? "it closed before it answered: does zcrp-tunnel --serve listen there?"
               : zcrp_strerror(code);
}

void stream_tell_counts(void)
{
    fprintf(stderr,
            "{\"streams\": %" PRIu64 ", \"open\": %u, \"refused\": %" PRIu64 ", \"reset\": %" PRIu64
            ", \"connections\": %u, \"bytes_out\": %" PRIu64 ", \"bytes_in\": %" PRIu64
            ", \"buffer_bytes\": %" PRIu64 "}\n",
            counts.streams, counts.open, counts.refused, counts.reset, counts.connections,
            counts.bytes_out, counts.bytes_in, buffers_extra());
    (void)fflush(stderr);
}

/* ---- idle ones ---- */

void streams_put(struct streams *streams, struct stream *stream)
{
    stream->idle = streams;
    stream->next = streams->first;
    streams->first = stream;
    streams->count++;
}

void streams_leave(struct stream *stream)
{
    struct stream **place = &stream->idle->first;

    while (*place != stream)
        place = &(*place)->next;
    *place = stream->next;
    stream->idle->count--;
    stream->idle = NULL;
}

struct stream *streams_take(struct streams *streams)
{
    struct stream *stream = NULL;

    for (struct stream *s = streams->first; s != NULL && (stream == NULL || !stream->is_up);
         s = s->next)
        if (s->ended == 0 && (stream == NULL || s->is_up))
            stream = s;
    if (stream != NULL)
        streams_leave(stream);
    return stream;
}

bool stream_is_worn(const struct stream *stream)
{
    return stream->posted.count > WORN || stream->peer_posted > WORN;
}

/* ---- the end ---- */

static void end(struct stream *stream, int code)
{
    if (stream->ended == 0)
        stream->ended = code;
}

/* In a thread: a message that cannot be cancelled ends when the system call that has it returns. */
static void close_connection(struct crew_job *job)
{
    struct stream *stream = (struct stream *)((char *)job - offsetof(struct stream, job.crew));

    for (const struct buffer *buffer = stream->sending.first; buffer != NULL; buffer = buffer->next)
        (void)zcrp_cancel(buffer->message); /* else the close would wait for it */
    while (zcrp_connection_close(stream->connection) == ZCRP_ERROR_BUSY)
        (void)usleep(CLOSE_AGAIN_US);
}

static void on_closed(struct job *job)
{
    struct stream *stream = (struct stream *)((char *)job - offsetof(struct stream, job));
    struct buffer *buffer;

    while ((buffer = buffers_take(&stream->posted)) != NULL)
        buffer_destroy(buffer);
    while ((buffer = buffers_take(&stream->sending)) != NULL)
        buffer_destroy(buffer);
    counts.connections--;
    stream->is_closed = true;
}

static void close_tcp(struct stream *stream, bool is_reset)
{
    if (stream->in.fd < 0 && stream->out.fd < 0)
        return;
    counts.open--;
    counts.reset += is_reset;
    if (stream->is_socket && !is_reset)
        socket_complete(stream->in.fd);
    loop_close(&stream->in);
    loop_close(&stream->out);
}

int stream_take_back(struct stream *stream)
{
    int fd = loop_release(&stream->in);

    socket_complete(fd);
    counts.open--;
    return fd;
}

static void die(struct stream *stream, int code)
{
    enum stream_phase was = stream->phase;
    char host[PEER_ROOM];

    if (was == STREAM_DEAD)
        return;
    stream->phase = STREAM_DEAD;
    close_tcp(stream, true);
    if (stream->idle != NULL)
        streams_leave(stream);
    if (stream->dial != NULL)
        dial_cancel(stream->dial);
    stream->owner->on_dead(stream, was, code);
    (void)zcrp_queue_remove_connection(loop_queue(), stream->connection);
    find_host(stream, host);
    loop_job(&stream->job, JOB_CLOSE, host);
}

void stream_drop(struct stream *stream)
{
    die(stream, 0);
}

void stream_accuse(struct stream *stream)
{
    char peer[PEER_ROOM] = "the peer";

    if (stream->phase == STREAM_DEAD)
        return;
    (void)zcrp_connection_peer(stream->connection, peer, sizeof(peer));
    (void)complain("%s broke the rules of the tunnel, and its connection was closed", peer);
    die(stream, 0);
}

/* There was no memory for a buffer, and nothing is under way whose end would try again. */
static bool lacks_buffers(const struct stream *stream)
{
    return stream->posted.count < CREDIT_LEAST ||
           (stream->is_readable && !stream->sent_end && stream->sending.count == 0);
}

void stream_tick(int64_t now_ns)
{
    struct stream *stream;

    dial_tick(now_ns);
    for (struct stream **place = &all; (stream = *place) != NULL;) {
        int64_t age_ns = now_ns - stream->since_ns;
        if ((stream->phase == STREAM_REFUSED && age_ns > refused_ns) ||
            (stream->is_broken && stream->phase != STREAM_DEAD && age_ns > broken_ns))
            stream_drop(stream);
        if (stream->phase != STREAM_DEAD && lacks_buffers(stream))
            loop_soon(&stream->turn);
        if (stream->is_closed && !stream->turn.is_due) {
            *place = stream->after;
            free(stream);
        } else {
            place = &stream->after;
        }
    }
}

void stream_drop_all(void)
{
    for (struct stream *stream = all; stream != NULL; stream = stream->after)
        stream_drop(stream);
}

struct stream *stream_after(const struct stream *stream)
{
    return stream == NULL ? all : stream->after;
}

/* ---- control messages ---- */

/* Copies are lost only with the peer. Without room for one, which is a megabyte, the peer is not
 * there. */
static bool send_copy(struct stream *stream, const void *bytes, size_t size)
{
    int code = zcrp_send_copy(stream->sender, bytes, size);

    end(stream, code);
    if (code != 0)
        loop_soon(&stream->turn);
    return code == 0;
}

bool stream_say(struct stream *stream, const struct control *control)
{
    uint8_t bytes[CONTROL_MOST];

    return send_copy(stream, bytes, control_write(control, bytes));
}

/* Says DONE, if this end is; and if both are, the connection is idle. */
static void finish(struct stream *stream)
{
    struct control done = {.kind = CONTROL_DONE};

    if (stream->phase != STREAM_RUNNING || !stream->sent_end || !stream->has_peer_end)
        return;
    if (!stream->sent_done) {
        close_tcp(stream, false);
        done.number = (uint16_t)stream->posted.count;
        stream->sent_done = stream_say(stream, &done);
    }
    if (!stream->sent_done || !stream->has_peer_done)
        return;
    stream->phase = STREAM_IDLE;
    stream->owner->on_idle(stream);
}

static void hear_control(struct stream *stream, const struct buffer *buffer)
{
    struct control control;
    enum control_fault fault =
        control_read(&control, buffer->message->buffer, (size_t)buffer->message->length);

    if (fault == CONTROL_OTHER_VERSION && stream->phase == STREAM_IDLE) {
        control =
            control_make(CONTROL_REFUSED, REFUSAL_FAILED, 0, "another version of zcrp-tunnel");
        (void)stream_say(stream, &control);
        stream_drop(stream); /* the close waits until that has arrived */
    } else if (fault != CONTROL_GOOD ||
               (control.kind == CONTROL_FINE && stream->phase == STREAM_RUNNING)) {
        stream_accuse(stream);
    } else if (control.kind == CONTROL_DONE) {
        bool is_due = stream->phase == STREAM_RUNNING && stream->has_peer_end;

        if (!is_due || stream->has_peer_done) {
            stream_accuse(stream);
            return;
        }
        stream->has_peer_done = true;
        stream->peer_posted = control.number;
        finish(stream);
    } else {
        if (control.kind == CONTROL_FINE && stream->phase == STREAM_ASKED)
            stream->phase = STREAM_RUNNING;
        counts.refused += control.kind == CONTROL_REFUSED && stream->phase == STREAM_ASKED;
        stream->owner->on_control(stream, &control);
    }
}

/* ---- a TCP socket that had an error ---- */

/* Its peer has reset it, and may have sent something before, which is still to be read, or not yet
 * acknowledged. */
void stream_break(struct stream *stream)
{
    if (!stream->is_socket) {
        stream_drop(stream);
        return;
    }
    stream->is_broken = stream->is_readable = stream->stops_short = true;
    stream->since_ns = clock_now_ns();
    loop_soon(&stream->turn);
}

/* Resets it once the peer has all. Before FINE the peer has it, and nobody to give it to. */
static void drop_broken(struct stream *stream)
{
    bool has_taker = stream->phase == STREAM_RUNNING || stream->bytes_out == 0;
    bool is_sent = stream->sending.count == 0 && (stream->sent_end || !stream->is_readable);

    if (stream->is_broken)
        stream->since_ns = clock_now_ns(); /* that something has gone on */
    if (stream->is_broken && has_taker && is_sent)
        stream_drop(stream);
}

/* ---- from the peer to the TCP socket ---- */

/* How many buffers are posted from now on. */
static void count_landed(struct stream *stream, bool is_large)
{
    int64_t now_ns = clock_now_ns();
    unsigned wanted = stream->landed += is_large;

    if (now_ns - stream->round_ns >= second_ns) {
        stream->credit = stream->credit / 2 > wanted ? stream->credit / 2 : wanted;
    } else if (is_large && wanted >= stream->credit) {
        stream->credit = 2 * wanted;
    } else {
        return;
    }
    stream->landed = 0;
    stream->round_ns = now_ns;
    if (stream->credit < CREDIT_LEAST)
        stream->credit = CREDIT_LEAST;
    if (stream->credit > credit_most)
        stream->credit = credit_most;
}

static void post(struct stream *stream)
{
    while (stream->posted.count < stream->credit && stream->ended == 0) {
        struct buffer *buffer = buffer_create(stream->posted.count < CREDIT_LEAST);

        if (buffer == NULL)
            return;
        int code = zcrp_submit(stream->receiver, buffer->message, STREAM_BYTES);
        if (code != 0) {
            buffer_destroy(buffer);
            end(stream, code);
            return;
        }
        buffers_add(&stream->posted, buffer);
    }
}

/* The peer has ended its direction. */
static void end_output(struct stream *stream)
{
    stream->has_peer_end = true;
    if (!stream->is_socket) {
        (void)shutdown(stream->out.fd, SHUT_WR); /* `in` may be the same socket */
        loop_close(&stream->out);
    } else if (shutdown(stream->in.fd, SHUT_WR) != 0 && errno != ENOTCONN) {
        stream_drop(stream);
    }
    finish(stream);
}

/* True: all of it is written. */
static bool write_out(struct stream *stream, struct buffer *buffer)
{
    int fd = stream->is_socket ? stream->in.fd : stream->out.fd;

    while (buffer->done < buffer->message->length) {
        size_t left = (size_t)buffer->message->length - buffer->done;
        ssize_t count =
            stream->is_writable ? write(fd, buffer->message->buffer + buffer->done, left) : 0;

        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0 && errno != EAGAIN) {
            stream_break(stream);
            return false;
        }
        stream->is_writable = count > 0;
        if (count <= 0)
            return false;
        buffer->done += (uint32_t)count;
        counts.bytes_in += (uint64_t)count;
    }
    return true;
}

/* True: the message is dealt with. */
static bool hear(struct stream *stream, struct buffer *buffer)
{
    if (stream->phase == STREAM_ASKING || (stream->phase == STREAM_RUNNING && stream->is_broken))
        return false;
    if (stream->phase == STREAM_REFUSED)
        return true;
    if (stream->phase != STREAM_RUNNING || stream->has_peer_end)
        hear_control(stream, buffer);
    else if (buffer->message->length == 0)
        end_output(stream);
    else
        return write_out(stream, buffer);
    return stream->phase != STREAM_DEAD;
}

/* Has the first one ended? *code: how. */
static bool has_ended(const struct buffers *buffers, int *code)
{
    *code = buffers->first != NULL ? zcrp_error(buffers->first->message) : ZCRP_ERROR_BUSY;
    return *code != ZCRP_ERROR_BUSY;
}

static void hear_all(struct stream *stream)
{
    int code;

    while (has_ended(&stream->posted, &code)) {
        struct buffer *buffer = stream->posted.first;

        end(stream, code);
        if (code != 0 || !hear(stream, buffer))
            return;
        bool is_large = buffer->message->length >= LARGE;
        buffer_destroy(buffers_take(&stream->posted));
        count_landed(stream, is_large);
        post(stream);
    }
}

/* ---- from the TCP socket to the peer ---- */

static void let_go_sent(struct stream *stream)
{
    int code;

    while (has_ended(&stream->sending, &code)) {
        struct buffer *buffer = buffers_take(&stream->sending);

        stream->sending_bytes -= buffer->done;
        end(stream, code);
        buffer_destroy(buffer);
    }
}

/* May more be sent now? The path may carry more by now than when it was measured last. Of a file
 * with more than an int can say the kernel says a negative number. */
static bool has_room(struct stream *stream)
{
    struct zcrp_stats stats;
    int64_t now_ns;
    int there = 0;

    if (stream->sending.count >= credit_most)
        return false;
    if (stream->sending.count >= CREDIT_LEAST && !stream->stops_short &&
        ioctl(stream->in.fd, FIONREAD, &there) == 0 && there >= 0 && there < LARGE)
        return false;
    if (stream->sending_bytes < stream->sending_most)
        return true;
    now_ns = clock_now_ns();
    if (now_ns - stream->measured_ns < MEASURE_NS || zcrp_stats(stream->sender, &stats) != 0)
        return false;
    stream->measured_ns = now_ns;
    double carried = 2.0 * (double)stats.rate_bytes_per_s * (double)stats.rtt_smoothed_ns / 1e9;
    stream->sending_most = sending_least + (carried < 1e12 ? (uint64_t)carried : 0);
    return stream->sending_bytes < stream->sending_most;
}

static void end_input(struct stream *stream)
{
    stream->sent_end = send_copy(stream, "", 0);
    stream->is_readable = false;
    if (!stream->is_socket)
        loop_close(&stream->in);
    finish(stream);
}

/* Reads once, and sends that. False: there is nothing more to be had. The first messages are small,
 * because each lands as a whole, and the path is slow at the beginning. */
static bool read_in(struct stream *stream)
{
    struct buffer *buffer = buffer_create(stream->sending.count == 0);
    size_t room = stream->bytes_out < STREAM_BYTES ? FIRST_BYTES : STREAM_BYTES;
    ssize_t count;

    if (buffer == NULL)
        return false; /* one that is sent will be free */
    do {
        count = read(stream->in.fd, buffer->message->buffer, room);
    } while (count < 0 && errno == EINTR);
    if (count <= 0) {
        buffer_destroy(buffer);
        if (count < 0 && errno != EAGAIN)
            stream->is_broken = true;
        else if (count == 0 && !stream->is_broken) /* else a write has had the error */
            end_input(stream);
        stream->is_readable = false;
        return false;
    }
    buffer->done = (uint32_t)count;
    int code = zcrp_submit(stream->sender, buffer->message, (nlong)count);
    if (code != 0) {
        buffer_destroy(buffer);
        end(stream, code);
        return false;
    }
    buffers_add(&stream->sending, buffer);
    stream->sending_bytes += (uint64_t)count;
    stream->bytes_out += (uint64_t)count;
    counts.bytes_out += (uint64_t)count;
    if (count < (ssize_t)room && !stream->stops_short && stream->is_socket)
        stream->is_readable = false; /* epoll tells of what comes later */
    return stream->is_readable;
}

static void read_all(struct stream *stream)
{
    for (int i = 0; i < READS_AT_ONCE; i++) {
        bool may_send = stream->phase == STREAM_ASKED || stream->phase == STREAM_RUNNING;

        if (!may_send || !stream->is_readable || stream->sent_end || stream->ended != 0 ||
            !has_room(stream) || !read_in(stream))
            return;
    }
    loop_soon(&stream->turn);
}

/* ---- events ---- */

static void run(struct turn *turn)
{
    struct stream *stream = (struct stream *)((char *)turn - offsetof(struct stream, turn));

    if (stream->phase == STREAM_DEAD)
        return;
    let_go_sent(stream);
    post(stream);
    hear_all(stream);
    if (stream->phase != STREAM_DEAD)
        read_all(stream);
    drop_broken(stream);
    if (stream->phase != STREAM_DEAD && stream->ended != 0)
        die(stream, stream->ended);
}

/* After any event of `out` write() says what it is worth. That nobody reads a pipe matters only
 * when there is something to write; a full one has EPOLLERR then, and no EPOLLOUT. */
static void on_tcp(struct watch *watch, uint32_t events)
{
    struct stream *stream = watch->context;

    if (watch == &stream->out)
        events = EPOLLOUT;
    stream->is_readable |= (events & (EPOLLIN | EPOLLPRI | EPOLLRDHUP | EPOLLHUP)) != 0;
    stream->is_writable |= (events & EPOLLOUT) != 0;
    stream->stops_short |= (events & (EPOLLPRI | EPOLLRDHUP | EPOLLHUP)) != 0;
    if ((events & EPOLLERR) != 0)
        stream_break(stream);
    else
        loop_soon(&stream->turn);
}

void stream_on_completion(const struct zcrp_completion *completion)
{
    struct stream *stream = completion->context;

    if (stream->phase == STREAM_DEAD)
        return;
    if (completion->kind == ZCRP_CONNECTION_UP && !stream->is_up) {
        stream->is_up = true;
        if (stream->owner->on_up != NULL)
            stream->owner->on_up(stream);
    } else if (completion->kind == ZCRP_CONNECTION_ENDED) {
        end(stream, completion->code);
    }
    loop_soon(&stream->turn);
}

/* ---- the beginning ---- */

struct stream *stream_create(struct zcrp_connection *connection, const struct stream_owner *owner)
{
    struct stream *stream = calloc(1, sizeof(*stream));

    if (stream == NULL || zcrp_queue_add_connection(loop_queue(), connection, stream) != 0) {
        free(stream);
        (void)zcrp_connection_close(connection);
        return NULL;
    }
    stream->owner = owner;
    stream->connection = connection;
    stream->sender = zcrp_connection_sender(connection);
    stream->receiver = zcrp_connection_receiver(connection);
    stream->is_up = zcrp_connection_status(connection) == 0;
    stream->in = stream->out = (struct watch){-1, on_tcp, stream};
    stream->turn.run = run;
    stream->job = (struct job){.crew.work = close_connection, .finish = on_closed};
    stream->credit = CREDIT_LEAST;
    stream->sending_most = sending_least;
    stream->round_ns = clock_now_ns();
    stream->after = all;
    all = stream;
    counts.connections++;
    post(stream);
    return stream;
}

struct stream *stream_connect(const struct address *to, const struct zcrp_options *zcrp,
                              const struct stream_owner *owner, const char **why)
{
    struct zcrp_connection *connection;
    char port[PORT_ROOM];

    (void)snprintf(port, sizeof(port), "%u", (unsigned)to->port);
    int code = zcrp_connect(&connection, to->host, port, zcrp, 0);
    *why = code != 0 ? zcrp_explain(code) : "no memory";
    return code == 0 ? stream_create(connection, owner) : NULL;
}

/* Begins to poll the descriptors, which do not block. */
static void attach(struct stream *stream, int in, int out)
{
    const uint32_t both = EPOLLIN | EPOLLPRI | EPOLLOUT | EPOLLRDHUP | EPOLLET;

    stream->in.fd = in;
    stream->out.fd = in != out ? out : -1;
    stream->is_socket = in == out;
    stream->is_readable = stream->is_writable = true;
    stream->stops_short = stream->is_broken = false;
    stream->sent_end = stream->sent_done = stream->has_peer_end = stream->has_peer_done = false;
    stream->bytes_out = 0;
    counts.open++;
    if (in == out)
        socket_prepare(in);
    /* EPERM: a regular file, always ready. */
    if ((!loop_watch(&stream->in, both) && errno != EPERM) ||
        (in != out && !loop_watch(&stream->out, EPOLLOUT | EPOLLET) && errno != EPERM))
        end(stream, ZCRP_ERROR_SYSTEM);
    loop_soon(&stream->turn);
}

void stream_open(struct stream *stream, const struct control *control, int in, int out)
{
    counts.streams++;
    stream->phase = STREAM_ASKED;
    (void)stream_say(stream, control);
    attach(stream, in, out);
}

void stream_refuse(struct stream *stream, enum refusal reason, const char *text)
{
    struct control refused = control_make(CONTROL_REFUSED, (uint16_t)reason, 0, text);

    counts.streams += stream->phase == STREAM_IDLE;
    counts.refused++;
    stream->phase = STREAM_REFUSED;
    stream->since_ns = clock_now_ns();
    (void)stream_say(stream, &refused);
    loop_soon(&stream->turn);
}

static void on_dialed(void *context, int fd, enum refusal reason, const char *text)
{
    struct stream *stream = context;

    stream->dial = NULL;
    stream->owner->on_dialed(stream, fd < 0 ? text : NULL);
    if (fd < 0) {
        stream_refuse(stream, reason, text);
        return;
    }
    stream->phase = STREAM_RUNNING;
    (void)stream_say(stream, &(struct control){.kind = CONTROL_FINE});
    attach(stream, fd, fd);
}

void stream_dial(struct stream *stream, const char *host, uint16_t port)
{
    char peer[PEER_ROOM];

    (void)snprintf(stream->name, sizeof(stream->name), "%s:%u", host, (unsigned)port);
    counts.streams++;
    stream->phase = STREAM_ASKING;
    find_host(stream, peer);
    dial_start(&stream->dial, SOCK_STREAM, host, port, peer, on_dialed, stream);
}
