/* Peers that never come, die, start anew, or talk nonsense; and descriptors that go away. */
#include "../support/ends.h"

#include "core/adt/random.h"

#include <sys/socket.h>

LOAD(asleep)

#define MILLISECONDS(n) ((int64_t)(n)*1000000)

static const struct zcrp_options impatient = {.silence_ns = MILLISECONDS(300),
                                              .connect_ns = MILLISECONDS(300),
                                              .linger_ns = MILLISECONDS(500)};

/* Notices a death soon, and closes as late as may be. */
static const struct zcrp_options lingering = {.silence_ns = MILLISECONDS(5000),
                                              .connect_ns = MILLISECONDS(5000),
                                              .linger_ns = MILLISECONDS(20000)};

static const struct zcrp_options patient = {.linger_ns = MILLISECONDS(200)};

/* ---- silence ---- */

/* A sender says so at the connect limit. A receiver waits: a server has no hurry. */
TEST(peer__never_comes, .rows = 4)
{
    struct loopback sockets = loopback_open(_i < 2 ? LOOPBACK_UDP4 : LOOPBACK_UNIX, false);
    bool is_sender = _i % 2 == 0;
    struct zcrp_entity *e;
    struct zcrp_msg *m = ends_filled(10, 0);

    int64_t begun = clock_now_ns();
    ck_assert_int_eq(ends_open_role(&e, &sockets, is_sender, &impatient), 0);
    ck_assert_int_eq(zcrp_submit(e, m, 10), 0);
    int code = zcrp_wait_for(m, MILLISECONDS(50));
    if (clock_now_ns() - begun < impatient.connect_ns) /* else this thread got no processor */
        ck_assert_int_eq(code, ZCRP_ERROR_TIMEOUT);
    ck_assert_int_eq(zcrp_wait_for(m, MILLISECONDS(is_sender ? 20000 : 2000)),
                     is_sender ? ZCRP_ERROR_UNREACHABLE : ZCRP_ERROR_TIMEOUT);
    ck_assert_int_eq(zcrp_close(e), ZCRP_OK);
    ck_assert_int_eq(zcrp_error(m), is_sender ? ZCRP_ERROR_UNREACHABLE : ZCRP_ERROR_CLOSED);
    zcrp_free_msg(m);
    loopback_close(&sockets);
}

/* ---- another process that dies in the middle ---- */

/* One message with the child; its code. */
static int exchange(struct zcrp_entity *e, struct zcrp_msg *m)
{
    memset(m->buffer, 0x55, 100000);
    ck_assert_int_eq(zcrp_submit(e, m, 100000), 0);
    return ends_wait(m);
}

TEST(peer__dies, .rows = 2)
{
    bool is_sender = _i == 0;
    struct loopback sockets = loopback_open(LOOPBACK_UDP4, false);
    pid_t child = ends_start_peer(&sockets, !is_sender, -1, &patient);
    struct zcrp_msg *m = ends_filled(100000, 0);
    struct zcrp_entity *e;

    ck_assert_int_eq(ends_open_role(&e, &sockets, is_sender, &lingering), 0);
    for (int i = 0; i < 10; i++)
        ck_assert_int_eq(exchange(e, m), ZCRP_OK);
    ends_kill_peer(child);
    /* What was announced before the child died may still look alive for a while. */
    int code = ZCRP_OK;
    for (int i = 0; i < 10 && code == ZCRP_OK; i++)
        code = exchange(e, m);
    ck_assert(ends_is_death(code));
    int64_t begun = clock_now_ns();
    ck_assert_int_eq(zcrp_close(e), ZCRP_ERROR_TIMEOUT);           /* it has not confirmed, */
    ck_assert_int_lt(clock_now_ns() - begun, lingering.linger_ns); /* and is not waited for again */
    zcrp_free_msg(m);
    loopback_close(&sockets);
}

