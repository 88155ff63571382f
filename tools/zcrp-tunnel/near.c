/* The near end: it has doors for TCP clients, connections to the far end, and one that is the
 * tunnel's own. When that ends, it begins anew.
 *
 *      down --connected, WELCOME--> up --lost--> down, and again after a while
 *
 * While it is down, TCP clients wait in the kernel. */
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/complain.h"
#include "common/quantity.h"
#include "door.h"
#include "sockets.h"
#include "tunnel.h"

enum { ROLE_FORWARD, ROLE_TUNNEL, ROLE_RESERVED, KEPT = 4, ATTEMPTS = 3 };

/* A listener has 16 places for handshakes of one host. Where more are under way for a second, a new
 * one takes the place of the oldest, which then never ends. */
enum { CONNECTING_MOST = 12 };

static const int64_t second_ns = 1000000000, retry_most_ns = 15000000000;
static const int64_t listen_again_ns = 5000000000;

static struct near {
    const struct options *options;
    struct zcrp_options zcrp;
    struct address far, found; /* as the user says, and where it was found */
    struct dial *finding;      /* NULL: nothing looks for it */
    const char *login;         /* for the remote shell; NULL: the far end stands */
    struct remote remote;
    struct watch remote_out; /* which ends with it; -1: it has ended */
    struct stream *tunnel;
    struct control reserve;        /* what a connection for CALL says first */
    struct streams idle, reserved; /* connections for clients, and for CALL: found or not yet */
    bool has_reverse;
    unsigned connecting; /* connections that are not up: each costs the far end a handshake */
    struct door *doors[FORWARDS_MOST];
    bool must_ask[FORWARDS_MOST], was_refused[FORWARDS_MOST]; /* -R: LISTEN was refused */
    int64_t asked_ns;
    int attempts; /* at the beginning, to a far end that is busy */
    bool is_up, was_up;
    bool has_complained;       /* of the last attempt to connect */
    int64_t retry_ns, wait_ns; /* when it begins anew, and how long it waits the next time */
} near;

/* Behind "user@". */
static const char *host_of(const char *login)
{
    const char *at = strrchr(login, '@');

    return at != NULL ? at + 1 : login;
}

/* ---- connections ---- */

static const struct stream_owner owner;

/* Once, until it can connect. */
static void complain_of_far(const char *why)
{
    if (!near.has_complained)
        (void)complain("cannot connect to %s: %s", near.far.host, why);
    near.has_complained = true;
}

/* Connects to the far end, without waiting. NULL, with a complaint. */
static struct stream *connect_far(int role)
{
    struct zcrp_options zcrp = near.zcrp;
    const char *why;

    if (role == ROLE_TUNNEL)
        zcrp.connect_ns = 0; /* that nobody is there is known soon */
    struct stream *stream = stream_connect(&near.found, &zcrp, &owner, &why);
    if (stream == NULL) {
        complain_of_far(why);
        return NULL;
    }
    near.has_complained = false;
    stream->role = role;
    near.connecting += !stream->is_up;
    return stream;
}

/* Clients come in while there are connections for them. */
static void tend_doors(void)
{
    doors_tend(near.doors,
               near.is_up && (near.idle.count > 0 || near.connecting < CONNECTING_MOST));
}

/* How many connections there should be for the next clients of -R: at least one, which else nobody
 * would make, and as many as are in use, because clients may come all at once. */
static unsigned reserved_wanted(void)
{
    unsigned least = near.options->warm > 0 ? (unsigned)near.options->warm : 1, in_use = 0;

    for (const struct stream *s = stream_after(NULL); s != NULL; s = stream_after(s))
        in_use += s->role == ROLE_RESERVED && s->phase != STREAM_IDLE && s->phase != STREAM_DEAD;
    return in_use < least ? least : in_use < KEPT * least ? in_use : KEPT * least;
}

static void fill_up(struct streams *streams, uint64_t wanted, int role)
{
    while (near.is_up && streams->count < wanted && near.connecting < CONNECTING_MOST) {
        struct stream *stream = connect_far(role);

        if (stream == NULL)
            return;
        streams_put(streams, stream);
        if (role == ROLE_RESERVED)
            (void)stream_say(stream, &near.reserve);
    }
}

