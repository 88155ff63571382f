/* A sender on this host whose process stands still while it pushes: it has claimed memory of the
 * receiver's, and may write there at any time. No message ends before that is over; then nobody
 * writes to it any more. */
/* wrap: process_vm_writev process_vm_readv sched_yield */
#include "../support/loopback.h"
#include "../support/mock.h"
#include "../support/pattern.h"
#include "common/clock.h"
#include "zcrp.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SLOTS = 4, BYTES = 1 << 20, SENT = 0x55, OWNED = 0xAA, SLOW_MS = 50, SLOW_BYTES = 96 << 10 };

#define MS ((int64_t)1000000)
#define PATIENCE (60000 * MS) /* a busy machine lets nothing run for seconds */

static const struct zcrp_options limits = {.silence_ns = 4000 * MS, .linger_ns = 200 * MS};

/* The sender does not give up a receiver that a busy machine keeps waiting, and looks for something
 * to push while that copies. Nor does the receiver, where the sender goes on. */
static const struct zcrp_options patience = {
    .silence_ns = 20000 * MS, .linger_ns = 200 * MS, .spin_ns = SLOW_MS * MS};
static const struct zcrp_options for_one_that_goes_on = {.silence_ns = 20000 * MS,
                                                         .linger_ns = 20000 * MS};

/* Both processes have these. */
static struct {
    _Atomic bool stops; /* the next push; it has then */
    _Atomic bool holds; /* the receiver's thread, once it waits for that push; it does then */
} * shared;

ssize_t __wrap_process_vm_writev(pid_t pid, const struct iovec *here, unsigned long heres,
                                 const struct iovec *there, unsigned long theres,
                                 unsigned long flags)
{
    bool stops = true;

    if (atomic_compare_exchange_strong(&shared->stops, &stops, false))
        (void)raise(SIGSTOP);
    return __real_process_vm_writev(pid, here, heres, there, theres, flags);
}

/* The receiver is slow while a push is wanted: else a busy machine's copies all before the sender
 * looks. Only a call that leaves something to push is: if single units were slow, too, the sender
 * would send them again, and the receiver copy nothing else. */
static bool is_receiver;

static size_t bytes_of(const struct iovec *pieces, unsigned long count)
{
    size_t bytes = 0;

    for (unsigned long i = 0; i < count; i++)
        bytes += pieces[i].iov_len;
    return bytes;
}

ssize_t __real_process_vm_readv(pid_t pid, const struct iovec *here, unsigned long heres,
                                const struct iovec *there, unsigned long theres,
                                unsigned long flags);
ssize_t __wrap_process_vm_readv(pid_t pid, const struct iovec *here, unsigned long heres,
                                const struct iovec *there, unsigned long theres,
                                unsigned long flags)
{
    bool is_slow = is_receiver && bytes_of(here, heres) >= SLOW_BYTES;

    for (int i = 0; is_slow && i < SLOW_MS && atomic_load(&shared->stops); i++)
        (void)usleep(1000);
    return __real_process_vm_readv(pid, here, heres, there, theres, flags);
}

/* The library's thread yields while it waits for a target. */
int __real_sched_yield(void);
int __wrap_sched_yield(void)
{
    bool holds = true;

    if ((pid_t)syscall(SYS_gettid) != getpid() && !atomic_load(&shared->stops) &&
        atomic_compare_exchange_strong(&shared->holds, &holds, false))
        (void)usleep(300000);
    return __real_sched_yield();
}

/* How the two processes are connected: by a pair of sockets, or by a connection. */
struct way {
    struct loopback sockets;
    int port[2]; /* a pipe, which says where the receiver's process listens; -1: no connection */
};

/* ---- the sender's process ---- */

static int open_sender(const struct way *way, struct zcrp_entity **e)
{
    struct zcrp_connection *c = NULL;
    char port[8];

    if (way->port[0] < 0)
        return zcrp_open_sender(e, way->sockets.sender, &patience);
    if (read(way->port[0], port, sizeof(port)) != sizeof(port))
        return ZCRP_ERROR_SYSTEM;
    int code = zcrp_connect(&c, "127.0.0.1", port, &patience, -1);
    *e = zcrp_connection_sender(c);
    return code;
}

