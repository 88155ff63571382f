/* Connections: a listener with many peers on one port, both directions over one socket, and what
 * ends them. */
#include "../support/ends.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MESSAGE = 100000, MANY = 50 };

static const struct zcrp_options impatient = {
    .silence_ns = ENDS_SECOND, .linger_ns = ENDS_SECOND / 2, .connect_ns = ENDS_SECOND / 2};

/* A listener, the port that it was given, and the two ends of a connection to it, if there is one.
 */
struct house {
    struct zcrp_listener *listener;
    char port[8];
    struct zcrp_connection *there, *here;
};

static struct house listen_on(const char *host, const struct zcrp_options *options)
{
    struct house h = {.there = NULL};

    ck_assert_int_eq(zcrp_listen(&h.listener, host, "0", options), ZCRP_OK);
    snprintf(h.port, sizeof h.port, "%d", zcrp_listener_port(h.listener));
    return h;
}

/* The two ends of another connection. */
struct both {
    struct zcrp_connection *there, *here;
};

static struct both connect_to(const struct house *h, const char *host,
                              const struct zcrp_options *options)
{
    struct both b;

    ck_assert_int_eq(zcrp_connect(&b.there, host, h->port, options, 0), ZCRP_OK);
    ck_assert_int_eq(zcrp_accept(h->listener, &b.here, 5 * ENDS_SECOND), ZCRP_OK);
    return b;
}

static void hang_up(struct both *b)
{
    (void)zcrp_connection_close(b->there);
    (void)zcrp_connection_close(b->here);
}

/* A listener with one connection, whose far end has these options. */
static struct house meet(const char *host, const struct zcrp_options *options)
{
    struct house h = listen_on(host, NULL);
    struct both b = connect_to(&h, host, options);

    h.there = b.there;
    h.here = b.here;
    return h;
}

/* Closes what is there. */
static void part(struct house *h)
{
    (void)zcrp_connection_close(h->there);
    (void)zcrp_connection_close(h->here);
    (void)zcrp_listener_close(h->listener);
}

static void pass(struct zcrp_connection *from, struct zcrp_connection *to, nlong size,
                 uint64_t seed)
{
    struct zcrp_msg *in = ends_empty(size), *out = ends_filled(size, seed);

    ck_assert_int_eq(zcrp_submit(zcrp_connection_receiver(to), in, size), ZCRP_OK);
    ck_assert_int_eq(zcrp_submit(zcrp_connection_sender(from), out, size), ZCRP_OK);
    ck_assert_int_eq(ends_wait(in), ZCRP_OK);
    ck_assert_int_eq(ends_wait(out), ZCRP_OK);
    ck_assert(pattern_holds(in->buffer, size, seed));
    zcrp_free_msg(in);
    zcrp_free_msg(out);
}

static bool status_becomes(struct zcrp_connection *c, int code)
{
    for (int i = 0; i < 5000 && zcrp_connection_status(c) != code; i++)
        usleep(1000);
    return zcrp_connection_status(c) == code;
}

TEST(connection__both_ways, .rows = 2)
{
    const char *host = _i == 0 ? "127.0.0.1" : "::1";
    struct house h = meet(host, NULL);
    char text[64];

    for (uint64_t seed = 0; seed < 5; seed++) {
        pass(h.there, h.here, MESSAGE, seed);
        pass(h.here, h.there, 3000000, seed);
    }
    ck_assert_int_eq(zcrp_connection_status(h.there), ZCRP_OK);
    ck_assert_int_eq(zcrp_connection_peer(h.there, text, sizeof text), ZCRP_OK);
    ck_assert_ptr_nonnull(strstr(text, h.port));
    ck_assert_int_eq(zcrp_connection_peer(h.there, text, 5), ZCRP_ERROR_SIZE);
    ck_assert_int_eq(zcrp_close(zcrp_connection_sender(h.here)), ZCRP_ERROR_ARGUMENT);
    part(&h);
}