/* A second child takes the place of the first: a new session, in which all goes well again. */
TEST(peer__restarts, .rows = 2)
{
    bool is_sender = _i == 0;
    struct loopback sockets = loopback_open(LOOPBACK_UDP4, false);
    int gate[2];
    ck_assert_int_eq(pipe(gate), 0);
    pid_t child = ends_start_peer(&sockets, !is_sender, -1, &patient);
    pid_t second = ends_start_peer(&sockets, !is_sender, gate[0], &patient);
    struct zcrp_msg *m = ends_filled(100000, 0);
    struct zcrp_entity *e;
    int good = 0;

    ck_assert_int_eq(ends_open_role(&e, &sockets, is_sender, &patient), 0);
    for (int i = 0; i < 10; i++)
        ck_assert_int_eq(exchange(e, m), ZCRP_OK);
    ends_kill_peer(child);
    ck_assert_int_eq(write(gate[1], "g", 1), 1);
    for (int i = 0; i < 20 && good < 5; i++) {
        int code = exchange(e, m);
        ck_assert_msg(code == ZCRP_OK || code == ZCRP_ERROR_RESTARTED || ends_is_death(code), "%s",
                      zcrp_strerror(code));
        good = code == ZCRP_OK ? good + 1 : 0;
        if (code == ZCRP_OK)
            ck_assert(pattern_is_even(m->buffer, 100000, 0x55));
    }
    ck_assert_int_eq(good, 5);
    ends_kill_peer(second);
    close(gate[0]);
    close(gate[1]);
    zcrp_free_msg(m);
    (void)zcrp_close(e);
    loopback_close(&sockets);
}

/* ---- nonsense ---- */

/* Random bytes of random length, whose last byte often looks right. */
static void throw_garbage(int socket, uint64_t *random)
{
    uint8_t bytes[2000];
    size_t size = random_next(random) % sizeof(bytes);

    for (size_t i = 0; i < size; i++)
        bytes[i] = (uint8_t)random_next(random);
    if (loopback_is_aal5()) /* else it would not even be heard */
        memcpy(bytes, (const uint8_t[]){0, 1, 1, 64, 0, 0, bytes[6], 0x84}, 8);
    if (size > 0 && random_next(random) % 4 != 0)
        bytes[size - 1] = (uint8_t)(0x10 + random_next(random) % 7);
    (void)send(socket, bytes, size, MSG_DONTWAIT);
}

/* Both sockets get it from their own peer's address, between a thousand messages. */
TEST(peer__garbage)
{
    struct ends e = ends_open(LOOPBACK_UDP4, false, NULL);
    uint64_t random = 1998;
    struct zcrp_stats stats;

    for (unsigned i = 0; i < 1000; i++) {
        struct zcrp_msg *in = ends_empty(5000), *out = ends_filled(5000, i);
        ck_assert_int_eq(zcrp_submit(e.receiver, in, 5000), 0);
        throw_garbage(e.sockets.sender[0], &random);
        ck_assert_int_eq(zcrp_submit(e.sender, out, 5000), 0);
        throw_garbage(e.sockets.receiver[0], &random);
        ends_finish(in, out, 5000, i);
    }
    ck_assert_int_eq(zcrp_stats(e.receiver, &stats), 0);
    ck_assert_uint_gt(stats.drop_version + stats.drop_type + stats.drop_malformed +
                          stats.drop_short + stats.drop_session + stats.drop_damaged +
                          stats.drop_incomplete,
                      500);
    ends_close(&e);
}

