/* First messages: buffers that a listener's connection has before anybody has accepted it, and what
 * a caller sends there with the end of its handshake. */
#include "../../support/crossing.h"
#include "../../support/raw_keys.h"
#include "../../support/shared_keys.h"

#include <netinet/in.h>
#include <netinet/ip.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

LOAD(asleep)

enum { SMALL = 3000, LARGE = 100000, DELAY_MS = 20 };

static struct zcrp_connection *call(const char *port, struct zcrp_options options,
                                    struct zcrp_keys *keys)
{
    struct zcrp_connection *c;

    ck_assert_int_eq(connect_with(port, &c, options, keys, 0), ZCRP_OK);
    return c;
}

static struct zcrp_connection *accept_one(const struct house *p)
{
    struct zcrp_connection *c;

    ck_assert_int_eq(zcrp_accept(p->listener, &c, 30 * ENDS_SECOND), ZCRP_OK);
    return c;
}

static struct zcrp_msg *send_to(struct zcrp_connection *c, size_t size, uint64_t seed)
{
    struct zcrp_msg *m = zcrp_alloc_msg(size);

    pattern_fill(m->buffer, size, seed);
    ck_assert_int_eq(zcrp_submit(zcrp_connection_sender(c), m, size), ZCRP_OK);
    return m;
}

static int end_of(struct zcrp_msg *m)
{
    int code = zcrp_wait_for(m, 30 * ENDS_SECOND);

    zcrp_free_msg(m);
    return code;
}

static void expect_message(struct zcrp_connection *c, uint32_t index, size_t size, uint64_t seed)
{
    struct zcrp_msg *m = zcrp_connection_first(c, index);

    ck_assert_ptr_nonnull(m);
    ck_assert_int_eq(zcrp_wait_for(m, 30 * ENDS_SECOND), ZCRP_OK);
    ck_assert_uint_eq(m->length, size);
    ck_assert(pattern_holds(m->buffer, size, seed));
}

static void part(const struct both *b)
{
    (void)zcrp_connection_close(b->there);
    (void)zcrp_connection_close(b->here);
}

/* With keys, or without. */
static struct zcrp_keys *some_keys(bool has_some)
{
    return has_some ? shared("alice", key) : NULL;
}

/* ---- round trips ---- */

/* What a caller has seen until its first unit left. */
struct seen {
    _Atomic bool has_sent;
    _Atomic int cookies, handshakes, others;
};

static void see(void *context, const struct zcrp_crossing *crossing)
{
    const struct iovec *last = &crossing->pieces[crossing->piece_count - 1];
    int type = ((const uint8_t *)last->iov_base)[last->iov_len - 1] & 15;
    struct seen *seen = context;

    if (crossing->is_outward)
        seen->has_sent = seen->has_sent || type == 1;
    else if (!seen->has_sent)
        (*(type == 8 ? &seen->cookies : type == 9 ? &seen->handshakes : &seen->others))++;
}

/* How many times the caller has waited for the other end until its first unit left: for the cookie,
 * for the handshake, and for a request, which nothing sealed comes before. */
static int waits_until_sent(bool has_first, size_t size)
{
    const struct crossing_faults late = {.delay_ns = DELAY_MS * ENDS_MILLISECOND};
    struct seen seen = {.has_sent = false};
    struct zcrp_options ours = {.first_messages = has_first, .first_bytes = LARGE};
    struct house p = house_with(ours, some_keys(true));
    struct crossing *way = crossing_open(atoi(p.port), &late, 1);
    struct both b = {.there = call(crossing_port(way),
                                   (struct zcrp_options){.tap = see, .tap_context = &seen},
                                   some_keys(true))};
    struct zcrp_msg *out = send_to(b.there, size, 1), *in = zcrp_alloc_msg(size);

    b.here = accept_one(&p);
    if (has_first) {
        expect_message(b.here, 0, size, 1);
    } else {
        ck_assert_int_eq(zcrp_submit(zcrp_connection_receiver(b.here), in, size), ZCRP_OK);
        ck_assert_int_eq(zcrp_wait_for(in, 30 * ENDS_SECOND), ZCRP_OK);
    }
    ck_assert_int_eq(end_of(out), ZCRP_OK);
    zcrp_free_msg(in);
    part(&b);
    (void)zcrp_listener_close(p.listener);
    crossing_close(way);
    return (seen.cookies > 0) + (seen.handshakes > 0) + (seen.others > 0);
}