static void move(struct zcrp_connection *from, struct zcrp_connection *to, struct zcrp_msg *out,
                 struct zcrp_msg *in, uint64_t seed)
{
    nlong size = out->buffer_size;

    pattern_fill(out->buffer, size, seed);
    ck_assert_int_eq(zcrp_submit(zcrp_connection_receiver(to), in, size), ZCRP_OK);
    ck_assert_int_eq(zcrp_submit(zcrp_connection_sender(from), out, size), ZCRP_OK);
    ck_assert_int_eq(ends_wait(in), ZCRP_OK);
    ck_assert_int_eq(ends_wait(out), ZCRP_OK);
    ck_assert(pattern_holds(in->buffer, size, seed));
}

/* Messages that a peer on this host may map are like all others, and there are always some. */
TEST(connection__mapped_messages, .rows = 4)
{
    const struct zcrp_options mapped = {.mapped_bytes = 4 * MESSAGE}, none = {.mapped_bytes = 0};
    struct house h = listen_on("127.0.0.1", _i % 2 ? &mapped : &none);
    struct both b = connect_to(&h, "127.0.0.1", _i / 2 ? &mapped : &none);
    struct zcrp_msg *there[6], *here[6], *small = zcrp_connection_alloc_msg(b.there, 100);

    for (int i = 0; i < 6; i++) {
        there[i] = zcrp_connection_alloc_msg(b.there, MESSAGE);
        here[i] = zcrp_connection_alloc_msg(b.here, MESSAGE);
        ck_assert_ptr_nonnull(there[i]);
        ck_assert_ptr_nonnull(here[i]);
    }
    for (uint64_t seed = 0; seed < 60; seed++) {
        move(b.there, b.here, there[seed % 6], here[seed % 5], seed);
        move(b.here, b.there, here[seed % 4], there[seed % 6], seed);
        move(b.there, b.here, small, here[5], seed);
    }
    zcrp_free_msg(there[0]);
    there[0] = zcrp_connection_alloc_msg(b.there, MESSAGE);
    move(b.there, b.here, there[0], here[1], 61);
    ck_assert_ptr_null(zcrp_connection_alloc_msg(NULL, 1));
    ck_assert_ptr_null(zcrp_connection_alloc_msg(b.there, UINT64_MAX));
    hang_up(&b);
    (void)zcrp_listener_close(h.listener);
    for (int i = 0; i < 6; i++) {
        memset(there[i]->buffer, 1, MESSAGE); /* it is there until it is freed */
        zcrp_free_msg(there[i]);
        zcrp_free_msg(here[i]);
    }
    zcrp_free_msg(small);
}

/* Both directions at full speed at once, and a waiter for each. */
static void *send_many(void *context)
{
    struct house *h = context;

    for (uint64_t seed = 100; seed < 150; seed++)
        pass(h->there, h->here, MESSAGE, seed);
    return NULL;
}

TEST(connection__both_ways_at_once)
{
    struct house h = meet("127.0.0.1", NULL);
    pthread_t thread;

    ck_assert_int_eq(pthread_create(&thread, NULL, send_many, &h), 0);
    for (uint64_t seed = 0; seed < 50; seed++)
        pass(h.here, h.there, MESSAGE, seed);
    pthread_join(thread, NULL);
    part(&h);
}

/* Connect returns once the peer is known. */
static void *accept_one(void *context)
{
    const struct house *h = context;
    struct zcrp_connection *c;

    usleep(50000);
    ck_assert_int_eq(zcrp_accept(h->listener, &c, 5 * ENDS_SECOND), ZCRP_OK);
    return c;
}

TEST(connect__waits_for_the_peer)
{
    struct house h = listen_on("127.0.0.1", NULL);
    struct zcrp_connection *c;
    pthread_t thread;
    void *here;

    ck_assert_int_eq(pthread_create(&thread, NULL, accept_one, &h), 0);
    ck_assert_int_eq(zcrp_connect(&c, "127.0.0.1", h.port, NULL, -1), ZCRP_OK);
    ck_assert_int_eq(zcrp_connection_status(c), ZCRP_OK);
    pthread_join(thread, &here);
    hang_up(&(struct both){c, here});
    (void)zcrp_listener_close(h.listener);
}

