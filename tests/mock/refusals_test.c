/* A caller whose system says again and again that nobody listens at the peer's address, as forged
 * ICMP makes it. The peer is far away: whatever it answers comes 600 ms later, or 200 ms. */
/* wrap: malloc calloc aligned_alloc posix_memalign mmap pthread_create eventfd */
/* wrap: sendmsg sendmmsg recvmsg recvmmsg */
#include "entity_faults.h"

#include "common/clock.h"
#include "zcrp.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { HELD_MOST = 256, DATAGRAM_MOST = 2048, STEP_MS = 5 };

static const int64_t second = 1000000000, far = 300000000, near = 100000000; /* one way */

struct held {
    int64_t due;
    int to;
    size_t size;
    uint8_t bytes[DATAGRAM_MOST];
};

/* What is between the two. It tells the caller something of no meaning all the time, so that the
 * caller looks for answers, and finds out what its system says. */
static struct path {
    int near, far;
    int64_t delay;
    _Atomic bool has_answers; /* what the peer says comes through */
    _Atomic bool is_over;
    struct held held[HELD_MOST];
    unsigned first, count;
    pthread_t thread;
} path;

static void hold(int from, int to, bool passes)
{
    struct held *h = &path.held[(path.first + path.count) % HELD_MOST];
    ssize_t size = recv(from, h->bytes, sizeof(h->bytes), MSG_DONTWAIT);

    if (size <= 0 || !passes || path.count == HELD_MOST)
        return;
    h->due = clock_now_ns() + path.delay;
    h->to = to;
    h->size = (size_t)size;
    path.count++;
}

static void *carry(void *context)
{
    (void)context;
    while (!path.is_over) {
        struct pollfd set[2] = {{.fd = path.near, .events = POLLIN},
                                {.fd = path.far, .events = POLLIN}};
        (void)poll(set, 2, STEP_MS);
        hold(path.near, path.far, true);
        hold(path.far, path.near, path.has_answers);
        for (; path.count > 0 && path.held[path.first].due <= clock_now_ns(); path.count--) {
            const struct held *h = &path.held[path.first];
            (void)send(h->to, h->bytes, h->size, MSG_DONTWAIT);
            path.first = (path.first + 1) % HELD_MOST;
        }
        (void)send(path.near, "?", 1, MSG_DONTWAIT);
    }
    return NULL;
}

/* Connects the near end to whoever says something first. */
static void *begin(void *context)
{
    struct sockaddr_storage from;
    socklen_t size = sizeof(from);
    uint8_t byte;

    if (recvfrom(path.near, &byte, 1, MSG_PEEK, (struct sockaddr *)&from, &size) < 0 ||
        connect(path.near, (struct sockaddr *)&from, size) < 0)
        return NULL;
    return carry(context);
}

/* The port that the caller is to call. */
static int open_path(const char *port, int64_t delay, bool has_answers)
{
    path.delay = delay;
    path.is_over = false;
    path.first = path.count = 0;
    path.has_answers = has_answers;
    path.near = zcrp_udp_listen("127.0.0.1", "0");
    path.far = zcrp_udp_connect("127.0.0.1", port);
    assert_int_equal(pthread_create(&path.thread, NULL, begin, NULL), 0);
    return zcrp_udp_port(path.near);
}

static void close_path(void)
{
    path.is_over = true;
    (void)pthread_join(path.thread, NULL);
    (void)close(path.near);
    (void)close(path.far);
}

/* A listener, and the port of a path to it. */
static struct zcrp_listener *listen_behind_path(char port[8], int64_t delay, bool has_answers)
{
    struct zcrp_listener *listener;

    assert_int_equal(zcrp_listen(&listener, "127.0.0.1", "0", NULL), ZCRP_OK);
    snprintf(port, 8, "%d", zcrp_listener_port(listener));
    snprintf(port, 8, "%d", open_path(port, delay, has_answers));
    return listener;
}

/* What becomes of a caller each of whose receives but a few fails so. */
static int connect_through(bool has_answers, int64_t *took)
{
    struct zcrp_connection *c;
    char port[8];
    struct zcrp_listener *listener = listen_behind_path(port, far, has_answers);

    set_fault(&receives, 2, 2, ECONNREFUSED);
    int64_t began = clock_now_ns();
    int code = zcrp_connect(&c, "127.0.0.1", port, NULL, -1);
    *took = clock_now_ns() - began;
    assert_true(receives.count > 3);
    heal();
    (void)zcrp_connection_close(c);
    close_path();
    assert_int_equal(zcrp_listener_close(listener), ZCRP_OK);
    printf("%s, after %.2f s\n", zcrp_strerror(code), (double)*took / 1e9);
    return code;
}

FIXTURE(heal, NULL)

enum { TRIES = 3 }; /* on a machine that stands still for a while, or gives a thread no processor */

/* The peer answers, later than nobody would have been sure that it does not. */
TEST(connect__refused_beside_a_peer_that_answers)
{
    int code = ZCRP_ERROR_REFUSED;
    int64_t took = 0;

    for (int i = 0; i < TRIES && code == ZCRP_ERROR_REFUSED; i++)
        code = connect_through(true, &took);
    assert_int_equal(code, ZCRP_OK);
    assert_true(took >= second);
}

/* The same where nothing comes back: these refusals would have been enough. */
TEST(connect__refused)
{
    int64_t took = 4 * second;

    for (int i = 0; i < TRIES && took >= 4 * second; i++) {
        assert_int_equal(connect_through(false, &took), ZCRP_ERROR_REFUSED);
        assert_true(took >= second);
    }
    assert_true(took < 4 * second);
}

/* How the connection stands, after `ns` or once it has ended. */
static int watch(struct zcrp_connection *c, int64_t ns, int64_t *took)
{
    int64_t began = clock_now_ns();
    int code = ZCRP_OK;

    while (code == ZCRP_OK && clock_now_ns() - began < ns) {
        (void)poll(NULL, 0, STEP_MS);
        code = zcrp_connection_status(c);
    }
    *took = clock_now_ns() - began;
    printf("%s, after %.2f s\n", zcrp_strerror(code), (double)*took / 1e9);
    return code;
}

/* In a session: beside a peer that answers, all the refusals change nothing. Once nothing comes any
 * more they end it, long before the silence limit. */
TEST(connection__refused_in_a_session)
{
    static const struct zcrp_options by_udp = {.flags = ZCRP_NO_MEMORY};
    struct zcrp_connection *c;
    char port[8];
    int64_t took;
    struct zcrp_listener *listener = listen_behind_path(port, near, true);

    assert_int_equal(zcrp_connect(&c, "127.0.0.1", port, &by_udp, -1), ZCRP_OK);
    set_fault(&receives, 2, 2, ECONNREFUSED);
    assert_int_equal(watch(c, 7 * second, &took), ZCRP_OK);
    path.has_answers = false;
    assert_int_equal(watch(c, 20 * second, &took), ZCRP_ERROR_SILENT);
    assert_true(took >= 4 * second);
    assert_true(took < 10 * second);
    heal();
    (void)zcrp_connection_close(c);
    close_path();
    (void)zcrp_listener_close(listener);
}
