/* What a program may do with the library, and do wrong, beside any peer: stop waiting, fork, close
 * its descriptors, point at memory that is not there. */
#include "../support/asleep.h"
#include "../support/ends.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>

LOAD(asleep)

enum { MESSAGE = ENDS_PEER_BYTES };

/* The thread sanitizer ends children that start threads unless it is told not to. */
const char *__tsan_default_options(void);
const char *__tsan_default_options(void)
{
    return "die_after_fork=0";
}

/* ---- cancel and close, whatever the peer does ---- */

/* The peer is stopped amid a stream. Each message is the caller's again at once. The promise is 100
 * ms; the test bears a busy machine. */
TEST(cancel__beside_a_stopped_peer, .rows = 2)
{
    enum { TRIES = 5 };
    bool is_sender = _i == 0;
    struct loopback sockets = loopback_open(LOOPBACK_UDP4, false);
    pid_t peer = ends_start_peer(&sockets, !is_sender, -1, NULL);
    struct zcrp_msg *first = ends_filled(MESSAGE, 0), *m[TRIES];
    const struct zcrp_options options = {.linger_ns = 100 * ENDS_MILLISECOND};
    struct zcrp_entity *e;
    int64_t slowest = 0;

    memset(first->buffer, 0x55, MESSAGE);
    ck_assert_int_eq(ends_open_role(&e, &sockets, is_sender, &options), 0);
    ck_assert_int_eq(zcrp_submit(e, first, MESSAGE), 0);
    ck_assert_int_eq(ends_wait(first), ZCRP_OK);
    ck_assert_int_eq(kill(peer, SIGSTOP), 0);
    ck_assert_int_eq(waitpid(peer, NULL, WUNTRACED), peer); /* until it is stopped */
    for (int i = 0; i < TRIES; i++) {
        m[i] = ends_filled(MESSAGE, 1);
        ck_assert_int_eq(zcrp_submit(e, m[i], MESSAGE), 0);
    }
    for (int i = 0; i < TRIES; i++) {
        ck_assert_int_ne(zcrp_wait_for(m[i], 10 * ENDS_MILLISECOND), ZCRP_OK);
        int64_t begun = clock_now_ns();
        (void)zcrp_cancel(m[i]);
        int64_t taken = clock_now_ns() - begun;
        slowest = taken > slowest ? taken : slowest;
        ck_assert_int_eq(zcrp_error(m[i]), ZCRP_ERROR_CANCELLED);
        zcrp_free_msg(m[i]);
    }
    printf("cancel beside a stopped %s: %.3f ms\n", is_sender ? "receiver" : "sender",
           (double)slowest / 1e6);
    ck_assert_int_lt(slowest, 5 * ENDS_SECOND);
    ends_kill_peer(peer);
    (void)zcrp_close(e);
    zcrp_free_msg(first);
    loopback_close(&sockets);
}

/* Beside a peer that is there: what was cancelled costs nothing, and what has no buffer as long as
 * the limit says. */
TEST(close__beside_a_live_peer, .rows = 2)
{
    bool is_cancelled = _i == 0;
    const int64_t linger = is_cancelled ? 10 * ENDS_SECOND : 300 * ENDS_MILLISECOND;
    struct ends e = ends_open(LOOPBACK_UDP4, false, &(struct zcrp_options){.linger_ns = linger});
    struct zcrp_msg *m = ends_filled(10, 0);

    ends_move(&e, MESSAGE, 1);
    ck_assert_int_eq(zcrp_submit(e.sender, m, 10), 0);
    if (is_cancelled)
        ck_assert_int_eq(zcrp_cancel(m), 0);
    int64_t begun = clock_now_ns();
    ck_assert_int_eq(zcrp_close(e.sender), is_cancelled ? ZCRP_OK : ZCRP_ERROR_TIMEOUT);
    int64_t taken = clock_now_ns() - begun;
    printf("close with a message %s: %.1f ms\n", is_cancelled ? "cancelled" : "without a buffer",
           (double)taken / 1e6);
    ck_assert_int_eq(zcrp_error(m), is_cancelled ? ZCRP_ERROR_CANCELLED : ZCRP_ERROR_CLOSED);
    ck_assert_int_lt(taken, 5 * ENDS_SECOND);
    if (!is_cancelled)
        ck_assert_int_ge(taken, linger);
    int code = zcrp_close(e.receiver); /* a sender that gives up says so once */
    ck_assert(code == ZCRP_OK || (code == ZCRP_ERROR_TIMEOUT && loopback_is_lossy()));
    e.sender = e.receiver = NULL;
    ends_close(&e);
    zcrp_free_msg(m);
}

