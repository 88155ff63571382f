/* A peer that is killed, over UDP: its host says that nobody listens there any more. Whoever needs
 * it learns of that long before the silence limit, in every role. A peer that is only stopped says
 * nothing, and nothing is said of it: all goes on as soon as it does. */
#include "../support/house.h"

LOAD(asleep)

enum { BYTES = 1 << 20, STOPPED_SECONDS = 6 };

/* One that sends, or asks for what is posted, learns of it in 5 to 6 s. An idle one asks every 5 s,
 * and so takes up to 9 s. Beside other tests all takes longer. */
#define LATEST (10 * ENDS_SECOND)
#define LATEST_OF_IDLE (15 * ENDS_SECOND)
#define EARLIEST (3 * ENDS_SECOND)

static const struct zcrp_options over_udp = {.flags = ZCRP_NO_MEMORY, .linger_ns = 1};

/* Only UDP has ports that can be closed. */
static bool is_udp(void)
{
    return loopback_is_udp();
}

/* An address of this process: at 127.0.0.1 somebody else may get the dead one's port, and would
 * answer in its place. */
struct place {
    char host[32];
};

static struct place place_of(pid_t pid)
{
    struct place p;

    (void)snprintf(p.host, sizeof(p.host), "127.%d.%d.%d", 64 + (pid >> 16 & 63), pid >> 8 & 255,
                   pid & 255);
    return p;
}

/* ---- the peer: sends the first message, then posts what there is time for, and answers nothing */

static void be_peer(const char *host, int port_to)
{
    struct zcrp_listener *listener;
    struct zcrp_connection *c;

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    int code = zcrp_listen(&listener, host, "0", &over_udp);
    int port = code == ZCRP_OK ? zcrp_listener_port(listener) : 0;
    if (write(port_to, &port, sizeof(port)) != (ssize_t)sizeof(port) || port == 0)
        _exit(1);
    code = zcrp_accept(listener, &c, -1);
    struct zcrp_msg *m = zcrp_alloc_msg(BYTES);
    memset(m->buffer, 0x55, BYTES);
    if (code == ZCRP_OK)
        code = zcrp_submit(zcrp_connection_sender(c), m, BYTES);
    if (code == ZCRP_OK)
        code = zcrp_wait_for(m, -1);
    while (code == ZCRP_OK) {
        code = zcrp_submit(zcrp_connection_receiver(c), m, BYTES);
        if (code == ZCRP_OK)
            code = zcrp_wait_for(m, -1);
    }
    _exit(1);
}

/* ---- the survivor */

static void rest(int64_t ns)
{
    const struct timespec some = {.tv_sec = ns / ENDS_SECOND, .tv_nsec = ns % ENDS_SECOND};

    (void)nanosleep(&some, NULL);
}

struct life {
    pid_t peer;
    char port[16];
    struct zcrp_connection *connection;
    struct zcrp_entity *sender, *receiver;
    struct zcrp_msg *first;
};

static struct life meet(void)
{
    const struct place place = place_of(getpid());
    struct life l = {.peer = -1};
    int ends[2], number;

    ck_assert_int_eq(pipe(ends), 0);
    l.peer = fork();
    ck_assert_int_ge(l.peer, 0);
    if (l.peer == 0)
        be_peer(place.host, ends[1]);
    ck_assert_int_eq(read(ends[0], &number, sizeof(number)), sizeof(number));
    (void)snprintf(l.port, sizeof(l.port), "%d", number);
    ck_assert_int_eq(zcrp_connect(&l.connection, place.host, l.port, &over_udp, -1), ZCRP_OK);
    l.sender = zcrp_connection_sender(l.connection);
    l.receiver = zcrp_connection_receiver(l.connection);
    l.first = ends_empty(BYTES);
    ck_assert_int_eq(zcrp_submit(l.receiver, l.first, BYTES), ZCRP_OK);
    ck_assert_int_eq(ends_wait(l.first), ZCRP_OK);
    (void)close(ends[0]);
    (void)close(ends[1]);
    return l;
}

static void part(struct life *l)
{
    zcrp_free_msg(l->first);
    (void)zcrp_connection_close(l->connection);
}

/* What the survivor does when its peer is killed; each returns the code with which that ends. */

static int send_on(struct life *l)
{
    struct zcrp_msg *out = zcrp_wrap_msg(l->first->buffer, BYTES);
    int code = ZCRP_OK;

    while (code == ZCRP_OK) {
        code = zcrp_submit(l->sender, out, BYTES);
        if (code == ZCRP_OK)
            code = zcrp_wait_for(out, -1);
    }
    zcrp_free_msg(out);
    return code;
}

static int wait_for_message(struct life *l)
{
    int code = zcrp_submit(l->receiver, l->first, BYTES);

    return code == ZCRP_OK ? zcrp_wait_for(l->first, -1) : code;
}

