/* Connections: a listener with many peers on one port, both directions over one socket, and what
 * ends them. */
#include "../../support/asleep.h"
#include "../../support/house.h"
#include "../../support/own.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

LOAD(asleep)

enum { MESSAGE = 100000, MANY = 50 };

static const struct zcrp_options impatient = {
    .silence_ns = ENDS_SECOND, .linger_ns = ENDS_SECOND / 2, .connect_ns = ENDS_SECOND / 2};

/* A listener with one connection. */
struct home {
    struct zcrp_listener *listener;
    struct zcrp_connection *there, *here;
};

/* Its far end has these options. */
static struct home meet(const struct zcrp_options *options)
{
    struct house house = house_open("127.0.0.1", NULL);
    struct both b = house_meet(&house, options);

    return (struct home){house.listener, b.there, b.here};
}

/* Closes what is there. */
static void part(struct home *h)
{
    house_part(&(struct both){h->there, h->here});
    (void)zcrp_listener_close(h->listener);
}

static bool status_becomes(struct zcrp_connection *c, int code)
{
    for (int i = 0; i < 5000 && zcrp_connection_status(c) != code; i++)
        usleep(1000);
    return zcrp_connection_status(c) == code;
}

/* Each end's own address is the peer's of the other. */
static void addresses_match(struct zcrp_connection *one, struct zcrp_connection *other)
{
    char own[64], peer[64];

    ck_assert_int_eq(zcrp_connection_local(one, own, sizeof own), ZCRP_OK);
    ck_assert_int_eq(zcrp_connection_peer(other, peer, sizeof peer), ZCRP_OK);
    ck_assert_str_eq(own, peer);
    ck_assert_int_eq(zcrp_connection_local(one, own, 5), ZCRP_ERROR_SIZE);
    ck_assert_int_eq(zcrp_connection_local(one, NULL, 64), ZCRP_ERROR_ARGUMENT);
    ck_assert_int_eq(zcrp_connection_local(NULL, own, 64), ZCRP_ERROR_ARGUMENT);
}

TEST(connection__both_ways, .rows = 2)
{
    const char *host = _i == 0 ? "127.0.0.1" : "::1";
    static const nlong sizes[] = {0, 1, 17, MESSAGE, 5000000};
    const struct zcrp_options options = house_options(NULL);
    struct house h = house_open(host, NULL);
    struct both b;
    char text[64];

    ck_assert_int_eq(zcrp_connect(&b.there, host, h.port, &options, 0), ZCRP_OK);
    ck_assert_int_eq(zcrp_accept(h.listener, &b.here, 5 * ENDS_SECOND), ZCRP_OK);
    for (int i = 0; i < ROWS(sizes); i++) {
        house_pass(b.there, b.here, sizes[i], (uint64_t)i);
        house_pass(b.here, b.there, sizes[i], (uint64_t)i + 10);
    }
    ck_assert_int_eq(zcrp_connection_status(b.there), ZCRP_OK);
    ck_assert_int_eq(zcrp_connection_peer(b.there, text, sizeof text), ZCRP_OK);
    ck_assert_ptr_nonnull(strstr(text, h.port));
    ck_assert_int_eq(zcrp_connection_peer(b.there, text, 5), ZCRP_ERROR_SIZE);
    ck_assert_int_eq(zcrp_connection_peer(b.there, NULL, 5), ZCRP_ERROR_ARGUMENT);
    addresses_match(b.there, b.here);
    addresses_match(b.here, b.there);
    ck_assert_int_eq(zcrp_close(zcrp_connection_sender(b.here)), ZCRP_ERROR_ARGUMENT);
    house_part(&b);
    (void)zcrp_listener_close(h.listener);
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
    struct house h = house_open("127.0.0.1", _i % 2 ? &mapped : &none);
    struct both b = house_meet(&h, _i / 2 ? &mapped : &none);
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
    house_part(&b);
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
    struct home *h = context;

    for (uint64_t seed = 100; seed < 150; seed++)
        house_pass(h->there, h->here, MESSAGE, seed);
    return NULL;
}

