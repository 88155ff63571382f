/* Connections with keys: who gets in, who does not, and what crosses then. */
#include "../support/ends.h"

#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MESSAGE = 300000, IDENTITY = ZCRP_KEYS_IDENTITY_MOST + 1 };

static const uint8_t key[ZCRP_KEYS_PSK_LEAST] = "not random, because it is a test";
static const uint8_t other_key[ZCRP_KEYS_PSK_LEAST] = "another one, which is not random";

static bool has_keys(void)
{
    struct zcrp_keys *keys;
    int code = zcrp_keys_psk(&keys, "probe", key, sizeof key);
    zcrp_keys_free(keys);
    return code == ZCRP_OK;
}

static struct zcrp_keys *shared(const char *identity, const uint8_t *bytes)
{
    struct zcrp_keys *keys;
    ck_assert_int_eq(zcrp_keys_psk(&keys, identity, bytes, ZCRP_KEYS_PSK_LEAST), ZCRP_OK);
    return keys;
}

/* ---- two ends ---- */

struct pair {
    struct zcrp_listener *listener;
    char port[8];
    struct zcrp_connection *there, *here;
};

/* The listener has these keys, and the library keeps what it needs of them. */
static void listen_with(struct pair *p, struct zcrp_options options, struct zcrp_keys *keys)
{
    options.keys = keys;
    ck_assert_int_eq(zcrp_listen(&p->listener, "127.0.0.1", "0", &options), ZCRP_OK);
    snprintf(p->port, sizeof p->port, "%d", zcrp_listener_port(p->listener));
    zcrp_keys_free(keys);
}

static int connect_with(struct pair *p, struct zcrp_options options, struct zcrp_keys *keys,
                        int64_t timeout_ns)
{
    options.keys = keys;
    int code = zcrp_connect(&p->there, "127.0.0.1", p->port, &options, timeout_ns);
    zcrp_keys_free(keys);
    return code;
}

static void meet(struct pair *p, struct zcrp_options options)
{
    listen_with(p, options, shared("alice", key));
    ck_assert_int_eq(connect_with(p, options, shared("alice", key), 0), ZCRP_OK);
    ck_assert_int_eq(zcrp_accept(p->listener, &p->here, 5 * ENDS_SECOND), ZCRP_OK);
}

static void part(struct pair *p)
{
    ck_assert_int_eq(zcrp_connection_close(p->there), ZCRP_OK);
    (void)zcrp_connection_close(p->here);
    ck_assert_int_eq(zcrp_listener_close(p->listener), ZCRP_OK);
}

static void fill(uint8_t *bytes, size_t count, unsigned seed)
{
    for (size_t i = 0; i < count; i++)
        bytes[i] = (uint8_t)(i * 7 + i / 251 + seed);
}

static void pass(struct zcrp_connection *from, struct zcrp_connection *to, size_t size,
                 unsigned seed)
{
    struct zcrp_msg *out = zcrp_alloc_msg(size), *in = zcrp_alloc_msg(size + 10);
    fill(out->buffer, size, seed);
    memset(in->buffer, 0xAA, size + 10);
    ck_assert_int_eq(zcrp_submit(zcrp_connection_receiver(to), in, size + 10), ZCRP_OK);
    ck_assert_int_eq(zcrp_submit(zcrp_connection_sender(from), out, size), ZCRP_OK);
    ck_assert_int_eq(zcrp_wait_for(out, 10 * ENDS_SECOND), ZCRP_OK);
    ck_assert_int_eq(zcrp_wait_for(in, 10 * ENDS_SECOND), ZCRP_OK);
    ck_assert_uint_eq(in->length, size);
    ck_assert_int_eq(memcmp(in->buffer, out->buffer, size), 0);
    ck_assert_uint_eq(in->buffer[size], 0xAA);
    zcrp_free_msg(out);
    zcrp_free_msg(in);
}

TEST(keys__messages_both_ways, .needs = has_keys)
{
    static const size_t sizes[] = {0, 1, 31, 1000, 65536, 1 << 20, 5000001};
    struct pair p;
    meet(&p, (struct zcrp_options){0});
    for (int i = 0; i < ROWS(sizes); i++) {
        pass(p.there, p.here, sizes[i], 1);
        pass(p.here, p.there, sizes[i], 2);
    }
    part(&p);
}