/* ---- nobody there ---- */

static int send_to(int fd, struct zcrp_msg *m, int64_t connect_ns, struct zcrp_entity **e)
{
    const struct zcrp_options options = {.connect_ns = connect_ns};

    ck_assert_int_eq(zcrp_open_sender(e, ((int[]){fd, fd}), &options), 0);
    return zcrp_submit(*e, m, 10);
}

/* Answers each hello as a listener of version 7 would. */
static void *speak_another_version(void *socket)
{
    int fd = *(int *)socket;
    struct sockaddr_in from;
    socklen_t size = sizeof(from);
    uint8_t bytes[2000];
    ssize_t got;

    while ((got = recvfrom(fd, bytes, sizeof(bytes), 0, (struct sockaddr *)&from, &size)) >= 10) {
        uint8_t *answer = bytes + got - 10;
        answer[8] = 0;
        answer[9] = 0x7f;
        (void)sendto(fd, answer, 10, 0, (struct sockaddr *)&from, size);
    }
    return NULL;
}

TEST(connect__says_why_not, .rows = 3, .needs = loopback_is_udp)
{
    static const int codes[] = {ZCRP_ERROR_REFUSED, ZCRP_ERROR_UNREACHABLE, ZCRP_ERROR_VERSION};
    const int64_t limit = 3 * ENDS_SECOND; /* within it the other thread gets a processor */
    struct zcrp_msg *m = ends_filled(10, 0);
    struct zcrp_entity *e;
    pthread_t other;
    char port[8];
    static const char host[] = "127.66.0.4"; /* of no other test, which might get the port */
    int there = zcrp_udp_listen(host, "0");

    snprintf(port, sizeof(port), "%d", zcrp_udp_port(there));
    if (_i == 0)
        close(there);
    if (_i == 2)
        ck_assert_int_eq(pthread_create(&other, NULL, speak_another_version, &there), 0);
    int fd = zcrp_udp_connect(host, port);
    int64_t begun = clock_now_ns();
    ck_assert_int_eq(send_to(fd, m, limit, &e), 0);
    ck_assert_int_eq(ends_wait(m), codes[_i]);
    int64_t taken = clock_now_ns() - begun;
    printf("%s: after %.1f ms of 3000\n", zcrp_strerror(codes[_i]), (double)taken / 1e6);
    ck_assert_int_ge(taken, limit);
    ck_assert_int_lt(taken, 10 * ENDS_SECOND);
    ck_assert_int_eq(zcrp_submit(e, m, 10), 0); /* it goes on trying */
    ck_assert_int_eq(zcrp_cancel(m), 0);
    ck_assert_int_eq(zcrp_close(e), ZCRP_OK);
    if (_i == 2) {
        (void)shutdown(there, SHUT_RD);
        ck_assert_int_eq(pthread_join(other, NULL), 0);
    }
    if (_i != 0)
        close(there);
    close(fd);
    zcrp_free_msg(m);
}

/* A sender that is early is normal, although the system says at once that nobody is there. */
TEST(connect__before_the_receiver, .needs = loopback_is_udp)
{
    struct zcrp_msg *out = ends_filled(10, 0), *in = ends_empty(10);
    struct zcrp_entity *sender, *receiver;
    char port[8];
    int listening = zcrp_udp_listen("127.0.0.1", "0");

    snprintf(port, sizeof(port), "%d", zcrp_udp_port(listening));
    close(listening);
    int fd = zcrp_udp_connect("127.0.0.1", port);
    ck_assert_int_eq(send_to(fd, out, 0, &sender), 0);
    ck_assert_int_eq(zcrp_wait_for(out, 100 * ENDS_MILLISECOND), ZCRP_ERROR_TIMEOUT);
    listening = zcrp_udp_listen("127.0.0.1", port);
    ck_assert_int_ge(listening, 0);
    ck_assert_int_eq(zcrp_udp_accept(listening, 5 * ENDS_SECOND), 0);
    ck_assert_int_eq(zcrp_open_receiver(&receiver, ((int[]){listening, listening}), NULL), 0);
    ck_assert_int_eq(zcrp_submit(receiver, in, 10), 0);
    ends_finish(in, out, 10, 0);
    ck_assert_int_eq(zcrp_close(sender), ZCRP_OK);
    ck_assert_int_eq(zcrp_close(receiver), ZCRP_OK);
    close(fd);
    close(listening);
}

