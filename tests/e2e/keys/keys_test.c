/* Connections with keys: who gets in, who does not, and what crosses then. */
#include "../../support/folder.h"
#include "../../support/shared_keys.h"

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

LOAD(asleep)

enum { MESSAGE = 300000, IDENTITY = ZCRP_KEYS_IDENTITY_MOST + 1 };

/* ---- two ends ---- */

struct pair {
    struct house house;
    struct zcrp_connection *there, *here;
};

/* Calls the listener, with the key that it knows or with others. */
static int call(struct pair *p, struct zcrp_options options, struct zcrp_keys *keys,
                int64_t timeout_ns)
{
    return connect_with(p->house.port, &p->there, options, keys, timeout_ns);
}

static void meet(struct pair *p, struct zcrp_options options)
{
    p->house = house_with(options, shared("alice", key));
    ck_assert_int_eq(call(p, options, shared("alice", key), 0), ZCRP_OK);
    ck_assert_int_eq(zcrp_accept(p->house.listener, &p->here, 5 * ENDS_SECOND), ZCRP_OK);
}

static void part(struct pair *p)
{
    ck_assert_int_eq(zcrp_connection_close(p->there), ZCRP_OK);
    (void)zcrp_connection_close(p->here);
    ck_assert_int_eq(zcrp_listener_close(p->house.listener), ZCRP_OK);
}

static void fill(uint8_t *bytes, size_t count, unsigned seed)
{
    for (size_t i = 0; i < count; i++)
        bytes[i] = (uint8_t)(i * 7 + i / 251 + seed);
}

static void pass(struct zcrp_connection *from, struct zcrp_connection *to, size_t size,
                 unsigned seed)
{
    struct zcrp_msg *out = zcrp_alloc_msg(size), *in = zcrp_alloc_msg(size + 11);
    fill(out->buffer, size, seed);
    memset(in->buffer, 0xAA, size + 11);
    ck_assert_int_eq(zcrp_submit(zcrp_connection_receiver(to), in, size + 10), ZCRP_OK);
    ck_assert_int_eq(zcrp_submit(zcrp_connection_sender(from), out, size), ZCRP_OK);
    ck_assert_int_eq(zcrp_wait_for(out, 10 * ENDS_SECOND), ZCRP_OK);
    ck_assert_int_eq(zcrp_wait_for(in, 10 * ENDS_SECOND), ZCRP_OK);
    ck_assert_uint_eq(in->length, size);
    ck_assert_int_eq(memcmp(in->buffer, out->buffer, size), 0);
    ck_assert_uint_eq(in->buffer[size + 10], 0xAA);
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

/* One host, one user: both ends have shown that they have the keys, and nothing need be sealed. */
TEST(keys__through_memory, .needs = has_keys, .rows = 8)
{
    static const size_t sizes[] = {0, 1, 1000, 65536, 1 << 20, 5000001};
    struct zcrp_stats s;
    struct pair p;
    ck_assert_int_eq(unsetenv("ZCRP_NO_MEMORY"), 0);
    meet(&p, (struct zcrp_options){.channel = ZCRP_CHANNEL_MEMORY});
    for (int i = 0; i < 3 * ROWS(sizes); i++) {
        pass(p.there, p.here, sizes[i % ROWS(sizes)], (unsigned)i);
        pass(p.here, p.there, sizes[i % ROWS(sizes)], (unsigned)i + 1);
    }
    ck_assert_int_eq(zcrp_stats(zcrp_connection_receiver(p.here), &s), ZCRP_OK);
    ck_assert_uint_gt(s.bytes_copied_once, 5000000);
    ck_assert_uint_eq(s.drop_forged + s.drop_replayed, 0);
    part(&p);
}

static void *accept_one(void *pair)
{
    struct pair *p = pair;
    ck_assert_int_eq(zcrp_accept(p->house.listener, &p->here, 5 * ENDS_SECOND), ZCRP_OK);
    return NULL;
}

TEST(keys__connect_waits_for_its_peer, .needs = has_keys)
{
    struct pair p;
    pthread_t thread;
    p.house = house_with((struct zcrp_options){0}, shared("alice", key));
    pthread_create(&thread, NULL, accept_one, &p);
    ck_assert_int_eq(call(&p, (struct zcrp_options){0}, shared("alice", key), -1), ZCRP_OK);
    pthread_join(thread, NULL);
    ck_assert_int_eq(zcrp_connection_status(p.there), ZCRP_OK);
    pass(p.here, p.there, 100, 1);
    part(&p);
}

/* A caller announces a buffer before it is through: has its message come at once, and has it shown
 * that the peer is there? Then nothing was repeated, and the connection ends well at both ends. */
static bool announce_early(void)
{
    struct zcrp_msg *in = zcrp_alloc_msg(100), *out = zcrp_alloc_msg(100);
    struct zcrp_stats stats;
    struct pair p;
    p.house = house_with((struct zcrp_options){0}, shared("alice", key));
    ck_assert_int_eq(call(&p, (struct zcrp_options){0}, shared("alice", key), 0), ZCRP_OK);
    ck_assert_int_eq(zcrp_submit(zcrp_connection_receiver(p.there), in, 100), ZCRP_OK);
    ck_assert_int_eq(zcrp_accept(p.house.listener, &p.here, 5 * ENDS_SECOND), ZCRP_OK);
    ck_assert_int_eq(zcrp_submit(zcrp_connection_sender(p.here), out, 100), ZCRP_OK);
    ck_assert_int_eq(zcrp_wait_for(in, 5 * ENDS_SECOND), ZCRP_OK);
    bool is_up = zcrp_connection_status(p.there) == ZCRP_OK;
    ck_assert_int_eq(zcrp_stats(zcrp_connection_receiver(p.there), &stats), ZCRP_OK);
    ck_assert_int_eq(zcrp_connection_close(p.there), ZCRP_OK);
    ck_assert_int_eq(zcrp_connection_close(p.here), ZCRP_OK);
    ck_assert_int_eq(zcrp_listener_close(p.house.listener), ZCRP_OK);
    zcrp_free_msg(in);
    zcrp_free_msg(out);
    return is_up && stats.requests == 1;
}

/* The announcement comes to the listening socket, because there is no other one yet; it is not
 * repeated. A thread that the system wakes late may be too late for it: hence the tries. */
TEST(keys__the_first_request_is_kept, .needs = has_keys)
{
    int tries = 10;
    while (!announce_early())
        ck_assert_int_gt(--tries, 0);
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

/* A listener without keys refuses nobody: the caller learns that at its limit. The others say so at
 * once, on a machine that is free. */
static int64_t limit_of_refused(int row)
{
    return (refused[row].has_theirs ? 20 : 2) * ENDS_SECOND;
}

TEST(keys__refused, .needs = has_keys, .rows = ROWS(refused))
{
    struct zcrp_options options = {.connect_ns = limit_of_refused(_i)};
    struct zcrp_listener_stats stats;
    struct pair p;
    p.house = house_with(options, refused[_i].has_theirs ? shared("alice", key) : NULL);
    struct zcrp_keys *ours =
        refused[_i].has_ours ? shared(refused[_i].identity, refused[_i].bytes) : NULL;
    ck_assert_int_eq(call(&p, options, ours, -1), refused[_i].code);
    ck_assert_ptr_null(p.there);
    ck_assert_int_eq(zcrp_listener_stats(p.house.listener, &stats), ZCRP_OK);
    ck_assert_uint_eq(stats.admitted, 0);
    if (refused[_i].is_counted)
        ck_assert_uint_ge(stats.refused, 1);
    ck_assert_int_eq(zcrp_accept(p.house.listener, &p.here, 0), ZCRP_ERROR_TIMEOUT);
    zcrp_listener_close(p.house.listener);
}

/* Answers the first hello that comes with a cookie, and nothing else that comes. */
static void give_one_cookie(int fd)
{
    enum { TRAILER = 32, COOKIE_AT = 8, TAG_AT = 26, COOKIE_TYPE = 0x28 };
    uint8_t hello[TRAILER], cookie[TRAILER] = {[COOKIE_AT] = 1, [TRAILER - 1] = COOKIE_TYPE};
    struct sockaddr_in caller;
    socklen_t bytes = sizeof caller;

    ck_assert_int_eq(recvfrom(fd, hello, TRAILER, 0, (struct sockaddr *)&caller, &bytes), TRAILER);
    memcpy(cookie, hello, COOKIE_AT); /* its nonce */
    memcpy(cookie + TAG_AT, hello + TAG_AT, sizeof(uint32_t));
    ck_assert_int_eq(sendto(fd, cookie, TRAILER, 0, (struct sockaddr *)&caller, bytes), TRAILER);
}

/* Before, a caller with keys began its handshake anew after 5 s, even just before it gave up, and
 * failed as if nobody had answered. */
TEST(keys__refused_by_silence, .needs = has_keys)
{
    const struct zcrp_options options = {.connect_ns = 11 * ENDS_SECOND / 2};
    struct sockaddr_in own = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t bytes = sizeof own;
    struct zcrp_connection *c;
    char port[8];
    int fd = socket(AF_INET, SOCK_DGRAM, 0);

    ck_assert_int_eq(bind(fd, (struct sockaddr *)&own, bytes), 0);
    ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&own, &bytes), 0);
    snprintf(port, sizeof port, "%d", ntohs(own.sin_port));
    ck_assert_int_eq(connect_with(port, &c, options, shared("alice", key), 0), ZCRP_OK);
    give_one_cookie(fd);
    ck_assert_int_eq(zcrp_connection_wait(c, -1), ZCRP_ERROR_KEYS);
    ck_assert_int_eq(zcrp_connection_close(c), ZCRP_ERROR_KEYS);
    close(fd);
}