TEST(keys__identity, .needs = has_keys)
{
    char text[IDENTITY];
    struct pair p;
    meet(&p, (struct zcrp_options){0});
    pass(p.there, p.here, 10, 1);
    ck_assert_int_eq(zcrp_connection_identity(p.here, text, sizeof text), ZCRP_OK);
    ck_assert_str_eq(text, "alice");
    ck_assert_int_eq(zcrp_connection_identity(p.there, text, sizeof text), ZCRP_OK);
    ck_assert_int_eq(zcrp_connection_identity(p.here, text, 5), ZCRP_ERROR_SIZE);
    ck_assert_int_eq(zcrp_connection_identity(NULL, text, 5), ZCRP_ERROR_ARGUMENT);
    part(&p);
}

static void *accept_one(void *pair)
{
    struct pair *p = pair;
    ck_assert_int_eq(zcrp_accept(p->listener, &p->here, 5 * ENDS_SECOND), ZCRP_OK);
    return NULL;
}

TEST(keys__connect_waits_for_its_peer, .needs = has_keys)
{
    struct pair p;
    pthread_t thread;
    listen_with(&p, (struct zcrp_options){0}, shared("alice", key));
    pthread_create(&thread, NULL, accept_one, &p);
    ck_assert_int_eq(connect_with(&p, (struct zcrp_options){0}, shared("alice", key), -1), ZCRP_OK);
    pthread_join(thread, NULL);
    ck_assert_int_eq(zcrp_connection_status(p.there), ZCRP_OK);
    pass(p.here, p.there, 100, 1);
    part(&p);
}

/* One that sends units of every size, over every way out. */
static const struct zcrp_options ways[] = {
    {.unit_bytes = 200},
    {.unit_bytes = 1500, .flags = ZCRP_NO_SEGMENT | ZCRP_NO_GRO},
    {.unit_bytes = 9000},
    {.congestion = ZCRP_CONGESTION_NONE},
    {.congestion = ZCRP_CONGESTION_CUBIC, .messages = 4},
    {.channel = ZCRP_CHANNEL_AAL5},
};

TEST(keys__every_way, .needs = has_keys, .rows = ROWS(ways))
{
    struct pair p;
    meet(&p, ways[_i]);
    for (unsigned i = 0; i < 20; i++)
        pass(p.there, p.here, 100000 + 7777 * i, i);
    part(&p);
}

/* ---- who does not get in ---- */

static const struct {
    bool has_theirs, has_ours;
    const char *identity;
    const uint8_t *bytes;
    int code;
    bool is_counted;
} refused[] = {
    {true, true, "alice", other_key, ZCRP_ERROR_KEYS, true},
    {true, true, "mallory", key, ZCRP_ERROR_KEYS, true},
    {true, false, NULL, NULL, ZCRP_ERROR_KEYS, false},
    {false, true, "alice", key, ZCRP_ERROR_KEYS, false},
};

TEST(keys__refused, .needs = has_keys, .rows = ROWS(refused))
{
    struct zcrp_options options = {.connect_ns = 2 * ENDS_SECOND};
    struct zcrp_listener_stats stats;
    struct pair p;
    listen_with(&p, options, refused[_i].has_theirs ? shared("alice", key) : NULL);
    struct zcrp_keys *ours =
        refused[_i].has_ours ? shared(refused[_i].identity, refused[_i].bytes) : NULL;
    ck_assert_int_eq(connect_with(&p, options, ours, -1), refused[_i].code);
    ck_assert_ptr_null(p.there);
    ck_assert_int_eq(zcrp_listener_stats(p.listener, &stats), ZCRP_OK);
    ck_assert_uint_eq(stats.admitted, 0);
    if (refused[_i].is_counted)
        ck_assert_uint_ge(stats.refused, 1);
    ck_assert_int_eq(zcrp_accept(p.listener, &p.here, 0), ZCRP_ERROR_TIMEOUT);
    zcrp_listener_close(p.listener);
}

/* What is sent to somebody who is refused stays here. */
TEST(keys__a_message_to_a_stranger_fails, .needs = has_keys)
{
    struct zcrp_options options = {.connect_ns = ENDS_SECOND};
    struct pair p;
    listen_with(&p, options, shared("alice", other_key));
    ck_assert_int_eq(connect_with(&p, options, shared("alice", key), 0), ZCRP_OK);
    struct zcrp_msg *m = zcrp_alloc_msg(1000);
    ck_assert_int_eq(zcrp_submit(zcrp_connection_sender(p.there), m, 1000), ZCRP_OK);
    ck_assert_int_eq(zcrp_wait_for(m, 5 * ENDS_SECOND), ZCRP_ERROR_KEYS);
    ck_assert_int_eq(zcrp_connection_status(p.there), ZCRP_ERROR_KEYS);
    zcrp_free_msg(m);
    zcrp_connection_close(p.there);
    zcrp_listener_close(p.listener);
}