TEST(connect__says_why_not)
{
    struct house h = listen_on("127.0.0.1", NULL);
    struct zcrp_connection *c;

    ck_assert_int_eq(zcrp_connect(&c, "127.0.0.1", h.port, NULL, 50 * ENDS_MILLISECOND),
                     ZCRP_ERROR_TIMEOUT); /* it listens, but accepts nobody */
    ck_assert_ptr_null(c);
    ck_assert_int_eq(zcrp_listener_close(h.listener), ZCRP_OK);
    ck_assert_int_eq(zcrp_connect(&c, "127.0.0.1", h.port, &impatient, -1), ZCRP_ERROR_REFUSED);
    ck_assert_int_eq(zcrp_connect(&c, "127.0.0.1", "0", NULL, -1), ZCRP_ERROR_ADDRESS);
    ck_assert_int_eq(zcrp_connect(&c, "", "7000", NULL, -1), ZCRP_ERROR_ADDRESS);
    ck_assert_int_eq(zcrp_connect(NULL, "127.0.0.1", "7000", NULL, -1), ZCRP_ERROR_ARGUMENT);
}

TEST(listen__one_of_an_address)
{
    struct house h = listen_on("127.0.0.1", NULL);
    struct zcrp_listener *other;

    ck_assert_int_eq(zcrp_listen(&other, "127.0.0.1", h.port, NULL), ZCRP_ERROR_ADDRESS);
    ck_assert_int_eq(zcrp_listen(&other, "127.0.0.1", "70000", NULL), ZCRP_ERROR_ADDRESS);
    ck_assert_int_eq(zcrp_listener_close(h.listener), ZCRP_OK);
}

TEST(accept__time_and_interrupts)
{
    struct house h = listen_on("127.0.0.1", NULL);
    struct zcrp_connection *c;
    struct pollfd set = {.fd = zcrp_listener_descriptor(h.listener), .events = POLLIN};

    ck_assert_int_eq(zcrp_accept(h.listener, &c, 0), ZCRP_ERROR_TIMEOUT);
    ck_assert_int_eq(zcrp_accept(h.listener, &c, 20 * ENDS_MILLISECOND), ZCRP_ERROR_TIMEOUT);
    ck_assert_int_eq(zcrp_listener_interrupt(h.listener), ZCRP_OK);
    ck_assert_int_eq(zcrp_accept(h.listener, &c, -1), ZCRP_ERROR_INTERRUPTED);
    ck_assert_int_eq(poll(&set, 1, 0), 0);
    struct zcrp_connection *there;
    ck_assert_int_eq(zcrp_connect(&there, "127.0.0.1", h.port, NULL, 0), ZCRP_OK);
    ck_assert_int_eq(poll(&set, 1, 5000), 1);
    ck_assert_int_eq(zcrp_accept(h.listener, &c, 0), ZCRP_OK);
    ck_assert_int_eq(poll(&set, 1, 0), 0);
    hang_up(&(struct both){there, c});
    (void)zcrp_listener_close(h.listener);
}

TEST(listener__many_peers)
{
    static struct both b[MANY];
    struct house h = listen_on(NULL, NULL);

    for (int i = 0; i < MANY; i++)
        b[i] = connect_to(&h, "127.0.0.1", NULL);
    for (int i = 0; i < MANY; i++) {
        pass(b[i].there, b[i].here, MESSAGE, (uint64_t)i);
        pass(b[i].here, b[i].there, MESSAGE, (uint64_t)i + 1000);
    }
    for (int i = 0; i < MANY; i++)
        hang_up(&b[i]);
    (void)zcrp_listener_close(h.listener);
}