/* AF_UNIX carries datagrams that are larger than any unit: dropped and counted. */
TEST(peer__enormous, .needs = loopback_is_udp)
{
    enum { BYTES = 100000 };
    static nbyte bytes[BYTES];
    struct ends e = ends_open(LOOPBACK_UNIX, false, NULL);
    struct zcrp_msg *in = ends_empty(300000), *out = ends_filled(300000, 3);
    struct zcrp_stats stats;

    ck_assert_int_eq(zcrp_submit(e.receiver, in, 300000), 0);
    for (int i = 65535; i <= 65537; i++)
        ck_assert_int_eq(send(e.sockets.sender[0], bytes, (size_t)i, 0), i);
    ck_assert_int_eq(send(e.sockets.sender[0], bytes, BYTES, 0), BYTES);
    ck_assert_int_eq(zcrp_submit(e.sender, out, 300000), 0);
    ends_finish(in, out, 300000, 3);
    ck_assert_int_eq(zcrp_stats(e.receiver, &stats), 0);
    ck_assert_uint_eq(stats.drop_truncated, 3);
    ends_close(&e);
}

/* A protocol to come: its datagrams are counted and dropped. */
TEST(peer__other_version, .needs = loopback_is_udp)
{
    struct ends e = ends_open(LOOPBACK_UDP4, false, NULL);
    uint8_t bytes[40] = {[39] = 0x31};
    struct zcrp_stats stats = {0};

    for (int i = 0; i < 10; i++) {
        ck_assert_int_eq(send(e.sockets.sender[0], bytes, sizeof(bytes), 0), sizeof(bytes));
        ck_assert_int_eq(send(e.sockets.receiver[0], bytes, sizeof(bytes), 0), sizeof(bytes));
    }
    for (int i = 0; i < 20000 && stats.drop_version < 10; i++) {
        usleep(1000);
        ck_assert_int_eq(zcrp_stats(e.receiver, &stats), 0);
    }
    ck_assert_uint_eq(stats.drop_version, 10);
    stats.drop_version = 0;
    for (int i = 0; i < 20000 && stats.drop_version < 10; i++) {
        usleep(1000);
        ck_assert_int_eq(zcrp_stats(e.sender, &stats), 0);
    }
    ck_assert_uint_eq(stats.drop_version, 10);
    ends_close(&e);
}

/* ---- descriptors ---- */

static int open_code(const int descriptors[2], const struct zcrp_options *options, bool is_sender)
{
    struct zcrp_entity *e = (struct zcrp_entity *)&e;
    int code = is_sender ? zcrp_open_sender(&e, descriptors, options)
                         : zcrp_open_receiver(&e, descriptors, options);

    ck_assert_ptr_null(e);
    return code;
}

