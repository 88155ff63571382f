/* Keys over descriptors: a sender and a receiver of one connected socket each. */
#include "../../support/ends.h"
#include "../../support/shared_keys.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

LOAD(asleep)

enum { MESSAGE = 300000 };

/* A message that nobody waits for yet. */
static struct zcrp_msg *submit(struct zcrp_entity *e, nlong size)
{
    struct zcrp_msg *m = ends_filled(size, 1);
    ck_assert_int_eq(zcrp_submit(e, m, size), ZCRP_OK);
    return m;
}

static int end_of(struct zcrp_msg *m)
{
    int code = ends_wait(m);
    zcrp_free_msg(m);
    return code;
}

/* ---- messages arrive ---- */

static const struct {
    enum loopback_kind kind;
    struct zcrp_options options;
} ways[] = {
    {.kind = LOOPBACK_UDP4},
    {.kind = LOOPBACK_UDP6},
    {.kind = LOOPBACK_UNIX},
    {.options = {.unit_bytes = 200}},
    {.options = {.unit_bytes = 1500, .flags = ZCRP_NO_SEGMENT | ZCRP_NO_GRO}},
    {.options = {.congestion = ZCRP_CONGESTION_CUBIC, .messages = 4}},
    {.options = {.channel = ZCRP_CHANNEL_AAL5}},
};

TEST(keys_handle__every_way, .needs = has_keys, .rows = ROWS(ways))
{
    static const nlong sizes[] = {0, 1, 31, 1000, 65536, 1 << 20, 5000001};
    struct zcrp_options options = ways[_i].options;
    struct loopback sockets = loopback_open(ways[_i].kind, false);
    options.flags |= ZCRP_NO_MEMORY;
    struct ends e = ends_meet(&sockets, options);
    for (int i = 0; i < ROWS(sizes); i++)
        ends_move(&e, sizes[i], (uint64_t)i);
    ends_part(&e);
    loopback_close(&sockets);
}

/* One host, one user: both ends have shown that they have the keys, and nothing need be sealed. */
TEST(keys_handle__through_memory, .needs = has_keys)
{
    ck_assert_int_eq(unsetenv("ZCRP_NO_MEMORY"), 0);
    if (!loopback_is_udp())
        return;
    struct loopback sockets = loopback_open(LOOPBACK_UDP4, false);
    struct ends e = ends_meet(&sockets, (struct zcrp_options){.channel = ZCRP_CHANNEL_MEMORY});
    for (uint64_t i = 0; i < 20; i++)
        ends_move(&e, 5000001, i);
    ck_assert_uint_gt(ends_stats(e.receiver).bytes_copied_once, 5000000);
    ck_assert_uint_eq(ends_stats(e.receiver).drop_forged, 0);
    ck_assert_uint_eq(ends_stats(e.sender).drop_forged, 0);
    ends_part(&e);
    loopback_close(&sockets);
}

/* Each end knows the other, once the handshake is over. */
TEST(keys_handle__identity, .needs = has_keys)
{
    char text[ZCRP_KEYS_IDENTITY_MOST + 1];
    struct loopback sockets = loopback_open(LOOPBACK_UDP4, false);
    struct zcrp_options options = {.keys = shared("alice", key)};
    struct ends e = {.sockets = sockets};
    ck_assert_int_eq(zcrp_open_receiver(&e.receiver, sockets.receiver, &options), ZCRP_OK);
    ck_assert_int_eq(zcrp_identity(e.receiver, text, sizeof text), ZCRP_ERROR_IDLE);
    ck_assert_int_eq(zcrp_open_sender(&e.sender, sockets.sender, &options), ZCRP_OK);
    ends_move(&e, 1000, 1);
    ck_assert_int_eq(zcrp_identity(e.receiver, text, sizeof text), ZCRP_OK);
    ck_assert_str_eq(text, "alice");
    ck_assert_int_eq(zcrp_identity(e.sender, text, sizeof text), ZCRP_OK);
    ck_assert_int_eq(zcrp_identity(e.sender, text, 1), ZCRP_ERROR_SIZE);
    ck_assert_int_eq(zcrp_identity(NULL, text, sizeof text), ZCRP_ERROR_ARGUMENT);
    ends_part(&e);
    zcrp_keys_free(options.keys);
    loopback_close(&sockets);
}