/* Two waits, as over TLS and TCP, and half a round trip for the message itself: 2.5. Without first
 * messages it is one more. A thread that the system wakes very late may miss that: hence the tries.
 */
TEST(first__needs_two_waits, .needs = has_keys, .rows = 3)
{
    static const size_t sizes[] = {0, SMALL, LARGE};
    int tries = 10;

    ck_assert_int_eq(waits_until_sent(false, sizes[_i]), 3);
    while (waits_until_sent(true, sizes[_i]) != 2)
        ck_assert_int_gt(--tries, 0);
}

/* ---- what lands ---- */

/* With keys and without, over each way. */
static const struct {
    bool has_keys;
    struct zcrp_options options;
} ways[] = {
    {true, {.flags = ZCRP_NO_MEMORY}},
    {true, {.channel = ZCRP_CHANNEL_AUTO}},
    {true, {.channel = ZCRP_CHANNEL_MEMORY}},
    {true, {.channel = ZCRP_CHANNEL_AAL5}},
    {true, {.flags = ZCRP_NO_MEMORY, .unit_bytes = 200}},
    {false, {.flags = ZCRP_NO_MEMORY}},
    {false, {.channel = ZCRP_CHANNEL_AUTO}},
    {false, {.channel = ZCRP_CHANNEL_MEMORY}},
};

/* Several, of which one is too large, one is empty, and more come behind them. Afterwards they are
 * messages like any others, but for who frees them. */
TEST(first__every_way, .rows = ROWS(ways))
{
    static const size_t sizes[] = {SMALL, LARGE + 1, 0, LARGE, 7};
    enum { FIRST = ROWS(sizes) - 1 };
    struct zcrp_options ours = ways[_i].options;
    struct zcrp_msg *out[ROWS(sizes)], *last = zcrp_alloc_msg(7);
    struct both b;

    if (ways[_i].has_keys && !has_keys())
        return;
    ck_assert_int_eq(unsetenv("ZCRP_NO_MEMORY"), 0);
    ours.first_messages = FIRST;
    ours.first_bytes = LARGE;
    struct house p = house_with(ours, some_keys(ways[_i].has_keys));
    b.there = call(p.port, ways[_i].options, some_keys(ways[_i].has_keys));
    for (int i = 0; i < ROWS(sizes); i++)
        out[i] = send_to(b.there, sizes[i], (uint64_t)i);
    b.here = accept_one(&p);
    ck_assert_int_eq(zcrp_submit(zcrp_connection_receiver(b.here), last, 7), ZCRP_OK);
    for (int i = 0; i < FIRST; i++) {
        struct zcrp_msg *in = zcrp_connection_first(b.here, (uint32_t)i);
        if (i != 1)
            expect_message(b.here, (uint32_t)i, sizes[i], (uint64_t)i);
        else
            ck_assert_int_eq(zcrp_wait_for(in, 30 * ENDS_SECOND), ZCRP_ERROR_TOO_LARGE);
        ck_assert_int_eq(end_of(out[i]), i != 1 ? ZCRP_OK : ZCRP_ERROR_TOO_LARGE);
    }
    ck_assert_int_eq(end_of(last), ZCRP_OK);
    ck_assert_int_eq(end_of(out[FIRST]), ZCRP_OK);
    ck_assert_ptr_null(zcrp_connection_first(b.here, FIRST));
    ck_assert_ptr_null(zcrp_connection_first(b.there, 0));
    ck_assert_ptr_null(zcrp_connection_first(NULL, 0));
    struct zcrp_msg *again = zcrp_connection_first(b.here, 0);
    zcrp_free_msg(again); /* it is the connection's */
    ck_assert_int_eq(zcrp_submit(zcrp_connection_receiver(b.here), again, SMALL), ZCRP_OK);
    struct zcrp_msg *more = send_to(b.there, SMALL, 9);
    expect_message(b.here, 0, SMALL, 9);
    ck_assert_int_eq(end_of(more), ZCRP_OK);
    part(&b);
    ck_assert_int_eq(zcrp_listener_close(p.listener), ZCRP_OK);
}