/* Whoever has a good key is in, and whoever finds no room has another reason. */
TEST(keys__connect_and_then_accept, .needs = has_keys)
{
    const struct zcrp_options one = {.backlog = 1}, brief = {.connect_ns = 3 * ENDS_SECOND};
    struct pair p, other;
    p.house = house_with(one, shared("alice", key));
    ck_assert_int_eq(call(&p, one, shared("alice", key), 30 * ENDS_SECOND), ZCRP_OK);
    other = p;
    ck_assert_int_eq(call(&other, brief, shared("alice", key), -1), ZCRP_ERROR_NOT_ADMITTED);
    ck_assert_ptr_null(other.there);
    ck_assert_int_eq(zcrp_accept(p.house.listener, &p.here, 5 * ENDS_SECOND), ZCRP_OK);
    pass(p.there, p.here, 100, 1);
    pass(p.here, p.there, 100, 2);
    part(&p);
}

/* A listener that has no patience itself gives its callers the time that they need. */
TEST(keys__of_an_impatient_listener, .needs = has_keys)
{
    struct pair p;
    p.house = house_with((struct zcrp_options){.connect_ns = 1}, shared("alice", key));
    ck_assert_int_eq(call(&p, (struct zcrp_options){0}, shared("alice", key), -1), ZCRP_OK);
    ck_assert_int_eq(zcrp_accept(p.house.listener, &p.here, 5 * ENDS_SECOND), ZCRP_OK);
    pass(p.there, p.here, 100, 1);
    part(&p);
}

/* A caller that finds no room waits, also longer than a handshake may take, and is admitted as soon
 * as there is room. With first messages it has sent units by then. It knows who the listener is. */
