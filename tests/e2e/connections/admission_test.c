/* How a caller gets in: its connection is up when the listener has admitted it, whether the program
 * accepts it or not. And what keeps it out: no room, or nobody who listens. */
#include "../../support/house.h"

#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

LOAD(asleep)

enum { MESSAGE = 100000, MANY = 50 };

static const int64_t patience = 60 * ENDS_SECOND; /* of a test, on a busy machine */

static struct zcrp_connection *connect_to(const struct house *h)
{
    struct zcrp_connection *c;

    ck_assert_int_eq(house_connect(h, &c, NULL, patience), ZCRP_OK);
    ck_assert_int_eq(zcrp_connection_status(c), ZCRP_OK);
    return c;
}

static struct zcrp_connection *accept_one(const struct house *h)
{
    struct zcrp_connection *c;

    ck_assert_int_eq(zcrp_accept(h->listener, &c, patience), ZCRP_OK);
    return c;
}

static struct zcrp_listener_stats stats_of(const struct house *h)
{
    struct zcrp_listener_stats stats;

    ck_assert_int_eq(zcrp_listener_stats(h->listener, &stats), ZCRP_OK);
    return stats;
}

static bool has_ended(struct zcrp_connection *c)
{
    int code = zcrp_connection_status(c);

    return code != ZCRP_OK && code != ZCRP_ERROR_BUSY;
}

static void expect_end(struct zcrp_connection *c, int code)
{
    for (int64_t end = clock_now_ns() + patience; !has_ended(c);) {
        ck_assert_int_lt(clock_now_ns(), end);
        usleep(1000);
    }
    ck_assert_int_eq(zcrp_connection_status(c), code);
}

/* ---- in ---- */

/* One thread does both, one after the other, as with TCP. */
TEST(admission__connect_and_then_accept)
{
    struct house h = house_open("127.0.0.1", NULL);
    struct both b = {.there = connect_to(&h)};

    b.here = accept_one(&h);
    house_pass(b.there, b.here, MESSAGE, 1);
    house_pass(b.here, b.there, MESSAGE, 2);
    house_part(&b);
    ck_assert_int_eq(zcrp_listener_close(h.listener), ZCRP_OK);
}

TEST(admission__many_before_the_first_is_accepted)
{
    struct house h = house_open("127.0.0.1", NULL);
    struct both b[MANY];

    for (int i = 0; i < MANY; i++)
        b[i].there = connect_to(&h);
    ck_assert_uint_eq(stats_of(&h).connections, MANY);
    for (int i = 0; i < MANY; i++) /* in the order in which they came */
        b[i].here = accept_one(&h);
    for (int i = 0; i < MANY; i++) {
        house_pass(b[i].there, b[i].here, 100, (uint64_t)i);
        house_part(&b[i]);
    }
    ck_assert_int_eq(zcrp_listener_close(h.listener), ZCRP_OK);
}

/* What is sent before anybody accepts waits for its buffer, and what is posted for its message. */
TEST(admission__messages_wait_for_accept)
{
    struct house h = house_open("127.0.0.1", NULL);
    struct zcrp_connection *there = connect_to(&h);
    struct zcrp_msg *out = ends_filled(MESSAGE, 1), *back = ends_empty(MESSAGE);

    ck_assert_int_eq(zcrp_submit(zcrp_connection_sender(there), out, MESSAGE), ZCRP_OK);
    ck_assert_int_eq(zcrp_submit(zcrp_connection_receiver(there), back, MESSAGE), ZCRP_OK);
    ck_assert_int_eq(zcrp_wait_for(out, 100 * ENDS_MILLISECOND), ZCRP_ERROR_TIMEOUT);
    struct zcrp_connection *here = accept_one(&h);
    struct zcrp_msg *in = ends_empty(MESSAGE), *answer = ends_filled(MESSAGE, 2);
    ck_assert_int_eq(zcrp_submit(zcrp_connection_receiver(here), in, MESSAGE), ZCRP_OK);
    ck_assert_int_eq(zcrp_submit(zcrp_connection_sender(here), answer, MESSAGE), ZCRP_OK);
    ends_finish(in, out, MESSAGE, 1);
    ends_finish(back, answer, MESSAGE, 2);
    house_part(&(struct both){there, here});
    ck_assert_int_eq(zcrp_listener_close(h.listener), ZCRP_OK);
}

/* ---- gone before the caller has looked ---- */