TEST(udp__impossible_names, .needs = loopback_is_udp)
{
    static const char *const ports[] = {
        "", "65536", "70000", "99999", "-1", "+1", " 1", "1x", "18446744073709551617"};

    for (size_t i = 0; i < sizeof(ports) / sizeof(ports[0]); i++) {
        ck_assert_int_eq(zcrp_udp_connect("127.0.0.1", ports[i]), ZCRP_ERROR_ADDRESS);
        ck_assert_int_eq(zcrp_udp_listen("127.0.0.1", ports[i]), ZCRP_ERROR_ADDRESS);
    }
    ck_assert_int_eq(zcrp_udp_connect("127.0.0.1", "0"), ZCRP_ERROR_ADDRESS);
    ck_assert_int_eq(zcrp_udp_connect("", "5000"), ZCRP_ERROR_ADDRESS);
    ck_assert_int_eq(zcrp_udp_listen("", "5000"), ZCRP_ERROR_ADDRESS);
}

/* ---- fork ---- */

#define OR_FAIL(condition)                                                                         \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "in the child: %s\n", #condition);                                     \
            _exit(1);                                                                              \
        }                                                                                          \
    } while (0)

/* In the child all that is the parent's answers with a code, and its own entities work. */
static _Noreturn void live_as_child(struct ends *parents, struct zcrp_msg *flying)
{
    struct zcrp_msg *m = zcrp_alloc_msg(10);
    struct ends own = ends_open(LOOPBACK_UDP4, false, NULL);
    struct zcrp_stats stats;

    OR_FAIL(zcrp_submit(parents->sender, m, 10) == ZCRP_ERROR_FORKED);
    OR_FAIL(zcrp_wait_for(flying, -1) == ZCRP_ERROR_FORKED);
    OR_FAIL(zcrp_wait_any(&flying, 1, -1) == 0); /* as one that has ended */
    OR_FAIL(zcrp_submit(own.sender, flying, 10) == ZCRP_ERROR_FORKED);
    OR_FAIL(zcrp_submit(own.receiver, flying, 10) == ZCRP_ERROR_FORKED);
    OR_FAIL(zcrp_rewrap_msg(flying, parents, 1) == ZCRP_ERROR_FORKED);
    OR_FAIL(zcrp_cancel(flying) == ZCRP_ERROR_FORKED);
    OR_FAIL(zcrp_error(flying) == ZCRP_ERROR_FORKED);
    OR_FAIL(zcrp_interrupt(parents->sender) == ZCRP_ERROR_FORKED);
    OR_FAIL(zcrp_stats(parents->sender, &stats) == ZCRP_ERROR_FORKED);
    OR_FAIL(zcrp_descriptor(parents->sender) == ZCRP_ERROR_FORKED);
    OR_FAIL(zcrp_collect(parents->sender) == NULL);
    OR_FAIL(zcrp_close(parents->sender) == ZCRP_OK);
    OR_FAIL(zcrp_close(parents->receiver) == ZCRP_OK);
    zcrp_free_msg(flying);
    zcrp_free_msg(m);
    ends_move(&own, MESSAGE, 3);
    ends_close(&own);
    _exit(0);
}

