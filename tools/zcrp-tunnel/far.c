/* The far end: it connects to targets, and has doors for -R. */
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "common/complain.h"
#include "door.h"
#include "sockets.h"
#include "tunnel.h"

enum { ROLE_NEW, ROLE_TUNNEL, ROLE_RESERVED, KEPT = 32 };

const struct meeting_program tunnel_program = {"zcrp-tunnel", CONTROL_VERSION, false};

/* What a near end has begun with HELLO. */
struct tunnel {
    struct tunnel *next;
    char token[CONTROL_TOKEN];
    struct door *doors[FORWARDS_MOST];
    struct streams reserved; /* connections for CALL that are idle */
};

static const struct options *options;
static struct tunnel *tunnels;
static struct zcrp_listener *listener;

/* ---- targets ---- */

static void open_target(struct stream *stream, const struct control *open)
{
    if (spec_allows(&options->allowed, open->text, open->port)) {
        stream_dial(stream, open->text, open->port);
        return;
    }
    (void)snprintf(stream->name, sizeof(stream->name), "%s:%u", open->text, (unsigned)open->port);
    stream_note(stream, "not allowed");
    stream_refuse(stream, REFUSAL_FORBIDDEN, "the far end does not allow it");
}

static void on_dialed(struct stream *stream, const char *why_not)
{
    stream_note(stream, why_not != NULL ? why_not : "connected");
}

/* ---- doors ---- */

/* Clients come in while there are connections for them. */
static void tend_doors(const struct tunnel *tunnel)
{
    doors_tend(tunnel->doors, tunnel->reserved.first != NULL);
}

static void on_client(struct door *door, int fd, const char *host, uint16_t port)
{
    const struct control call = {.kind = CONTROL_CALL, .number = door->number};
    struct tunnel *tunnel = door->context;
    struct stream *stream = streams_take(&tunnel->reserved);

    (void)host;
    (void)port;
    if (stream == NULL) { /* all have ended in this round, or the door would not be open */
        socket_reset(fd);
        doors_tend(tunnel->doors, false);
        return;
    }
    (void)snprintf(stream->name, sizeof(stream->name), "client of -R number %u", door->number + 1U);
    stream_note(stream, "came");
    stream_open(stream, &call, fd, fd);
    tend_doors(tunnel);
}

static void listen_for(struct stream *stream, const struct control *listen)
{
    struct control fine = {.kind = CONTROL_FINE, .number = listen->number}, refused;
    struct tunnel *tunnel = stream->context;
    struct address bind = {.port = listen->port};
    const char *why = "the far end does not allow it";
    struct door *door = NULL;

    if (listen->number >= FORWARDS_MOST || tunnel->doors[listen->number] != NULL) {
        stream_accuse(stream);
        return;
    }
    (void)snprintf(bind.host, sizeof(bind.host), "%s", listen->text);
    if (spec_allows(&options->listened, bind.host[0] == '\0' ? "127.0.0.1" : bind.host, bind.port))
        door = door_open(&bind, &why);
    if (door == NULL) {
        refused = control_make(CONTROL_REFUSED, listen->number, listen->port, why);
        (void)stream_say(stream, &refused);
        return;
    }
    tunnel->doors[listen->number] = door;
    door->number = listen->number;
    door->context = tunnel;
    door->on_client = on_client;
    tend_doors(tunnel);
    fine.port = door->port;
    (void)stream_say(stream, &fine);
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
    tunnel->next = tunnels;
    tunnels = tunnel;
    stream->phase = STREAM_CONTROL;
    stream->role = ROLE_TUNNEL;
    stream->context = tunnel;
    (void)snprintf(stream->name, sizeof(stream->name), "tunnel");
    stream_note(stream, "began");
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
    while (tunnel->reserved.first != NULL)
        stream_drop(tunnel->reserved.first);
    for (int i = 0; i < FORWARDS_MOST; i++)
        door_close(tunnel->doors[i]);
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
    streams_put(&tunnel->reserved, stream);
    tend_doors(tunnel);
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
        listen_for(stream, control);
    else if (stream->role == ROLE_RESERVED && control->kind == CONTROL_FINE &&
             stream->phase == STREAM_RUNNING)
        stream_note(stream, "connected");
    else if (stream->role == ROLE_RESERVED && control->kind == CONTROL_REFUSED &&
             stream->phase == STREAM_ASKED) {
        stream_note(stream, control->text);
        stream_drop(stream);
    } else {
        stream_accuse(stream);
    }
}