/* The port that the socket is bound to; 0: it is none of IPv4. */
static int port_of(int fd)
{
    struct sockaddr_in own = {.sin_family = AF_UNSPEC};
    socklen_t size = sizeof own;

    if (getsockname(fd, (struct sockaddr *)&own, &size) != 0 || own.sin_family != AF_INET)
        return 0;
    return ntohs(own.sin_port);
}

/* What the connection's socket says of congestion in all that it sends. */
static int ecn_of(const struct zcrp_connection *c)
{
    enum { DESCRIPTORS = 1024 };
    char text[64];
    int tos = -1;
    socklen_t size = sizeof tos;

    ck_assert_int_eq(zcrp_connection_local(c, text, sizeof text), ZCRP_OK);
    int port = atoi(strrchr(text, ':') + 1);
    for (int fd = 0; fd < DESCRIPTORS && tos < 0; fd++)
        if (port_of(fd) == port)
            ck_assert_int_eq(getsockopt(fd, IPPROTO_IP, IP_TOS, &tos, &size), 0);
    ck_assert_int_ge(tos, 0);
    return tos & IPTOS_ECN_MASK;
}

/* The ECN bits behind what was sent early. */
static int ecn_behind_early(void)
{
    const struct zcrp_options theirs = {.flags = ZCRP_NO_MEMORY};
    struct zcrp_options ours = {.first_messages = 2, .first_bytes = LARGE, .flags = ZCRP_NO_MEMORY};
    struct house p = house_with(ours, some_keys(true));
    struct both b = {.there = call(p.port, theirs, some_keys(true))};

    ck_assert_int_eq(end_of(send_to(b.there, SMALL, 1)), ZCRP_OK);
    b.here = accept_one(&p);
    ck_assert_int_eq(end_of(send_to(b.there, LARGE, 2)), ZCRP_OK);
    int ecn = ecn_of(b.there);
    part(&b);
    ck_assert_int_eq(zcrp_listener_close(p.listener), ZCRP_OK);
    return ecn;
}

/* What is sent early cannot be marked. What comes behind it can. To a thread that wakes very late
 * it looks as if the path swallowed what is marked: hence the tries. */
TEST(first__then_with_ecn, .needs = has_keys)
{
    int tries = 10;

    while (ecn_behind_early() != IPTOS_ECN_ECT0)
        ck_assert_int_gt(--tries, 0);
}

/* Packets are lost, doubled and late: each message arrives, once and intact. */
TEST(first__bad_network, .needs = has_keys, .rows = 6)
{
    const struct crossing_faults bad = {.lost = 150,
                                        .doubled = 100,
                                        .late = 200,
                                        .delay_ns = ENDS_MILLISECOND,
                                        .late_ns = 3 * ENDS_MILLISECOND};
    struct zcrp_options ours = {.first_messages = 3, .first_bytes = LARGE};
    struct house p = house_with(ours, some_keys(true));
    struct crossing *way = crossing_open(atoi(p.port), &bad, (uint64_t)_i);
    struct both b = {.there = call(crossing_port(way), (struct zcrp_options){0}, some_keys(true))};
    struct zcrp_msg *out[3];

    for (uint64_t i = 0; i < 3; i++)
        out[i] = send_to(b.there, SMALL * (i + 1), i);
    b.here = accept_one(&p);
    for (uint32_t i = 0; i < 3; i++)
        expect_message(b.here, i, SMALL * (i + 1), i);
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(end_of(out[i]), ZCRP_OK);
    part(&b);
    (void)zcrp_listener_close(p.listener);
    crossing_close(way);
}