TEST(fork__leaves_the_child_usable, .needs = ends_live_in_a_child)
{
    struct ends e = ends_open(LOOPBACK_UDP4, false, NULL);
    struct zcrp_msg *filled = ends_filled(MESSAGE, 5), *in = ends_empty(MESSAGE);
    struct zcrp_msg *flying = zcrp_wrap_msg(filled->buffer, MESSAGE);
    int status;

    ends_move(&e, MESSAGE, 1);
    ck_assert_int_eq(zcrp_submit(e.sender, flying, MESSAGE), 0);
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0)
        live_as_child(&e, flying);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    ck_assert_int_eq(zcrp_submit(e.receiver, in, MESSAGE), 0);
    ends_finish(in, flying, MESSAGE, 5);
    zcrp_free_msg(filled);
    ends_close(&e);
}

/* ---- descriptors ---- */

/* They are the caller's, who may close them: the library has duplicates. */
TEST(descriptors__closed_by_the_caller, .rows = 2)
{
    struct ends e = ends_open(_i == 0 ? LOOPBACK_UDP4 : LOOPBACK_UNIX, _i == 0, NULL);

    ends_move(&e, MESSAGE, 1);
    loopback_close(&e.sockets);
    int other = open("/dev/null", O_RDONLY); /* has one of the numbers now */
    ends_move(&e, MESSAGE, 2);
    ck_assert_int_eq(zcrp_close(e.sender), ZCRP_OK);
    ck_assert_int_eq(zcrp_close(e.receiver), ZCRP_OK);
    close(other);
}

/* One entity of each role to a socket, whatever number it is known by; again once it is closed. */
TEST(descriptors__busy)
{
    struct ends e = ends_open(LOOPBACK_UDP4, false, NULL);
    struct zcrp_entity *second = (struct zcrp_entity *)&e;
    int alias = dup(e.sockets.sender[0]);

    ck_assert_int_eq(zcrp_open_sender(&second, e.sockets.sender, NULL), ZCRP_ERROR_BUSY);
    ck_assert_ptr_null(second);
    ck_assert_int_eq(zcrp_open_sender(&second, ((int[]){alias, alias}), NULL), ZCRP_ERROR_BUSY);
    ck_assert_int_eq(zcrp_open_receiver(&second, e.sockets.receiver, NULL), ZCRP_ERROR_BUSY);
    ends_move(&e, MESSAGE, 1);
    ck_assert_int_eq(zcrp_close(e.sender), ZCRP_OK);
    ck_assert_int_eq(zcrp_open_sender(&e.sender, ((int[]){alias, alias}), NULL), 0);
    ends_move(&e, MESSAGE, 2);
    ck_assert_int_eq(zcrp_close(e.sender), ZCRP_OK);
    ck_assert_int_eq(zcrp_close(e.receiver), ZCRP_OK);
    close(alias);
    loopback_close(&e.sockets);
}

/* ---- memory that cannot be accessed ---- */

enum { PAGES = 64 };

/* A message in pages of its own, the middle of which nobody may touch, or only read. */
static struct zcrp_msg *broken_message(size_t *size, int protection)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);

    *size = PAGES * page;
    nbyte *at = mmap(NULL, *size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(at, MAP_FAILED);
    ck_assert_int_eq(mprotect(at + PAGES / 2 * page, page, protection), 0);
    struct zcrp_msg *m = zcrp_wrap_msg(at, *size);
    ck_assert_ptr_nonnull(m);
    return m;
}

/* The second of three messages has such memory, at the sender or at the receiver. Both hear of it;
 * the others arrive. */
TEST(memory__one_bad_buffer, .rows = 2, .needs = loopback_is_udp)
{
    bool is_sender = _i == 0;
    struct ends e = ends_open(LOOPBACK_UDP4, false, NULL);
    struct zcrp_msg *in[3], *out[3];
    size_t size;
    struct zcrp_msg *bad = broken_message(&size, is_sender ? PROT_NONE : PROT_READ);

    for (unsigned i = 0; i < 3; i++) {
        in[i] = i == 1 && !is_sender ? bad : ends_empty(size);
        out[i] = i == 1 && is_sender ? bad : ends_filled(size, i);
        ends_submit(&e, in[i], out[i], size);
    }
    for (unsigned i = 0; i < 3; i++) {
        int code = i == 1 ? ZCRP_ERROR_FAULT : ZCRP_OK;
        ck_assert_int_eq(ends_wait(in[i]), code);
        ck_assert_int_eq(ends_wait(out[i]),
                         i == 1 && !is_sender ? ZCRP_ERROR_PEER_CANCELLED : code);
        if (i != 1)
            ck_assert(pattern_holds(in[i]->buffer, size, i));
    }
    ends_move(&e, MESSAGE, 9);
    nbyte *at = bad->buffer;
    for (unsigned i = 0; i < 3; i++) {
        zcrp_free_msg(in[i]);
        zcrp_free_msg(out[i]);
    }
    munmap(at, size);
    ends_close(&e);
}