/* Makes connections until there are as many idle ones as there should be. */
static void fill(void)
{
    fill_up(&near.idle, near.options->warm, ROLE_FORWARD);
    if (near.has_reverse)
        fill_up(&near.reserved, reserved_wanted(), ROLE_RESERVED);
    tend_doors();
}

/* ---- TCP clients ---- */

static void on_client(struct door *door, int fd, const char *host, uint16_t port)
{
    const struct address *target = &near.options->forwards[door->number].target;
    struct control open = control_make(CONTROL_OPEN, 0, door->is_socks ? port : target->port,
                                       door->is_socks ? host : target->host);
    struct stream *stream = near.is_up ? streams_take(&near.idle) : NULL;

    if (stream == NULL && near.is_up)
        stream = connect_far(ROLE_FORWARD);
    if (stream == NULL) {
        if (door->is_socks)
            (void)door_answer_socks(fd, REFUSAL_FAILED);
        else
            socket_reset(fd);
        return;
    }
    stream->number = door->number;
    (void)snprintf(stream->name, sizeof(stream->name), "%s:%u", open.text, (unsigned)open.port);
    stream_note(stream, "opened");
    stream_open(stream, &open, fd, fd);
    fill();
}

/* ---- -R ---- */

static void on_dialed(struct stream *stream, const char *why_not)
{
    if (why_not != NULL)
        (void)complain("%s: %s", stream->name, why_not);
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
    streams_leave(stream);
    stream_dial(stream, forward->target.host, forward->target.port);
    stream_note(stream, "opened");
    fill();
}

/* ---- the tunnel ---- */

/* Not while the answer to the same is due: a far end that listens already takes it for a fault. */
static void ask_to_listen(uint16_t number)
{
    const struct address *bind = &near.options->forwards[number].bind;
    struct control listen = control_make(CONTROL_LISTEN, number, bind->port, bind->host);

    near.must_ask[number] = false;
    near.asked_ns = clock_now_ns();
    (void)stream_say(near.tunnel, &listen);
}

/* The port may be free by now: a tunnel whose near end was killed keeps it for a while. */
static void ask_again(int64_t now_ns)
{
    if (!near.is_up || now_ns - near.asked_ns < listen_again_ns)
        return;
    for (uint16_t i = 0; i < near.options->forward_count; i++)
        if (near.must_ask[i])
            ask_to_listen(i);
}

static void on_welcome(const struct control *welcome)
{
    near.reserve = *welcome;
    near.reserve.kind = CONTROL_RESERVE;
    if (near.was_up)
        (void)complain("connected to %s again", near.far.host);
    near.is_up = near.was_up = true;
    near.wait_ns = second_ns / 2;
    for (uint16_t i = 0; i < near.options->forward_count; i++)
        if (near.options->forwards[i].is_reverse)
            ask_to_listen(i);
    fill();
}

static void on_listening(const struct control *control)
{
    const struct forward *forward = find_reverse(control->number);
    bool is_refused = control->kind == CONTROL_REFUSED;

    if (forward == NULL) {
        stream_accuse(near.tunnel);
        return;
    }
    bool was_refused = near.was_refused[control->number];
    near.must_ask[control->number] = near.was_refused[control->number] = is_refused;
    if (is_refused && !was_refused)
        (void)complain("%s does not listen on port %u: %s", near.far.host,
                       (unsigned)forward->bind.port, control->text);
    else if (!is_refused &&
             (was_refused || forward->bind.port == 0 || near.options->streams.is_verbose))
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
    } else {
        stream_accuse(near.tunnel);
    }
}

/* The remote shell starts a far end, with a key of its own. 0, or -1 with a complaint, unless a
 * signal has come. */
static int start_far(void)
{
    char window[QUANTITY_ROOM], silence[QUANTITY_ROOM];
    const char *const arguments[] = {"--far", "--window", window, "--silence", silence, NULL};
    struct meeting meeting;
    bool is_one_host = false;

    quantity_bytes(window, near.options->streams.window);
    (void)snprintf(silence, sizeof(silence), "%.3f",
                   (double)near.options->streams.silence_ns / 1e9);
    (void)loop_release(&near.remote_out);
    remote_end(&near.remote);
    zcrp_keys_free(near.zcrp.keys);
    near.zcrp.keys = NULL;
    meeting_make(&meeting, (uint16_t)near.options->port);
    int status = remote_start(&near.remote, near.options->rsh, near.login,
                              near.options->far_program, arguments);
    near.remote_out.fd = near.remote.out;
    if (loop_has_ended()) /* by a signal meanwhile: ssh may take long to answer */
        status = -1;
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
    return loop_watch(&near.remote_out, EPOLLIN) ? 0 : -1;
}

