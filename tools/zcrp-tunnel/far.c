/* The far end: it connects to targets, and has doors for -R. */
#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/complain.h"
#include "sockets.h"
#include "stream.h"
#include "tunnel.h"

enum { ROLE_NEW, ROLE_TUNNEL, ROLE_RESERVED, WAITING_MOST = 1024, KEPT = 32, SIGNALLED = 128 };

/* A TCP client of a door that waits for a connection. */
struct waiting {
    struct waiting *next;
    int fd;
    uint16_t number;
};

/* What a near end has begun with HELLO. */
struct tunnel {
    struct tunnel *next;
    struct stream *stream;
    char token[CONTROL_TOKEN];
    struct door *doors[FORWARDS_MOST];
    struct stream *reserved; /* connections for CALL that are idle */
    unsigned reserved_count;
    struct waiting *first, **last;
    unsigned waiting_count;
};

static const struct options *options;
static struct tunnel *tunnels;
static struct zcrp_listener *listener;

static void note(const struct stream *stream, const char *what)
{
    char peer[64] = "?";

    if (!options->is_verbose)
        return;
    (void)zcrp_connection_peer(stream->connection, peer, sizeof(peer));
    (void)complain("%s: %s: %s", peer, stream->name, what);
}

/* ---- targets ---- */

static void on_dialed(void *context, int fd, enum refusal reason, const char *text)
{
    struct stream *stream = context;

    stream->dial = NULL;
    note(stream, fd >= 0 ? "connected" : text);
    if (fd >= 0)
        stream_accept(stream, fd);
    else
        stream_refuse(stream, reason, text);
}

static void open_target(struct stream *stream, const struct control *open)
{
    (void)snprintf(stream->name, sizeof(stream->name), "%s:%u", open->text, (unsigned)open->port);
    stream_asked(stream);
    if (!options->allows_all &&
        !spec_allows(options->allowed, options->allowed_count, open->text, open->port)) {
        note(stream, "not allowed");
        stream_refuse(stream, REFUSAL_FORBIDDEN, "the far end does not allow it");
        return;
    }
    stream->dial = dial_start(open->text, open->port, on_dialed, stream);
    if (stream->dial == NULL)
        stream_refuse(stream, REFUSAL_FAILED, "no memory");
}

/* ---- doors ---- */

static void call(struct stream *stream, uint16_t number, int fd)
{
    const struct control call = {.kind = CONTROL_CALL, .number = number};

    (void)snprintf(stream->name, sizeof(stream->name), "client of -R number %u", number + 1U);
    note(stream, "came");
    stream_open(stream, &call, fd, fd);
}

/* Gives waiting clients the connections that there are. */
static void serve_waiting(struct tunnel *tunnel)
{
    while (tunnel->reserved != NULL && tunnel->first != NULL) {
        struct stream *stream = tunnel->reserved;
        struct waiting *waiting = tunnel->first;

        tunnel->reserved = stream->next;
        tunnel->reserved_count--;
        tunnel->first = waiting->next;
        tunnel->waiting_count--;
        call(stream, waiting->number, waiting->fd);
        free(waiting);
    }
}

static void put_reserved(struct stream *stream)
{
    struct tunnel *tunnel = stream->context;

    stream->next = tunnel->reserved;
    tunnel->reserved = stream;
    tunnel->reserved_count++;
    serve_waiting(tunnel);
}

static void on_client(struct door *door, int fd)
{
    struct control more = {.kind = CONTROL_MORE};
    struct tunnel *tunnel = door->context;
    struct waiting *waiting = NULL;

    if (tunnel->waiting_count < WAITING_MOST)
        waiting = malloc(sizeof(*waiting));
    if (waiting == NULL) {
        socket_reset(fd);
        return;
    }
    *waiting = (struct waiting){.fd = fd};
    while (tunnel->doors[waiting->number] != door)
        waiting->number++;
    if (tunnel->first == NULL)
        tunnel->last = &tunnel->first;
    *tunnel->last = waiting;
    tunnel->last = &waiting->next;
    more.number = (uint16_t)++tunnel->waiting_count;
    if (tunnel->reserved == NULL)
        (void)stream_say(tunnel->stream, &more);
    serve_waiting(tunnel);
}