/* ---- interruption ---- */

static struct zcrp_entity *interrupted;

static void on_alarm(int signal)
{
    (void)signal;
    (void)zcrp_interrupt(interrupted);
}

/* A signal ends the wait, as Ctrl-C would; the message stays in flight. */
TEST(interrupt__from_a_signal_handler, .rows = 4)
{
    struct ends e = ends_open(LOOPBACK_UDP4, false, NULL);
    struct zcrp_msg *in = ends_empty(10), *out = ends_filled(10, 0);
    struct sigaction action = {.sa_handler = on_alarm};
    const struct itimerval soon = {.it_value = {.tv_usec = 50000}};

    interrupted = _i % 2 ? e.receiver : e.sender;
    struct zcrp_msg *m = _i % 2 ? in : out;
    ck_assert_int_eq(sigaction(SIGALRM, &action, NULL), 0);
    ck_assert_int_eq(zcrp_submit(interrupted, m, 10), 0);
    ck_assert_int_eq(setitimer(ITIMER_REAL, &soon, NULL), 0);
    ck_assert_int_eq(_i < 2 ? ends_wait(m) : zcrp_wait_any(&m, 1, 30 * ENDS_SECOND),
                     ZCRP_ERROR_INTERRUPTED);
    ck_assert_int_eq(zcrp_error(m), ZCRP_ERROR_BUSY);
    ck_assert_int_eq(zcrp_wait_for(m, 10 * ENDS_MILLISECOND), ZCRP_ERROR_TIMEOUT);
    ck_assert_int_eq(_i % 2 ? zcrp_submit(e.sender, out, 10) : zcrp_submit(e.receiver, in, 10), 0);
    ends_finish(in, out, 10, 0);
    ends_close(&e);
}

/* Nobody waits: the next wait ends at once, and only that. What has ended is still told. */
TEST(interrupt__is_kept_for_the_next_wait)
{
    struct ends e = ends_open(LOOPBACK_UDP4, false, NULL);
    struct zcrp_msg *in = ends_empty(10), *out = ends_filled(10, 0);

    ck_assert_int_eq(zcrp_interrupt(NULL), ZCRP_ERROR_ARGUMENT);
    ck_assert_int_eq(zcrp_submit(e.sender, out, 10), 0);
    ck_assert_int_eq(zcrp_interrupt(e.sender), 0);
    ck_assert_int_eq(zcrp_interrupt(e.sender), 0);
    ck_assert_int_eq(zcrp_wait_for(out, -1), ZCRP_ERROR_INTERRUPTED);
    ck_assert_int_eq(zcrp_wait_for(out, 10 * ENDS_MILLISECOND), ZCRP_ERROR_TIMEOUT);
    ck_assert_int_eq(zcrp_submit(e.receiver, in, 10), 0);
    ck_assert_int_eq(ends_wait(in), ZCRP_OK);
    ck_assert_int_eq(ends_wait(out), ZCRP_OK);
    ck_assert_int_eq(zcrp_interrupt(e.sender), 0);
    ck_assert_int_eq(ends_wait(out), ZCRP_OK);
    zcrp_free_msg(in);
    zcrp_free_msg(out);
    ends_close(&e);
}

static void *wait_for_it(void *message)
{
    return (void *)(intptr_t)ends_wait(message);
}

struct waiter {
    pthread_t thread;
    _Atomic pid_t number;
    struct zcrp_msg *message;
};

static void *wait_known(void *context)
{
    struct waiter *w = context;

    atomic_store(&w->number, (pid_t)syscall(SYS_gettid));
    return wait_for_it(w->message);
}