TEST(connection__both_ways_at_once)
{
    struct home h = meet(NULL);
    pthread_t thread;

    ck_assert_int_eq(pthread_create(&thread, NULL, send_many, &h), 0);
    for (uint64_t seed = 0; seed < 50; seed++)
        house_pass(h.here, h.there, MESSAGE, seed);
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
    struct house h = house_open("127.0.0.1", NULL);
    struct zcrp_connection *c;
    pthread_t thread;
    void *here;

    ck_assert_int_eq(pthread_create(&thread, NULL, accept_one, &h), 0);
    ck_assert_int_eq(house_connect(&h, &c, NULL, -1), ZCRP_OK);
    ck_assert_int_eq(zcrp_connection_status(c), ZCRP_OK);
    pthread_join(thread, &here);
    house_part(&(struct both){c, here});
    (void)zcrp_listener_close(h.listener);
}

TEST(connect__says_why_not)
{
    const struct zcrp_options hasty = house_options(&impatient);
    struct house h = house_open("127.0.0.1", NULL);
    struct zcrp_connection *c;
    int mute = zcrp_udp_listen("127.0.0.1", "0");
    char port[8];

    snprintf(port, sizeof(port), "%d", zcrp_udp_port(mute));
    ck_assert_int_eq(zcrp_connect(&c, "127.0.0.1", port, NULL, 50 * ENDS_MILLISECOND),
                     ZCRP_ERROR_TIMEOUT);
    ck_assert_ptr_null(c);
    close(mute);
    ck_assert_int_eq(zcrp_listener_close(h.listener), ZCRP_OK);
    int code = ZCRP_OK;
    for (int i = 0; i < 5 && code != ZCRP_ERROR_REFUSED;
         i++) /* the kernel limits what it refuses */
        code = zcrp_connect(&c, "127.66.0.1", h.port, &hasty, -1); /* an address of no test */
    ck_assert_int_eq(code, ZCRP_ERROR_REFUSED);
    ck_assert_int_eq(zcrp_connect(&c, "127.0.0.1", "0", NULL, -1), ZCRP_ERROR_ADDRESS);
    ck_assert_int_eq(zcrp_connect(&c, "", "7000", NULL, -1), ZCRP_ERROR_ADDRESS);
    ck_assert_int_eq(zcrp_connect(NULL, "127.0.0.1", "7000", NULL, -1), ZCRP_ERROR_ARGUMENT);
}

/* In steps: each is over after a time, or when it is interrupted; then the peer is looked for
 * still.
 */
TEST(connection_wait__in_steps)
{
    const struct zcrp_options usual = house_options(NULL), hasty = house_options(&impatient);
    struct zcrp_connection *there, *here;
    int mute = zcrp_udp_listen("127.0.0.1", "0"); /* until somebody listens there */
    struct house h;

    snprintf(h.port, sizeof(h.port), "%d", zcrp_udp_port(mute));
    ck_assert_int_eq(zcrp_connect(&there, "127.0.0.1", h.port, &usual, 0), ZCRP_OK);
    ck_assert_int_eq(zcrp_connection_wait(there, 20 * ENDS_MILLISECOND), ZCRP_ERROR_TIMEOUT);
    ck_assert_int_eq(zcrp_connection_interrupt(there), ZCRP_OK);
    ck_assert_int_eq(zcrp_connection_wait(there, -1), ZCRP_ERROR_INTERRUPTED);
    ck_assert_int_eq(zcrp_connection_status(there), ZCRP_ERROR_BUSY);
    close(mute);
    ck_assert_int_eq(zcrp_listen(&h.listener, "127.0.0.1", h.port, &usual), ZCRP_OK);
    ck_assert_int_eq(zcrp_accept(h.listener, &here, 5 * ENDS_SECOND), ZCRP_OK);
    ck_assert_int_eq(zcrp_connection_wait(there, -1), ZCRP_OK);
    house_part(&(struct both){there, here});
    ck_assert_int_eq(zcrp_listener_close(h.listener), ZCRP_OK);
    ck_assert_int_eq(zcrp_connect(&there, "127.66.0.1", h.port, &hasty, 0), ZCRP_OK); /* nobody's */
    ck_assert_int_eq(zcrp_connection_wait(there, -1), ZCRP_ERROR_REFUSED);
    (void)zcrp_connection_close(there);
    ck_assert_int_eq(zcrp_connection_wait(NULL, -1), ZCRP_ERROR_ARGUMENT);
}

