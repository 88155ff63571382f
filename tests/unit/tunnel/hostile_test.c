/* Either end of a tunnel, in a process of its own, with a peer that has the key and breaks the
 * rules: its connection is closed, and the tunnel goes on with others. */
#include "zcrp-tunnel/control.h"
#include "zcrp-tunnel/stream.h"
#include "zcrp-tunnel/tunnel.h"

#include "../../support/shared_keys.h"
#include "../../support/suite.h"
#include "common/complain.h"
#include "lookup.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROOM = STREAM_BYTES };

static const int64_t second_ns = 1000000000;
static const char key_line[] =
    "hostile:00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff\n";

static char key_file[64];
static pid_t end;
static struct options options;
static uint16_t near_port, target_port; /* of -L, 0: any; and of the targets */

static void setup(void)
{
    near_port = 0;
    target_port = 1;
    complain_silently();
    (void)signal(SIGPIPE, SIG_IGN);
    strcpy(key_file, "/tmp/zcrp-tunnel-XXXXXX");
    int fd = mkstemp(key_file);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, key_line, sizeof(key_line) - 1), sizeof(key_line) - 1);
    (void)close(fd);
    options = (struct options){
        .streams = {.window = 1 << 20, .memory = 1 << 24, .silence_ns = 10 * second_ns},
        .warm = 2,
        .keys = key_file};
    strcpy(options.serve.host, "127.0.0.1");
}

static void teardown(void)
{
    if (end > 0) {
        (void)kill(end, SIGKILL);
        (void)waitpid(end, NULL, 0);
    }
    (void)unlink(key_file);
}

static bool may_fork(void)
{
    const char *no_fork = getenv("CK_FORK");

    return no_fork == NULL || strcmp(no_fork, "no") != 0;
}

FIXTURE(setup, teardown)

/* A port of UDP that is free at all addresses. */
static uint16_t free_port_anywhere(void)
{
    struct sockaddr_in6 at = {.sin6_family = AF_INET6};
    socklen_t size = sizeof(at);
    int fd = socket(AF_INET6, SOCK_DGRAM, 0);

    ck_assert_int_eq(bind(fd, (struct sockaddr *)&at, size), 0);
    ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&at, &size), 0);
    (void)close(fd);
    return ntohs(at.sin6_port);
}

/* A free port, of UDP or TCP. */
static uint16_t free_port(int type)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(at);
    int fd = socket(AF_INET, type, 0);

    ck_assert_int_eq(bind(fd, (struct sockaddr *)&at, size), 0);
    ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&at, &size), 0);
    (void)close(fd);
    return ntohs(at.sin_port);
}

/* Returns its port. */
static uint16_t listen_tcp(int *fd)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(at);

    *fd = socket(AF_INET, SOCK_STREAM, 0);
    ck_assert_int_eq(bind(*fd, (struct sockaddr *)&at, size), 0);
    ck_assert_int_eq(listen(*fd, 1), 0);
    ck_assert_int_eq(getsockname(*fd, (struct sockaddr *)&at, &size), 0);
    return ntohs(at.sin_port);
}

static void run_end(int (*run)(void))
{
    end = fork();
    ck_assert_int_ge(end, 0);
    if (end != 0)
        return;
    (void)signal(SIGTERM, SIG_DFL); /* no more the suite's */
    _exit(freopen("/dev/null", "w", stdout) != NULL ? run() : EXIT_FAILURE);
}

static int run_far(void)
{
    return far_serve(&options);
}

static bool is_alive(void)
{
    return waitpid(end, NULL, WNOHANG) == 0;
}

static struct zcrp_options zcrp(void)
{
    struct zcrp_options made = {.flags = ZCRP_NO_MEMORY, .connect_ns = 20 * second_ns};

    ck_assert_int_eq(zcrp_keys_read(&made.keys, key_file), 0);
    return made;
}

static struct zcrp_connection *connect_far_at(const char *host)
{
    struct zcrp_options with = zcrp();
    struct zcrp_connection *connection;
    char port[PORT_ROOM];