/* What the thread returns, unless it is still there after a while. */
static bool join_soon(pthread_t thread, void **code)
{
    struct timespec until;

    (void)clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec++;
    return pthread_timedjoin_np(thread, code, &until) == 0;
}

/* All waits of the entity end, and no other's. */
TEST(interrupt__all_waits_of_one_entity)
{
    enum { WAITERS = 5 };
    struct ends e = ends_open(LOOPBACK_UDP4, false, NULL);
    struct waiter waiter[WAITERS] = {{.number = 0}};
    struct zcrp_msg *in = ends_empty(10);
    pthread_t other;
    void *code;

    for (int i = 0; i < WAITERS; i++) {
        waiter[i].message = ends_filled(10, 0);
        ck_assert_int_eq(zcrp_submit(e.sender, waiter[i].message, 10), 0);
        ck_assert_int_eq(pthread_create(&waiter[i].thread, NULL, wait_known, &waiter[i]), 0);
    }
    for (int i = 0; i < WAITERS; i++)
        asleep_await(&waiter[i].number);
    ck_assert_int_eq(zcrp_interrupt(e.sender), 0);
    for (int i = 0; i < WAITERS; i++) {
        while (!join_soon(waiter[i].thread, &code)) /* it had slept elsewhere */
            ck_assert_int_eq(zcrp_interrupt(e.sender), 0);
        ck_assert_int_eq((intptr_t)code, ZCRP_ERROR_INTERRUPTED);
    }
    ck_assert_int_eq(zcrp_submit(e.receiver, in, 10), 0);
    ck_assert_int_eq(pthread_create(&other, NULL, wait_for_it, in), 0);
    ck_assert_int_eq(pthread_join(other, &code), 0);
    ck_assert_int_eq((intptr_t)code, ZCRP_OK);
    ck_assert_int_eq(ends_wait(waiter[0].message), ZCRP_OK);
    for (int i = 1; i < WAITERS; i++)
        ck_assert_int_eq(zcrp_cancel(waiter[i].message), 0);
    for (int i = 0; i < WAITERS; i++)
        zcrp_free_msg(waiter[i].message);
    zcrp_free_msg(in);
    ends_close(&e);
}

/* ---- programs of other versions ---- */

/* What an older program knows nothing of is as if it were 0; what a newer one asks for that this
 * library does not know is refused; and of statistics no more is written than there is room for. */
TEST(version__structs_of_other_sizes)
{
    struct {
        struct zcrp_options known;
        uint64_t later;
    } newer = {.later = 0};
    struct {
        uint64_t messages, after;
    } few = {.after = UINT64_MAX};
    struct {
        struct zcrp_stats known;
        uint64_t later;
    } many = {.later = UINT64_MAX};
    struct loopback sockets = loopback_open(LOOPBACK_UDP4, false);
    struct zcrp_options older = {.connect_ns = -1};
    struct zcrp_entity *e;

    ck_assert_int_eq(zcrp_version(), ZCRP_VERSION);
    ck_assert_int_eq(zcrp_open_sender(&e, sockets.sender, &older), ZCRP_ERROR_ARGUMENT);
    ck_assert_int_eq(zcrp_open_sender_sized(&e, sockets.sender, &older,
                                            offsetof(struct zcrp_options, connect_ns)),
                     0);
    ck_assert_int_eq(zcrp_close(e), 0);
    newer.later = 1;
    ck_assert_int_eq(zcrp_open_sender_sized(&e, sockets.sender, &newer.known, sizeof(newer)),
                     ZCRP_ERROR_ARGUMENT);
    newer.later = 0;
    ck_assert_int_eq(zcrp_open_sender_sized(&e, sockets.sender, &newer.known, sizeof(newer)), 0);
    ck_assert_int_eq(zcrp_stats_sized(e, (struct zcrp_stats *)&few, sizeof(few.messages)), 0);
    ck_assert_uint_eq(few.after, UINT64_MAX);
    ck_assert_int_eq(zcrp_stats_sized(e, &many.known, sizeof(many)), 0);
    ck_assert_uint_eq(many.later, 0);
    ck_assert_int_eq(zcrp_close(e), 0);
    loopback_close(&sockets);
}