/* All call at the same moment; nobody is lost between bind and connect of a child. */
TEST(listener__many_at_once)
{
    static struct zcrp_connection *there[MANY], *here[MANY];
    struct house h = listen_on("127.0.0.1", NULL);

    for (int i = 0; i < MANY; i++)
        ck_assert_int_eq(zcrp_connect(&there[i], "127.0.0.1", h.port, NULL, 0), ZCRP_OK);
    for (int i = 0; i < MANY; i++)
        ck_assert_int_eq(zcrp_accept(h.listener, &here[i], 5 * ENDS_SECOND), ZCRP_OK);
    for (int i = 0; i < MANY; i++)
        ck_assert(status_becomes(there[i], ZCRP_OK));
    for (int i = 0; i < MANY; i++)
        hang_up(&(struct both){there[i], here[i]});
    (void)zcrp_listener_close(h.listener);
}

TEST(listener__limits)
{
    const struct zcrp_options two = {.connections = 2};
    struct house h = listen_on("127.0.0.1", &two);
    struct both a = connect_to(&h, "127.0.0.1", NULL), b = connect_to(&h, "127.0.0.1", NULL);
    struct zcrp_connection *third, *c;
    struct zcrp_listener_stats stats;

    ck_assert_int_eq(zcrp_connect(&third, "127.0.0.1", h.port, NULL, 0), ZCRP_OK);
    ck_assert_int_eq(zcrp_accept(h.listener, &c, 100 * ENDS_MILLISECOND), ZCRP_ERROR_TIMEOUT);
    ck_assert_int_eq(zcrp_listener_stats(h.listener, &stats), ZCRP_OK);
    ck_assert_uint_eq(stats.admitted, 2);
    ck_assert_uint_eq(stats.connections, 2);
    ck_assert_uint_ge(stats.dropped, 1);
    ck_assert_int_eq(zcrp_listener_stats(NULL, &stats), ZCRP_ERROR_ARGUMENT);
    ck_assert_int_eq(zcrp_listener_stats(h.listener, NULL), ZCRP_ERROR_ARGUMENT);
    hang_up(&a); /* makes room */
    ck_assert_int_eq(zcrp_accept(h.listener, &c, 5 * ENDS_SECOND), ZCRP_OK);
    hang_up(&(struct both){third, c});
    hang_up(&b);
    (void)zcrp_listener_close(h.listener);
}

TEST(accept__no_descriptor_left)
{
    struct house h = listen_on("127.0.0.1", NULL);
    struct zcrp_connection *there, *c;
    static int fds[2000];
    int count = 0;

    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &(struct rlimit){1000, 1000}), 0);
    ck_assert_int_eq(zcrp_connect(&there, "127.0.0.1", h.port, NULL, 0), ZCRP_OK);
    while (count < 2000 && (fds[count] = dup(0)) >= 0)
        count++;
    int code = zcrp_accept(h.listener, &c, 5 * ENDS_SECOND);
    for (int i = 0; i < count; i++)
        close(fds[i]);
    if (code != ZCRP_OK) { /* it may have called before the last one was gone */
        ck_assert_int_eq(code, ZCRP_ERROR_SYSTEM);
        ck_assert_int_eq(zcrp_accept(h.listener, &c, 5 * ENDS_SECOND), ZCRP_OK);
    }
    hang_up(&(struct both){there, c});
    (void)zcrp_listener_close(h.listener);
}

TEST(connection__peer_closes)
{
    struct house h = meet("127.0.0.1", NULL);
    struct pollfd set = {.fd = zcrp_descriptor(zcrp_connection_receiver(h.there)),
                         .events = POLLIN};
    struct zcrp_msg *in = ends_empty(MESSAGE);

    ck_assert(status_becomes(h.there, ZCRP_OK));
    ck_assert(status_becomes(h.here, ZCRP_OK));
    (void)zcrp_collect(zcrp_connection_receiver(h.there));
    ck_assert_int_eq(zcrp_submit(zcrp_connection_receiver(h.there), in, MESSAGE), ZCRP_OK);
    ck_assert_int_eq(zcrp_connection_close(h.here), ZCRP_OK);
    ck_assert_int_eq(poll(&set, 1, 5000), 1);
    ck_assert_int_eq(ends_wait(in), ZCRP_ERROR_PEER_CLOSED);
    ck_assert(status_becomes(h.there, ZCRP_ERROR_PEER_CLOSED));
    zcrp_free_msg(in);
    ck_assert_int_eq(zcrp_connection_close(h.there), ZCRP_OK);
    (void)zcrp_listener_close(h.listener);
}