TEST(listen__one_of_an_address)
{
    struct house h = house_open("127.0.0.1", NULL);
    struct zcrp_listener *other;

    ck_assert_int_eq(zcrp_listen(&other, "127.0.0.1", h.port, NULL), ZCRP_ERROR_ADDRESS);
    ck_assert_int_eq(zcrp_listen(&other, "127.0.0.1", "70000", NULL), ZCRP_ERROR_ADDRESS);
    ck_assert_int_eq(zcrp_listener_close(h.listener), ZCRP_OK);
}

TEST(accept__time_and_interrupts)
{
    struct house h = house_open("127.0.0.1", NULL);
    struct zcrp_connection *c;
    struct pollfd set = {.fd = zcrp_listener_descriptor(h.listener), .events = POLLIN};

    ck_assert_int_eq(zcrp_accept(h.listener, &c, 0), ZCRP_ERROR_TIMEOUT);
    ck_assert_int_eq(zcrp_accept(h.listener, &c, 20 * ENDS_MILLISECOND), ZCRP_ERROR_TIMEOUT);
    ck_assert_int_eq(zcrp_listener_interrupt(h.listener), ZCRP_OK);
    ck_assert_int_eq(zcrp_accept(h.listener, &c, -1), ZCRP_ERROR_INTERRUPTED);
    ck_assert_int_eq(poll(&set, 1, 0), 0);
    struct zcrp_connection *there;
    ck_assert_int_eq(house_connect(&h, &there, NULL, 0), ZCRP_OK);
    ck_assert_int_eq(poll(&set, 1, 5000), 1);
    ck_assert_int_eq(zcrp_accept(h.listener, &c, 0), ZCRP_OK);
    ck_assert_int_eq(poll(&set, 1, 0), 0);
    house_part(&(struct both){there, c});
    (void)zcrp_listener_close(h.listener);
}

/* All call at the same moment, by IPv4 at a socket of IPv6; nobody is lost between bind and connect
 * of a child. Each has a message of its own back. */
TEST(listener__many_at_once)
{
    static struct both b[MANY];
    static struct zcrp_msg *out[MANY], *back[MANY], *in[MANY];
    struct house h = house_open(NULL, NULL);
    struct zcrp_listener_stats stats;

    for (int i = 0; i < MANY; i++) {
        ck_assert_int_eq(house_connect(&h, &b[i].there, NULL, 0), ZCRP_OK);
        out[i] = ends_filled(MESSAGE, (uint64_t)i);
        back[i] = ends_empty(MESSAGE);
        ends_submit(&(struct ends){.sender = zcrp_connection_sender(b[i].there),
                                   .receiver = zcrp_connection_receiver(b[i].there)},
                    back[i], out[i], MESSAGE);
    }
    for (int i = 0; i < MANY; i++) { /* in whatever order they come */
        ck_assert_int_eq(zcrp_accept(h.listener, &b[i].here, 5 * ENDS_SECOND), ZCRP_OK);
        in[i] = ends_empty(MESSAGE);
        ck_assert_int_eq(zcrp_submit(zcrp_connection_receiver(b[i].here), in[i], MESSAGE), ZCRP_OK);
    }
    for (int i = 0; i < MANY; i++) {
        ck_assert_int_eq(ends_wait(in[i]), ZCRP_OK);
        ck_assert_int_eq(zcrp_submit(zcrp_connection_sender(b[i].here), in[i], MESSAGE), ZCRP_OK);
    }
    for (int i = 0; i < MANY; i++) {
        ck_assert_int_eq(ends_wait(in[i]), ZCRP_OK);
        ends_finish(back[i], out[i], MESSAGE, (uint64_t)i);
    }
    ck_assert_int_eq(zcrp_listener_stats(h.listener, &stats), ZCRP_OK);
    ck_assert_uint_eq(stats.admitted, MANY);
    ck_assert_uint_eq(stats.connections, MANY);
    for (int i = 0; i < MANY; i++) {
        house_part(&b[i]);
        zcrp_free_msg(in[i]);
    }
    (void)zcrp_listener_close(h.listener);
}