static int expect(struct life *l)
{
    nlong size;

    return zcrp_expect(l->receiver, &size, -1);
}

static int idle(struct life *l)
{
    int code;

    while ((code = zcrp_connection_status(l->connection)) == ZCRP_OK)
        rest(20 * ENDS_MILLISECOND);
    return code;
}

static const struct way {
    const char *name;
    int (*wait)(struct life *l);
    bool is_idle;
} ways[] = {{"sends", send_on, false},
            {"waits for a message", wait_for_message, false},
            {"expects", expect, true},
            {"is idle", idle, true}};

TEST(killed__the_survivor_of_a_connection, .rows = sizeof(ways) / sizeof(ways[0]), .needs = is_udp)
{
    struct life l = meet();
    struct zcrp_stats s;

    rest(300 * ENDS_MILLISECOND); /* it has posted a buffer by then, and says so */
    ends_kill_peer(l.peer);
    int64_t began = clock_now_ns();
    int code = ways[_i].wait(&l);
    int64_t took = clock_now_ns() - began;
    ck_assert_int_eq(zcrp_stats(l.sender, &s), ZCRP_OK);
    (void)printf("who %s: %s, after %.2f s\n", ways[_i].name, zcrp_strerror(code),
                 (double)took / (double)ENDS_SECOND);
    ck_assert_int_eq(code, ZCRP_ERROR_SILENT);
    ck_assert_int_eq(zcrp_connection_status(l.connection), ZCRP_ERROR_SILENT);
    ck_assert_int_ge(took, EARLIEST);
    ck_assert_int_lt(took, ways[_i].is_idle ? LATEST_OF_IDLE : LATEST);
    part(&l);
}

/* A caller that is killed as soon as it was accepted, perhaps before its connection was up. It was
 * there, and so is not refused: a listener cannot call it again. */
TEST(killed__a_caller_that_was_just_accepted, .rows = 4, .needs = is_udp)
{
    const struct place place = place_of(getpid());
    struct zcrp_listener *listener;
    struct zcrp_connection *c;
    char port[16] = "";
    int ends[2];

    ck_assert_int_eq(pipe(ends), 0);
    pid_t caller = fork(); /* before there are threads */
    ck_assert_int_ge(caller, 0);
    if (caller == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (read(ends[0], port, sizeof(port)) == sizeof(port) &&
            zcrp_connect(&c, place.host, port, &over_udp, 0) == ZCRP_OK)
            (void)pause();
        _exit(1);
    }
    ck_assert_int_eq(zcrp_listen(&listener, place.host, "0", &over_udp), ZCRP_OK);
    (void)snprintf(port, sizeof(port), "%d", zcrp_listener_port(listener));
    ck_assert_int_eq(write(ends[1], port, sizeof(port)), sizeof(port));
    ck_assert_int_eq(zcrp_accept(listener, &c, LATEST), ZCRP_OK);
    ends_kill_peer(caller);
    struct zcrp_msg *in = ends_empty(BYTES);
    ck_assert_int_eq(zcrp_submit(zcrp_connection_receiver(c), in, BYTES), ZCRP_OK);
    ck_assert_int_eq(zcrp_wait_for(in, LATEST_OF_IDLE), ZCRP_ERROR_SILENT);
    ck_assert_int_eq(zcrp_connection_status(c), ZCRP_ERROR_SILENT);
    (void)zcrp_connection_close(c);
    zcrp_free_msg(in);
    ck_assert_int_eq(zcrp_listener_close(listener), ZCRP_OK);
    (void)close(ends[0]);
    (void)close(ends[1]);
}

/* Over descriptors: each role alone. */
TEST(killed__the_survivor_over_descriptors, .rows = 2, .needs = is_udp)
{
    bool is_sender = _i == 0;
    struct loopback sockets = loopback_open(LOOPBACK_UDP4, false);
    pid_t peer = ends_start_peer(&sockets, !is_sender, -1, &over_udp);
    struct zcrp_entity *e;

    (void)close(is_sender ? sockets.receiver[1] : sockets.sender[1]);
    ck_assert_int_eq(ends_open_role(&e, &sockets, is_sender, &over_udp), ZCRP_OK);
    struct zcrp_msg *m = ends_empty(ENDS_PEER_BYTES);
    int code = zcrp_submit(e, m, ENDS_PEER_BYTES);
    if (code == ZCRP_OK)
        code = ends_wait(m);
    ck_assert_int_eq(code, ZCRP_OK);
    ends_kill_peer(peer);
    int64_t began = clock_now_ns();
    while (code == ZCRP_OK) { /* a receiver may have had the next ones already */
        ck_assert_int_eq(zcrp_submit(e, m, ENDS_PEER_BYTES), ZCRP_OK);
        code = zcrp_wait_for(m, -1);
    }
    int64_t took = clock_now_ns() - began;
    (void)printf("%s: %s, after %.2f s\n", is_sender ? "sender" : "receiver", zcrp_strerror(code),
                 (double)took / (double)ENDS_SECOND);
    ck_assert_int_eq(code, ZCRP_ERROR_SILENT);
    ck_assert_int_ge(took, EARLIEST);
    ck_assert_int_lt(took, LATEST);
    (void)zcrp_close(e);
    zcrp_free_msg(m);
    (void)close(is_sender ? sockets.sender[1] : sockets.receiver[1]);
}