TEST(keys__room_comes_later, .needs = has_keys, .rows = 2)
{
    const int64_t handshake_ns = 5 * ENDS_SECOND;
    const struct zcrp_options full = {.connections = 1,
                                      .first_messages = (uint32_t)_i,
                                      .first_bytes = 1000},
                              patient = {.connect_ns = 60 * ENDS_SECOND};
    struct zcrp_msg *out = zcrp_alloc_msg(1000);
    struct zcrp_listener_stats stats;
    char text[IDENTITY];
    struct pair p, other;
    p.house = house_with(full, shared("alice", key));
    ck_assert_int_eq(call(&p, patient, shared("alice", key), -1), ZCRP_OK);
    ck_assert_int_eq(zcrp_accept(p.house.listener, &p.here, 5 * ENDS_SECOND), ZCRP_OK);
    other = p;
    ck_assert_int_eq(call(&other, patient, shared("alice", key), 0), ZCRP_OK);
    fill(out->buffer, 1000, 3);
    ck_assert_int_eq(zcrp_submit(zcrp_connection_sender(other.there), out, 1000), ZCRP_OK);
    int64_t known_at = INT64_MAX;
    do { /* it is known, and there is no room */
        ck_assert_int_eq(zcrp_connection_wait(other.there, ENDS_SECOND / 2), ZCRP_ERROR_TIMEOUT);
        ck_assert_int_eq(zcrp_listener_stats(p.house.listener, &stats), ZCRP_OK);
        if (stats.dropped > 0 && known_at == INT64_MAX)
            known_at = clock_now_ns();
    } while (known_at == INT64_MAX || clock_now_ns() - known_at < handshake_ns + ENDS_SECOND);
    ck_assert_int_eq(zcrp_connection_identity(other.there, text, sizeof text), ZCRP_OK);
    ck_assert_str_eq(text, "alice");
    (void)zcrp_connection_close(p.there);
    (void)zcrp_connection_close(p.here);
    ck_assert_int_eq(zcrp_connection_wait(other.there, -1), ZCRP_OK);
    ck_assert_int_eq(zcrp_accept(p.house.listener, &other.here, 5 * ENDS_SECOND), ZCRP_OK);
    struct zcrp_msg *in = zcrp_connection_first(other.here, 0), *own = zcrp_alloc_msg(1000);
    if (_i == 0) {
        in = own;
        ck_assert_int_eq(zcrp_submit(zcrp_connection_receiver(other.here), in, 1000), ZCRP_OK);
    }
    ck_assert_int_eq(zcrp_wait_for(in, 10 * ENDS_SECOND), ZCRP_OK);
    ck_assert_int_eq(zcrp_wait_for(out, 10 * ENDS_SECOND), ZCRP_OK);
    ck_assert_mem_eq(in->buffer, out->buffer, 1000);
    pass(other.here, other.there, 100, 2);
    part(&other);
    zcrp_free_msg(out);
    zcrp_free_msg(own);
}

/* The caller is known, and there is no room. */
static void await_no_room(const struct pair *p)
{
    struct zcrp_listener_stats stats;
    do {
        ck_assert_int_eq(zcrp_connection_wait(p->there, ENDS_SECOND / 10), ZCRP_ERROR_TIMEOUT);
        ck_assert_int_eq(zcrp_listener_stats(p->house.listener, &stats), ZCRP_OK);
    } while (stats.dropped == 0);
}

/* What a caller has received by memory. */
static uint64_t by_memory(struct zcrp_connection *c)
{
    return ends_stats(zcrp_connection_receiver(c)).bytes_copied_once;
}

/* On one host a caller may wait for room for longer than two ends look for each other in memory.
 * They meet there when it is in, whether messages may go nowhere else or not. */
TEST(keys__room_comes_late_and_memory_with_it, .needs = has_keys, .rows = 2)
{
    enum { MANY = 40 };
    int channel = _i == 0 ? ZCRP_CHANNEL_MEMORY : ZCRP_CHANNEL_AUTO;
    const struct zcrp_options full = {.connections = 1, .channel = channel},
                              patient = {.connect_ns = 60 * ENDS_SECOND, .channel = channel};
    struct pair p, other;

    ck_assert_int_eq(unsetenv("ZCRP_NO_MEMORY"), 0);
    meet(&p, full);
    other = p;
    ck_assert_int_eq(call(&other, patient, shared("alice", key), 0), ZCRP_OK);
    await_no_room(&other);
    ck_assert_int_eq(zcrp_connection_wait(other.there, 3 * ENDS_SECOND), ZCRP_ERROR_TIMEOUT);
    (void)zcrp_connection_close(p.there);
    (void)zcrp_connection_close(p.here);
    ck_assert_int_eq(zcrp_connection_wait(other.there, -1), ZCRP_OK);
    ck_assert_int_eq(zcrp_accept(p.house.listener, &other.here, 5 * ENDS_SECOND), ZCRP_OK);
    for (unsigned i = 0; i < MANY && (by_memory(other.there) == 0 || by_memory(other.here) == 0);
         i++) {
        pass(other.here, other.there, MESSAGE, i);
        pass(other.there, other.here, MESSAGE, i);
    }
    ck_assert_uint_gt(by_memory(other.there), 0);
    ck_assert_uint_gt(by_memory(other.here), 0);
    part(&other);
}

/* All of the listener's goes, and another one listens at its port. */
static void listen_anew(struct pair *p, struct zcrp_options options)
{
    (void)zcrp_connection_close(p->there);
    (void)zcrp_connection_close(p->here);
    ck_assert_int_eq(zcrp_listener_close(p->house.listener), ZCRP_OK);
    options.keys = shared("alice", key);
    ck_assert_int_eq(zcrp_listen(&p->house.listener, "127.0.0.1", p->house.port, &options),
                     ZCRP_OK);
    zcrp_keys_free(options.keys);
}

/* A listener that is started anew does not know who waits for room: the caller begins anew, with
 * all that was posted. One with first messages has its buffers announced, but has sent nothing. On
 * one host messages may cross through memory. */