/* It closed before the buffer was posted, or between two of them: nobody waits for what cannot
 * come. */
TEST(connection__peer_has_closed)
{
    struct house h = meet("127.0.0.1", NULL);
    struct zcrp_msg *in = ends_empty(MESSAGE), *out = ends_filled(MESSAGE, 1);

    pass(h.here, h.there, MESSAGE, 1);
    ck_assert_int_eq(zcrp_connection_close(h.here), ZCRP_OK);
    ck_assert(status_becomes(h.there, ZCRP_ERROR_PEER_CLOSED));
    ck_assert_int_eq(zcrp_submit(zcrp_connection_receiver(h.there), in, MESSAGE), ZCRP_OK);
    ck_assert_int_eq(zcrp_wait_for(in, 5 * ENDS_SECOND), ZCRP_ERROR_PEER_CLOSED);
    ck_assert_int_eq(zcrp_submit(zcrp_connection_sender(h.there), out, MESSAGE), ZCRP_OK);
    ck_assert_int_eq(zcrp_wait_for(out, 5 * ENDS_SECOND), ZCRP_ERROR_PEER_CLOSED);
    zcrp_free_msg(in);
    zcrp_free_msg(out);
    ck_assert_int_eq(zcrp_connection_close(h.there), ZCRP_OK);
    (void)zcrp_listener_close(h.listener);
}

/* More buffers than the table has room for: each of them ends, and each that is posted later. */
TEST(connection__peer_closes_on_a_full_table)
{
    enum { BUFFERS = 7 };
    const struct zcrp_options small = {.messages = 2};
    struct house h = meet("127.0.0.1", &small);
    struct zcrp_msg *in[BUFFERS];

    ck_assert(status_becomes(h.there, ZCRP_OK));
    for (int i = 0; i < BUFFERS - 1; i++) {
        in[i] = ends_empty(MESSAGE);
        ck_assert_int_eq(zcrp_submit(zcrp_connection_receiver(h.there), in[i], MESSAGE), ZCRP_OK);
    }
    ck_assert_int_eq(zcrp_connection_close(h.here), ZCRP_OK);
    ck_assert(status_becomes(h.there, ZCRP_ERROR_PEER_CLOSED));
    in[BUFFERS - 1] = ends_empty(MESSAGE);
    ck_assert_int_eq(zcrp_submit(zcrp_connection_receiver(h.there), in[BUFFERS - 1], MESSAGE),
                     ZCRP_OK);
    for (int i = 0; i < BUFFERS; i++) {
        ck_assert_int_eq(zcrp_wait_for(in[i], 2 * ENDS_SECOND), ZCRP_ERROR_PEER_CLOSED);
        zcrp_free_msg(in[i]);
    }
    ck_assert_int_eq(zcrp_connection_close(h.there), ZCRP_OK);
    (void)zcrp_listener_close(h.listener);
}

/* ---- offers ---- */

static const nlong sizes[] = {MESSAGE, 0, 1, 3000000, 17};

static void *submit_all(void *context)
{
    struct zcrp_entity *sender = zcrp_connection_sender(context);
    struct zcrp_msg *out[ROWS(sizes)];

    for (int i = 0; i < ROWS(sizes); i++) {
        out[i] = ends_filled(sizes[i], (uint64_t)i);
        ck_assert_int_eq(zcrp_submit(sender, out[i], sizes[i]), ZCRP_OK);
    }
    for (int i = 0; i < ROWS(sizes); i++) {
        ck_assert_int_eq(ends_wait(out[i]), ZCRP_OK);
        zcrp_free_msg(out[i]);
    }
    return NULL;
}

static bool is_readable(int fd, int timeout_ms)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};

    return poll(&p, 1, timeout_ms) == 1;
}