    (void)snprintf(port, sizeof(port), "%u", (unsigned)options.serve.port);
    ck_assert_int_eq(zcrp_connect(&connection, host, port, &with, 20 * second_ns), 0);
    zcrp_keys_free(with.keys);
    return connection;
}

static struct zcrp_connection *connect_far(void)
{
    return connect_far_at("127.0.0.1");
}

static void say(struct zcrp_connection *connection, struct control control)
{
    uint8_t bytes[CONTROL_MOST];
    size_t size = control_write(&control, bytes);

    ck_assert_int_eq(zcrp_send_copy(zcrp_connection_sender(connection), bytes, size), 0);
}

/* The next control message, or 0 if the connection ends instead. */
static int hear(struct zcrp_connection *connection, struct control *control)
{
    struct zcrp_msg *message = zcrp_alloc_msg(ROOM);

    ck_assert_int_eq(zcrp_submit(zcrp_connection_receiver(connection), message, ROOM), 0);
    int code = zcrp_wait_for(message, 20 * second_ns);
    ck_assert_int_ne(code, ZCRP_ERROR_TIMEOUT);
    if (code == 0)
        ck_assert_int_eq(control_read(control, message->buffer, (size_t)message->length),
                         CONTROL_GOOD);
    zcrp_free_msg(message);
    return code == 0 ? control->kind : 0;
}

/* ---- to the far end ---- */

/* Bytes, or control messages. */
static const struct {
    const char *bytes;
    size_t size;
    struct control says[2];
    int answer; /* to the first; 0: none */
} faults[] = {
    {.bytes = "", .size = 0},
    {.bytes = "rubbish", .size = 7},
    {.bytes = "ZT\1\1\0\0\0\1\377a", .size = 10},
    {.bytes = "ZT\2\1\0\0\0\1\0more of a later version", .size = 32, .answer = CONTROL_REFUSED},
    {.says = {{.kind = CONTROL_DONE}}},
    {.says = {{.kind = CONTROL_FINE}}},
    {.says = {{.kind = CONTROL_REFUSED, .number = 1}}},
    {.says = {{.kind = CONTROL_RESERVE + 1}}}, /* no kind */
    {.says = {{.kind = CONTROL_CALL}}},
    {.says = {{.kind = CONTROL_WELCOME, .length = CONTROL_TOKEN}}},
    {.says = {{.kind = CONTROL_LISTEN, .port = 1}}},
    {.says = {{.kind = CONTROL_RESERVE, .length = CONTROL_TOKEN}}}, /* of no tunnel */
    {.says = {{.kind = CONTROL_OPEN, .port = 1}}},                  /* without a host */
    {.says = {{.kind = CONTROL_HELLO}, {.kind = CONTROL_HELLO}}, .answer = CONTROL_WELCOME},
    {.says = {{.kind = CONTROL_HELLO}, {.kind = CONTROL_OPEN, .port = 1, .length = 1, .text = "a"}},
     .answer = CONTROL_WELCOME},
    {.says = {{.kind = CONTROL_HELLO}, {.kind = CONTROL_LISTEN, .number = 65535}},
     .answer = CONTROL_WELCOME},
    {.says = {{.kind = CONTROL_HELLO}, {.kind = CONTROL_DONE}}, .answer = CONTROL_WELCOME},
};

TEST(far__a_peer_that_breaks_the_rules, .needs = has_keys)
{
    struct control came = {0};

    if (!may_fork())
        return;
    options.serve.port = free_port(SOCK_DGRAM);
    run_end(run_far);
    for (int i = 0; i < ROWS(faults); i++) {
        struct zcrp_connection *connection = connect_far();

        if (faults[i].says[0].kind == 0)
            ck_assert_int_eq(
                zcrp_send_copy(zcrp_connection_sender(connection), faults[i].bytes, faults[i].size),
                0);
        else
            say(connection, faults[i].says[0]);
        ck_assert_int_eq(hear(connection, &came), faults[i].answer);
        if (faults[i].says[1].kind != 0)
            say(connection, faults[i].says[1]);
        if (faults[i].answer != 0)
            ck_assert_int_eq(hear(connection, &came), 0);
        (void)zcrp_connection_close(connection);
        ck_assert(is_alive());
    }
}