static void *accept_and_close(void *house)
{
    const struct house *h = house;
    struct zcrp_connection *here = NULL;

    if (zcrp_accept(h->listener, &here, 10 * ENDS_SECOND) == ZCRP_OK)
        (void)zcrp_connection_close(here);
    return NULL;
}

/* The listener's program has accepted and closed by the time that the caller's wait ends: the
 * connection was up, and what receives tells of its end. */
TEST(admission__a_peer_that_closes_at_once)
{
    enum { ROUNDS = 40 };
    struct house h = house_open("127.0.0.1", NULL);
    struct zcrp_msg *in = ends_empty(MESSAGE);

    for (int i = 0; i < ROUNDS; i++) {
        pthread_t program;
        ck_assert_int_eq(pthread_create(&program, NULL, accept_and_close, &h), 0);
        struct zcrp_connection *there = NULL;
        ck_assert_int_eq(house_connect(&h, &there, NULL, patience), ZCRP_OK);
        ck_assert_int_eq(zcrp_submit(zcrp_connection_receiver(there), in, MESSAGE), ZCRP_OK);
        ck_assert_int_eq(ends_wait(in), ZCRP_ERROR_PEER_CLOSED);
        pthread_join(program, NULL);
        ck_assert_int_eq(zcrp_connection_close(there), ZCRP_OK);
    }
    zcrp_free_msg(in);
    ck_assert_int_eq(zcrp_listener_close(h.listener), ZCRP_OK);
}

/* ---- gone before it was accepted ---- */

/* The library confirms its close, for a program that has not accepted it. */
TEST(admission__the_caller_leaves)
{
    struct house h = house_open("127.0.0.1", NULL);
    struct zcrp_msg *in = ends_empty(MESSAGE);

    ck_assert_int_eq(zcrp_connection_close(connect_to(&h)), ZCRP_OK);
    struct zcrp_connection *here = accept_one(&h);
    expect_end(here, ZCRP_ERROR_PEER_CLOSED);
    ck_assert_int_eq(zcrp_submit(zcrp_connection_receiver(here), in, MESSAGE), ZCRP_OK);
    ck_assert_int_eq(ends_wait(in), ZCRP_ERROR_PEER_CLOSED);
    zcrp_free_msg(in);
    ck_assert_int_eq(zcrp_connection_close(here), ZCRP_OK);
    ck_assert_uint_eq(stats_of(&h).connections, 0);
    ck_assert_int_eq(zcrp_listener_close(h.listener), ZCRP_OK);
}

/* Those that wait are told that nobody will accept them; those that were accepted go on. */
TEST(admission__the_listener_closes)
{
    struct house h = house_open("127.0.0.1", NULL);
    struct both b = {.there = connect_to(&h)};
    struct zcrp_connection *waiting[3];
    struct zcrp_msg *out = ends_filled(MESSAGE, 1), *in = ends_empty(MESSAGE);

    b.here = accept_one(&h);
    for (int i = 0; i < ROWS(waiting); i++)
        waiting[i] = connect_to(&h);
    while (stats_of(&h).admitted < 1 + ROWS(waiting))
        usleep(1000);
    ck_assert_int_eq(zcrp_submit(zcrp_connection_sender(waiting[0]), out, MESSAGE), ZCRP_OK);
    ck_assert_int_eq(zcrp_submit(zcrp_connection_receiver(waiting[1]), in, MESSAGE), ZCRP_OK);
    ck_assert_int_eq(zcrp_listener_close(h.listener), ZCRP_OK);
    for (int i = 0; i < ROWS(waiting); i++)
        expect_end(waiting[i], ZCRP_ERROR_PEER_CLOSED);
    ck_assert_int_eq(ends_wait(out), ZCRP_ERROR_CUT_OFF);
    ck_assert_int_eq(ends_wait(in), ZCRP_ERROR_PEER_CLOSED);
    zcrp_free_msg(out);
    zcrp_free_msg(in);
    for (int i = 0; i < ROWS(waiting); i++)
        ck_assert_int_eq(zcrp_connection_close(waiting[i]), ZCRP_OK);
    house_pass(b.there, b.here, MESSAGE, 2);
    house_part(&b);
}

