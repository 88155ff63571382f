/* The paper's API: one sender and one receiver a process. */
#include "../support/ends.h"

#include <netinet/in.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

LOAD(asleep)

/* ---- two processes ---- */

enum { ROUNDS = 20 };

/* Receives the rounds, checks them, and sends back how many were right: the exit status. */
static int child_rounds(struct loopback *sockets)
{
    struct zcrp_msg *m = zcrp_alloc_msg(1 << 20);
    int good = 0;

    if (m == NULL || !zcrp_rcv_init(sockets->receiver))
        return 0;
    for (uint64_t i = 0; i < ROUNDS; i++)
        if (zcrp_rcv(m, m->message_size) && zcrp_wait(m) && m->length == i * 40000 &&
            pattern_holds(m->buffer, m->length, i))
            good++;
    zcrp_free_msg(m);
    return zcrp_rcv_close() ? good : 0;
}

TEST(paper__two_processes, .rows = 2)
{
    struct loopback sockets = loopback_open(_i == 0 ? LOOPBACK_UDP4 : LOOPBACK_UNIX, false);
    struct zcrp_msg *m = zcrp_alloc_msg(1 << 20);
    pid_t child = fork();
    int status;

    if (child == 0)
        _exit(child_rounds(&sockets));
    ck_assert_uint_eq(zcrp_send_init(sockets.sender), 1);
    for (uint64_t i = 0; i < ROUNDS; i++) {
        pattern_fill(m->buffer, i * 40000, i);
        ck_assert_uint_eq(zcrp_send(m, i * 40000), 1);
        ck_assert_uint_eq(zcrp_wait(m), 1);
        ck_assert_uint_eq(zcrp_probe(m), 1);
        ck_assert_int_eq(zcrp_error(m), ZCRP_OK);
    }
    ck_assert_uint_eq(zcrp_send_close(), 1);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFEXITED(status));
    ck_assert_int_eq(WEXITSTATUS(status), ROUNDS);
    zcrp_free_msg(m);
    loopback_close(&sockets);
}

/* ---- one process, both roles ---- */

TEST(paper__both_roles)
{
    struct loopback sockets = loopback_open(LOOPBACK_UDP4, false);
    struct zcrp_msg *in = ends_empty(100), *out = ends_filled(100, 1);

    for (int i = 0; i < 3; i++) {
        ck_assert_uint_eq(zcrp_rcv_init(sockets.receiver), 1);
        ck_assert_uint_eq(zcrp_send_init(sockets.sender), 1);
        ck_assert_uint_eq(zcrp_rcv(in, 100), 1);
        ck_assert_uint_eq(zcrp_send(out, 100), 1);
        ck_assert_uint_eq(zcrp_wait(in), 1);
        ck_assert_uint_eq(zcrp_wait(out), 1);
        ck_assert(pattern_holds(in->buffer, 100, 1));
        ck_assert_uint_eq(zcrp_send_close(), 1);
        ck_assert_uint_eq(zcrp_rcv_close(), 1);
    }
    zcrp_free_msg(in);
    zcrp_free_msg(out);
    loopback_close(&sockets);
}

/* ---- a child ---- */

/* Its parent's sender is no use to it, and in the way of its own until it is closed. */
static bool begin_anew(const struct loopback *own, struct zcrp_msg *m)
{
    int sender[2] = {own->sender[0], own->sender[1]};

    return !zcrp_send(m, 100) && zcrp_error(NULL) == ZCRP_ERROR_FORKED && !zcrp_send_init(sender) &&
           zcrp_error(NULL) == ZCRP_ERROR_STARTED && zcrp_send_close() && !zcrp_send_close() &&
           zcrp_error(NULL) == ZCRP_ERROR_NOT_STARTED && zcrp_send_init(sender);
}

static bool cross(const struct loopback *own, struct zcrp_msg *out, struct zcrp_msg *in)
{
    int receiver[2] = {own->receiver[0], own->receiver[1]};

    return zcrp_rcv_init(receiver) && zcrp_rcv(in, 100) && zcrp_send(out, 100) && zcrp_wait(in) &&
           zcrp_wait(out) && pattern_holds(in->buffer, 100, 1) && zcrp_send_close() &&
           zcrp_rcv_close();
}