/* Many streams are asked for on one connection, and one is: the others are against the rules. */
TEST(far__open_within_a_stream, .needs = has_keys)
{
    const struct control open = {.kind = CONTROL_OPEN, .port = 1, .length = 9, .text = "127.0.0.1"};
    struct control came = {0};

    if (!may_fork())
        return;
    options.serve.port = free_port(SOCK_DGRAM);
    run_end(run_far);
    struct zcrp_connection *connection = connect_far();
    for (int i = 0; i < 10; i++)
        say(connection, open);
    ck_assert_int_eq(hear(connection, &came), CONTROL_REFUSED);
    ck_assert_int_eq(came.number, REFUSAL_FORBIDDEN);
    ck_assert_int_eq(hear(connection, &came), 0); /* who does not close is closed, after 5 s */
    (void)zcrp_connection_close(connection);
    ck_assert(is_alive());
}

/* More connections than there are threads for closes. */
static struct zcrp_connection *mute[CREW_THREADS_MOST + 8];

/* Each is answered, and closed as soon as it takes the answer; which it does not, so that takes the
 * far end 5 s. */
static void let_closes_wait(void)
{
    static const char other_version[] = "ZT\2\1\0\0\0\1";

    for (int i = 0; i < ROWS(mute); i++)
        ck_assert_int_eq(
            zcrp_send_copy(zcrp_connection_sender(mute[i]), other_version, sizeof(other_version)),
            0);
    (void)usleep(500000);
}

static void close_mute(void)
{
    for (int i = 0; i < ROWS(mute); i++)
        (void)zcrp_connection_close(mute[i]);
}

/* Closes that wait for a peer which takes nothing keep nobody else from a target. */
TEST(far__closes_keep_no_dial_waiting, .needs = has_keys)
{
    struct control open = {.kind = CONTROL_OPEN, .length = 9, .text = "localhost"}, came = {0};
    int target;

    if (!may_fork())
        return;
    options.serve.port = free_port(SOCK_DGRAM);
    open.port = listen_tcp(&target);
    options.allowed.count = 1;
    strcpy(options.allowed.of[0].host, "localhost");
    options.allowed.of[0].port = open.port;
    run_end(run_far);
    for (int i = 0; i < ROWS(mute); i++)
        mute[i] = connect_far();
    struct zcrp_connection *connection = connect_far();
    let_closes_wait();
    say(connection, open);
    ck_assert_int_eq(hear(connection, &came), CONTROL_FINE);
    ck_assert_int_eq(zcrp_connection_status(mute[0]), 0); /* it is not closed yet */
    close_mute();
    (void)zcrp_connection_close(connection);
    (void)close(target);
}

/* Nor do they keep another host's connections from being closed. */
TEST(far__closes_keep_no_close_waiting, .needs = has_keys)
{
    struct control came = {0};
    int open = 0;

    if (!may_fork())
        return;
    options.serve.port = free_port_anywhere();
    strcpy(options.serve.host, "*");
    run_end(run_far);
    for (int i = 0; i < ROWS(mute); i++)
        mute[i] = connect_far();
    struct zcrp_connection *connection = connect_far_at("::1");
    let_closes_wait();
    ck_assert_int_eq(zcrp_send_copy(zcrp_connection_sender(connection), "rubbish", 7), 0);
    ck_assert_int_eq(hear(connection, &came), 0);
    for (int i = 0; i < ROWS(mute); i++)
        open += zcrp_connection_status(mute[i]) == 0;
    ck_assert_int_gt(open, ROWS(mute) / 2); /* half of the threads have closed theirs, at most */
    close_mute();
    (void)zcrp_connection_close(connection);
}

/* ---- to the near end ---- */

static int run_near(void)
{
    char host[64];

    (void)snprintf(host, sizeof(host), "127.0.0.1:%u", (unsigned)options.serve.port);
    options.forward_count = 2;
    options.forwards[0].bind.port = near_port;
    options.forwards[1].bind.port = 0;
    options.forwards[1].is_reverse = true;
    strcpy(options.forwards[0].target.host, "a");
    strcpy(options.forwards[1].target.host, "127.0.0.1");
    options.forwards[0].target.port = options.forwards[1].target.port = target_port;
    return near_run(&options, host);
}