/* The sender is known by its handshake, and goes on with that at the receiver. */
TEST(keys_handle__accepted, .needs = has_keys)
{
    struct zcrp_options options = {.keys = shared("alice", key)};
    struct ends e;
    char port[8];
    int in = zcrp_udp_listen("127.0.0.1", "0");
    snprintf(port, sizeof port, "%d", zcrp_udp_port(in));
    int out = zcrp_udp_connect("127.0.0.1", port);
    ck_assert_int_eq(zcrp_open_sender(&e.sender, (int[2]){out, out}, &options), ZCRP_OK);
    struct zcrp_msg *m = submit(e.sender, MESSAGE), *n = ends_empty(MESSAGE);
    ck_assert_int_eq(zcrp_udp_accept(in, 5 * ENDS_SECOND), ZCRP_OK);
    ck_assert_int_eq(zcrp_open_receiver(&e.receiver, (int[2]){in, in}, &options), ZCRP_OK);
    ck_assert_int_eq(zcrp_submit(e.receiver, n, MESSAGE), ZCRP_OK);
    ends_finish(n, m, MESSAGE, 1);
    ends_part(&e);
    zcrp_keys_free(options.keys);
    close(in);
    close(out);
}

/* A receiver may come later than a sender's patience, and the sender be idle meanwhile. */
TEST(keys_handle__a_late_receiver, .needs = has_keys)
{
    struct zcrp_options options = {.keys = shared("alice", key),
                                   .connect_ns = 300 * ENDS_MILLISECOND};
    struct loopback sockets = loopback_open(LOOPBACK_UDP4, false);
    struct ends e = {.sockets = sockets};
    ck_assert_int_eq(zcrp_open_sender(&e.sender, sockets.sender, &options), ZCRP_OK);
    ck_assert_int_eq(end_of(submit(e.sender, 1000)), ZCRP_ERROR_UNREACHABLE);
    options.connect_ns = 5 * ENDS_SECOND;
    ck_assert_int_eq(zcrp_open_receiver(&e.receiver, sockets.receiver, &options), ZCRP_OK);
    struct zcrp_msg *in = ends_empty(MESSAGE);
    ck_assert_int_eq(zcrp_submit(e.receiver, in, MESSAGE), ZCRP_OK);
    int code = ZCRP_ERROR_UNREACHABLE;
    while (code == ZCRP_ERROR_UNREACHABLE || code == ZCRP_ERROR_NOT_ADMITTED)
        code = end_of(submit(e.sender, MESSAGE));
    ck_assert_int_eq(code, ZCRP_OK);
    ck_assert_int_eq(ends_wait(in), ZCRP_OK);
    ck_assert(pattern_holds(in->buffer, MESSAGE, 1));
    zcrp_free_msg(in);
    ends_part(&e);
    zcrp_keys_free(options.keys);
    loopback_close(&sockets);
}

/* A handshake that a receiver has begun, and took with it, is begun anew with the next one. */
TEST(keys_handle__a_receiver_that_goes_before_it_is_met, .needs = has_keys)
{
    struct zcrp_options options = {.keys = shared("alice", key), .connect_ns = 20 * ENDS_SECOND};
    struct zcrp_options plain = {.linger_ns = 1};
    struct loopback sockets = loopback_open(LOOPBACK_UDP4, false);
    struct ends e = {.sockets = sockets};
    ck_assert_int_eq(zcrp_open_receiver(&e.receiver, sockets.receiver, &plain), ZCRP_OK);
    ck_assert_int_eq(zcrp_open_sender(&e.sender, sockets.sender, &options), ZCRP_OK);
    struct zcrp_msg *out = submit(e.sender, 1000), *in = ends_empty(1000);
    usleep(200000); /* it has a cookie, and nobody goes on */
    (void)zcrp_close(e.receiver);
    ck_assert_int_eq(zcrp_open_receiver(&e.receiver, sockets.receiver, &options), ZCRP_OK);
    ck_assert_int_eq(zcrp_submit(e.receiver, in, 1000), ZCRP_OK);
    ends_finish(in, out, 1000, 1);
    ends_part(&e);
    zcrp_keys_free(options.keys);
    loopback_close(&sockets);
}

/* A message that was taken back before there was a receiver meets the first buffer, with keys as
 * without. */
TEST(keys_handle__cancelled_before_it_began, .needs = has_keys, .rows = 2)
{
    struct zcrp_options options = {.keys = _i == 1 ? shared("alice", key) : NULL};
    struct loopback sockets = loopback_open(LOOPBACK_UDP4, false);
    struct ends e = {.sockets = sockets};
    ck_assert_int_eq(zcrp_open_sender(&e.sender, sockets.sender, &options), ZCRP_OK);
    struct zcrp_msg *first = submit(e.sender, 1000);
    ck_assert_int_eq(zcrp_cancel(first), ZCRP_OK);
    ck_assert_int_eq(end_of(first), ZCRP_ERROR_CANCELLED);
    ck_assert_int_eq(zcrp_open_receiver(&e.receiver, sockets.receiver, &options), ZCRP_OK);
    ck_assert_int_eq(end_of(submit(e.receiver, 1000)), ZCRP_ERROR_PEER_CANCELLED);
    ends_move(&e, 1000, 2);
    ends_part(&e);
    zcrp_keys_free(options.keys);
    loopback_close(&sockets);
}