TEST(listener__limits)
{
    const struct zcrp_options two = {.connections = 2};
    struct house h = house_open("127.0.0.1", &two);
    struct both a = house_meet(&h, NULL), b = house_meet(&h, NULL);
    struct zcrp_connection *third, *c;
    struct zcrp_listener_stats stats;
    int looks = 0;

    ck_assert_int_eq(house_connect(&h, &third, NULL, 0), ZCRP_OK);
    do { /* until it has called */
        ck_assert_int_eq(zcrp_accept(h.listener, &c, 100 * ENDS_MILLISECOND), ZCRP_ERROR_TIMEOUT);
        ck_assert_int_eq(zcrp_listener_stats(h.listener, &stats), ZCRP_OK);
    } while (stats.dropped == 0 && ++looks < 40);
    ck_assert_uint_eq(stats.admitted, 2);
    ck_assert_uint_eq(stats.connections, 2);
    ck_assert_uint_ge(stats.dropped, 1);
    ck_assert_int_eq(zcrp_listener_stats(NULL, &stats), ZCRP_ERROR_ARGUMENT);
    ck_assert_int_eq(zcrp_listener_stats(h.listener, NULL), ZCRP_ERROR_ARGUMENT);
    house_part(&a); /* makes room */
    ck_assert_int_eq(zcrp_accept(h.listener, &c, 5 * ENDS_SECOND), ZCRP_OK);
    house_part(&(struct both){third, c});
    house_part(&b);
    (void)zcrp_listener_close(h.listener);
}

TEST(accept__no_descriptor_left)
{
    struct house h = house_open("127.0.0.1", NULL);
    struct zcrp_connection *there, *c;
    static int fds[2000];
    int count = 0;

    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &(struct rlimit){1000, 1000}), 0);
    ck_assert_int_eq(house_connect(&h, &there, NULL, 0), ZCRP_OK);
    while (count < 2000 && (fds[count] = dup(0)) >= 0)
        count++;
    int code = zcrp_accept(h.listener, &c, 5 * ENDS_SECOND);
    for (int i = 0; i < count; i++)
        close(fds[i]);
    for (int i = 0; i < 100 && code == ZCRP_ERROR_SYSTEM; i++) /* it called, again and again */
        code = zcrp_accept(h.listener, &c, 5 * ENDS_SECOND);
    ck_assert_int_eq(code, ZCRP_OK);
    house_part(&(struct both){there, c});
    (void)zcrp_listener_close(h.listener);
}