static struct zcrp_connection *accept_near(struct zcrp_listener *listener)
{
    struct zcrp_connection *connection;

    ck_assert_int_eq(zcrp_accept(listener, &connection, 20 * second_ns), 0);
    return connection;
}

/* The next connection of the near end that begins so; others are closed. */
static struct zcrp_connection *await(struct zcrp_listener *listener, int kind)
{
    struct control came = {0};

    for (int64_t patience_ns = second_ns / 3;; patience_ns += second_ns / 3) {
        struct zcrp_connection *connection = accept_near(listener);
        struct zcrp_msg *message = zcrp_alloc_msg(ROOM);

        ck_assert_int_eq(zcrp_submit(zcrp_connection_receiver(connection), message, ROOM), 0);
        int code = zcrp_wait_for(message, patience_ns); /* an idle one says nothing */
        if (code == 0)
            (void)control_read(&came, message->buffer, (size_t)message->length);
        else
            (void)zcrp_cancel(message);
        zcrp_free_msg(message);
        if (code == 0 && came.kind == kind)
            return connection;
        (void)zcrp_connection_close(connection);
    }
}

static const struct {
    struct control says;
    int on;       /* whose first message is this; then it is answered with WELCOME */
    bool is_over; /* the near end is, too */
} wrongs[] = {
    {{.kind = CONTROL_FINE}, CONTROL_HELLO, true},
    {{.kind = CONTROL_RESERVE + 1}, CONTROL_HELLO, true}, /* no kind */
    {{.kind = CONTROL_WELCOME, .length = CONTROL_TOKEN}, CONTROL_LISTEN, false},
    {{.kind = CONTROL_FINE, .number = 65535}, CONTROL_LISTEN, false},
    {{.kind = CONTROL_REFUSED, .number = 0}, CONTROL_LISTEN, false},
    {{.kind = CONTROL_OPEN, .port = 1, .length = 1, .text = "a"}, CONTROL_LISTEN, false},
    {{.kind = CONTROL_CALL, .number = 0}, CONTROL_RESERVE, false}, /* which is no -R */
    {{.kind = CONTROL_CALL, .number = 2}, CONTROL_RESERVE, false}, /* there is none */
    {{.kind = CONTROL_CALL, .number = 65535}, CONTROL_RESERVE, false},
    {{.kind = CONTROL_FINE}, CONTROL_RESERVE, false},
    {{.kind = CONTROL_DONE}, CONTROL_RESERVE, false},
};

static const struct control welcome = {.kind = CONTROL_WELCOME, .length = CONTROL_TOKEN};

/* Starts the near end, and is its far end. */
static struct zcrp_listener *meet(int (*run)(void))
{
    struct zcrp_options with = zcrp();
    struct zcrp_listener *listener;
    char port[PORT_ROOM];

    options.serve.port = free_port(SOCK_DGRAM);
    run_end(run);
    (void)snprintf(port, sizeof(port), "%u", (unsigned)options.serve.port);
    ck_assert_int_eq(zcrp_listen(&listener, "127.0.0.1", port, &with), 0);
    zcrp_keys_free(with.keys);
    return listener;
}

static struct zcrp_listener *meet_near(void)
{
    return meet(run_near);
}

/* To each tunnel that the near end begins: one wrong thing. */
TEST(near__a_peer_that_breaks_the_rules, .needs = has_keys, .rows = ROWS(wrongs))
{
    struct control came = {0};
    int status = 0;

    if (!may_fork())
        return;
    struct zcrp_listener *listener = meet_near();
    struct zcrp_connection *tunnel = await(listener, CONTROL_HELLO), *other = NULL;
    if (wrongs[_i].on != CONTROL_HELLO)
        say(tunnel, welcome);
    if (wrongs[_i].on == CONTROL_LISTEN)
        ck_assert_int_eq(hear(tunnel, &came), CONTROL_LISTEN);
    if (wrongs[_i].on == CONTROL_RESERVE)
        other = await(listener, CONTROL_RESERVE);
    say(other != NULL ? other : tunnel, wrongs[_i].says);
    do { /* what it has said before */
    } while (hear(other != NULL ? other : tunnel, &came) != 0);
    if (wrongs[_i].is_over) {
        ck_assert_int_eq(waitpid(end, &status, 0), end);
        end = 0;
        ck_assert_int_eq(WEXITSTATUS(status), STATUS_BROKEN);
    } else {
        ck_assert(is_alive());
    }
    (void)zcrp_connection_close(other);
    (void)zcrp_connection_close(tunnel);
    (void)zcrp_listener_close(listener);
}

