/* The near end: it has doors for TCP clients, connections to the far end, and one that is the
 * tunnel's own. When that ends, it begins anew.
 *
 *      down --connected, WELCOME--> up --lost--> down, and again after a while
 *
 * While it is down, TCP clients wait in the kernel. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/complain.h"
#include "common/quantity.h"
#include "sockets.h"
#include "socks.h"
#include "stream.h"
#include "tunnel.h"

enum { ROLE_FORWARD, ROLE_TUNNEL, ROLE_RESERVED, KEPT = 4, CONNECTING_MOST = 32, ATTEMPTS = 3 };

static const int64_t second_ns = 1000000000, retry_most_ns = 15000000000, connect_ns = 30000000000;

static struct near {
    const struct options *options;
    struct zcrp_options zcrp;
    struct address far;
    const char *login; /* for the remote shell; NULL: the far end stands */
    struct remote remote;
    struct watch remote_out; /* which ends with it */
    char numeric[64];        /* its address, once it was found */
    struct stream *tunnel;
    struct control reserve; /* what a connection for CALL says first */
    struct stream *idle;    /* connections, found or not yet */
    unsigned idle_count, reserved_count, reserved_most;
    unsigned connecting; /* connections that are not up: each costs the far end a handshake */
    struct door doors[FORWARDS_MOST];
    int attempts; /* at the beginning, to a far end that is busy */
    bool is_up, was_up, is_ending, remote_ended;
    bool has_complained;       /* of the last attempt to connect */
    int64_t retry_ns, wait_ns; /* when it begins anew, and how long it waits the next time */
} near;

static void note(const struct stream *stream, const char *what)
{
    if (near.options->is_verbose)
        (void)complain("%s: %s", stream->name, what);
}

/* Behind "user@". */
static const char *host_of(const char *login)
{
    const char *at = strrchr(login, '@');

    return at != NULL ? at + 1 : login;
}

/* ---- connections ---- */

static const struct stream_owner owner;

/* Connects to the far end, without waiting. NULL, with a complaint. */
static struct stream *connect_far(int role)
{
    struct zcrp_connection *connection = NULL;
    struct stream *stream = NULL;
    char port[PORT_ROOM];

    (void)snprintf(port, sizeof(port), "%u", (unsigned)near.far.port);
    near.zcrp.connect_ns = role == ROLE_TUNNEL ? 0 : connect_ns;
    int code = zcrp_connect(&connection, near.numeric[0] != '\0' ? near.numeric : near.far.host,
                            port, &near.zcrp, 0);
    if (code == 0)
        stream = stream_create(connection, &owner);
    if (stream == NULL && !near.has_complained)
        (void)complain("cannot connect to %s: %s", near.far.host,
                       code != 0 ? zcrp_explain(code) : "no memory");
    near.has_complained = stream == NULL;
    if (stream != NULL) {
        stream->role = role;
        near.connecting += !stream->is_up;
    }
    return stream;
}

/* Clients come in while there are connections for them. */
static void tend_doors(void)
{
    bool may_come = near.is_up && (near.idle_count > 0 || near.connecting < CONNECTING_MOST);

    for (unsigned i = 0; i < near.options->forward_count; i++) {
        struct door *door = &near.doors[i];

        if (door->watch.fd >= 0 && door->is_started != may_come)
            (may_come ? door_start : door_stop)(door);
    }
}

static void put_idle(struct stream *stream)
{
    stream->next = near.idle;
    near.idle = stream;
    near.idle_count++;
}

/* Takes this one out, or the first one that is up, or any. NULL: there is none. */
static struct stream *take_idle(const struct stream *wanted)
{
    struct stream **place = &near.idle;

    while (*place != NULL && (wanted != NULL ? *place != wanted : !(*place)->is_up))
        place = &(*place)->next;
    if (*place == NULL && wanted == NULL)
        place = &near.idle;
    struct stream *stream = *place;
    if (stream != NULL) {
        *place = stream->next;
        near.idle_count--;
    }
    return stream;
}

/* Makes connections until there are as many idle ones as there should be. */
static void fill(void)
{
    struct stream *stream;

    while (near.is_up && near.idle_count < near.options->warm &&
           near.connecting < CONNECTING_MOST && (stream = connect_far(ROLE_FORWARD)) != NULL)
        put_idle(stream);
    while (near.is_up && near.reserved_count < near.reserved_most &&
           near.connecting < CONNECTING_MOST && (stream = connect_far(ROLE_RESERVED)) != NULL) {
        near.reserved_count++;
        (void)stream_say(stream, &near.reserve);
    }
    tend_doors();
}

/* ---- TCP clients ---- */