/* A program that computes for longer than the silence limit before it accepts. */
TEST(admission__accepts_late)
{
    const struct zcrp_options options = {.silence_ns = 3 * ENDS_SECOND, .accept_ns = INT64_MAX};
    struct house h = house_open("127.0.0.1", &options);
    struct both b = {.there = connect_to(&h)};

    usleep(7000000);
    b.here = accept_one(&h);
    house_pass(b.there, b.here, MESSAGE, 1);
    house_part(&b);
    ck_assert_int_eq(zcrp_listener_close(h.listener), ZCRP_OK);
}

/* Nobody accepts for as long as the listener's options say. Then the place is another's. */
TEST(admission__nobody_accepts)
{
    const struct zcrp_options options = {.backlog = 1, .accept_ns = 3 * ENDS_SECOND};
    struct house h = house_open("127.0.0.1", &options);
    struct zcrp_connection *first = connect_to(&h), *c;
    struct pollfd set = {.fd = zcrp_listener_descriptor(h.listener), .events = POLLIN};

    ck_assert_int_eq(poll(&set, 1, 60000), 1);
    expect_end(first, ZCRP_ERROR_PEER_CLOSED);
    ck_assert_int_eq(zcrp_connection_close(first), ZCRP_OK);
    while (stats_of(&h).connections > 0)
        usleep(1000);
    ck_assert_int_eq(poll(&set, 1, 0), 0);
    ck_assert_int_eq(zcrp_accept(h.listener, &c, 0), ZCRP_ERROR_TIMEOUT);
    ck_assert_uint_eq(stats_of(&h).dropped, 1);
    struct both b = {.there = connect_to(&h)};
    b.here = accept_one(&h);
    house_pass(b.there, b.here, MESSAGE, 1);
    usleep(3500000); /* longer than the limit, which is not for those that were accepted */
    house_pass(b.there, b.here, MESSAGE, 2);
    house_part(&b);
    ck_assert_int_eq(zcrp_listener_close(h.listener), ZCRP_OK);
}

/* The child frees its copies, and its parent's callers learn nothing of that. */
TEST(admission__in_a_child)
{
    struct house h = house_open("127.0.0.1", NULL);
    struct both b = {.there = connect_to(&h)};
    int status;

    while (stats_of(&h).admitted < 1)
        usleep(1000);
    pid_t child = fork();
    if (child == 0)
        _exit(zcrp_listener_close(h.listener) == ZCRP_OK &&
                      zcrp_connection_close(b.there) == ZCRP_OK
                  ? 0
                  : 1);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    b.here = accept_one(&h);
    house_pass(b.there, b.here, MESSAGE, 1);
    house_part(&b);
    ck_assert_int_eq(zcrp_listener_close(h.listener), ZCRP_OK);
}

/* ---- no room ---- */

/* It has a name of its own, and passes. */
TEST(admission__a_full_backlog, .rows = 2)
{
    const struct zcrp_options full = {.backlog = _i == 0 ? 2 : 0, .connections = _i == 0 ? 0 : 2},
                              brief = {.connect_ns = 3 * ENDS_SECOND};
    struct house h = house_open("127.0.0.1", &full);
    struct zcrp_connection *c;
    struct both b[3];

    for (int i = 0; i < 2; i++)
        b[i].there = connect_to(&h);
    ck_assert_int_eq(house_connect(&h, &c, &brief, -1), ZCRP_ERROR_NOT_ADMITTED);
    ck_assert_ptr_null(c);
    ck_assert_uint_ge(stats_of(&h).dropped, 1);
    ck_assert_uint_eq(stats_of(&h).connections, 2);
    ck_assert_int_eq(
        house_connect(&h, &b[2].there, &(struct zcrp_options){.connect_ns = patience}, 0), ZCRP_OK);
    ck_assert_int_eq(zcrp_connection_wait(b[2].there, 500 * ENDS_MILLISECOND), ZCRP_ERROR_TIMEOUT);
    b[0].here = accept_one(&h);
    if (_i == 1)
        house_part(&b[0]); /* it was accepted, and has its place still */
    ck_assert_int_eq(zcrp_connection_wait(b[2].there, -1), ZCRP_OK);
    for (int i = 1; i < 3; i++) {
        b[i].here = accept_one(&h);
        house_pass(b[i].there, b[i].here, MESSAGE, (uint64_t)i);
        house_part(&b[i]);
    }
    if (_i == 0)
        house_part(&b[0]);
    ck_assert_int_eq(zcrp_listener_close(h.listener), ZCRP_OK);
}