/* A killed listener is started anew. Its former caller learns that its peer is gone, and becomes no
 * caller of the new one. */
TEST(killed__listens_again, .needs = is_udp)
{
    const struct place place = place_of(getpid());
    struct life l = meet();
    struct zcrp_msg *out = ends_filled(BYTES, 1);
    struct zcrp_listener *listener;
    struct zcrp_connection *c;
    struct zcrp_listener_stats stats;

    ends_kill_peer(l.peer);
    ck_assert_int_eq(zcrp_listen(&listener, place.host, l.port, &over_udp), ZCRP_OK);
    ck_assert_int_eq(zcrp_submit(l.sender, out, BYTES), ZCRP_OK);
    ck_assert_int_eq(zcrp_wait_for(out, LATEST), ZCRP_ERROR_RESTARTED);
    ck_assert_int_eq(zcrp_accept(listener, &c, ENDS_SECOND), ZCRP_ERROR_TIMEOUT);
    ck_assert_int_eq(zcrp_listener_stats(listener, &stats), ZCRP_OK);
    ck_assert_uint_eq(stats.admitted, 0);
    ck_assert_int_eq(zcrp_listener_close(listener), ZCRP_OK);
    zcrp_free_msg(out);
    part(&l);
}

/* ---- this end is stopped ---- */

enum { STOPS = 5 };

static const struct zcrp_options brief = {.flags = ZCRP_NO_MEMORY,
                                          .keepalive_ns = 50 * ENDS_MILLISECOND,
                                          .silence_ns = 600 * ENDS_MILLISECOND},
                                 patient = {.flags = ZCRP_NO_MEMORY,
                                            .keepalive_ns = 50 * ENDS_MILLISECOND,
                                            .linger_ns = 1};

/* Connects to the port that the pipe tells; dies with its parent. */
static int call_parent(struct zcrp_connection **c, const char *host, int port_from,
                       const struct zcrp_options *options)
{
    char port[16];
    int number;

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (read(port_from, &number, sizeof(number)) != (ssize_t)sizeof(number))
        _exit(1);
    (void)snprintf(port, sizeof(port), "%d", number);
    return zcrp_connect(c, host, port, options, -1);
}

/* Connects, and waits for a message; with a waiter, or the library's threads alone. */
static _Noreturn void be_stopped(const char *host, int port_from, bool waits)
{
    struct zcrp_connection *c;

    int code = call_parent(&c, host, port_from, &brief);
    struct zcrp_msg *m = zcrp_alloc_msg(BYTES);
    if (code == ZCRP_OK)
        code = zcrp_submit(zcrp_connection_receiver(c), m, BYTES);
    while (code == ZCRP_OK && !waits && zcrp_error(m) == ZCRP_ERROR_BUSY)
        rest(10 * ENDS_MILLISECOND);
    if (code == ZCRP_OK)
        code = zcrp_wait_for(m, -1);
    _exit(code == ZCRP_OK ? 0 : -code);
}

/* Again and again this end's process stands still for longer than its silence limit. Its peer goes
 * on saying that it is there: that waits in the socket, and is heard before the clock. The status
 * with which the process ends. */
static int stop_again_and_again(bool waits)
{
    const struct place place = place_of(getpid());
    struct zcrp_msg *out = ends_filled(BYTES, 1);
    struct zcrp_listener *listener;
    struct zcrp_connection *c;
    int ends[2], status = 0;
    bool has_ended = false;

    ck_assert_int_eq(pipe(ends), 0);
    pid_t caller = fork();
    ck_assert_int_ge(caller, 0);
    if (caller == 0)
        be_stopped(place.host, ends[0], waits);
    ck_assert_int_eq(zcrp_listen(&listener, place.host, "0", &patient), ZCRP_OK);
    int port = zcrp_listener_port(listener);
    ck_assert_int_eq(write(ends[1], &port, sizeof(port)), sizeof(port));
    ck_assert_int_eq(zcrp_accept(listener, &c, 10 * ENDS_SECOND), ZCRP_OK);
    for (int i = 0; i < STOPS && !has_ended; i++) {
        rest(300 * ENDS_MILLISECOND);
        ck_assert_int_eq(kill(caller, SIGSTOP), 0);
        ck_assert_int_eq(waitpid(caller, &status, WUNTRACED), caller);
        has_ended = !WIFSTOPPED(status);
        rest(1500 * ENDS_MILLISECOND);
        ck_assert(has_ended || kill(caller, SIGCONT) == 0);
    }
    if (!has_ended) {
        rest(300 * ENDS_MILLISECOND);
        ck_assert_int_eq(zcrp_submit(zcrp_connection_sender(c), out, BYTES), ZCRP_OK);
        ck_assert_int_eq(waitpid(caller, &status, 0), caller);
    }
    (void)zcrp_connection_close(c);
    ck_assert_int_eq(zcrp_listener_close(listener), ZCRP_OK);
    zcrp_free_msg(out);
    (void)close(ends[0]);
    (void)close(ends[1]);
    return status;
}