TEST(keys__listener_is_started_anew, .needs = has_keys, .rows = 3)
{
    const struct zcrp_options full = {.connections = 1,
                                      .first_messages = _i == 1,
                                      .first_bytes = 1000},
                              patient = {.connect_ns = 60 * ENDS_SECOND};
    struct zcrp_msg *in = zcrp_alloc_msg(1000), *out = zcrp_alloc_msg(1000),
                    *none = zcrp_alloc_msg(1000);
    struct pair p, other;
    if (_i == 2)
        ck_assert_int_eq(unsetenv("ZCRP_NO_MEMORY"), 0);
    meet(&p, full);
    other = p;
    ck_assert_int_eq(call(&other, patient, shared("alice", key), 0), ZCRP_OK);
    ck_assert_int_eq(zcrp_submit(zcrp_connection_receiver(other.there), none, 1000), ZCRP_OK);
    ck_assert_int_eq(zcrp_submit(zcrp_connection_receiver(other.there), in, 1000), ZCRP_OK);
    await_no_room(&other);
    ck_assert_int_eq(zcrp_cancel(none), ZCRP_OK);
    listen_anew(&p, full);
    ck_assert_int_eq(zcrp_connection_wait(other.there, 20 * ENDS_SECOND), ZCRP_OK);
    other.house = p.house;
    ck_assert_int_eq(zcrp_accept(p.house.listener, &other.here, 5 * ENDS_SECOND), ZCRP_OK);
    fill(out->buffer, 1000, 3);
    ck_assert_int_eq(zcrp_submit(zcrp_connection_sender(other.here), out, 1000), ZCRP_OK);
    ck_assert_int_eq(zcrp_wait_for(out, 10 * ENDS_SECOND), ZCRP_ERROR_PEER_CANCELLED);
    ck_assert_int_eq(zcrp_submit(zcrp_connection_sender(other.here), out, 1000), ZCRP_OK);
    ck_assert_int_eq(zcrp_wait_for(in, 10 * ENDS_SECOND), ZCRP_OK);
    ck_assert_int_eq(zcrp_wait_for(out, 10 * ENDS_SECOND), ZCRP_OK);
    ck_assert_mem_eq(in->buffer, out->buffer, 1000);
    pass(other.here, other.there, 5000, 1);
    if (_i == 1) { /* it has a buffer */
        ck_assert_int_eq(zcrp_submit(zcrp_connection_sender(other.there), out, 1000), ZCRP_OK);
        ck_assert_int_eq(zcrp_wait_for(zcrp_connection_first(other.here, 0), 10 * ENDS_SECOND),
                         ZCRP_OK);
        ck_assert_int_eq(zcrp_wait_for(out, 10 * ENDS_SECOND), ZCRP_OK);
    }
    pass(other.there, other.here, 5000, 2);
    part(&other);
    zcrp_free_msg(none);
    zcrp_free_msg(out);
    zcrp_free_msg(in);
}

static void *close_whole(void *connection)
{
    return zcrp_connection_close(connection) == ZCRP_OK ? connection : NULL;
}

/* The same of a caller that closes already: its close waits for what it has submitted. */
TEST(keys__listener_is_started_anew_beside_a_close, .needs = has_keys)
{
    const struct zcrp_options full = {.connections = 1}, patient = {.connect_ns = 60 * ENDS_SECOND,
                                                                    .linger_ns = 60 * ENDS_SECOND};
    struct zcrp_msg *in = zcrp_alloc_msg(1000), *out = zcrp_alloc_msg(1000);
    struct pair p, other;
    pthread_t closing;
    void *whole;
    meet(&p, full);
    other = p;
    ck_assert_int_eq(call(&other, patient, shared("alice", key), 0), ZCRP_OK);
    await_no_room(&other);
    fill(out->buffer, 1000, 3);
    ck_assert_int_eq(zcrp_submit(zcrp_connection_sender(other.there), out, 1000), ZCRP_OK);
    ck_assert_int_eq(pthread_create(&closing, NULL, close_whole, other.there), 0);
    usleep(50000); /* it should close by then; if it does not, nothing is wrong */
    listen_anew(&p, full);
    ck_assert_int_eq(zcrp_accept(p.house.listener, &other.here, 20 * ENDS_SECOND), ZCRP_OK);
    ck_assert_int_eq(zcrp_submit(zcrp_connection_receiver(other.here), in, 1000), ZCRP_OK);
    ck_assert_int_eq(zcrp_wait_for(in, 10 * ENDS_SECOND), ZCRP_OK);
    ck_assert_mem_eq(in->buffer, out->buffer, 1000);
    ck_assert_int_eq(pthread_join(closing, &whole), 0);
    ck_assert_ptr_nonnull(whole);
    ck_assert_int_eq(zcrp_error(out), ZCRP_OK);
    (void)zcrp_connection_close(other.here);
    ck_assert_int_eq(zcrp_listener_close(p.house.listener), ZCRP_OK);
    zcrp_free_msg(out);
    zcrp_free_msg(in);
}

/* The same of a caller that has sent its first message: the old listener may have had it. */
TEST(keys__listener_is_started_anew_behind_a_first_message, .needs = has_keys)
{
    const struct zcrp_options full = {.connections = 1, .first_messages = 1, .first_bytes = 1000},
                              patient = {.connect_ns = 60 * ENDS_SECOND};
    struct zcrp_msg *out = zcrp_alloc_msg(1000);
    struct pair p, other;
    meet(&p, full);
    other = p;
    ck_assert_int_eq(call(&other, patient, shared("alice", key), 0), ZCRP_OK);
    ck_assert_int_eq(zcrp_submit(zcrp_connection_sender(other.there), out, 1000), ZCRP_OK);
    await_no_room(&other);
    listen_anew(&p, full);
    ck_assert_int_eq(zcrp_connection_wait(other.there, 20 * ENDS_SECOND), ZCRP_ERROR_RESTARTED);
    ck_assert_int_eq(zcrp_wait_for(out, 10 * ENDS_SECOND), ZCRP_ERROR_RESTARTED);
    (void)zcrp_connection_close(other.there);
    ck_assert_int_eq(zcrp_accept(p.house.listener, &other.here, 0), ZCRP_ERROR_TIMEOUT);
    ck_assert_int_eq(zcrp_listener_close(p.house.listener), ZCRP_OK);
    zcrp_free_msg(out);
}