TEST(connection__peer_closes)
{
    struct home h = meet(NULL);
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
    struct home h = meet(NULL);
    struct zcrp_msg *in = ends_empty(MESSAGE), *out = ends_filled(MESSAGE, 1);

    house_pass(h.here, h.there, MESSAGE, 1);
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

/* It gave messages up that it had submitted: what is posted, before or after that, ends with a code
 * that a loop does not take for the end of what there was. So do its peer's own messages. */
TEST(connection__peer_leaves_messages_behind)
{
    const struct zcrp_options hasty = {.linger_ns = 200 * ENDS_MILLISECOND};
    struct home h = meet(&hasty);
    struct zcrp_msg *given_up[2] = {ends_filled(MESSAGE, 1), ends_filled(MESSAGE, 2)};
    struct zcrp_msg *out = ends_filled(MESSAGE, 3), *in = ends_empty(MESSAGE);
    struct zcrp_entity *receiver = zcrp_connection_receiver(h.there);
    nlong size;

    house_pass(h.here, h.there, MESSAGE, 1);
    ck_assert_int_eq(zcrp_submit(zcrp_connection_sender(h.there), out, MESSAGE), ZCRP_OK);
    for (int i = 0; i < 2; i++)
        ck_assert_int_eq(zcrp_submit(zcrp_connection_sender(h.here), given_up[i], MESSAGE),
                         ZCRP_OK);
    ck_assert_int_eq(zcrp_connection_close(h.here), ZCRP_ERROR_TIMEOUT);
    ck_assert(status_becomes(h.there, ZCRP_ERROR_PEER_CLOSED));
    ck_assert_int_eq(zcrp_expect(receiver, &size, -1), ZCRP_ERROR_CUT_OFF);
    ck_assert_int_eq(zcrp_submit(receiver, in, MESSAGE), ZCRP_OK);
    ck_assert_int_eq(ends_wait(in), ZCRP_ERROR_CUT_OFF);
    ck_assert_int_eq(ends_wait(out), ZCRP_ERROR_CUT_OFF);
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(ends_wait(given_up[i]), ZCRP_ERROR_CLOSED);
        zcrp_free_msg(given_up[i]);
    }
    zcrp_free_msg(out);
    zcrp_free_msg(in);
    ck_assert_int_eq(zcrp_connection_close(h.there), ZCRP_OK);
    (void)zcrp_listener_close(h.listener);
}

/* More buffers than the table has room for: each of them ends, and each that is posted later. */
TEST(connection__peer_closes_on_a_full_table)
{
    enum { BUFFERS = 7 };
    const struct zcrp_options small = {.messages = 2};
    struct home h = meet(&small);
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
        ck_assert_int_eq(ends_wait(in[i]), ZCRP_ERROR_PEER_CLOSED);
        zcrp_free_msg(in[i]);
    }
    ck_assert_int_eq(zcrp_connection_close(h.there), ZCRP_OK);
    (void)zcrp_listener_close(h.listener);
}