/* A machine that gives the peer no processor for 0.6 s makes that one silent: hence the tries. */
TEST(stopped__hears_before_it_looks_at_the_clock, .needs = is_udp, .rows = 2)
{
    int status = -1;

    for (int tries = 0; tries < 3 && status != 0; tries++) {
        status = stop_again_and_again(_i == 0);
        ck_assert(WIFEXITED(status));
        (void)printf("ended with %d\n", WEXITSTATUS(status));
    }
    ck_assert_int_eq(WEXITSTATUS(status), 0);
}

/* ---- the peer is stopped ---- */

/* Stopped for longer than a killed one is waited for. */
TEST(stopped__goes_on, .needs = is_udp)
{
    struct life l = meet();
    struct zcrp_msg *out = ends_empty(BYTES);

    ck_assert_int_eq(kill(l.peer, SIGSTOP), 0);
    ck_assert_int_eq(zcrp_submit(l.sender, out, BYTES), ZCRP_OK);
    rest(STOPPED_SECONDS * ENDS_SECOND);
    ck_assert_int_eq(zcrp_connection_status(l.connection), ZCRP_OK);
    ck_assert_int_eq(kill(l.peer, SIGCONT), 0);
    ck_assert_int_eq(ends_wait(out), ZCRP_OK);
    ends_kill_peer(l.peer);
    zcrp_free_msg(out);
    part(&l);
}

/* ---- the peer is stopped, and this end closes */

/* Connects, sends a message, and posts nothing: so the other end's sender may have no receiver that
 * knows it. */
static _Noreturn void be_silent(const char *host, int port_from)
{
    struct zcrp_connection *c;
    struct zcrp_msg *m = zcrp_alloc_msg(BYTES);

    if (call_parent(&c, host, port_from, &over_udp) != ZCRP_OK ||
        zcrp_submit(zcrp_connection_sender(c), m, BYTES) != ZCRP_OK)
        _exit(1);
    for (;;)
        (void)pause();
}

/* Whether the sender had a receiver to tell or none: nobody has confirmed that the receiver is
 * gone. Which of both it is depends on the moment, hence the rows. */
TEST(stopped__confirms_no_close, .needs = is_udp, .rows = 4)
{
    static const struct zcrp_options lingering = {.flags = ZCRP_NO_MEMORY,
                                                  .linger_ns = ENDS_SECOND};
    const struct place place = place_of(getpid());
    struct zcrp_msg *m = ends_empty(BYTES);
    struct zcrp_listener *listener;
    struct zcrp_connection *c;
    int ends[2];

    ck_assert_int_eq(pipe(ends), 0);
    pid_t caller = fork();
    ck_assert_int_ge(caller, 0);
    if (caller == 0)
        be_silent(place.host, ends[0]);
    ck_assert_int_eq(zcrp_listen(&listener, place.host, "0", &lingering), ZCRP_OK);
    int port = zcrp_listener_port(listener);
    ck_assert_int_eq(write(ends[1], &port, sizeof(port)), sizeof(port));
    ck_assert_int_eq(zcrp_accept(listener, &c, 10 * ENDS_SECOND), ZCRP_OK);
    ck_assert_int_eq(zcrp_submit(zcrp_connection_receiver(c), m, BYTES), ZCRP_OK);
    ck_assert_int_eq(ends_wait(m), ZCRP_OK);
    ck_assert_int_eq(kill(caller, SIGSTOP), 0);
    ck_assert_int_eq(waitpid(caller, NULL, WUNTRACED), caller);
    ck_assert_int_eq(zcrp_connection_close(c), ZCRP_ERROR_TIMEOUT);
    ends_kill_peer(caller);
    ck_assert_int_eq(zcrp_listener_close(listener), ZCRP_OK);
    zcrp_free_msg(m);
    (void)close(ends[0]);
    (void)close(ends[1]);
}