/* ---- who does not get in ---- */

static const struct {
    bool has_theirs, has_ours;
    const char *identity;
    const uint8_t *bytes;
    uint64_t refused;
} refused[] = {
    {true, true, "alice", other_key, 1},
    {true, true, "mallory", key, 1},
    {true, false, NULL, NULL, 0},
    {false, true, "alice", key, 0},
};

/* No byte of a message crosses, and the sender is told why. The receiver waits for another one. */
TEST(keys_handle__refused, .needs = has_keys, .rows = ROWS(refused))
{
    struct zcrp_options options = {.connect_ns = (refused[_i].has_theirs ? 20 : 2) * ENDS_SECOND},
                        theirs = options; /* without keys it refuses nobody, who learns that then */
    struct loopback sockets = loopback_open(LOOPBACK_UDP4, false);
    theirs.keys = refused[_i].has_theirs ? shared("alice", key) : NULL;
    options.keys = refused[_i].has_ours ? shared(refused[_i].identity, refused[_i].bytes) : NULL;
    struct ends e = ends_open_at(&sockets, &options, &theirs);
    struct zcrp_msg *in = ends_empty(1000);
    ck_assert_int_eq(zcrp_submit(e.receiver, in, 1000), ZCRP_OK);
    usleep(_i == 3 ? 100000 : 0); /* the handshake is known to stand still */
    ck_assert_int_eq(end_of(submit(e.sender, 1000)), ZCRP_ERROR_KEYS);
    ck_assert_int_eq(zcrp_wait_for(in, 0), ZCRP_ERROR_TIMEOUT);
    ck_assert_uint_eq(ends_stats(e.sender).units, 0);
    ck_assert_uint_eq(ends_stats(e.receiver).units, 0);
    ck_assert_uint_eq(ends_stats(e.receiver).keys_refused, refused[_i].refused);
    ck_assert_int_eq(zcrp_close(e.sender), ZCRP_OK);
    if (!refused[_i].has_theirs) {
        (void)zcrp_close(e.receiver);
        (void)ends_wait(in);
        ck_assert_int_eq(zcrp_open_receiver(&e.receiver, sockets.receiver, &options), ZCRP_OK);
        ck_assert_int_eq(zcrp_submit(e.receiver, in, 1000), ZCRP_OK);
    }
    zcrp_keys_free(options.keys);
    options.keys = shared("alice", key);
    ck_assert_int_eq(zcrp_open_sender(&e.sender, sockets.sender, &options), ZCRP_OK);
    ends_finish(in, submit(e.sender, 1000), 1000, 1);
    ends_part(&e);
    zcrp_keys_free(options.keys);
    zcrp_keys_free(theirs.keys);
    loopback_close(&sockets);
}

/* A handshake goes both ways, and over a socket that nobody else listens to. */
TEST(keys_handle__mistakes, .needs = has_keys)
{
    struct zcrp_options options = {.keys = shared("alice", key)};
    struct loopback simplex = loopback_open(LOOPBACK_UDP4, true);
    struct loopback duplex = loopback_open(LOOPBACK_UDP4, false);
    int again = dup(duplex.sender[0]);
    struct zcrp_entity *e, *other;
    ck_assert_int_eq(zcrp_open_sender(&e, simplex.sender, &options), ZCRP_ERROR_ARGUMENT);
    ck_assert_ptr_null(e);
    ck_assert_int_eq(zcrp_open_receiver(&e, simplex.receiver, &options), ZCRP_ERROR_ARGUMENT);
    ck_assert_int_eq(zcrp_open_sender(&e, (int[2]){duplex.sender[0], again}, &options), ZCRP_OK);
    ck_assert_int_eq(zcrp_open_receiver(&other, duplex.sender, &options), ZCRP_ERROR_BUSY);
    ck_assert_int_eq(zcrp_open_receiver(&other, duplex.sender, NULL), ZCRP_ERROR_BUSY);
    ck_assert_int_eq(zcrp_close(e), ZCRP_OK);
    ck_assert_int_eq(zcrp_open_receiver(&e, duplex.sender, NULL), ZCRP_OK);
    ck_assert_int_eq(zcrp_open_sender(&other, duplex.sender, &options), ZCRP_ERROR_BUSY);
    ck_assert_int_eq(zcrp_close(e), ZCRP_OK);
    zcrp_keys_free(options.keys);
    close(again);
    loopback_close(&simplex);
    loopback_close(&duplex);
}