/* NULL: why not. */
static struct door *make_door(struct tunnel *tunnel, const struct control *listen, int *port,
                              const char **why)
{
    struct address bind = {.port = listen->port};
    struct door *door = NULL;

    (void)snprintf(bind.host, sizeof(bind.host), "%s", listen->text);
    *why = "no memory";
    if (!options->allows_all &&
        !spec_allows(options->listened, options->listened_count,
                     bind.host[0] == '\0' ? "127.0.0.1" : bind.host, bind.port))
        *why = "the far end does not allow it";
    else
        door = calloc(1, sizeof(*door));
    if (door == NULL)
        return NULL;
    *port = door_open(door, &bind, why);
    if (*port < 0) {
        free(door);
        return NULL;
    }
    door->on_client = on_client;
    door->context = tunnel;
    return door;
}

static void listen_for(struct tunnel *tunnel, const struct control *listen)
{
    struct control answer = {.kind = CONTROL_FINE, .number = listen->number};
    const char *why;
    int port = 0;

    if (listen->number >= FORWARDS_MOST || tunnel->doors[listen->number] != NULL) {
        stream_accuse(tunnel->stream);
        return;
    }
    struct door *door = make_door(tunnel, listen, &port, &why);
    if (door == NULL)
        answer = control_make(CONTROL_REFUSED, listen->number, listen->port, why);
    answer.port = door != NULL ? (uint16_t)port : answer.port;
    tunnel->doors[listen->number] = door;
    if (door != NULL)
        door_start(door);
    (void)stream_say(tunnel->stream, &answer);
}

/* ---- tunnels ---- */

static void begin_tunnel(struct stream *stream)
{
    struct tunnel *tunnel = calloc(1, sizeof(*tunnel));
    struct control welcome = {.kind = CONTROL_WELCOME, .length = CONTROL_TOKEN};

    if (tunnel == NULL) {
        stream_drop(stream);
        return;
    }
    randombytes_buf(tunnel->token, CONTROL_TOKEN);
    memcpy(welcome.text, tunnel->token, CONTROL_TOKEN);
    tunnel->stream = stream;
    tunnel->next = tunnels;
    tunnels = tunnel;
    stream->phase = STREAM_CONTROL;
    stream->role = ROLE_TUNNEL;
    stream->context = tunnel;
    (void)snprintf(stream->name, sizeof(stream->name), "tunnel");
    note(stream, "began");
    (void)stream_say(stream, &welcome);
}

/* Connections for CALL belong to nobody from now on; their streams go on. */
static void end_tunnel(struct tunnel *tunnel)
{
    struct tunnel **place = &tunnels;
    struct stream *next;

    while (*place != tunnel)
        place = &(*place)->next;
    *place = tunnel->next;
    for (struct stream *stream = stream_after(NULL); stream != NULL; stream = next) {
        next = stream_after(stream);
        if (stream->role == ROLE_RESERVED && stream->context == tunnel)
            stream->context = NULL;
    }
    while (tunnel->reserved != NULL) {
        struct stream *stream = tunnel->reserved;

        tunnel->reserved = stream->next;
        stream_drop(stream);
    }
    for (struct waiting *waiting = tunnel->first; waiting != NULL; waiting = tunnel->first) {
        tunnel->first = waiting->next;
        socket_reset(waiting->fd);
        free(waiting);
    }
    for (int i = 0; i < FORWARDS_MOST; i++) {
        if (tunnel->doors[i] != NULL)
            loop_close(&tunnel->doors[i]->watch);
        free(tunnel->doors[i]);
    }
    free(tunnel);
}

static void reserve(struct stream *stream, const struct control *control)
{
    struct tunnel *tunnel = tunnels;

    while (tunnel != NULL && sodium_memcmp(tunnel->token, control->text, CONTROL_TOKEN) != 0)
        tunnel = tunnel->next;
    if (tunnel == NULL) {
        stream_drop(stream); /* it has just ended */
        return;
    }
    stream->role = ROLE_RESERVED;
    stream->context = tunnel;
    put_reserved(stream);
}

/* ---- what comes ---- */

static void on_control(struct stream *stream, const struct control *control)
{
    bool is_new = stream->role == ROLE_NEW && stream->phase == STREAM_IDLE;

    if (is_new && control->kind == CONTROL_OPEN && control->length > 0)
        open_target(stream, control);
    else if (is_new && control->kind == CONTROL_HELLO)
        begin_tunnel(stream);
    else if (is_new && control->kind == CONTROL_RESERVE)
        reserve(stream, control);
    else if (stream->role == ROLE_TUNNEL && control->kind == CONTROL_LISTEN)
        listen_for(stream->context, control);
    else if (stream->role == ROLE_RESERVED && control->kind == CONTROL_FINE &&
             stream->phase == STREAM_RUNNING)
        note(stream, "connected");
    else if (stream->role == ROLE_RESERVED && control->kind == CONTROL_REFUSED &&
             stream->phase == STREAM_ASKED) {
        note(stream, control->text);
        stream_drop(stream);
    } else {
        stream_accuse(stream);
    }
}