static void open_stream(int fd, const char *host, uint16_t port, const struct forward *forward)
{
    struct control open = control_make(CONTROL_OPEN, 0, port, host);
    struct stream *stream = take_idle(NULL);

    if (stream == NULL)
        stream = connect_far(ROLE_FORWARD);
    if (stream == NULL) {
        socket_reset(fd);
        return;
    }
    stream->context = (void *)(uintptr_t)forward;
    (void)snprintf(stream->name, sizeof(stream->name), "%s:%u", host, (unsigned)port);
    note(stream, "opened");
    stream_open(stream, &open, fd, fd);
    fill();
}

/* A name that is none would be against the rules. */
static void on_socks_target(void *context, int fd, const char *host, uint16_t port)
{
    bool is_name = host[0] != '\0' && port != 0;

    for (const char *c = host; *c != '\0'; c++)
        is_name = is_name && *c > ' ' && *c <= '~';
    if (is_name && near.is_up) {
        open_stream(fd, host, port, context);
        return;
    }
    socks_answer(fd, is_name ? REFUSAL_FAILED : REFUSAL_HOST);
    (void)close(fd);
}

static void on_client(struct door *door, int fd)
{
    const struct forward *forward = door->forward;

    if (forward->is_socks)
        socks_hear(fd, on_socks_target, (void *)(uintptr_t)forward);
    else
        open_stream(fd, forward->target.host, forward->target.port, forward);
}

/* ---- -R ---- */

static void on_dialed(void *context, int fd, enum refusal reason, const char *text)
{
    struct stream *stream = context;

    stream->dial = NULL;
    if (fd >= 0) {
        stream_accept(stream, fd);
        return;
    }
    (void)complain("%s: %s", stream->name, text);
    stream_refuse(stream, reason, text);
}

/* The -R that the far end knows by this number; NULL: there is none. */
static const struct forward *find_reverse(uint16_t number)
{
    const struct options *options = near.options;

    return number < options->forward_count && options->forwards[number].is_reverse
               ? &options->forwards[number]
               : NULL;
}

/* A client has come to the far end's door. */
static void on_call(struct stream *stream, const struct control *call)
{
    const struct forward *forward = find_reverse(call->number);

    if (forward == NULL) {
        stream_accuse(stream);
        return;
    }
    near.reserved_count--;
    (void)snprintf(stream->name, sizeof(stream->name), "%s:%u", forward->target.host,
                   (unsigned)forward->target.port);
    note(stream, "opened");
    stream_asked(stream);
    stream->dial = dial_start(forward->target.host, forward->target.port, on_dialed, stream);
    if (stream->dial == NULL)
        stream_refuse(stream, REFUSAL_FAILED, "no memory");
    fill();
}

/* ---- the tunnel ---- */

/* There is at least one connection for a client of -R, which else nobody would make. */
static unsigned usual_reserved(void)
{
    return near.options->warm > 0 ? (unsigned)near.options->warm : 1;
}

static void on_welcome(const struct control *welcome)
{
    near.reserve = *welcome;
    near.reserve.kind = CONTROL_RESERVE;
    near.reserved_most = 0;
    if (near.was_up)
        (void)complain("connected to %s again", near.far.host);
    near.is_up = near.was_up = true;
    near.wait_ns = second_ns / 2;
    (void)zcrp_connection_peer(near.tunnel->connection, near.numeric, sizeof(near.numeric));
    char *colon = strrchr(near.numeric, ':');
    if (colon != NULL)
        *colon = '\0';
    if (near.numeric[0] == '[') { /* of IPv6 */
        near.numeric[strlen(near.numeric) - 1] = '\0';
        memmove(near.numeric, near.numeric + 1, strlen(near.numeric));
    }
    for (unsigned i = 0; i < near.options->forward_count; i++) {
        const struct forward *forward = &near.options->forwards[i];
        struct control listen =
            control_make(CONTROL_LISTEN, (uint16_t)i, forward->bind.port, forward->bind.host);

        if (!forward->is_reverse)
            continue;
        near.reserved_most = usual_reserved();
        (void)stream_say(near.tunnel, &listen);
    }
    fill();
}

static void on_listening(const struct control *control)
{
    const struct forward *forward = find_reverse(control->number);

    if (forward == NULL)
        stream_accuse(near.tunnel);
    else if (control->kind == CONTROL_REFUSED)
        (void)complain("%s does not listen on port %u: %s", near.far.host,
                       (unsigned)forward->bind.port, control->text);
    else if (forward->bind.port == 0 || near.options->is_verbose)
        (void)complain("%s listens on port %u for %s:%u", near.far.host, (unsigned)control->port,
                       forward->target.host, (unsigned)forward->target.port);
}