/* A client of -R comes just when the tunnel is lost. Clients of the next tunnel still get
 * connections. */
TEST(near__a_call_of_a_tunnel_that_is_lost, .needs = has_keys)
{
    const struct control call = {.kind = CONTROL_CALL, .number = 1};
    uint8_t bytes[CONTROL_MOST];
    struct control came;

    if (!may_fork())
        return;
    struct zcrp_listener *listener = meet_near();
    struct zcrp_connection *tunnel = await(listener, CONTROL_HELLO);
    say(tunnel, welcome);
    struct zcrp_connection *reserved = await(listener, CONTROL_RESERVE);
    (void)zcrp_connection_close(tunnel);
    tunnel = await(listener, CONTROL_HELLO);
    (void)!zcrp_send_copy(zcrp_connection_sender(reserved), bytes, control_write(&call, bytes));
    (void)hear(reserved, &came);
    (void)zcrp_connection_close(reserved);
    say(tunnel, welcome);
    (void)zcrp_connection_close(await(listener, CONTROL_RESERVE));
    ck_assert(is_alive());
    (void)zcrp_connection_close(tunnel);
    (void)zcrp_listener_close(listener);
}

/* There are as many connections for the next clients of -R as clients have come. */
TEST(near__connections_for_calls, .needs = has_keys)
{
    const struct control call = {.kind = CONTROL_CALL, .number = 1};
    struct zcrp_connection *connections[6];
    int target;

    if (!may_fork())
        return;
    options.warm = 0; /* an idle one would keep `await` */
    target_port = listen_tcp(&target);
    struct zcrp_listener *listener = meet_near();
    struct zcrp_connection *tunnel = await(listener, CONTROL_HELLO);
    say(tunnel, welcome);
    for (int i = 0; i < ROWS(connections); i++) {
        connections[i] = await(listener, CONTROL_RESERVE);
        if (i < ROWS(connections) / 2)
            say(connections[i], call);
    }
    for (int i = 0; i < ROWS(connections); i++)
        (void)zcrp_connection_close(connections[i]);
    (void)zcrp_connection_close(tunnel);
    (void)zcrp_listener_close(listener);
    (void)close(target);
}

/* FINE comes once. A second one, behind the end of the data, would be an answer of SOCKS. */
TEST(near__a_second_fine, .needs = has_keys)
{
    const struct control fine = {.kind = CONTROL_FINE};
    struct control came;
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};

    if (!may_fork())
        return;
    options.warm = 0; /* an idle one would keep `await` */
    near_port = free_port(SOCK_STREAM);
    struct zcrp_listener *listener = meet_near();
    struct zcrp_connection *tunnel = await(listener, CONTROL_HELLO);
    say(tunnel, welcome);
    ck_assert_int_eq(hear(tunnel, &came), CONTROL_LISTEN);
    int client = socket(AF_INET, SOCK_STREAM, 0);
    at.sin_port = htons(near_port);
    ck_assert_int_eq(connect(client, (struct sockaddr *)&at, sizeof(at)), 0);
    struct zcrp_connection *stream = await(listener, CONTROL_OPEN);
    say(stream, fine);
    ck_assert_int_eq(zcrp_send_copy(zcrp_connection_sender(stream), "", 0), 0);
    say(stream, fine);
    ck_assert_int_eq(hear(stream, &came), 0);
    ck_assert(is_alive());
    (void)close(client);
    (void)zcrp_connection_close(stream);
    (void)zcrp_connection_close(tunnel);
    (void)zcrp_listener_close(listener);
}