/* ---- endings ---- */

/* Whoever is left has nobody any more, and says so of each message. */
TEST(keys_handle__close_is_heard, .needs = has_keys, .rows = 2)
{
    struct loopback sockets = loopback_open(LOOPBACK_UDP4, false);
    struct ends e = ends_meet(&sockets, (struct zcrp_options){0});
    nlong size;
    ends_move(&e, 1000, 1);
    struct zcrp_entity *goes = _i == 0 ? e.sender : e.receiver;
    struct zcrp_entity *left = _i == 0 ? e.receiver : e.sender;
    struct zcrp_msg *m = submit(left, 1000);
    ck_assert_int_eq(zcrp_close(goes), ZCRP_OK);
    ck_assert_int_eq(end_of(m), _i == 0 ? ZCRP_ERROR_PEER_CLOSED : ZCRP_ERROR_CUT_OFF);
    int64_t began = clock_now_ns();
    ck_assert_int_eq(end_of(submit(left, 1000)), ZCRP_ERROR_PEER_CLOSED);
    if (_i == 0)
        ck_assert_int_eq(zcrp_expect(left, &size, -1), ZCRP_ERROR_PEER_CLOSED);
    ck_assert_int_lt(clock_now_ns() - began, 10 * ENDS_SECOND); /* not at the silence limit */
    ck_assert_int_eq(zcrp_close(left), ZCRP_OK);
    loopback_close(&sockets);
}

/* The same with nothing posted: the next message says so. */
TEST(keys_handle__an_idle_receiver_loses_its_sender, .needs = has_keys)
{
    struct loopback sockets = loopback_open(LOOPBACK_UDP4, false);
    struct ends e = ends_meet(&sockets, (struct zcrp_options){0});
    ends_move(&e, 1000, 1);
    ck_assert_int_eq(zcrp_close(e.sender), ZCRP_OK);
    ck_assert_int_eq(end_of(submit(e.receiver, 1000)), ZCRP_ERROR_PEER_CLOSED);
    ck_assert_int_eq(zcrp_close(e.receiver), ZCRP_OK);
    loopback_close(&sockets);
}

/* The same sockets serve one pair after the other. */
TEST(keys_handle__one_after_the_other, .needs = has_keys)
{
    struct loopback sockets = loopback_open(LOOPBACK_UDP4, false);
    for (uint64_t i = 0; i < 10; i++) {
        struct ends e = ends_meet(&sockets, (struct zcrp_options){0});
        ends_move(&e, MESSAGE, i);
        ends_part(&e);
    }
    loopback_close(&sockets);
}

/* The sender is one that dies, or the receiver. The other end finds it silent, whatever a new one
 * with the same keys says there, and then takes that one with a new session. */
TEST(keys_handle__restart, .needs = has_keys, .rows = 2)
{
    struct zcrp_options options = {.keys = shared("alice", key), .silence_ns = ENDS_SECOND};
    struct loopback sockets = loopback_open(LOOPBACK_UDP4, false);
    bool is_sender = _i == 0;
    struct zcrp_entity *ours;
    pid_t first = ends_start_peer(&sockets, is_sender, -1, &options);
    ck_assert_int_eq(ends_open_role(&ours, &sockets, !is_sender, &options), ZCRP_OK);
    ck_assert_int_eq(end_of(submit(ours, ENDS_PEER_BYTES)), ZCRP_OK);
    ends_kill_peer(first);
    pid_t second = ends_start_peer(&sockets, is_sender, -1, &options);
    int code = ZCRP_OK;
    while (code == ZCRP_OK)
        code = end_of(submit(ours, ENDS_PEER_BYTES));
    ck_assert(ends_is_death(code));
    ck_assert_int_eq(end_of(submit(ours, ENDS_PEER_BYTES)), code);
    (void)zcrp_close(ours);
    ck_assert_int_eq(ends_open_role(&ours, &sockets, !is_sender, &options), ZCRP_OK);
    ck_assert_int_eq(end_of(submit(ours, ENDS_PEER_BYTES)), ZCRP_OK);
    ends_kill_peer(second);
    options.linger_ns = 1;
    (void)zcrp_close(ours);
    zcrp_keys_free(options.keys);
    loopback_close(&sockets);
}