/* Messages of sizes that the receiver does not know, one after the other; the wish comes before the
 * first message, or after. */
TEST(expect__sizes_unknown, .rows = 2)
{
    struct house h = meet("127.0.0.1", NULL);
    struct zcrp_entity *receiver = zcrp_connection_receiver(h.here);
    int fd = zcrp_descriptor(receiver);
    pthread_t thread;
    nlong size;

    if (_i == 0)
        ck_assert_int_eq(zcrp_expect(receiver, &size, 0), ZCRP_ERROR_TIMEOUT);
    ck_assert_int_eq(pthread_create(&thread, NULL, submit_all, h.there), 0);
    if (_i == 0)
        ck_assert(is_readable(fd, 5000));
    for (int i = 0; i < ROWS(sizes); i++) {
        ck_assert_int_eq(zcrp_expect(receiver, &size, 5 * ENDS_SECOND), ZCRP_OK);
        ck_assert_int_eq(zcrp_expect(receiver, &size, 0), ZCRP_OK); /* as often as one likes */
        ck_assert_uint_eq(size, sizes[i]);
        struct zcrp_msg *in = ends_empty(size);
        ck_assert_int_eq(zcrp_submit(receiver, in, size), ZCRP_OK);
        ck_assert_int_eq(ends_wait(in), ZCRP_OK);
        ck_assert_uint_eq(in->length, size);
        ck_assert(pattern_holds(in->buffer, size, (uint64_t)i));
        zcrp_free_msg(in);
    }
    pthread_join(thread, NULL);
    ck_assert_int_eq(zcrp_expect(receiver, &size, ENDS_MILLISECOND), ZCRP_ERROR_TIMEOUT);
    part(&h);
}

TEST(expect__ends)
{
    struct house h = meet("127.0.0.1", NULL);
    struct zcrp_entity *receiver = zcrp_connection_receiver(h.here);
    nlong size;

    pass(h.here, h.there, MESSAGE, 1);
    ck_assert_int_eq(zcrp_expect(NULL, &size, 0), ZCRP_ERROR_ARGUMENT);
    ck_assert_int_eq(zcrp_expect(receiver, NULL, 0), ZCRP_ERROR_ARGUMENT);
    ck_assert_int_eq(zcrp_expect(zcrp_connection_sender(h.here), &size, 0), ZCRP_ERROR_ARGUMENT);
    ck_assert_int_eq(zcrp_interrupt(receiver), ZCRP_OK);
    ck_assert_int_eq(zcrp_expect(receiver, &size, -1), ZCRP_ERROR_INTERRUPTED);
    ck_assert_int_eq(zcrp_connection_close(h.there), ZCRP_OK);
    ck_assert_int_eq(zcrp_expect(receiver, &size, 5 * ENDS_SECOND), ZCRP_ERROR_PEER_CLOSED);
    ck_assert_int_eq(zcrp_connection_close(h.here), ZCRP_OK);
    (void)zcrp_listener_close(h.listener);
}

/* The buffer is too small: what was needed is known afterwards. */
TEST(expect__too_large)
{
    struct house h = meet("127.0.0.1", NULL);
    struct zcrp_msg *in = ends_empty(10), *out = ends_filled(MESSAGE, 1);

    ck_assert_int_eq(zcrp_submit(zcrp_connection_receiver(h.here), in, 10), ZCRP_OK);
    ck_assert_int_eq(zcrp_submit(zcrp_connection_sender(h.there), out, MESSAGE), ZCRP_OK);
    ck_assert_int_eq(zcrp_wait_for(in, 5 * ENDS_SECOND), ZCRP_ERROR_TOO_LARGE);
    ck_assert_uint_eq(in->length, MESSAGE);
    ck_assert_int_eq(zcrp_wait_for(out, 5 * ENDS_SECOND), ZCRP_ERROR_TOO_LARGE);
    zcrp_free_msg(in);
    zcrp_free_msg(out);
    part(&h);
}