/* What a caller posts while it waits for room waits for longer than its peer may be silent. */
TEST(keys__a_buffer_waits_for_room, .needs = has_keys)
{
    const struct zcrp_options patient = {.connect_ns = 60 * ENDS_SECOND,
                                         .silence_ns = 2 * ENDS_SECOND};
    struct zcrp_msg *in = zcrp_alloc_msg(1000), *out = zcrp_alloc_msg(1000);
    struct pair p, other;
    meet(&p, (struct zcrp_options){.connections = 1});
    other = p;
    ck_assert_int_eq(call(&other, patient, shared("alice", key), 0), ZCRP_OK);
    ck_assert_int_eq(zcrp_submit(zcrp_connection_receiver(other.there), in, 1000), ZCRP_OK);
    ck_assert_int_eq(zcrp_wait_for(in, 5 * ENDS_SECOND), ZCRP_ERROR_TIMEOUT);
    (void)zcrp_connection_close(p.there);
    (void)zcrp_connection_close(p.here);
    ck_assert_int_eq(zcrp_accept(p.house.listener, &other.here, 5 * ENDS_SECOND), ZCRP_OK);
    fill(out->buffer, 1000, 3);
    ck_assert_int_eq(zcrp_submit(zcrp_connection_sender(other.here), out, 1000), ZCRP_OK);
    ck_assert_int_eq(zcrp_wait_for(in, 10 * ENDS_SECOND), ZCRP_OK);
    ck_assert_int_eq(zcrp_wait_for(out, 10 * ENDS_SECOND), ZCRP_OK);
    ck_assert_mem_eq(in->buffer, out->buffer, 1000);
    part(&other);
    zcrp_free_msg(in);
    zcrp_free_msg(out);
}

/* A caller that has waited for room in vain does not ask any more, also before it is closed. */
TEST(keys__who_has_failed_asks_no_more, .needs = has_keys)
{
    const struct zcrp_options brief = {.connect_ns = 4 * ENDS_SECOND};
    struct pair p, other;
    meet(&p, (struct zcrp_options){.connections = 1});
    other = p;
    ck_assert_int_eq(call(&other, brief, shared("alice", key), 0), ZCRP_OK);
    ck_assert_int_eq(zcrp_connection_wait(other.there, -1), ZCRP_ERROR_NOT_ADMITTED);
    sleep(2); /* as long as the listener may believe that it asks */
    (void)zcrp_connection_close(p.there);
    (void)zcrp_connection_close(p.here);
    ck_assert_int_eq(zcrp_accept(p.house.listener, &other.here, 2 * ENDS_SECOND),
                     ZCRP_ERROR_TIMEOUT);
    (void)zcrp_connection_close(other.there);
    ck_assert_int_eq(zcrp_listener_close(p.house.listener), ZCRP_OK);
}

/* What is sent to somebody who is refused stays here. */
TEST(keys__a_message_to_a_stranger_fails, .needs = has_keys)
{
    struct zcrp_options options = {.connect_ns = 10 * ENDS_SECOND};
    struct pair p;
    p.house = house_with(options, shared("alice", other_key));
    ck_assert_int_eq(call(&p, options, shared("alice", key), 0), ZCRP_OK);
    struct zcrp_msg *m = zcrp_alloc_msg(1000);
    ck_assert_int_eq(zcrp_submit(zcrp_connection_sender(p.there), m, 1000), ZCRP_OK);
    ck_assert_int_eq(zcrp_wait_for(m, 20 * ENDS_SECOND), ZCRP_ERROR_KEYS);
    ck_assert_int_eq(zcrp_connection_status(p.there), ZCRP_ERROR_KEYS);
    zcrp_free_msg(m);
    ck_assert_int_eq(zcrp_connection_close(p.there), ZCRP_ERROR_KEYS);
    zcrp_listener_close(p.house.listener);
}

/* The same where the close has begun before anybody has refused anything. */
TEST(keys__closed_before_it_is_refused, .needs = has_keys, .rows = ROWS(refused))
{
    const struct zcrp_options options = {.connect_ns = limit_of_refused(_i),
                                         .linger_ns = 20 * ENDS_SECOND};
    struct pair p;
    p.house = house_with(options, refused[_i].has_theirs ? shared("alice", key) : NULL);
    struct zcrp_keys *ours =
        refused[_i].has_ours ? shared(refused[_i].identity, refused[_i].bytes) : NULL;
    ck_assert_int_eq(call(&p, options, ours, 0), ZCRP_OK);
    struct zcrp_msg *m = zcrp_alloc_msg(1000);
    ck_assert_int_eq(zcrp_submit(zcrp_connection_sender(p.there), m, 1000), ZCRP_OK);
    ck_assert_int_eq(zcrp_connection_close(p.there), ZCRP_ERROR_KEYS);
    ck_assert_int_eq(zcrp_error(m), ZCRP_ERROR_KEYS);
    zcrp_free_msg(m);
    zcrp_listener_close(p.house.listener);
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
    zcrp_listener_close(p.house.listener);
}

/* A message, and a close at once: the handshake is still under way. All arrives, and then the end.
 */
TEST(keys__closed_before_it_is_met, .needs = has_keys, .rows = 2)
{
    struct zcrp_options options = {.flags = _i == 0 ? ZCRP_NO_MEMORY : 0};
    struct pair p;
    options.first_messages = 1;
    p.house = house_with(options, shared("alice", key));
    ck_assert_int_eq(call(&p, options, shared("alice", key), 0), ZCRP_OK);
    struct zcrp_msg *m = zcrp_alloc_msg(1000);
    fill(m->buffer, 1000, 7);
    ck_assert_int_eq(zcrp_submit(zcrp_connection_sender(p.there), m, 1000), ZCRP_OK);
    ck_assert_int_eq(zcrp_connection_close(p.there), ZCRP_OK);
    ck_assert_int_eq(zcrp_error(m), ZCRP_OK);
    ck_assert_int_eq(zcrp_accept(p.house.listener, &p.here, 5 * ENDS_SECOND), ZCRP_OK);
    struct zcrp_msg *first = zcrp_connection_first(p.here, 0);
    ck_assert_int_eq(zcrp_wait_for(first, 5 * ENDS_SECOND), ZCRP_OK);
    ck_assert_uint_eq(first->length, 1000);
    ck_assert_int_eq(memcmp(first->buffer, m->buffer, 1000), 0);
    zcrp_free_msg(m);
    (void)zcrp_connection_close(p.here);
    zcrp_listener_close(p.house.listener);
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
        ck_assert_int_eq(call(&p[i], (struct zcrp_options){0}, shared("alice", key), 0), 0);
        ck_assert_int_eq(zcrp_accept(p[0].house.listener, &p[i].here, 5 * ENDS_SECOND), ZCRP_OK);
    }
    for (int i = 0; i < CALLERS; i++)
        pass(p[i].there, p[i].here, MESSAGE, (unsigned)i);
    for (int i = 1; i < CALLERS; i++) {
        ck_assert_int_eq(zcrp_connection_close(p[i].there), ZCRP_OK);
        (void)zcrp_connection_close(p[i].here);
    }
    part(&p[0]);
}