/* A message that is taken back at the listener's end, and one that nobody sends. */
TEST(first__cancelled, .rows = 2)
{
    struct zcrp_options ours = {.first_messages = 3, .first_bytes = SMALL};
    struct both b;

    if (_i == 1 && !has_keys())
        return;
    struct house p = house_with(ours, some_keys(_i));
    b.there = call(p.port, (struct zcrp_options){0}, some_keys(_i));
    b.here = accept_one(&p);
    struct zcrp_msg *in = zcrp_connection_first(b.here, 0);
    ck_assert_int_eq(zcrp_cancel(in), ZCRP_OK);
    ck_assert_int_eq(zcrp_error(in), ZCRP_ERROR_CANCELLED);
    ck_assert_int_eq(end_of(send_to(b.there, SMALL, 1)), ZCRP_ERROR_PEER_CANCELLED);
    ck_assert_int_eq(end_of(send_to(b.there, SMALL, 2)), ZCRP_OK);
    expect_message(b.here, 1, SMALL, 2);
    part(&b);
    ck_assert_int_eq(zcrp_listener_close(p.listener), ZCRP_OK);
}

/* They can be collected, and more callers than one have their own. */
TEST(first__of_many_callers, .needs = has_keys)
{
    enum { CALLERS = 12 };
    struct zcrp_options ours = {.first_messages = 2, .first_bytes = SMALL};
    struct house p = house_with(ours, some_keys(true));
    struct zcrp_connection *there[CALLERS];
    struct zcrp_msg *out[CALLERS];

    for (uint64_t i = 0; i < CALLERS; i++) {
        there[i] = call(p.port, (struct zcrp_options){0}, some_keys(true));
        out[i] = send_to(there[i], SMALL, 5);
    }
    for (int i = 0; i < CALLERS; i++) {
        struct zcrp_connection *here = accept_one(&p);
        (void)zcrp_descriptor(zcrp_connection_receiver(here));
        expect_message(here, 0, SMALL, 5);
        struct zcrp_msg *collected = zcrp_collect(zcrp_connection_receiver(here));
        ck_assert(collected == NULL || collected == zcrp_connection_first(here, 0));
        (void)zcrp_connection_close(here);
    }
    for (int i = 0; i < CALLERS; i++) {
        ck_assert_int_eq(end_of(out[i]), ZCRP_OK);
        (void)zcrp_connection_close(there[i]);
    }
    ck_assert_int_eq(zcrp_listener_close(p.listener), ZCRP_OK);
}

/* Nobody accepts, and the listener is closed: what has landed, and what has not, is freed. */
TEST(first__nobody_accepts, .rows = 2)
{
    struct zcrp_options ours = {.first_messages = 2, .first_bytes = LARGE};
    struct zcrp_listener_stats stats = {.admitted = 0};

    if (_i == 1 && !has_keys())
        return;
    struct house p = house_with(ours, some_keys(_i));
    struct zcrp_connection *there = call(p.port, (struct zcrp_options){0}, some_keys(_i));
    ck_assert_int_eq(end_of(send_to(there, SMALL, 1)), ZCRP_OK);
    while (stats.admitted == 0) { /* what has landed is admitted a moment later */
        ck_assert_int_eq(zcrp_listener_stats(p.listener, &stats), ZCRP_OK);
        usleep(1000);
    }
    ck_assert_int_eq(zcrp_listener_close(p.listener), ZCRP_OK);
    int code = end_of(send_to(there, SMALL, 2));
    ck_assert(code == ZCRP_ERROR_PEER_CLOSED || code == ZCRP_ERROR_CUT_OFF);
    (void)zcrp_connection_close(there);
}