/* A listener with these options, and a connection from another process, which only waits. */
static struct house meet_process(const struct zcrp_options *options, pid_t *child)
{
    struct house h = {.there = NULL};
    int tell[2];

    ck_assert_int_eq(pipe(tell), 0);
    *child = fork();
    if (*child == 0) {
        bool is_told = read(tell[0], h.port, sizeof h.port) == sizeof h.port;
        _exit(is_told && zcrp_connect(&h.there, "127.0.0.1", h.port, NULL, -1) == ZCRP_OK ? pause()
                                                                                          : 1);
    }
    h = listen_on("127.0.0.1", options);
    ck_assert_int_eq(write(tell[1], h.port, sizeof h.port), sizeof h.port);
    ck_assert_int_eq(zcrp_accept(h.listener, &h.here, 5 * ENDS_SECOND), ZCRP_OK);
    ck_assert(status_becomes(h.here, ZCRP_OK));
    return h;
}

/* A peer that dies without a word, while nothing is under way. */
TEST(connection__peer_dies)
{
    pid_t child;
    struct house h = meet_process(&impatient, &child);

    usleep(1500000); /* longer than the silence limit: it is kept alive */
    ck_assert_int_eq(zcrp_connection_status(h.here), ZCRP_OK);
    ends_kill_peer(child);
    ck_assert(status_becomes(h.here, ZCRP_ERROR_SILENT));
    struct zcrp_msg *out = ends_filled(MESSAGE, 1);
    ck_assert_int_eq(zcrp_submit(zcrp_connection_sender(h.here), out, MESSAGE), ZCRP_OK);
    ck_assert_int_eq(ends_wait(out), ZCRP_ERROR_SILENT);
    zcrp_free_msg(out);
    part(&h);
}

/* The limit is that of the connection, not of each half. */
TEST(connection__close_beside_a_dead_peer)
{
    const struct zcrp_options options = {.linger_ns = 2 * ENDS_SECOND};
    pid_t child;
    struct house h = meet_process(&options, &child);

    ends_kill_peer(child);
    int64_t begin_ns = ends_now_ns();
    ck_assert_int_eq(zcrp_connection_close(h.here), ZCRP_ERROR_TIMEOUT);
    ck_assert_int_lt(ends_now_ns() - begin_ns, 4 * ENDS_SECOND); /* 2 s, and a busy machine */
    (void)zcrp_listener_close(h.listener);
}

TEST(connection__interrupted)
{
    struct house h = meet("127.0.0.1", NULL);
    struct zcrp_msg *in = ends_empty(MESSAGE);

    ck_assert_int_eq(zcrp_submit(zcrp_connection_receiver(h.here), in, MESSAGE), ZCRP_OK);
    ck_assert_int_eq(zcrp_connection_interrupt(h.here), ZCRP_OK);
    ck_assert_int_eq(zcrp_wait_for(in, -1), ZCRP_ERROR_INTERRUPTED);
    ck_assert_int_eq(zcrp_cancel(in), ZCRP_OK);
    zcrp_free_msg(in);
    part(&h);
}

TEST(connection__in_a_child)
{
    struct house h = meet("127.0.0.1", NULL);
    struct zcrp_connection *c;
    int status;
    pid_t child = fork();

    if (child == 0) {
        bool good = zcrp_connection_status(h.there) == ZCRP_ERROR_FORKED &&
                    zcrp_accept(h.listener, &c, 0) == ZCRP_ERROR_FORKED &&
                    zcrp_connection_close(h.there) == ZCRP_OK &&
                    zcrp_connection_close(h.here) == ZCRP_OK &&
                    zcrp_listener_close(h.listener) == ZCRP_OK;
        struct house own = listen_on("127.0.0.1", NULL);
        struct both two = connect_to(&own, "127.0.0.1", NULL);
        pass(two.there, two.here, MESSAGE, 5);
        hang_up(&two);
        _exit(good && zcrp_listener_close(own.listener) == ZCRP_OK ? 0 : 1);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    pass(h.there, h.here, MESSAGE, 6);
    part(&h);
}