static void be_sender(const struct way *way)
{
    struct zcrp_entity *e;
    struct zcrp_msg *m[SLOTS];
    int code = open_sender(way, &e);

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (int i = 0; i < SLOTS; i++) {
        m[i] = zcrp_alloc_msg(BYTES);
        memset(m[i]->buffer, SENT, BYTES);
        if (code == 0)
            code = zcrp_submit(e, m[i], BYTES);
    }
    for (int i = 0; code == 0; i = (i + 1) % SLOTS) {
        if (zcrp_wait_for(m[i], -1) != ZCRP_OK)
            (void)usleep(1000); /* the receiver believes that it is gone; it is not */
        code = zcrp_submit(e, m[i], BYTES);
    }
    for (;;)
        (void)pause();
}

/* ---- the receiver ---- */

struct receiver {
    struct way way;
    pid_t peer;
    struct zcrp_listener *listener; /* NULL: it is an entity of its own, */
    struct zcrp_connection *connection;
    struct zcrp_entity *entity; /* or the connection's half */
    struct zcrp_msg *slot[SLOTS];
};

static void post(struct receiver *r, int i)
{
    memset(r->slot[i]->buffer, OWNED, BYTES);
    assert_int_equal(zcrp_submit(r->entity, r->slot[i], BYTES), ZCRP_OK);
}

static void accept_sender(struct receiver *r)
{
    char port[8];

    assert_int_equal(zcrp_listen(&r->listener, "127.0.0.1", "0", &limits), ZCRP_OK);
    (void)snprintf(port, sizeof(port), "%d", zcrp_listener_port(r->listener));
    assert_int_equal(write(r->way.port[1], port, sizeof(port)), sizeof(port));
    assert_int_equal(zcrp_accept(r->listener, &r->connection, 5000 * MS), ZCRP_OK);
    r->entity = zcrp_connection_receiver(r->connection);
}

static void begin(struct receiver *r, bool is_connection, const struct zcrp_options *options)
{
    if (!has_pidfd())
        skip();
    *r = (struct receiver){.way = {.port = {-1, -1}}};
    (void)unsetenv("ZCRP_NO_MEMORY");
    shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(shared, MAP_FAILED);
    r->way.sockets = loopback_open(LOOPBACK_UDP4, false);
    if (is_connection)
        assert_int_equal(pipe(r->way.port), 0);
    r->peer = fork();
    is_receiver = r->peer != 0;
    if (!is_receiver)
        be_sender(&r->way);
    if (is_connection)
        accept_sender(r);
    else
        assert_int_equal(zcrp_open_receiver(&r->entity, r->way.sockets.receiver, options), ZCRP_OK);
    for (int i = 0; i < SLOTS; i++) {
        r->slot[i] = zcrp_alloc_msg(BYTES);
        post(r, i);
    }
}

static bool has_stopped(const struct receiver *r)
{
    int status;

    return waitpid(r->peer, &status, WNOHANG | WUNTRACED) == r->peer && WIFSTOPPED(status);
}

/* Receives until the sender has been stopped within a push. */
static void receive_until_it_stops(struct receiver *r)
{
    int64_t limit = clock_now_ns() + PATIENCE;

    atomic_store(&shared->stops, true);
    for (int i = 0; !has_stopped(r); i = (i + 1) % SLOTS) {
        while (zcrp_wait_for(r->slot[i], 10 * MS) == ZCRP_ERROR_TIMEOUT &&
               atomic_load(&shared->stops))
            assert_true(clock_now_ns() < limit);
        if (zcrp_error(r->slot[i]) == ZCRP_OK)
            assert_true(pattern_is_even(r->slot[i]->buffer, BYTES, SENT));
        if (zcrp_error(r->slot[i]) != ZCRP_ERROR_BUSY)
            post(r, i); /* also if its sender begins so late that it seems silent */
        assert_true(clock_now_ns() < limit);
    }
}

static int close_it(const struct receiver *r)
{
    return r->connection != NULL ? zcrp_connection_close(r->connection) : zcrp_close(r->entity);
}

static void expect_busy(struct receiver *r)
{
    int busy = 0;

    for (int i = 0; i < SLOTS; i++) {
        if (zcrp_error(r->slot[i]) != ZCRP_ERROR_BUSY)
            continue;
        int64_t began = clock_now_ns();
        assert_int_equal(zcrp_cancel(r->slot[i]), ZCRP_ERROR_BUSY);
        assert_true(clock_now_ns() - began >= 90 * MS);
        assert_int_equal(zcrp_error(r->slot[i]), ZCRP_ERROR_BUSY);
        busy++;
    }
    assert_int_not_equal(busy, 0);
    for (int i = 0; i < 2; i++)
        assert_int_equal(close_it(r), ZCRP_ERROR_BUSY);
    assert_int_equal(zcrp_submit(r->entity, r->slot[0], BYTES),
                     zcrp_error(r->slot[0]) == ZCRP_ERROR_BUSY ? ZCRP_ERROR_BUSY
                                                               : ZCRP_ERROR_CLOSED);
}