TEST(open__errors, .rows = 2)
{
    bool is_sender = _i == 0;
    struct loopback sockets = loopback_open(LOOPBACK_UDP4, false);
    int good = sockets.sender[0];
    int pipes[2], stranger = loopback_bind(), stream = socket(AF_INET, SOCK_STREAM, 0);
    const struct zcrp_options wrong[] = {
        {.unit_bytes = 63}, {.unit_bytes = 65508}, {.messages = (1 << 20) + 1}, {.silence_ns = -1},
        {.linger_ns = -1},  {.spin_ns = -1},       {.congestion = 5},           {.flags = 1 << 20},
    };

    ck_assert_int_eq(pipe(pipes), 0);
    ck_assert_int_eq(zcrp_open_sender(NULL, sockets.sender, NULL), ZCRP_ERROR_ARGUMENT);
    ck_assert_int_eq(open_code(NULL, NULL, is_sender), ZCRP_ERROR_ARGUMENT);
    ck_assert_int_eq(open_code((int[]){-1, -1}, NULL, is_sender), ZCRP_ERROR_DESCRIPTOR);
    ck_assert_int_eq(open_code((int[]){good, 9999}, NULL, is_sender), ZCRP_ERROR_DESCRIPTOR);
    ck_assert_int_eq(open_code((int[]){9999, good}, NULL, is_sender), ZCRP_ERROR_DESCRIPTOR);
    ck_assert_int_eq(open_code(pipes, NULL, is_sender), ZCRP_ERROR_NOT_SOCKET);
    ck_assert_int_eq(open_code((int[]){stream, stream}, NULL, is_sender), ZCRP_ERROR_NOT_SOCKET);
    ck_assert_int_eq(open_code((int[]){stranger, stranger}, NULL, is_sender),
                     ZCRP_ERROR_NOT_CONNECTED);
    for (unsigned i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        ck_assert_int_eq(open_code(sockets.sender, &wrong[i], is_sender), ZCRP_ERROR_ARGUMENT);
    close(pipes[0]);
    close(pipes[1]);
    close(stranger);
    close(stream);
    loopback_close(&sockets);
}

/* ---- sockets by name ---- */

TEST(udp__errors)
{
    char port[8];
    int first = zcrp_udp_listen("127.0.0.1", "0");

    ck_assert_int_ge(first, 0);
    snprintf(port, sizeof(port), "%d", zcrp_udp_port(first));
    ck_assert_int_eq(zcrp_udp_listen("127.0.0.1", port), ZCRP_ERROR_ADDRESS);
    ck_assert_int_eq(zcrp_udp_listen("127.0.0.1", NULL), ZCRP_ERROR_ARGUMENT);
    ck_assert_int_eq(zcrp_udp_listen("no such host", "0"), ZCRP_ERROR_ADDRESS);
    ck_assert_int_eq(zcrp_udp_connect("127.0.0.1", "no such port"), ZCRP_ERROR_ADDRESS);
    ck_assert_int_eq(zcrp_udp_connect(NULL, "1"), ZCRP_ERROR_ARGUMENT);
    ck_assert_int_eq(zcrp_udp_connect("127.0.0.1", NULL), ZCRP_ERROR_ARGUMENT);
    ck_assert_int_eq(zcrp_udp_accept(first, MILLISECONDS(10)), ZCRP_ERROR_TIMEOUT);
    ck_assert_int_eq(zcrp_udp_accept(-1, 0), ZCRP_ERROR_ARGUMENT);
    ck_assert_int_eq(zcrp_udp_accept(9999, 0), ZCRP_ERROR_SYSTEM);
    ck_assert_int_eq(zcrp_udp_port(-1), ZCRP_ERROR_ARGUMENT);
    ck_assert_int_eq(zcrp_udp_port(9999), ZCRP_ERROR_SYSTEM);
    close(first);
}

/* A socket that carries no datagrams keeps what is in it. */
TEST(udp__accept_of_a_stream)
{
    int pair[2];
    char bytes[4];

    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    ck_assert_int_eq(write(pair[1], "abc", 3), 3);
    ck_assert_int_eq(zcrp_udp_accept(pair[0], MILLISECONDS(10)), ZCRP_ERROR_SYSTEM);
    ck_assert_int_eq(read(pair[0], bytes, sizeof(bytes)), 3);
    close(pair[0]);
    close(pair[1]);
}

TEST(udp__accept, .rows = 2)
{
    const char *host = _i == 0 ? "127.0.0.1" : "::1";
    char port[8];
    int listening = zcrp_udp_listen(host, "0");
    struct zcrp_entity *sender, *receiver;
    struct zcrp_msg *out = ends_filled(1000, 1), *in = ends_empty(1000);

    snprintf(port, sizeof(port), "%d", zcrp_udp_port(listening));
    int calling = zcrp_udp_connect(host, port);
    ck_assert_int_ge(calling, 0);
    const int calls[2] = {calling, calling}, listens[2] = {listening, listening};
    ck_assert_int_eq(zcrp_open_sender(&sender, calls, NULL), 0);
    ck_assert_int_eq(zcrp_submit(sender, out, 1000), 0);
    ck_assert_int_eq(zcrp_udp_accept(listening, 5 * ENDS_SECOND), 0);
    ck_assert_int_eq(zcrp_open_receiver(&receiver, listens, NULL), 0);
    ck_assert_int_eq(zcrp_submit(receiver, in, 1000), 0);
    ends_finish(in, out, 1000, 1);
    ck_assert_int_eq(zcrp_close(sender), 0);
    ck_assert_int_eq(zcrp_close(receiver), 0);
    close(calling);
    close(listening);
}