TEST(paper__a_child_opens_its_own, .needs = ends_live_in_a_child)
{
    struct loopback sockets = loopback_open(LOOPBACK_UDP4, false);
    struct loopback own = loopback_open(LOOPBACK_UDP4, false);
    struct zcrp_msg *in = ends_empty(100), *out = ends_filled(100, 1);
    int status;

    ck_assert_uint_eq(zcrp_send_init(sockets.sender), 1);
    pid_t child = fork();
    if (child == 0)
        _exit(begin_anew(&own, out) ? cross(&own, out, in) ? 0 : 2 : 1);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFEXITED(status));
    ck_assert_int_eq(WEXITSTATUS(status), 0);
    ck_assert_uint_eq(zcrp_send_close(), 1);
    zcrp_free_msg(in);
    zcrp_free_msg(out);
    loopback_close(&own);
    loopback_close(&sockets);
}

/* ---- one pair of descriptors for both roles ---- */

static void begin(bool sends, int pair[2])
{
    ck_assert_uint_eq(sends ? zcrp_send_init(pair) : zcrp_rcv_init(pair), 1);
}

static void end(bool sends)
{
    ck_assert_uint_eq(sends ? zcrp_send_close() : zcrp_rcv_close(), 1);
}

static void set_discovery(const int pair[2], int discovery)
{
    for (int i = 0; i < 2; i++)
        ck_assert_int_eq(
            setsockopt(pair[i], IPPROTO_IP, IP_MTU_DISCOVER, &discovery, sizeof(discovery)), 0);
}

static bool has_discovery(const int pair[2], int discovery)
{
    for (int i = 0; i < 2; i++) {
        int now = -1;
        socklen_t size = sizeof(now);
        ck_assert_int_eq(getsockopt(pair[i], IPPROTO_IP, IP_MTU_DISCOVER, &now, &size), 0);
        if (now != discovery)
            return false;
    }
    return true;
}

/* Whichever role comes first, and whichever ends first: the last one gives the sockets back as they
 * were before the first. */
TEST(paper__roles_share_sockets, .rows = 8, .needs = loopback_is_udp)
{
    struct loopback sockets = loopback_open(LOOPBACK_UDP4, _i & 1);
    bool comes = _i & 2, goes = _i & 4;

    set_discovery(sockets.sender, IP_PMTUDISC_DONT);
    for (int round = 0; round < 2; round++) {
        begin(comes, sockets.sender);
        begin(!comes, sockets.sender);
        ck_assert(has_discovery(sockets.sender, IP_PMTUDISC_PROBE));
        end(goes);
        ck_assert(has_discovery(sockets.sender, IP_PMTUDISC_PROBE));
        end(!goes);
        ck_assert(has_discovery(sockets.sender, IP_PMTUDISC_DONT));
    }
    loopback_close(&sockets);
}

enum { COMINGS = 30 };

struct role {
    int *pair;
    bool sends;
    int failures;
};

static void *come_and_go(void *context)
{
    struct role *role = context;

    for (int i = 0; i < COMINGS; i++) {
        begin(role->sends, role->pair);
        role->failures += !has_discovery(role->pair, IP_PMTUDISC_PROBE);
        end(role->sends);
    }
    return NULL;
}

/* One may come while the other goes. */
TEST(paper__roles_come_and_go, .needs = loopback_is_udp)
{
    struct loopback sockets = loopback_open(LOOPBACK_UDP4, true);
    struct role sender = {.pair = sockets.sender, .sends = true};
    struct role receiver = {.pair = sockets.sender};
    pthread_t other;

    set_discovery(sockets.sender, IP_PMTUDISC_DONT);
    ck_assert_int_eq(pthread_create(&other, NULL, come_and_go, &sender), 0);
    come_and_go(&receiver);
    ck_assert_int_eq(pthread_join(other, NULL), 0);
    ck_assert_int_eq(sender.failures + receiver.failures, 0);
    ck_assert(has_discovery(sockets.sender, IP_PMTUDISC_DONT));
    loopback_close(&sockets);
}