TEST(keys__mistakes, .needs = has_keys)
{
    struct zcrp_options options = {.channel = ZCRP_CHANNEL_MEMORY, .keys = shared("alice", key)};
    struct zcrp_connection *c;
    struct zcrp_entity *e;
    int fds[2];
    ck_assert_int_eq(zcrp_connect(&c, "127.0.0.1", "7", &options, 0), ZCRP_ERROR_ARGUMENT);
    options.channel = ZCRP_CHANNEL_AUTO;
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_DGRAM, 0, fds), 0);
    ck_assert_int_eq(zcrp_open_sender(&e, fds, &options), ZCRP_ERROR_ARGUMENT);
    zcrp_keys_free(options.keys);
    close(fds[0]);
    close(fds[1]);
}

/* ---- endings ---- */

TEST(keys__close_is_heard, .needs = has_keys)
{
    struct pair p;
    meet(&p, (struct zcrp_options){0});
    pass(p.there, p.here, 10, 1);
    struct zcrp_msg *m = zcrp_alloc_msg(100);
    ck_assert_int_eq(zcrp_submit(zcrp_connection_receiver(p.here), m, 100), ZCRP_OK);
    ck_assert_int_eq(zcrp_connection_close(p.there), ZCRP_OK);
    ck_assert_int_eq(zcrp_wait_for(m, 5 * ENDS_SECOND), ZCRP_ERROR_PEER_CLOSED);
    zcrp_free_msg(m);
    zcrp_connection_close(p.here);
    zcrp_listener_close(p.listener);
}

/* The size of a message that has no buffer is asked for, sealed like all else. */
TEST(keys__expect, .needs = has_keys)
{
    struct pair p;
    nlong size;
    meet(&p, (struct zcrp_options){0});
    struct zcrp_msg *out = zcrp_alloc_msg(12345);
    ck_assert_int_eq(zcrp_submit(zcrp_connection_sender(p.there), out, 12345), ZCRP_OK);
    ck_assert_int_eq(zcrp_expect(zcrp_connection_receiver(p.here), &size, 5 * ENDS_SECOND), 0);
    ck_assert_uint_eq(size, 12345);
    struct zcrp_msg *in = zcrp_alloc_msg(size);
    ck_assert_int_eq(zcrp_submit(zcrp_connection_receiver(p.here), in, size), ZCRP_OK);
    ck_assert_int_eq(zcrp_wait_for(in, 5 * ENDS_SECOND), ZCRP_OK);
    ck_assert_int_eq(zcrp_wait_for(out, 5 * ENDS_SECOND), ZCRP_OK);
    zcrp_free_msg(out);
    zcrp_free_msg(in);
    part(&p);
}

TEST(keys__cancel, .needs = has_keys)
{
    struct pair p;
    meet(&p, (struct zcrp_options){0});
    struct zcrp_msg *out = zcrp_alloc_msg(MESSAGE), *in = zcrp_alloc_msg(MESSAGE);
    ck_assert_int_eq(zcrp_submit(zcrp_connection_sender(p.there), out, MESSAGE), ZCRP_OK);
    ck_assert_int_eq(zcrp_cancel(out), ZCRP_OK);
    ck_assert_int_eq(zcrp_submit(zcrp_connection_receiver(p.here), in, MESSAGE), ZCRP_OK);
    ck_assert_int_eq(zcrp_wait_for(in, 5 * ENDS_SECOND), ZCRP_ERROR_PEER_CANCELLED);
    zcrp_free_msg(out);
    zcrp_free_msg(in);
    pass(p.there, p.here, 1000, 3);
    part(&p);
}

/* A peer that calls again from another port, while the first connection goes on. */
TEST(keys__several_callers, .needs = has_keys)
{
    enum { CALLERS = 5 };
    struct pair p[CALLERS];
    meet(&p[0], (struct zcrp_options){0});
    for (int i = 1; i < CALLERS; i++) {
        p[i] = p[0];
        ck_assert_int_eq(connect_with(&p[i], (struct zcrp_options){0}, shared("alice", key), 0), 0);
        ck_assert_int_eq(zcrp_accept(p[0].listener, &p[i].here, 5 * ENDS_SECOND), ZCRP_OK);
    }
    for (int i = 0; i < CALLERS; i++)
        pass(p[i].there, p[i].here, MESSAGE, (unsigned)i);
    for (int i = 1; i < CALLERS; i++) {
        ck_assert_int_eq(zcrp_connection_close(p[i].there), ZCRP_OK);
        (void)zcrp_connection_close(p[i].here);
    }
    part(&p[0]);
}