static void wait_a_while(void)
{
    near.retry_ns = clock_now_ns() + near.wait_ns;
    near.wait_ns = 2 * near.wait_ns < retry_most_ns ? 2 * near.wait_ns : retry_most_ns;
}

/* The first attempt is the last one. */
static void fail(void)
{
    if (near.attempts == 0 && !near.was_up)
        loop_stop(STATUS_BROKEN);
    else
        wait_a_while();
}

/* Begins the tunnel, once its far end's name is known. */
static void on_found(void *context, int fd, enum refusal reason, const char *text)
{
    (void)context;
    (void)reason;
    near.finding = NULL;
    if (fd >= 0 && near.login != NULL && near.remote_out.fd < 0) {
        (void)close(fd);
        fd = -1;
        text = "the remote shell has ended";
    }
    if (fd < 0) {
        complain_of_far(text);
        fail();
        return;
    }
    near.found = socket_peer(fd);
    (void)close(fd);
    near.tunnel = loop_has_ended() ? NULL : connect_far(ROLE_TUNNEL);
    if (near.tunnel == NULL) {
        fail();
        return;
    }
    near.tunnel->phase = STREAM_CONTROL;
    near.tunnel->since_ns = clock_now_ns();
    (void)stream_say(near.tunnel, &(struct control){.kind = CONTROL_HELLO});
}

static void begin(void)
{
    if (near.login != NULL && start_far() != 0)
        fail();
    else
        dial_start(&near.finding, SOCK_DGRAM, near.far.host, near.far.port, "", on_found, NULL);
}

static void on_lost(int code)
{
    bool has_shell_ended = near.login != NULL && near.remote_out.fd < 0;
    const char *why = has_shell_ended ? "the remote shell has ended"
                      : code != 0     ? stream_explain(code, near.is_up || near.login != NULL)
                                      : "the far end is none of zcrp-tunnel";
    bool was_up = near.is_up;

    near.tunnel = NULL;
    near.is_up = false;
    if (loop_has_ended())
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
    if (near.login != NULL)
        stream_drop_all(); /* the far end ends, too; to start another one may take minutes */
    while (near.idle.first != NULL)
        stream_drop(near.idle.first);
    while (near.reserved.first != NULL)
        stream_drop(near.reserved.first);
    wait_a_while();
}

/* The remote shell has ended: it may have been asked to, or its connection is lost. */
static void on_remote(struct watch *watch, uint32_t events)
{
    char bytes[256];

    (void)events;
    if (read(watch->fd, bytes, sizeof(bytes)) > 0)
        return;
    (void)loop_release(watch); /* remote_end closes it */
    stream_drop_all();
}

/* ---- what comes ---- */

static void on_control(struct stream *stream, const struct control *control)
{
    bool is_socks = near.options->forwards[stream->number].is_socks;

    if (stream->role == ROLE_TUNNEL) {
        on_tunnel_control(control);
    } else if (stream->role == ROLE_RESERVED && control->kind == CONTROL_CALL &&
               stream->phase == STREAM_IDLE) {
        on_call(stream, control);
    } else if (stream->role == ROLE_FORWARD && control->kind == CONTROL_FINE &&
               stream->phase == STREAM_RUNNING) {
        if (is_socks && !door_answer_socks(stream->in.fd, 0))
            stream_break(stream);
    } else if (stream->role == ROLE_FORWARD && control->kind == CONTROL_REFUSED &&
               stream->phase == STREAM_ASKED) {
        uint8_t code = control->number > 0 && control->number <= UINT8_MAX
                           ? (uint8_t)control->number
                           : REFUSAL_FAILED;

        (void)complain("%s: refused: %s", stream->name, control->text);
        if (is_socks && stream->in.fd >= 0)
            (void)door_answer_socks(stream_take_back(stream), code);
        stream_drop(stream);
    } else {
        stream_accuse(stream);
    }
}