/* The table is full of a buffer that was taken back, so the end makes no event of the machine's. */
TEST(connection__peer_closes_on_a_table_of_withdrawn_buffers)
{
    const struct zcrp_options small = {.messages = 1};
    struct home h = meet(&small);
    struct zcrp_msg *taken_back = ends_empty(MESSAGE), *queued = ends_empty(MESSAGE);
    struct zcrp_entity *receiver = zcrp_connection_receiver(h.there);

    ck_assert(status_becomes(h.there, ZCRP_OK));
    ck_assert_int_eq(zcrp_submit(receiver, taken_back, MESSAGE), ZCRP_OK);
    ck_assert_int_eq(zcrp_submit(receiver, queued, MESSAGE), ZCRP_OK);
    ck_assert_int_eq(zcrp_cancel(taken_back), ZCRP_OK);
    ck_assert_int_eq(ends_wait(taken_back), ZCRP_ERROR_CANCELLED);
    ck_assert_int_eq(zcrp_connection_close(h.here), ZCRP_OK);
    ck_assert_int_eq(ends_wait(queued), ZCRP_ERROR_PEER_CLOSED);
    zcrp_free_msg(taken_back);
    zcrp_free_msg(queued);
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
    struct home h = meet(NULL);
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
    struct home h = meet(NULL);
    struct zcrp_entity *receiver = zcrp_connection_receiver(h.here);
    nlong size;

    house_pass(h.here, h.there, MESSAGE, 1);
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
    struct home h = meet(NULL);
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
static struct home meet_process(const struct zcrp_options *options, pid_t *child)
{
    struct house h = {.listener = NULL};
    struct home met = {.there = NULL};
    int tell[2];

    ck_assert_int_eq(pipe(tell), 0);
    *child = fork();
    if (*child == 0) {
        bool is_told = read(tell[0], h.port, sizeof h.port) == sizeof h.port;
        _exit(is_told && house_connect(&h, &met.there, NULL, -1) == ZCRP_OK ? pause() : 1);
    }
    h = house_open("127.0.0.1", options);
    ck_assert_int_eq(write(tell[1], h.port, sizeof h.port), sizeof h.port);
    met.listener = h.listener;
    ck_assert_int_eq(zcrp_accept(h.listener, &met.here, 5 * ENDS_SECOND), ZCRP_OK);
    ck_assert(status_becomes(met.here, ZCRP_OK));
    return met;
}

/* A peer that dies without a word, while nothing is under way. */
TEST(connection__peer_dies)
{
    pid_t child;
    struct home h = meet_process(&impatient, &child);

    usleep(1500000); /* longer than the silence limit: it is kept alive */
    ck_assert_int_eq(zcrp_connection_status(h.here), ZCRP_OK);
    ends_kill_peer(child);
    for (int i = 0; i < 5000 && zcrp_connection_status(h.here) == ZCRP_OK; i++)
        usleep(1000);
    int code = zcrp_connection_status(h.here);
    ck_assert(ends_is_death(code));
    struct zcrp_msg *out = ends_filled(MESSAGE, 1);
    ck_assert_int_eq(zcrp_submit(zcrp_connection_sender(h.here), out, MESSAGE), ZCRP_OK);
    ck_assert_int_eq(ends_wait(out), code);
    zcrp_free_msg(out);
    ck_assert_int_eq(zcrp_connection_close(h.here), ZCRP_ERROR_TIMEOUT); /* nobody has confirmed */
    (void)zcrp_listener_close(h.listener);
}

/* How long a close takes whose peer is dead. */
static int64_t close_beside_a_dead_peer(const struct zcrp_options *options)
{
    pid_t child;
    struct home h = meet_process(options, &child);

    ends_kill_peer(child);
    int64_t began = clock_now_ns();
    ck_assert_int_eq(zcrp_connection_close(h.here), ZCRP_ERROR_TIMEOUT);
    int64_t taken = clock_now_ns() - began;
    (void)zcrp_listener_close(h.listener);
    return taken;
}

/* The limit is that of the connection, not of each half. On a busy machine one of some closes keeps
 * it. */
TEST(connection__close_beside_a_dead_peer)
{
    const struct zcrp_options options = {.linger_ns = 2 * ENDS_SECOND};
    int tries = 3;

    while (close_beside_a_dead_peer(&options) >= 2 * options.linger_ns)
        ck_assert_int_gt(--tries, 0);
}

/* Acknowledgements of a connection that receives nothing: they say its close. Within its lock. */
static void count_closings(void *context, int64_t time_ns, const struct zcrp_stats *stats)
{
    uint64_t *closings = context;

    (void)time_ns;
    if (stats->acknowledgements > *closings)
        *closings = stats->acknowledgements;
}

struct closer {
    pthread_t thread;
    _Atomic pid_t number;
    struct zcrp_connection *connection;
    int code;
};

static void *close_it(void *context)
{
    struct closer *closer = context;

    atomic_store(&closer->number, (pid_t)syscall(SYS_gettid));
    closer->code = zcrp_connection_close(closer->connection);
    return NULL;
}

/* The peer is killed while the close waits for it: its process is known to have ended or, without
 * memory, is found silent. The close says so once, and does not wait on for nobody. */
TEST(connection__peer_dies_amid_the_close, .rows = 2)
{
    uint64_t closings = 0;
    const struct zcrp_options options = {.flags = _i == 0 ? 0 : ZCRP_NO_MEMORY,
                                         .silence_ns = 2 * ENDS_SECOND,
                                         .linger_ns = 60 * ENDS_SECOND,
                                         .trace = count_closings,
                                         .trace_context = &closings};
    pid_t child;

    ck_assert_int_eq(unsetenv("ZCRP_NO_MEMORY"), 0);
    struct home h = meet_process(&options, &child);
    struct closer closer = {.connection = h.here};
    struct zcrp_msg *out = ends_filled(MESSAGE, 1);

    ck_assert_int_eq(zcrp_submit(zcrp_connection_sender(h.here), out, MESSAGE), ZCRP_OK);
    ck_assert_int_eq(pthread_create(&closer.thread, NULL, close_it, &closer), 0);
    asleep_await(&closer.number); /* the peer posts no buffer */
    ends_kill_peer(child);
    ck_assert_int_eq(pthread_join(closer.thread, NULL), 0);
    ck_assert_int_eq(closer.code, ZCRP_ERROR_TIMEOUT);
    (void)printf("%s, and %llu closings\n", zcrp_strerror(zcrp_error(out)),
                 (unsigned long long)closings);
    ck_assert(ends_is_death(zcrp_error(out)));
    ck_assert_uint_le(closings, 1);
    zcrp_free_msg(out);
    (void)zcrp_listener_close(h.listener);
}

/* A peer that lives is told that nothing is received any more, too, however little time there is.
 */
TEST(connection__close_in_no_time_tells_the_peer, .rows = 2)
{
    const struct zcrp_options hasty = {.linger_ns = _i == 0 ? 1 : 200 * ENDS_MILLISECOND};
    struct home h = meet(&hasty);
    struct zcrp_msg *given_up = ends_filled(MESSAGE, 1), *out = ends_filled(MESSAGE, 2);

    ck_assert(status_becomes(h.there, ZCRP_OK));
    ck_assert(status_becomes(h.here, ZCRP_OK));
    ck_assert_int_eq(zcrp_submit(zcrp_connection_sender(h.there), given_up, MESSAGE), ZCRP_OK);
    ck_assert_int_eq(zcrp_submit(zcrp_connection_sender(h.here), out, MESSAGE), ZCRP_OK);
    ck_assert_int_eq(zcrp_connection_close(h.there), ZCRP_ERROR_TIMEOUT);
    ck_assert_int_eq(zcrp_error(given_up), ZCRP_ERROR_CLOSED);
    ck_assert_int_eq(ends_wait(out), ZCRP_ERROR_CUT_OFF);
    ck_assert(status_becomes(h.here, ZCRP_ERROR_PEER_CLOSED));
    zcrp_free_msg(given_up);
    zcrp_free_msg(out);
    (void)zcrp_connection_close(h.here);
    (void)zcrp_listener_close(h.listener);
}

TEST(connection__interrupted)
{
    struct home h = meet(NULL);
    struct zcrp_msg *in = ends_empty(MESSAGE);

    ck_assert_int_eq(zcrp_submit(zcrp_connection_receiver(h.here), in, MESSAGE), ZCRP_OK);
    ck_assert_int_eq(zcrp_connection_interrupt(h.here), ZCRP_OK);
    ck_assert_int_eq(zcrp_wait_for(in, -1), ZCRP_ERROR_INTERRUPTED);
    ck_assert_int_eq(zcrp_cancel(in), ZCRP_OK);
    zcrp_free_msg(in);
    part(&h);
}

TEST(connection__in_a_child, .needs = ends_live_in_a_child)
{
    struct home h = meet(NULL);
    struct zcrp_connection *c;
    char text[64];
    int status;
    pid_t child = fork();

    if (child == 0) {
        bool good = zcrp_connection_status(h.there) == ZCRP_ERROR_FORKED &&
                    zcrp_connection_wait(h.there, 0) == ZCRP_ERROR_FORKED &&
                    zcrp_connection_peer(h.there, text, 64) == ZCRP_ERROR_FORKED &&
                    zcrp_connection_local(h.there, text, 64) == ZCRP_ERROR_FORKED &&
                    zcrp_connection_identity(h.there, text, 64) == ZCRP_ERROR_FORKED &&
                    zcrp_accept(h.listener, &c, 0) == ZCRP_ERROR_FORKED &&
                    zcrp_connection_close(h.there) == ZCRP_OK &&
                    zcrp_connection_close(h.here) == ZCRP_OK &&
                    zcrp_listener_close(h.listener) == ZCRP_OK;
        struct house own = house_open("127.0.0.1", NULL);
        struct both two = house_meet(&own, NULL);
        house_pass(two.there, two.here, MESSAGE, 5);
        house_part(&two);
        _exit(good && zcrp_listener_close(own.listener) == ZCRP_OK ? 0 : 1);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    house_pass(h.there, h.here, MESSAGE, 6);
    part(&h);
}

/* The memory that a peer may map is shared with this process's children, too. A child makes no
 * message there, because its parent makes its own there. */
TEST(connection__mapped_messages_in_a_child, .needs = ends_live_in_a_child)
{
    const struct zcrp_options mapped = {.mapped_bytes = MESSAGE};
    int go[2], status;

    ck_assert_int_eq(unsetenv("ZCRP_NO_MEMORY"), 0);
    struct home h = meet(&mapped);
    ck_assert_int_eq(pipe(go), 0);
    pid_t child = fork();
    if (child == 0) {
        char byte;
        bool is_told = read(go[0], &byte, 1) == 1;
        struct zcrp_msg *m = zcrp_connection_alloc_msg(h.there, MESSAGE);
        if (m != NULL)
            memset(m->buffer, 2, MESSAGE);
        _exit(is_told ? 0 : 1);
    }
    struct zcrp_msg *m = zcrp_connection_alloc_msg(h.there, MESSAGE);
    memset(m->buffer, 1, MESSAGE);
    ck_assert_int_eq(write(go[1], "", 1), 1);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    ck_assert_int_eq(m->buffer[0], 1);
    ck_assert_int_eq(m->buffer[MESSAGE - 1], 1);
    zcrp_free_msg(m);
    part(&h);
    (void)close(go[0]);
    (void)close(go[1]);
}

/* Closes what its parent has open. The exit status says what is left; 0: nothing. */
static int close_in_a_child(struct home *h, struct zcrp_msg *m, int descriptors)
{
    if (zcrp_connection_close(h->there) != ZCRP_OK || zcrp_connection_close(h->here) != ZCRP_OK ||
        zcrp_listener_close(h->listener) != ZCRP_OK)
        return 1;
    if (m->buffer[0] != 3)
        return 2;
    zcrp_free_msg(m);
    return own_descriptors() > descriptors ? 3 : 0;
}

/* While the ends meet, another thread of the parent may have just opened a descriptor that the
 * child does not know yet: hence the tries. */
TEST(connection__a_child_keeps_no_mapped_memory, .needs = ends_live_in_a_child)
{
    const struct zcrp_options mapped = {.mapped_bytes = MESSAGE};
    int descriptors = own_descriptors(), status = 3 << 8;

    ck_assert_int_eq(unsetenv("ZCRP_NO_MEMORY"), 0);
    struct home h = meet(&mapped);

    house_pass(h.there, h.here, MESSAGE, 1);
    struct zcrp_msg *m = zcrp_connection_alloc_msg(h.there, MESSAGE);
    memset(m->buffer, 3, MESSAGE);
    for (unsigned tries = 0; tries < 5 && status == 3 << 8; tries++) {
        usleep(tries * 100000);
        pid_t child = fork();
        if (child == 0)
            _exit(close_in_a_child(&h, m, descriptors));
        ck_assert_int_eq(waitpid(child, &status, 0), child);
    }
    ck_assert_int_eq(status, 0);
    zcrp_free_msg(m);
    part(&h);
}