static void on_tunnel_control(const struct control *control)
{
    if (control->kind == CONTROL_WELCOME && !near.is_up) {
        on_welcome(control);
    } else if (control->kind == CONTROL_REFUSED && !near.is_up) {
        (void)complain("%s: the far end refused: %s", near.far.host, control->text);
        loop_stop(STATUS_BROKEN);
    } else if (near.is_up && (control->kind == CONTROL_FINE || control->kind == CONTROL_REFUSED)) {
        on_listening(control);
    } else if (near.is_up && control->kind == CONTROL_MORE && near.reserved_most > 0) {
        near.reserved_most = control->number; /* clients that wait */
        fill();
        near.reserved_most = usual_reserved();
    } else {
        stream_accuse(near.tunnel);
    }
}

/* The remote shell starts a far end, with a key of its own. 0, or -1 with a complaint, unless a
 * signal has come. */
static int start_far(void *context)
{
    char window[QUANTITY_ROOM], silence[QUANTITY_ROOM];
    const char *const arguments[] = {"--far", "--window", window, "--silence", silence, NULL};
    struct meeting meeting;
    bool is_one_host = false;

    (void)context;
    (void)snprintf(window, sizeof(window), "%llu", (unsigned long long)near.options->window);
    (void)snprintf(silence, sizeof(silence), "%.3f", (double)near.options->silence_ns / 1e9);
    loop_leave(&near.remote_out);
    remote_end(&near.remote);
    zcrp_keys_free(near.zcrp.keys);
    near.zcrp.keys = NULL;
    meeting_make(&meeting, (uint16_t)near.options->port);
    int status = remote_start(&near.remote, near.options->rsh, near.login,
                              near.options->far_program, arguments);
    if (status == 0)
        status = remote_meet(&near.remote, &meeting, &tunnel_program, &near.far.port, &is_one_host);
    if (status == 0)
        near.zcrp.keys = meeting_keys(&meeting, &tunnel_program);
    meeting_forget(&meeting);
    if (near.zcrp.keys == NULL)
        return -1;
    if (near.options->address == NULL)
        (void)snprintf(near.far.host, sizeof(near.far.host), "%s",
                       is_one_host ? "127.0.0.1" : host_of(near.login));
    near.remote_out.fd = near.remote.out;
    return loop_watch(&near.remote_out, EPOLLIN) ? 0 : -1;
}

/* Begins the tunnel. False: it could not. */
static bool begin(void)
{
    const struct control hello = {.kind = CONTROL_HELLO};

    if (near.login != NULL && loop_interruptible(start_far, NULL) != 0)
        return false;
    near.tunnel = connect_far(ROLE_TUNNEL);
    if (near.tunnel == NULL)
        return false;
    near.tunnel->phase = STREAM_CONTROL;
    (void)stream_say(near.tunnel, &hello);
    return true;
}

static void wait_a_while(void)
{
    near.retry_ns = clock_now_ns() + near.wait_ns;
    near.wait_ns = 2 * near.wait_ns < retry_most_ns ? 2 * near.wait_ns : retry_most_ns;
}

static void on_lost(int code)
{
    const char *why = near.remote_ended ? "the remote shell has ended"
                      : code != 0       ? zcrp_strerror(code)
                                        : "the far end is none of zcrp-tunnel";
    bool was_up = near.is_up;

    near.tunnel = NULL;
    near.is_up = false;
    near.numeric[0] = '\0';
    near.reserved_count = 0;
    if (near.is_ending)
        return;
    bool is_busy = code == ZCRP_ERROR_NOT_ADMITTED && near.attempts++ < ATTEMPTS;
    if (!near.was_up && !is_busy) {
        (void)complain("cannot connect to %s, UDP port %u: %s", near.far.host,
                       (unsigned)near.far.port, why);
        loop_stop(STATUS_BROKEN);
        return;
    }
    if (was_up)
        (void)complain("lost %s: %s; trying again", near.far.host, why);
    tend_doors();
    while (near.idle != NULL)
        stream_drop(near.idle);
    wait_a_while();
}

/* The remote shell has ended: it may have been asked to, or its connection is lost. */
static void on_remote(struct watch *watch, uint32_t events)
{
    char bytes[256];

    (void)events;
    if (read(watch->fd, bytes, sizeof(bytes)) > 0)
        return;
    loop_close(watch);
    near.remote.out = -1;
    near.remote_ended = true;
    stream_drop_all();
    near.remote_ended = false;
}

/* ---- what comes ---- */