/* All messages end; then nobody writes to them. */
static void expect_own(struct receiver *r)
{
    for (int i = 0; i < SLOTS; i++) {
        assert_int_not_equal(zcrp_wait_for(r->slot[i], PATIENCE), ZCRP_ERROR_TIMEOUT);
        assert_int_not_equal(zcrp_error(r->slot[i]), ZCRP_ERROR_BUSY);
        memset(r->slot[i]->buffer, OWNED, BYTES);
    }
    (void)usleep(20000);
    for (int i = 0; i < SLOTS; i++)
        assert_true(pattern_is_even(r->slot[i]->buffer, BYTES, OWNED));
}

/* A close that was BUSY before says what the first one found out of the peer. */
static void end(struct receiver *r, int code)
{
    assert_int_equal(close_it(r), code);
    (void)zcrp_listener_close(r->listener);
    for (int i = 0; i < SLOTS; i++)
        zcrp_free_msg(r->slot[i]);
    (void)kill(r->peer, SIGKILL);
    (void)waitpid(r->peer, NULL, 0);
    loopback_close(&r->way.sockets);
    for (int i = 0; i < 2; i++)
        if (r->way.port[i] >= 0)
            (void)close(r->way.port[i]);
    (void)munmap(shared, sizeof(*shared));
}

static void stop_and(int signal, bool is_connection)
{
    struct receiver r;

    begin(&r, is_connection, &limits);
    receive_until_it_stops(&r);
    expect_busy(&r);
    assert_int_equal(kill(r.peer, signal), 0);
    expect_own(&r);
    end(&r, ZCRP_ERROR_TIMEOUT);
}

/* Receives with the library's thread until that waits for a sender that has been stopped. */
static void let_receive_until_it_stops(struct receiver *r)
{
    int64_t limit = clock_now_ns() + PATIENCE;

    atomic_store(&shared->holds, true);
    atomic_store(&shared->stops, true);
    while (atomic_load(&shared->holds)) {
        for (int i = 0; i < SLOTS; i++)
            if (zcrp_error(r->slot[i]) != ZCRP_ERROR_BUSY)
                post(r, i);
        (void)usleep(100);
        assert_true(clock_now_ns() < limit);
    }
}

/* Close comes within a landing that ends with a late claim. */
static void close_while_it_is_late(bool is_connection)
{
    struct receiver r;

    begin(&r, is_connection, &limits);
    let_receive_until_it_stops(&r);
    assert_int_equal(close_it(&r), ZCRP_ERROR_BUSY);
    assert_int_equal(kill(r.peer, SIGCONT), 0);
    expect_own(&r);
    end(&r, ZCRP_ERROR_TIMEOUT);
}

TEST(late__while_it_is_closed)
{
    close_while_it_is_late(false);
}

TEST(late__while_its_connection_is_closed)
{
    close_while_it_is_late(true);
}

TEST(late__goes_on)
{
    stop_and(SIGCONT, false);
}

TEST(late__is_killed)
{
    stop_and(SIGKILL, false);
}

TEST(late__goes_on_over_a_connection)
{
    stop_and(SIGCONT, true);
}

TEST(late__is_killed_over_a_connection)
{
    stop_and(SIGKILL, true);
}

/* Nothing of the session is lost by it. */
TEST(late__goes_on_and_all_arrives)
{
    struct receiver r;

    begin(&r, false, &for_one_that_goes_on);
    receive_until_it_stops(&r);
    (void)usleep(50000);
    assert_int_equal(kill(r.peer, SIGCONT), 0);
    for (int i = 0; i < 10 * SLOTS; i++) {
        struct zcrp_msg *m = r.slot[i % SLOTS];
        assert_int_equal(zcrp_wait_for(m, 15000 * MS), ZCRP_OK);
        assert_true(pattern_is_even(m->buffer, BYTES, SENT));
        post(&r, i % SLOTS);
    }
    for (int i = 0; i < SLOTS; i++)
        assert_int_not_equal(zcrp_cancel(r.slot[i]), ZCRP_ERROR_BUSY);
    expect_own(&r);
    end(&r, ZCRP_OK);
}