/* A call that finds no room keeps its time limit: it says its last words, and waits for nobody. Of
 * five the quickest counts, because of what else the machine does. */
TEST(admission__in_vain_takes_no_longer, .rows = 2)
{
    const int64_t limit = 100 * ENDS_MILLISECOND;
    const struct zcrp_options full = {.backlog = 1, .connections = 1};
    struct house h = house_open("127.0.0.1", &full);
    struct zcrp_connection *there = connect_to(&h), *c;
    const struct zcrp_options options = {.flags = _i == 0 ? ZCRP_NO_MEMORY : 0};
    int64_t quickest = INT64_MAX;

    for (int i = 0; i < 5; i++) {
        int64_t began = clock_now_ns();
        ck_assert_int_eq(house_connect(&h, &c, &options, limit), ZCRP_ERROR_TIMEOUT);
        int64_t took = clock_now_ns() - began;
        quickest = took < quickest ? took : quickest;
    }
    ck_assert_int_ge(quickest, limit);
    ck_assert_int_lt(quickest, 2 * limit);
    ck_assert_int_eq(zcrp_listener_close(h.listener), ZCRP_OK);
    (void)zcrp_connection_close(there);
}

/* ---- nobody listens ---- */

/* A port of an address of no other test, at which nobody listens any more. */
static void write_dead_port(char port[8], const char *host)
{
    struct house h = house_open(host, NULL);

    memcpy(port, h.port, sizeof(h.port));
    ck_assert_int_eq(zcrp_listener_close(h.listener), ZCRP_OK);
}

/* The system says so of each hello, though it limits how often. */
TEST(admission__a_dead_port, .rows = 2)
{
    const char *host = _i == 0 ? "127.66.0.2" : "::1";
    const struct zcrp_options options = house_options(NULL);
    struct zcrp_connection *c;
    const int64_t late = 4 * ENDS_SECOND; /* and not by its limit, on a machine that is free */
    int code = ZCRP_OK;
    int64_t took = late;
    char port[8];

    for (int i = 0; i < 5 && (code != ZCRP_ERROR_REFUSED || took >= late); i++) {
        write_dead_port(port, host);
        int64_t began = clock_now_ns();
        code = zcrp_connect(&c, host, port, &options, -1);
        took = clock_now_ns() - began;
        ck_assert_ptr_null(c);
    }
    printf("%s after %.2f s\n", zcrp_strerror(code), (double)took / 1e9);
    ck_assert_int_eq(code, ZCRP_ERROR_REFUSED);
    ck_assert_int_ge(took, ENDS_SECOND); /* so that one that is started at once is found */
    ck_assert_int_lt(took, late);
}

/* Whoever says how long to look for a peer means it. */
TEST(admission__a_late_server)
{
    const struct zcrp_options options =
        house_options(&(struct zcrp_options){.connect_ns = patience});
    struct house h;
    struct both b;

    write_dead_port(h.port, "127.66.0.3");
    ck_assert_int_eq(zcrp_connect(&b.there, "127.66.0.3", h.port, &options, 0), ZCRP_OK);
    ck_assert_int_eq(zcrp_connection_wait(b.there, 2 * ENDS_SECOND), ZCRP_ERROR_TIMEOUT);
    ck_assert_int_eq(zcrp_connection_status(b.there), ZCRP_ERROR_BUSY);
    ck_assert_int_eq(zcrp_listen(&h.listener, "127.66.0.3", h.port, &options), ZCRP_OK);
    ck_assert_int_eq(zcrp_connection_wait(b.there, -1), ZCRP_OK);
    b.here = accept_one(&h);
    house_pass(b.there, b.here, MESSAGE, 1);
    house_part(&b);
    ck_assert_int_eq(zcrp_listener_close(h.listener), ZCRP_OK);
}

/* A socket that is there and says nothing refuses nobody, and may be answered late. */
TEST(admission__a_mute_port)
{
    const struct zcrp_options options = house_options(NULL);
    struct zcrp_connection *c;
    char port[8];
    int fd = zcrp_udp_listen("127.0.0.1", "0");

    snprintf(port, sizeof(port), "%d", zcrp_udp_port(fd));
    int64_t began = clock_now_ns();
    ck_assert_int_eq(zcrp_connect(&c, "127.0.0.1", port, &options, -1), ZCRP_ERROR_UNREACHABLE);
    ck_assert_int_ge(clock_now_ns() - began, 5 * ENDS_SECOND);
    close(fd);
}