static void on_control(struct stream *stream, const struct control *control)
{
    const struct forward *forward = stream->context;

    if (stream->role == ROLE_TUNNEL) {
        on_tunnel_control(control);
    } else if (stream->role == ROLE_RESERVED && control->kind == CONTROL_CALL &&
               stream->phase == STREAM_IDLE) {
        on_call(stream, control);
    } else if (stream->role == ROLE_FORWARD && control->kind == CONTROL_FINE &&
               stream->phase == STREAM_RUNNING) {
        if (forward != NULL && forward->is_socks)
            socks_answer(stream->in.fd, 0);
    } else if (stream->role == ROLE_FORWARD && control->kind == CONTROL_REFUSED &&
               stream->phase == STREAM_ASKED) {
        (void)complain("%s: refused: %s", stream->name, control->text);
        if (forward != NULL && forward->is_socks && stream->in.fd >= 0) {
            int fd = stream_take_back(stream);

            socks_answer(fd, control->number <= UINT8_MAX ? (uint8_t)control->number : 1);
            (void)close(fd);
        }
        stream_drop(stream);
    } else {
        stream_accuse(stream);
    }
}

static void on_up(struct stream *stream)
{
    (void)stream;
    near.connecting--;
    fill();
}

static void on_idle(struct stream *stream)
{
    note(stream, "ended");
    if (stream->role == ROLE_RESERVED)
        near.reserved_count++;
    else if (near.is_up && near.idle_count < KEPT * near.options->warm && !stream_is_worn(stream))
        put_idle(stream);
    else
        stream_drop(stream);
    tend_doors();
}

static void on_dead(struct stream *stream, enum stream_phase was, int code)
{
    near.connecting -= !stream->is_up;
    if (stream->role == ROLE_TUNNEL)
        on_lost(code);
    else if (stream->role == ROLE_RESERVED && was == STREAM_IDLE)
        near.reserved_count -= near.reserved_count > 0;
    else if (was == STREAM_IDLE)
        (void)take_idle(stream);
    else if (code != 0 && code != ZCRP_ERROR_PEER_CLOSED && code != ZCRP_ERROR_CUT_OFF &&
             code != ZCRP_ERROR_PEER_CANCELLED)
        (void)complain("%s: reset: %s", stream->name, zcrp_strerror(code));
    else
        note(stream, "reset");
}

static const struct stream_owner owner = {on_control, on_up, on_idle, on_dead};

static void on_tick(int64_t now_ns)
{
    dial_tick(now_ns);
    stream_tick(now_ns);
    socks_tick(now_ns);
    if (near.is_ending)
        return;
    if (near.tunnel == NULL && now_ns >= near.retry_ns && !begin())
        wait_a_while();
    fill();
}

/* ---- the beginning ---- */

static const struct loop_calls calls = {stream_on_completion, on_tick, tunnel_tell_counts};

static int open_doors(void)
{
    for (unsigned i = 0; i < near.options->forward_count; i++) {
        const struct forward *forward = &near.options->forwards[i];
        struct door *door = &near.doors[i];
        const char *why;

        door->watch.fd = -1;
        if (forward->is_reverse)
            continue;
        int port = door_open(door, &forward->bind, &why);
        if (port < 0)
            return complain("cannot listen on TCP port %u: %s", (unsigned)forward->bind.port, why);
        door->forward = forward;
        door->on_client = on_client;
        if (forward->bind.port == 0)
            (void)complain("listens on port %d", port);
    }
    return 0;
}

/* A host that a remote shell knows, or that has a standing far end. */
static int take_host(const char *word)
{
    near.login = near.options->keys == NULL ? word : NULL;
    if (word[0] == '-' || host_of(word)[0] == '-' || host_of(word)[0] == '\0')
        return complain("that is no host: '%s'", word);
    if (near.login == NULL)
        return spec_address(&near.far, word, "the far end", PORT_OF_SERVERS);
    (void)snprintf(near.far.host, sizeof(near.far.host), "%s",
                   near.options->address != NULL ? near.options->address : host_of(word));
    return 0;
}

int near_run(const struct options *options, const char *host)
{
    int status = STATUS_BROKEN;

    near.options = options;
    near.wait_ns = second_ns / 2;
    near.remote = (struct remote){.in = -1, .out = -1};
    near.remote_out = (struct watch){-1, on_remote};
    if (take_host(host) != 0)
        return STATUS_USAGE;
    if (loop_open(&calls) != 0)
        return STATUS_BROKEN;
    near.zcrp = tunnel_options(options, NULL);
    if (near.login == NULL)
        near.zcrp.keys = meeting_server_keys(options->keys);
    if ((near.login != NULL || near.zcrp.keys != NULL) && open_doors() == 0 && begin())
        status = loop_run();
    else if (loop_signal() != 0)
        status = loop_signal();
    near.is_ending = true;
    stream_drop_all();
    loop_finish(2 * second_ns);
    remote_end(&near.remote);
    zcrp_keys_free(near.zcrp.keys);
    return status;
}