/* A child has copies: it may close them, and takes nothing from its parent. */
TEST(first__in_a_child, .needs = has_keys)
{
    struct zcrp_options ours = {.first_messages = 2, .first_bytes = SMALL};
    struct house p = house_with(ours, some_keys(true));
    struct both b = {.there = call(p.port, (struct zcrp_options){0}, some_keys(true))};
    int status;

    ck_assert_int_eq(end_of(send_to(b.there, SMALL, 1)), ZCRP_OK);
    b.here = accept_one(&p);
    pid_t child = fork();
    if (child == 0) {
        bool is_fine = pattern_holds(zcrp_connection_first(b.here, 0)->buffer, SMALL, 1) &&
                       zcrp_connection_close(b.here) == ZCRP_OK &&
                       zcrp_listener_close(p.listener) == ZCRP_OK;
        _exit(is_fine ? 0 : 1);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    ck_assert_int_eq(end_of(send_to(b.there, SMALL, 2)), ZCRP_OK);
    expect_message(b.here, 0, SMALL, 1);
    expect_message(b.here, 1, SMALL, 2);
    part(&b);
    ck_assert_int_eq(zcrp_listener_close(p.listener), ZCRP_OK);
}

/* The listener's process is another one by now, at the same port: it has buffers of its own. */
TEST(first__restarted, .needs = has_keys)
{
    struct zcrp_options ours = {.first_messages = 1, .first_bytes = SMALL};
    struct house p = house_with(ours, some_keys(true));

    for (uint64_t i = 0; i < 3; i++) {
        struct both b = {.there = call(p.port, (struct zcrp_options){0}, some_keys(true))};
        struct zcrp_msg *out = send_to(b.there, SMALL, i);
        b.here = accept_one(&p);
        expect_message(b.here, 0, SMALL, i);
        ck_assert_int_eq(end_of(out), ZCRP_OK);
        (void)zcrp_connection_close(b.here);
        ck_assert_int_eq(zcrp_listener_close(p.listener), ZCRP_OK);
        ours.keys = some_keys(true);
        ck_assert_int_eq(zcrp_listen(&p.listener, "127.0.0.1", p.port, &ours), ZCRP_OK);
        zcrp_keys_free(ours.keys);
        (void)zcrp_connection_close(b.there);
    }
    ck_assert_int_eq(zcrp_listener_close(p.listener), ZCRP_OK);
}

/* ---- who is not admitted ---- */

/* Until so many callers have been refused, and no more: each is counted behind its answer. */
static void await_refused(const struct house *p, uint64_t count)
{
    struct zcrp_listener_stats stats = {.refused = 0};

    for (; stats.refused < count; usleep(1000))
        ck_assert_int_eq(zcrp_listener_stats(p->listener, &stats), ZCRP_OK);
    ck_assert_uint_eq(stats.refused, count);
}

/* A caller whose key is refused at the very end has sent units by then. They land nowhere, the
 * caller has ZCRP_ERROR_KEYS, also of its close, and whoever has a key that is good finds all as
 * ever. */
TEST(first__refused, .needs = has_keys)
{
    enum { REFUSED = 3 };
    struct zcrp_options ours = {.first_messages = 1, .first_bytes = SMALL};
    struct zcrp_listener_stats stats;
    struct zcrp_connection *none;
    struct zcrp_stats sent;
    uint64_t units = 0;
    struct house p = house_with(ours, raw(mine));

    for (uint64_t i = 0; i < REFUSED; i++) {
        struct zcrp_connection *c = call(p.port, (struct zcrp_options){0}, raw(wrong));
        ck_assert_int_eq(end_of(send_to(c, SMALL, i)), ZCRP_ERROR_KEYS);
        ck_assert_int_eq(zcrp_connection_status(c), ZCRP_ERROR_KEYS);
        ck_assert_int_eq(zcrp_stats(zcrp_connection_sender(c), &sent), ZCRP_OK);
        units += sent.units;
        ck_assert_int_eq(zcrp_connection_close(c), ZCRP_ERROR_KEYS);
    }
    ck_assert_uint_gt(units, 0);
    await_refused(&p, REFUSED);
    ck_assert_int_eq(zcrp_accept(p.listener, &none, 0), ZCRP_ERROR_TIMEOUT);
    ck_assert_int_eq(zcrp_listener_stats(p.listener, &stats), ZCRP_OK);
    ck_assert_uint_eq(stats.admitted, 0);
    ck_assert_uint_eq(stats.connections, 0);
    struct both b = {.there = call(p.port, (struct zcrp_options){0}, raw(mine))};
    struct zcrp_msg *out = send_to(b.there, SMALL, 7);
    b.here = accept_one(&p);
    expect_message(b.here, 0, SMALL, 7);
    ck_assert_int_eq(end_of(out), ZCRP_OK);
    part(&b);
    ck_assert_int_eq(zcrp_listener_close(p.listener), ZCRP_OK);
}

/* A good caller for whom there is no room has not been admitted, whatever it sent. */
TEST(first__no_room, .needs = has_keys)
{
    struct zcrp_options ours = {.first_messages = 1, .first_bytes = SMALL, .connections = 1};
    const struct zcrp_options theirs = {.connect_ns = ENDS_SECOND / 2};
    struct house p = house_with(ours, some_keys(true));
    struct both b = {.there = call(p.port, (struct zcrp_options){0}, some_keys(true))};

    b.here = accept_one(&p);
    struct zcrp_connection *late = call(p.port, theirs, some_keys(true));
    ck_assert_int_eq(end_of(send_to(late, SMALL, 1)), ZCRP_ERROR_NOT_ADMITTED);
    (void)zcrp_connection_close(late);
    ck_assert_int_eq(end_of(send_to(b.there, SMALL, 2)), ZCRP_OK);
    expect_message(b.here, 0, SMALL, 2);
    part(&b);
    ck_assert_int_eq(zcrp_listener_close(p.listener), ZCRP_OK);
}

/* So has one for whose handshake there is no place, because others of its host wait for room. */
TEST(first__no_room_for_many, .needs = has_keys)
{
    enum { MANY = 18 }; /* two more than there are places of one host */
    const struct zcrp_options theirs = {.connect_ns = 2 * ENDS_SECOND};
    struct house p = house_with((struct zcrp_options){.connections = 1}, some_keys(true));
    struct both b = {.there = call(p.port, (struct zcrp_options){0}, some_keys(true))};
    struct zcrp_connection *late[MANY];
    struct zcrp_msg *out[MANY];

    b.here = accept_one(&p);
    for (int i = 0; i < MANY; i++) {
        late[i] = call(p.port, theirs, some_keys(true));
        out[i] = send_to(late[i], SMALL, 1);
    }
    for (int i = 0; i < MANY; i++)
        ck_assert_int_eq(end_of(out[i]), ZCRP_ERROR_NOT_ADMITTED);
    for (int i = 0; i < MANY; i++)
        (void)zcrp_connection_close(late[i]);
    part(&b);
    ck_assert_int_eq(zcrp_listener_close(p.listener), ZCRP_OK);
}

/* The caller waits until it is admitted, as ever. */
TEST(first__connect_waits, .needs = has_keys)
{
    struct zcrp_options ours = {.first_messages = 1, .first_bytes = SMALL};
    struct zcrp_options theirs = {.keys = raw(wrong)};
    struct zcrp_connection *c;
    struct house p = house_with(ours, raw(mine));

    ck_assert_int_eq(zcrp_connect(&c, "127.0.0.1", p.port, &theirs, -1), ZCRP_ERROR_KEYS);
    zcrp_keys_free(theirs.keys);
    theirs.keys = raw(mine);
    ck_assert_int_eq(zcrp_connect(&c, "127.0.0.1", p.port, &theirs, -1), ZCRP_OK);
    zcrp_keys_free(theirs.keys);
    ck_assert_int_eq(end_of(send_to(c, SMALL, 1)), ZCRP_OK);
    (void)zcrp_connection_close(c);
    ck_assert_int_eq(zcrp_listener_close(p.listener), ZCRP_OK);
}