/* ---- somebody on the path ---- */

enum { WIRE_MOST = 65536, RECORD = 256, MARK = 16 };

/* Passes datagrams on between who calls `front` and the listener; looks at all of them, and adds
 * some of its own. */
struct middle {
    int front, back;
    char port[8];
    struct sockaddr_in caller;
    bool is_hostile, forges;
    const uint8_t *mark; /* MARK bytes that must not be seen */
    pthread_t thread;
    _Atomic bool is_over;
    _Atomic bool has_seen_mark;
    _Atomic uint64_t passed, added;
    uint64_t random;
    struct {
        size_t size;
        bool is_to_listener;
        uint8_t bytes[2048];
    } record[RECORD];
    uint64_t recorded;
};

static void say(struct middle *m, bool is_to_listener, const uint8_t *bytes, size_t size)
{
    if (is_to_listener)
        (void)!send(m->back, bytes, size, 0);
    else
        (void)!sendto(m->front, bytes, size, 0, (struct sockaddr *)&m->caller, sizeof m->caller);
}

static uint64_t draw(struct middle *m)
{
    m->random = m->random * 6364136223846793005u + 1442695040888963407u;
    return m->random >> 33;
}

/* Repeats something, in either direction; maybe with a bit flipped, or with other data. */
static void add_own(struct middle *m)
{
    uint8_t bytes[2048];
    uint64_t what = draw(m) % 3;
    uint64_t at = draw(m) % (m->recorded < RECORD ? m->recorded : RECORD);
    if (what == 2)
        at = (m->recorded - 1) % RECORD; /* it comes before the real one, which is yet to go on */
    size_t size = m->record[at].size;
    memcpy(bytes, m->record[at].bytes, size);
    if (what == 1)
        bytes[draw(m) % size] ^= (uint8_t)(1 << draw(m) % 8);
    if (what == 2 && size > 48)
        memset(bytes, (int)draw(m), size - 48);
    say(m, m->record[at].is_to_listener ^ (what != 2 && draw(m) % 4 == 0), bytes, size);
    atomic_fetch_add(&m->added, 1);
}

/* Once the caller seals its handshake's bytes: says in the clear, in the listener's name, that all
 * of them are there, and that the caller is refused. */
static void forge(struct middle *m, const uint8_t *bytes, size_t size)
{
    enum { TRAILER = 32, SEAL = 16, COOKIE_AT = 8, HAVE_AT = 20, FLAGS_AT = 30, HANDSHAKE = 0x29 };
    enum { SECOND = 1, ANSWERS = 2, REFUSES = 4 };
    uint8_t forged[TRAILER];

    if (size < TRAILER + SEAL || bytes[size - 1] != HANDSHAKE || (bytes[size - 2] & SECOND) == 0)
        return;
    memcpy(forged, bytes + size - TRAILER, TRAILER); /* its nonce and tag */
    memset(forged + COOKIE_AT, 0, HAVE_AT - COOKIE_AT);
    forged[HAVE_AT] = (uint8_t)((size - TRAILER - SEAL) >> 8);
    forged[HAVE_AT + 1] = (uint8_t)(size - TRAILER - SEAL);
    for (int flags = ANSWERS; flags <= (ANSWERS | REFUSES); flags += REFUSES) {
        forged[FLAGS_AT] = (uint8_t)flags;
        say(m, false, forged, TRAILER);
        atomic_fetch_add(&m->added, 1);
    }
}

static void pass_on(struct middle *m, bool is_to_listener, const uint8_t *bytes, size_t size)
{
    if (m->mark != NULL && memmem(bytes, size, m->mark, MARK) != NULL)
        atomic_store(&m->has_seen_mark, true);
    if (size > 0 && size <= sizeof m->record[0].bytes) {
        uint64_t at = m->recorded++ % RECORD;
        m->record[at].size = size;
        m->record[at].is_to_listener = is_to_listener;
        memcpy(m->record[at].bytes, bytes, size);
    }
    for (int i = 0; m->is_hostile && m->recorded > 20 && i < 2; i++)
        add_own(m);
    if (m->forges && is_to_listener)
        forge(m, bytes, size);
    say(m, is_to_listener, bytes, size);
    atomic_fetch_add(&m->passed, 1);
}

static void *be_in_the_middle(void *context)
{
    static uint8_t bytes[WIRE_MOST];
    struct middle *m = context;
    while (!atomic_load(&m->is_over)) {
        struct pollfd set[] = {{.fd = m->front, .events = POLLIN},
                               {.fd = m->back, .events = POLLIN}};
        socklen_t length = sizeof m->caller;
        (void)poll(set, 2, 20);
        ssize_t size = recvfrom(m->front, bytes, sizeof bytes, MSG_DONTWAIT,
                                (struct sockaddr *)&m->caller, &length);
        if (size >= 0)
            pass_on(m, true, bytes, (size_t)size);
        size = recv(m->back, bytes, sizeof bytes, MSG_DONTWAIT);
        if (size >= 0)
            pass_on(m, false, bytes, (size_t)size);
    }
    return NULL;
}

static void begin_middle(struct middle *m, const struct pair *p)
{
    struct sockaddr_in here = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    struct sockaddr_in there = here;
    socklen_t length = sizeof here;
    there.sin_port = htons((uint16_t)atoi(p->house.port));
    m->front = socket(AF_INET, SOCK_DGRAM, 0);
    m->back = socket(AF_INET, SOCK_DGRAM, 0);
    ck_assert_int_eq(bind(m->front, (struct sockaddr *)&here, sizeof here), 0);
    ck_assert_int_eq(getsockname(m->front, (struct sockaddr *)&here, &length), 0);
    ck_assert_int_eq(connect(m->back, (struct sockaddr *)&there, sizeof there), 0);
    snprintf(m->port, sizeof m->port, "%d", ntohs(here.sin_port));
    ck_assert_int_eq(pthread_create(&m->thread, NULL, be_in_the_middle, m), 0);
}