static void on_up(struct stream *stream)
{
    (void)stream;
}

static void on_idle(struct stream *stream)
{
    struct tunnel *tunnel = stream->context;

    note(stream, "ended");
    if (stream->role != ROLE_RESERVED)
        return;
    if (tunnel == NULL || tunnel->reserved_count >= KEPT || stream_is_worn(stream))
        stream_drop(stream);
    else
        put_reserved(stream);
}

static void on_dead(struct stream *stream, enum stream_phase was, int code)
{
    struct tunnel *tunnel = stream->context;

    if (was != STREAM_IDLE)
        note(stream,
             code == 0 || code == ZCRP_ERROR_PEER_CLOSED ? "was closed" : zcrp_strerror(code));
    if (stream->role == ROLE_TUNNEL) {
        end_tunnel(tunnel);
    } else if (stream->role == ROLE_RESERVED && was == STREAM_IDLE && tunnel != NULL) {
        struct stream **place = &tunnel->reserved;

        while (*place != NULL && *place != stream)
            place = &(*place)->next;
        if (*place != NULL) {
            *place = stream->next;
            tunnel->reserved_count--;
        }
    }
}

static const struct stream_owner owner = {on_control, on_up, on_idle, on_dead};

static void on_completion(const struct zcrp_completion *completion)
{
    struct zcrp_connection *connection;

    if (completion->kind != ZCRP_PEER_CALLED)
        stream_on_completion(completion);
    else if (zcrp_accept(listener, &connection, 0) == 0)
        (void)stream_create(connection, &owner);
}

static void on_tick(int64_t now_ns)
{
    dial_tick(now_ns);
    stream_tick(now_ns);
    for (struct tunnel *tunnel = tunnels; tunnel != NULL; tunnel = tunnel->next) {
        for (int i = 0; i < FORWARDS_MOST; i++) {
            if (tunnel->doors[i] != NULL && !tunnel->doors[i]->is_started)
                door_start(tunnel->doors[i]); /* it had no descriptor for a client */
        }
    }
}

/* ---- the beginning ---- */

static const struct loop_calls calls = {on_completion, on_tick, tunnel_tell_counts};

/* When standard input ends, the near end is gone, however that has ended. */
static void on_input(struct watch *watch, uint32_t events)
{
    char bytes[64];

    (void)events;
    if (read(watch->fd, bytes, sizeof(bytes)) <= 0)
        loop_stop(STATUS_FINE);
}

static int listen_at(const char *host, uint64_t port, struct zcrp_keys *keys)
{
    const struct zcrp_options zcrp = tunnel_options(options, keys);

    if (meeting_listen(&listener, host, port, &zcrp) != 0)
        return -1;
    int code = zcrp_queue_add_listener(loop_queue(), listener, NULL);
    return code == 0 ? 0 : complain("cannot listen: %s", zcrp_explain(code));
}

static int run(void)
{
    int status = loop_run();

    stream_drop_all();
    loop_finish(2000000000);
    (void)zcrp_listener_close(listener);
    return status > SIGNALLED ? STATUS_FINE : status;
}

int far_serve(const struct options *given)
{
    const char *host = given->serve.host[0] == '*' ? NULL : given->serve.host;

    options = given;
    if (loop_open(&calls) != 0 ||
        listen_at(host, given->serve.port, meeting_server_keys(given->keys)) != 0)
        return STATUS_BROKEN;
    printf("zcrp-tunnel serves UDP port %d\n", zcrp_listener_port(listener));
    (void)fflush(stdout);
    return run();
}

int far_run(struct options *given)
{
    static char name[] = "zcrp-tunnel (far end)";
    static struct watch input = {STDIN_FILENO, on_input};
    struct meeting meeting;

    program_invocation_short_name = name; /* its complaints come out beside the near end's */
    options = given;
    given->allows_all = true;
    if (meeting_hear(&meeting, &tunnel_program) != 0)
        return STATUS_USAGE;
    int status = STATUS_BROKEN;
    if (loop_open(&calls) == 0 &&
        listen_at(NULL, meeting.port, meeting_keys(&meeting, &tunnel_program)) == 0 &&
        meeting_answer(&meeting, &tunnel_program, (uint16_t)zcrp_listener_port(listener)) == 0 &&
        loop_watch(&input, EPOLLIN))
        status = run();
    meeting_forget(&meeting);
    return status;
}