/* ---- errors ---- */

static void *error_of_this_thread(void *result)
{
    *(int *)result = zcrp_error(NULL);
    return NULL;
}

TEST(paper__not_started)
{
    struct zcrp_msg *m = zcrp_alloc_msg(1);
    int error_elsewhere = 1;
    pthread_t other;

    ck_assert_int_eq(zcrp_error(NULL), ZCRP_OK);
    ck_assert_uint_eq(zcrp_send(m, 1), 0);
    ck_assert_int_eq(zcrp_error(NULL), ZCRP_ERROR_NOT_STARTED);
    ck_assert_uint_eq(zcrp_rcv(m, 1), 0);
    ck_assert_int_eq(zcrp_error(m), ZCRP_ERROR_IDLE);
    ck_assert_uint_eq(zcrp_wait(m), 0);
    ck_assert_int_eq(zcrp_error(NULL), ZCRP_ERROR_IDLE);
    ck_assert_uint_eq(zcrp_probe(m), 0);
    ck_assert_uint_eq(zcrp_probe(NULL), 0);
    ck_assert_uint_eq(zcrp_wait(NULL), 0);
    ck_assert_int_eq(zcrp_error(NULL), ZCRP_ERROR_ARGUMENT);
    ck_assert_uint_eq(zcrp_send_close(), 0);
    ck_assert_uint_eq(zcrp_rcv_close(), 0);
    ck_assert_int_eq(zcrp_error(NULL), ZCRP_ERROR_NOT_STARTED);
    ck_assert_int_eq(pthread_create(&other, NULL, error_of_this_thread, &error_elsewhere), 0);
    pthread_join(other, NULL);
    ck_assert_int_eq(error_elsewhere, ZCRP_OK);
    zcrp_free_msg(m);
    zcrp_free_msg(NULL);
}

static void expect_init_fails(int *descriptors, int code)
{
    ck_assert_uint_eq(zcrp_send_init(descriptors), 0);
    ck_assert_int_eq(zcrp_error(NULL), code);
    ck_assert_uint_eq(zcrp_rcv_init(descriptors), 0);
    ck_assert_int_eq(zcrp_error(NULL), code);
}

TEST(paper__bad_descriptors)
{
    int pipes[2], stranger = loopback_bind();

    ck_assert_int_eq(pipe(pipes), 0);
    expect_init_fails(NULL, ZCRP_ERROR_ARGUMENT);
    expect_init_fails((int[]){-1, -1}, ZCRP_ERROR_DESCRIPTOR);
    expect_init_fails(pipes, ZCRP_ERROR_NOT_SOCKET);
    expect_init_fails((int[]){stranger, stranger}, ZCRP_ERROR_NOT_CONNECTED);
    close(pipes[0]);
    close(pipes[1]);
    close(stranger);
}

TEST(paper__misuse)
{
    struct loopback sockets = loopback_open(LOOPBACK_UDP4, false);
    struct zcrp_msg *m = zcrp_alloc_msg(10);

    ck_assert_uint_eq(zcrp_rcv_init(sockets.receiver), 1);
    ck_assert_uint_eq(zcrp_rcv_init(sockets.receiver), 0);
    ck_assert_int_eq(zcrp_error(NULL), ZCRP_ERROR_STARTED);
    ck_assert_uint_eq(zcrp_rcv(NULL, 0), 0);
    ck_assert_int_eq(zcrp_error(NULL), ZCRP_ERROR_ARGUMENT);
    ck_assert_uint_eq(zcrp_rcv(m, 11), 0);
    ck_assert_int_eq(zcrp_error(NULL), ZCRP_ERROR_SIZE);
    ck_assert_uint_eq(zcrp_rcv(m, 10), 1);
    ck_assert_uint_eq(zcrp_rcv(m, 10), 0);
    ck_assert_int_eq(zcrp_error(NULL), ZCRP_ERROR_BUSY);
    ck_assert_uint_eq(zcrp_rcv_close(), 1);
    ck_assert_int_eq(zcrp_error(m), ZCRP_ERROR_CLOSED);
    zcrp_free_msg(m);
    loopback_close(&sockets);
}