static void end_middle(struct middle *m)
{
    atomic_store(&m->is_over, true);
    pthread_join(m->thread, NULL);
    close(m->front);
    close(m->back);
}

static void meet_through(struct pair *p, struct middle *m, struct zcrp_options options,
                         bool has_keys_too)
{
    p->house = house_with(options, has_keys_too ? shared("alice", key) : NULL);
    begin_middle(m, p);
    snprintf(p->house.port, sizeof p->house.port, "%s", m->port);
    ck_assert_int_eq(call(p, options, has_keys_too ? shared("alice", key) : NULL, 0), 0);
    ck_assert_int_eq(zcrp_accept(p->house.listener, &p->here, 5 * ENDS_SECOND), ZCRP_OK);
}

/* Two datagrams of the attacker's for each that is real: repeated, reflected, changed, forged. */
TEST(keys__through_a_hostile_relay, .needs = has_keys)
{
    static struct middle m = {.is_hostile = true, .random = 7};
    struct zcrp_options options = {.unit_bytes = 1400};
    struct zcrp_stats stats;
    struct pair p;
    meet_through(&p, &m, options, true);
    for (unsigned i = 0; i < 40; i++) {
        pass(p.there, p.here, 50000 + 1111 * i, i);
        pass(p.here, p.there, 3000 + 101 * i, i);
    }
    ck_assert_int_eq(zcrp_stats(zcrp_connection_receiver(p.here), &stats), ZCRP_OK);
    printf("%llu passed, %llu added; %llu forged, %llu replayed\n",
           (unsigned long long)atomic_load(&m.passed), (unsigned long long)atomic_load(&m.added),
           (unsigned long long)stats.drop_forged, (unsigned long long)stats.drop_replayed);
    ck_assert_uint_gt(stats.drop_forged, 100);
    ck_assert_uint_gt(stats.drop_replayed, 100);
    ck_assert_int_eq(zcrp_connection_status(p.there), ZCRP_OK);
    ck_assert_int_eq(zcrp_connection_status(p.here), ZCRP_OK);
    part(&p);
    end_middle(&m);
}

/* A caller that knows its listener, and waits for room, hears nothing in the clear. Before, one
 * such datagram silenced it, and one ended it. */
TEST(keys__forged_beside_a_caller_that_waits_for_room, .needs = has_keys)
{
    static struct middle m = {.forges = true};
    const struct zcrp_options full = {.connections = 1}, patient = {.connect_ns = 30 * ENDS_SECOND};
    struct pair p, other;
    meet(&p, full);
    other = p;
    begin_middle(&m, &p);
    snprintf(other.house.port, sizeof other.house.port, "%s", m.port);
    ck_assert_int_eq(call(&other, patient, shared("alice", key), 0), ZCRP_OK);
    ck_assert_int_eq(zcrp_connection_wait(other.there, 2 * ENDS_SECOND), ZCRP_ERROR_TIMEOUT);
    ck_assert_uint_ge(atomic_load(&m.added), 8); /* it has asked four times, and more */
    (void)zcrp_connection_close(p.there);
    (void)zcrp_connection_close(p.here);
    ck_assert_int_eq(zcrp_connection_wait(other.there, 10 * ENDS_SECOND), ZCRP_OK);
    ck_assert_int_eq(zcrp_accept(p.house.listener, &other.here, 5 * ENDS_SECOND), ZCRP_OK);
    pass(other.here, other.there, 1000, 1);
    pass(other.there, other.here, 1000, 2);
    other.house = p.house;
    part(&other);
    end_middle(&m);
}

/* Messages of 1 MiB: more than a gigabyte with ZCRP_ATTACK=all. */
static int how_many(void)
{
    const char *wanted = getenv("ZCRP_ATTACK");
    return wanted != NULL && wanted[0] == 'a' ? 1000 : 8;
}

/* What a message says cannot be seen with keys; without it can, which shows that the test looks. */
TEST(keys__nothing_crosses_in_the_clear, .needs = has_keys, .rows = 2)
{
    static struct middle m;
    static uint8_t mark[MARK] = "sixteen bytes...";
    struct pair p;
    m.mark = mark;
    meet_through(&p, &m, (struct zcrp_options){.flags = ZCRP_NO_MEMORY}, _i == 1);
    struct zcrp_msg *out = zcrp_alloc_msg(1 << 20), *in = zcrp_alloc_msg(1 << 20);
    for (size_t i = 0; i < 1 << 20; i++)
        out->buffer[i] = mark[i % MARK];
    for (int i = 0; i < (_i == 1 ? how_many() : 8); i++) {
        ck_assert_int_eq(zcrp_submit(zcrp_connection_receiver(p.here), in, 1 << 20), ZCRP_OK);
        ck_assert_int_eq(zcrp_submit(zcrp_connection_sender(p.there), out, 1 << 20), ZCRP_OK);
        ck_assert_int_eq(zcrp_wait_for(in, 10 * ENDS_SECOND), ZCRP_OK);
        ck_assert_int_eq(zcrp_wait_for(out, 10 * ENDS_SECOND), ZCRP_OK);
        ck_assert_int_eq(memcmp(in->buffer, out->buffer, 1 << 20), 0);
    }
    ck_assert_int_eq(atomic_load(&m.has_seen_mark), _i == 0);
    zcrp_free_msg(out);
    zcrp_free_msg(in);
    part(&p);
    end_middle(&m);
}

/* ---- raw keys and files ---- */

static void write_text(const char *path, const char *text, mode_t mode)
{
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    fputs(text, file);
    fclose(file);
    ck_assert_int_eq(chmod(path, mode), 0);
}

static const char line[] =
    "alice:6e6f742072616e646f6d2c206265636175736520697420697320612074657374\n";