static int run_near_to_slow(void)
{
    options.forward_count = 1;
    return near_run(&options, "slow:1");
}

static int run_far_at_slow(void)
{
    strcpy(options.serve.host, "slow");
    return far_serve(&options);
}

/* Sends a signal once the lookup hangs: the status of the end, which ends before the lookup. */
static int end_during_lookup(int (*run)(void))
{
    int hangs[2], status = 0;
    pid_t ended = 0;
    char byte;

    ck_assert_int_eq(pipe(hangs), 0);
    lookup_hangs = hangs[1];
    run_end(run);
    ck_assert_int_eq(read(hangs[0], &byte, 1), 1);
    ck_assert_int_eq(kill(end, SIGTERM), 0);
    for (int i = 0; i < 2000 && (ended = waitpid(end, &status, WNOHANG)) == 0; i++)
        (void)usleep(10000);
    ck_assert_int_eq(ended, end);
    end = 0;
    return status;
}

TEST(near__a_signal_during_a_lookup, .needs = has_keys)
{
    if (!may_fork())
        return;
    int status = end_during_lookup(run_near_to_slow);
    ck_assert(WIFEXITED(status));
    ck_assert_int_eq(WEXITSTATUS(status), 128 + SIGTERM);
}

TEST(far__a_signal_during_a_lookup, .needs = has_keys)
{
    if (!may_fork())
        return;
    int status = end_during_lookup(run_far_at_slow);
    ck_assert(WIFSIGNALED(status));
    ck_assert_int_eq(WTERMSIG(status), SIGTERM);
}

static int run_near_to_once(void)
{
    char host[64];

    (void)snprintf(host, sizeof(host), "once:%u", (unsigned)options.serve.port);
    options.forward_count = 1;
    options.forwards[0] = (struct forward){.bind.port = near_port, .target = {"a", 1}};
    return near_run(&options, host);
}

/* The tunnel is lost, and the far end's name has no answer any more: a stream whose connection is
 * there goes on. */
TEST(near__streams_during_a_lookup, .needs = has_keys)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int hangs[2];
    char byte;

    if (!may_fork())
        return;
    struct zcrp_msg *message = zcrp_alloc_msg(ROOM);
    int client = socket(AF_INET, SOCK_STREAM, 0);
    options.warm = 0; /* an idle one would keep `await` */
    near_port = free_port(SOCK_STREAM);
    at.sin_port = htons(near_port);
    ck_assert_int_eq(pipe(hangs), 0);
    lookup_hangs = hangs[1];
    struct zcrp_listener *listener = meet(run_near_to_once);
    struct zcrp_connection *tunnel = await(listener, CONTROL_HELLO);
    say(tunnel, welcome);
    ck_assert_int_eq(connect(client, (struct sockaddr *)&at, sizeof(at)), 0);
    struct zcrp_connection *stream = await(listener, CONTROL_OPEN);
    say(stream, (struct control){.kind = CONTROL_FINE});
    ck_assert_int_eq(zcrp_submit(zcrp_connection_receiver(stream), message, ROOM), 0);
    (void)zcrp_connection_close(tunnel);
    ck_assert_int_eq(read(hangs[0], &byte, 1), 1);
    ck_assert_int_eq(write(client, "x", 1), 1);
    ck_assert_int_eq(zcrp_wait_for(message, 20 * second_ns), 0);
    (void)close(client);
    (void)zcrp_connection_close(stream);
    zcrp_free_msg(message);
    (void)zcrp_listener_close(listener);
}

/* It can be reached, and says nothing. */
TEST(near__no_welcome, .needs = has_keys)
{
    int status = 0;

    if (!may_fork())
        return;
    options.streams.silence_ns = 2 * second_ns;
    struct zcrp_listener *listener = meet_near();
    struct zcrp_connection *tunnel = await(listener, CONTROL_HELLO);
    ck_assert_int_eq(waitpid(end, &status, 0), end);
    end = 0;
    ck_assert_int_eq(WEXITSTATUS(status), STATUS_BROKEN);
    (void)zcrp_connection_close(tunnel);
    (void)zcrp_listener_close(listener);
}