static void on_up(struct stream *stream)
{
    stream->since_ns = clock_now_ns(); /* from now on the tunnel's WELCOME is due */
    near.connecting--;
    fill();
}

static void on_idle(struct stream *stream)
{
    stream_note(stream, "ended");
    if (stream->role == ROLE_RESERVED)
        streams_put(&near.reserved, stream);
    else if (near.is_up && near.idle.count < KEPT * near.options->warm && !stream_is_worn(stream))
        streams_put(&near.idle, stream);
    else
        stream_drop(stream);
    tend_doors();
}

static void on_dead(struct stream *stream, enum stream_phase was, int code)
{
    near.connecting -= !stream->is_up;
    if (stream->role == ROLE_TUNNEL)
        on_lost(code);
    else if (was == STREAM_IDLE)
        return;
    else if (code != 0 && code != ZCRP_ERROR_PEER_CLOSED && code != ZCRP_ERROR_CUT_OFF &&
             code != ZCRP_ERROR_PEER_CANCELLED)
        (void)complain("%s: reset: %s", stream->name, zcrp_strerror(code));
    else
        stream_note(stream, "reset");
}

static const struct stream_owner owner = {on_control, on_idle, on_dead, on_up, on_dialed};

static void on_tick(int64_t now_ns)
{
    stream_tick(now_ns);
    door_tick(now_ns);
    if (loop_has_ended())
        return;
    if (near.tunnel == NULL && near.finding == NULL && now_ns >= near.retry_ns)
        begin();
    else if (near.tunnel != NULL && near.tunnel->is_up && !near.is_up &&
             now_ns - near.tunnel->since_ns > near.options->streams.silence_ns)
        stream_drop(near.tunnel); /* it is connected, and has no WELCOME */
    ask_again(now_ns);
    fill();
}

/* ---- the beginning ---- */

static const struct loop_calls calls = {stream_on_completion, on_tick, stream_tell_counts,
                                        stream_drop_all};

static int open_doors(void)
{
    for (uint16_t i = 0; i < near.options->forward_count; i++) {
        const struct forward *forward = &near.options->forwards[i];
        const char *why;

        near.has_reverse |= forward->is_reverse;
        if (forward->is_reverse)
            continue;
        struct door *door = near.doors[i] = door_open(&forward->bind, &why);
        if (door == NULL)
            return complain("cannot listen on %s%sTCP port %u: %s", forward->bind.host,
                            forward->bind.host[0] != '\0' ? ", " : "", (unsigned)forward->bind.port,
                            why);
        door->is_socks = forward->is_socks;
        door->number = i;
        door->on_client = on_client;
        if (forward->bind.port == 0)
            (void)complain("listens on port %u", (unsigned)door->port);
    }
    return 0;
}

/* A host that a remote shell knows, or that has a standing far end. */
static int take_host(const char *word)
{
    near.login = near.options->keys == NULL ? word : NULL;
    if (word[0] == '-' || host_of(word)[0] == '-' || host_of(word)[0] == '\0')
        return complain("that is no host: '%s'", word);
    if (near.login == NULL && strchr(word, '@') != NULL)
        return complain("a standing far end has no users: '%s'", word);
    if (near.login == NULL && spec_peer(&near.far, word, PORT_OF_SERVERS) != 0)
        return complain("the far end: '%s' is not HOST[:PORT]", word);
    if (near.login != NULL || near.options->address != NULL)
        (void)snprintf(near.far.host, sizeof(near.far.host), "%s",
                       near.options->address != NULL ? near.options->address : host_of(word));
    return 0;
}

int near_run(const struct options *options, const char *host)
{
    near.options = options;
    near.wait_ns = second_ns / 2;
    near.remote = (struct remote){.in = -1, .out = -1};
    near.remote_out = (struct watch){-1, on_remote, NULL};
    if (take_host(host) != 0)
        return STATUS_USAGE;
    if (loop_open(&calls) != 0)
        return STATUS_BROKEN;
    near.zcrp = stream_setup(&options->streams, NULL);
    if (near.login == NULL)
        near.zcrp.keys = meeting_server_keys(options->keys);
    if ((near.login == NULL && near.zcrp.keys == NULL) || open_doors() != 0)
        loop_stop(STATUS_BROKEN);
    else
        begin();
    int status = loop_run();
    remote_end(&near.remote);
    return status;
}