/* A file that others may read is refused; the same key from a file and from memory is the same. */
TEST(keys__files, .needs = has_keys)
{
    char path[] = "/tmp/zcrp-keys-XXXXXX";
    struct zcrp_keys *keys;
    int fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    close(fd);
    write_text(path, line, 0640);
    ck_assert_int_eq(zcrp_keys_read(&keys, path), ZCRP_ERROR_EXPOSED);
    ck_assert_ptr_null(keys);
    write_text(path, "nonsense", 0600);
    ck_assert_int_eq(zcrp_keys_read(&keys, path), ZCRP_ERROR_ARGUMENT);
    write_text(path, line, 0600);
    ck_assert_int_eq(zcrp_keys_read(&keys, path), ZCRP_OK);
    unlink(path);
    struct pair p;
    p.house = house_with((struct zcrp_options){0}, shared("alice", key));
    ck_assert_int_eq(call(&p, (struct zcrp_options){0}, keys, 0), ZCRP_OK);
    ck_assert_int_eq(zcrp_accept(p.house.listener, &p.here, 5 * ENDS_SECOND), ZCRP_OK);
    pass(p.there, p.here, 1000, 1);
    part(&p);
    ck_assert_int_eq(zcrp_keys_read(&keys, path), ZCRP_ERROR_SYSTEM);
}

/* ---- the key log ---- */

/* How many lines of the file have this label. */
static int count_lines(const char *path, const char *label)
{
    char text[256];
    int count = 0;
    FILE *file = fopen(path, "r");
    ck_assert_ptr_nonnull(file);
    while (fgets(text, sizeof text, file) != NULL) {
        ck_assert_ptr_nonnull(strchr(text, '\n'));
        count += strncmp(text, label, strlen(label)) == 0 && text[strlen(label)] == ' ';
    }
    fclose(file);
    return count;
}

static void meet_and_log(const char *there, const char *here)
{
    struct pair p;
    struct zcrp_keys *caller = shared("alice", key), *listener = shared("alice", key);
    if (here != NULL)
        ck_assert_int_eq(zcrp_keys_log(listener, here), ZCRP_OK);
    if (there != NULL)
        ck_assert_int_eq(zcrp_keys_log(caller, there), ZCRP_OK);
    p.house = house_with((struct zcrp_options){0}, listener);
    ck_assert_int_eq(call(&p, (struct zcrp_options){0}, caller, 0), ZCRP_OK);
    ck_assert_int_eq(zcrp_accept(p.house.listener, &p.here, 5 * ENDS_SECOND), ZCRP_OK);
    pass(p.there, p.here, 1000, 1);
    part(&p);
}

/* Each end writes the same secrets, those of one connection behind those of the other. */
TEST(keys__log, .needs = has_keys)
{
    static const char *const labels[] = {"CLIENT_HANDSHAKE_TRAFFIC_SECRET",
                                         "SERVER_HANDSHAKE_TRAFFIC_SECRET",
                                         "CLIENT_TRAFFIC_SECRET_0", "SERVER_TRAFFIC_SECRET_0"};
    folder_make();
    for (int i = 1; i <= 2; i++) {
        meet_and_log(folder_path("there"), folder_path("here"));
        for (size_t j = 0; j < sizeof labels / sizeof *labels; j++) {
            ck_assert_int_eq(count_lines(folder_path("there"), labels[j]), i);
            ck_assert_int_eq(count_lines(folder_path("here"), labels[j]), i);
        }
    }
    folder_remove();
}

/* The environment alone makes nobody write, also not GnuTLS; nor does the other end's log. */
TEST(keys__log_of_those_that_ask_only, .needs = has_keys)
{
    folder_make();
    ck_assert_int_eq(setenv("SSLKEYLOGFILE", folder_path("environment"), 1), 0);
    meet_and_log(NULL, NULL);
    ck_assert_int_eq(folder_count(), 0);
    meet_and_log(NULL, folder_path("here"));
    ck_assert_int_eq(folder_count(), 1);
    ck_assert_int_eq(count_lines(folder_path("here"), "CLIENT_TRAFFIC_SECRET_0"), 1);
    folder_remove();
}

/* ---- what is left ---- */

enum { MASK = 0x5A };

/* How often these bytes, each masked, are in memory that the process can write. */
static int count_in_memory(const uint8_t *masked, size_t count)
{
    char text[512], rights[8];
    unsigned long first, last;
    int found = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    ck_assert_ptr_nonnull(maps);
    while (fgets(text, sizeof text, maps) != NULL) {
        if (sscanf(text, "%lx-%lx %7s", &first, &last, rights) != 3 || rights[0] != 'r' ||
            rights[1] != 'w' || strstr(text, "[stack]") != NULL)
            continue;
        for (const uint8_t *at = (const uint8_t *)first; at + count <= (const uint8_t *)last;
             at++) {
            size_t same = 0;
            while (same < count && at[same] == (masked[same] ^ MASK))
                same++;
            found += same == count;
        }
    }
    fclose(maps);
    return found;
}

/* A sanitizer has memory of its own, where it must not be looked. */
static bool can_look_at_memory(void)
{
#ifndef __has_feature
#define __has_feature(name) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) ||                               \
    __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
    return false;
#else
    return has_keys();
#endif
}

/* The key that both ends had is gone from memory once all is closed. */
TEST(keys__are_gone_after_close, .needs = can_look_at_memory)
{
    static uint8_t masked[ZCRP_KEYS_PSK_LEAST];
    uint8_t *plain = malloc(sizeof masked);
    struct pair p;
    for (size_t i = 0; i < sizeof masked; i++) {
        masked[i] = (uint8_t)(rand() >> 7);
        plain[i] = masked[i] ^ MASK;
    }
    ck_assert_int_ge(count_in_memory(masked, sizeof masked), 1); /* it can be found */
    p.house = house_with((struct zcrp_options){0}, shared("alice", plain));
    ck_assert_int_eq(call(&p, (struct zcrp_options){0}, shared("alice", plain), 0), 0);
    explicit_bzero(plain, sizeof masked);
    ck_assert_int_eq(zcrp_accept(p.house.listener, &p.here, 5 * ENDS_SECOND), ZCRP_OK);
    pass(p.there, p.here, 1000, 1);
    part(&p);
    ck_assert_int_eq(count_in_memory(masked, sizeof masked), 0);
    free(plain);
}