static void on_idle(struct stream *stream)
{
    struct tunnel *tunnel = stream->context;

    stream_note(stream, "ended");
    if (stream->role != ROLE_RESERVED)
        return;
    if (tunnel == NULL || tunnel->reserved.count >= KEPT || stream_is_worn(stream)) {
        stream_drop(stream);
        return;
    }
    streams_put(&tunnel->reserved, stream);
    tend_doors(tunnel);
}

static void on_dead(struct stream *stream, enum stream_phase was, int code)
{
    bool was_closed = code == 0 || code == ZCRP_ERROR_PEER_CLOSED;
    struct tunnel *tunnel = stream->context;

    if (was != STREAM_IDLE)
        stream_note(stream, was_closed ? "was closed" : zcrp_strerror(code));
    if (stream->role == ROLE_TUNNEL) {
        end_tunnel(tunnel);
        if (options->is_far) /* its login may not notice for hours, and nobody comes back to it */
            loop_stop(STATUS_FINE);
    } else if (tunnel != NULL) {
        tend_doors(tunnel);
    }
}

static const struct stream_owner owner = {on_control, on_idle, on_dead, NULL, on_dialed};

static void on_completion(const struct zcrp_completion *completion)
{
    struct zcrp_connection *connection;

    if (completion->kind != ZCRP_PEER_CALLED)
        stream_on_completion(completion);
    else if (!loop_has_ended() && zcrp_accept(listener, &connection, 0) == 0)
        (void)stream_create(connection, &owner);
}

static void on_tick(int64_t now_ns)
{
    stream_tick(now_ns);
    for (struct tunnel *tunnel = tunnels; tunnel != NULL; tunnel = tunnel->next)
        tend_doors(tunnel);
}

/* ---- the beginning ---- */

static const struct loop_calls calls = {on_completion, on_tick, stream_tell_counts,
                                        stream_drop_all};

/* When standard input ends, the near end is gone, however that has ended. */
static void on_input(struct watch *watch, uint32_t events)
{
    char bytes[64];

    (void)events;
    if (read(watch->fd, bytes, sizeof(bytes)) <= 0)
        loop_stop(STATUS_FINE);
}

/* Opens the loop when it listens: until then a signal ends the process, however long the lookup of
 * a name takes. */
static int listen_at(const char *host, uint64_t port, struct zcrp_keys *keys)
{
    const struct zcrp_options zcrp = stream_setup(&options->streams, keys);

    if (meeting_listen(&listener, host, port, &zcrp) != 0 || loop_open(&calls) != 0)
        return -1;
    int code = zcrp_queue_add_listener(loop_queue(), listener, NULL);
    return code == 0 ? 0 : complain("cannot listen: %s", zcrp_explain(code));
}

/* However it is asked to end, that is fine. */
static int run(void)
{
    (void)loop_run();
    (void)zcrp_listener_close(listener);
    return STATUS_FINE;
}

int far_serve(const struct options *given)
{
    const char *host = given->serve.host[0] == '*' ? NULL : given->serve.host;

    options = given;
    if (listen_at(host, given->serve.port, meeting_server_keys(given->keys)) != 0)
        return STATUS_BROKEN;
    printf("zcrp-tunnel serves UDP port %d\n", zcrp_listener_port(listener));
    (void)fflush(stdout);
    if (given->allowed.count == 0 && given->listened.count == 0)
        (void)complain("refuses every stream, because there is no --allow");
    return run();
}

int far_run(struct options *given)
{
    static struct watch input = {STDIN_FILENO, on_input, NULL};
    struct meeting meeting;

    options = given;
    (void)strcpy(given->allowed.of[0].host, "*");
    given->allowed.count = 1;
    given->listened = given->allowed;
    if (meeting_hear(&meeting, &tunnel_program) != 0)
        return STATUS_USAGE;
    int status = STATUS_BROKEN;
    if (listen_at(NULL, meeting.port, meeting_keys(&meeting, &tunnel_program)) == 0 &&
        meeting_answer(&meeting, &tunnel_program, (uint16_t)zcrp_listener_port(listener)) == 0 &&
        loop_watch(&input, EPOLLIN))
        status = run();
    meeting_forget(&meeting);
    return status;
}
