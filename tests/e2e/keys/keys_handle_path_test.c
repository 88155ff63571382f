/* Keys over descriptors, beside somebody on the path who reads, repeats, forges and damages. */
#include "../../support/ends.h"
#include "../../support/relay.h"
#include "../../support/shared_keys.h"

#include <poll.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

LOAD(asleep)

enum { MESSAGE = 300000, MARK = 16 };

enum { RECORDS = 64 };

/* What crossed, as a reader of the path sees it. */
struct record {
    const uint8_t *mark; /* that must not be seen */
    _Atomic bool has_seen_mark;
    _Atomic unsigned count;
    size_t size[RECORDS];
    uint8_t bytes[RECORDS][2048];
};

static size_t gather(const struct zcrp_crossing *c, uint8_t *out, size_t most)
{
    size_t size = 0;
    for (uint32_t i = 0; i < c->piece_count && size + c->pieces[i].iov_len <= most; i++) {
        memcpy(out + size, c->pieces[i].iov_base, c->pieces[i].iov_len);
        size += c->pieces[i].iov_len;
    }
    return size;
}

static void see(void *context, const struct zcrp_crossing *crossing)
{
    static _Thread_local uint8_t bytes[65536];
    struct record *r = context;
    if (!crossing->is_outward)
        return;
    size_t size = gather(crossing, bytes, sizeof bytes);
    if (memmem(bytes, size, r->mark, MARK) != NULL)
        atomic_store(&r->has_seen_mark, true);
    if (size > sizeof r->bytes[0])
        return;
    unsigned at = atomic_load(&r->count) % RECORDS;
    memcpy(r->bytes[at], bytes, size);
    r->size[at] = size;
    atomic_fetch_add(&r->count, 1);
}

/* All that a sender says is seen, with keys and without, which shows that the test looks. */
TEST(keys_handle_path__nothing_crosses_in_the_clear, .needs = has_keys, .rows = 2)
{
    static struct record record = {.mark = (const uint8_t *)"sixteen bytes..."};
    struct zcrp_options options = {.flags = ZCRP_NO_MEMORY};
    options.keys = _i == 1 ? shared("alice", key) : NULL;
    struct loopback sockets = loopback_open(LOOPBACK_UDP4, false);
    struct zcrp_options seen = options;
    seen.tap = see;
    seen.tap_context = &record;
    struct ends e = ends_open_at(&sockets, &seen, &options);
    struct zcrp_msg *out = zcrp_alloc_msg(1 << 20), *in = zcrp_alloc_msg(1 << 20);
    for (size_t i = 0; i < 1 << 20; i++)
        out->buffer[i] = record.mark[i % MARK];
    ends_submit(&e, in, out, 1 << 20);
    ck_assert_int_eq(ends_wait(out), ZCRP_OK);
    ck_assert_int_eq(ends_wait(in), ZCRP_OK);
    ck_assert_int_eq(memcmp(in->buffer, out->buffer, 1 << 20), 0);
    ck_assert_int_eq(atomic_load(&record.has_seen_mark), _i == 0);
    zcrp_free_msg(out);
    zcrp_free_msg(in);
    ends_part(&e);
    zcrp_keys_free(options.keys);
    loopback_close(&sockets);
}

static void say(const struct loopback *sockets, bool is_to_receiver, const uint8_t *bytes,
                size_t size)
{
    (void)!send(is_to_receiver ? sockets->sender[0] : sockets->receiver[0], bytes, size,
                MSG_DONTWAIT);
}

/* Junk of every size, and every type of datagram with everything else at random, in the peer's
 * name. */
static void say_junk(const struct loopback *sockets, unsigned seed)
{
    uint8_t bytes[1500];
    unsigned random = seed;
    for (int i = 0; i < 200; i++) {
        for (size_t j = 0; j < sizeof bytes; j++)
            bytes[j] = (uint8_t)((random = random * 1103515245u + 12345u) >> 16);
        size_t size = i % 3 == 0 ? 32 : 1 + random % (sizeof bytes - 1);
        bytes[size - 1] = (uint8_t)(0x20 | (1 + random / 7 % 10));
        say(sockets, i % 2 == 0, bytes, size);
    }
}

static bool has_keys_over_udp(void)
{
    return has_keys() && loopback_is_udp();
}

/* A hello, as in docs/protocol.md; or the first byte of a handshake, with a cookie that is none. */
static size_t write_question(uint8_t *out, bool is_hello, uint8_t nonce)
{
    size_t size = is_hello ? 32 : 33;
    memset(out, 0, size);
    uint8_t *trailer = out + size - 32;
    trailer[7] = nonce;
    trailer[15] = is_hello ? 0 : 1;
    trailer[29] = 1; /* the tag's last byte */
    trailer[31] = is_hello ? 0x25 : 0x29;
    return size;
}

/* To an address that has not brought a cookie back the receiver sends no more than came from it. */
TEST(keys_handle_path__is_no_amplifier, .needs = has_keys_over_udp, .rows = 2)
{
    struct zcrp_options options = {.keys = shared("alice", key)};
    struct loopback sockets = loopback_open(LOOPBACK_UDP4, false);
    struct zcrp_entity *receiver;
    uint8_t bytes[2048];
    size_t said = 0, heard = 0;
    ssize_t size;
    ck_assert_int_eq(zcrp_open_receiver(&receiver, sockets.receiver, &options), ZCRP_OK);
    for (uint8_t i = 1; i <= 100; i++) {
        said += write_question(bytes, _i == 0, i);
        say(&sockets, true, bytes, _i == 0 ? 32 : 33);
        struct pollfd answer = {.fd = sockets.sender[0], .events = POLLIN};
        (void)poll(&answer, 1, _i == 0 ? 100 : 1); /* of questions at once one has an answer */
        while ((size = recv(sockets.sender[0], bytes, sizeof bytes, MSG_DONTWAIT)) > 0)
            heard += (size_t)size;
    }
    usleep(700000); /* nothing is repeated */
    while ((size = recv(sockets.sender[0], bytes, sizeof bytes, MSG_DONTWAIT)) > 0)
        heard += (size_t)size;
    ck_assert_uint_le(heard, _i == 0 ? said : 0);
    ck_assert_uint_ge(heard, _i == 0 ? said / 2 : 0);
    for (int i = 0; i < 20000 && _i == 1 && ends_stats(receiver).drop_cookie < 100; i++)
        usleep(1000);
    ck_assert_uint_eq(ends_stats(receiver).drop_cookie, _i == 0 ? 0 : 100);
    ck_assert_int_eq(zcrp_close(receiver), ZCRP_OK);
    zcrp_keys_free(options.keys);
    loopback_close(&sockets);
}

/* Before there is a session, during the handshake, and within a session. Nothing of it is believed,
 * and answered at most by as much as came. */
TEST(keys_handle_path__junk_changes_nothing, .needs = has_keys_over_udp)
{
    struct zcrp_options options = {.keys = shared("alice", key)};
    struct loopback sockets = loopback_open(LOOPBACK_UDP4, false);
    struct ends e = {.sockets = sockets};
    ck_assert_int_eq(zcrp_open_receiver(&e.receiver, sockets.receiver, &options), ZCRP_OK);
    say_junk(&sockets, 1);
    ck_assert_int_eq(zcrp_open_sender(&e.sender, sockets.sender, &options), ZCRP_OK);
    say_junk(&sockets, 2);
    for (unsigned i = 0; i < 20; i++) {
        struct zcrp_msg *in = ends_empty(MESSAGE), *out = ends_filled(MESSAGE, i);
        ends_submit(&e, in, out, MESSAGE);
        say_junk(&sockets, i);
        ends_finish(in, out, MESSAGE, i);
    }
    ck_assert_uint_eq(ends_stats(e.receiver).messages, 20);
    ck_assert_uint_eq(ends_stats(e.receiver).messages_failed, 0);
    ends_part(&e);
    zcrp_keys_free(options.keys);
    loopback_close(&sockets);
}

static void replay(const struct loopback *sockets, const struct record *r)
{
    for (unsigned i = 0; i < atomic_load(&r->count) && i < RECORDS; i++) {
        say(sockets, true, r->bytes[i], r->size[i]);
        say(sockets, false, r->bytes[i], r->size[i]); /* back to who said it */
    }
}

/* What one session said, its handshake included, is said again within it, and in the next. */
TEST(keys_handle_path__replayed_datagrams_change_nothing, .needs = has_keys_over_udp)
{
    static struct record record = {.mark = (const uint8_t *)"sixteen bytes..."};
    struct zcrp_options options = {.keys = shared("alice", key), .flags = ZCRP_NO_MEMORY};
    struct loopback sockets = loopback_open(LOOPBACK_UDP4, false);
    options.unit_bytes = 1400;
    struct zcrp_options seen = options;
    seen.tap = see;
    seen.tap_context = &record;
    struct ends e = ends_open_at(&sockets, &seen, &options);
    for (uint64_t i = 0; i < 30; i++) {
        ends_move(&e, 1000, i);
        replay(&sockets, &record);
    }
    ck_assert_uint_gt(ends_stats(e.receiver).drop_replayed, 100);
    ck_assert_uint_eq(ends_stats(e.receiver).messages, 30);
    ends_part(&e);
    ck_assert_int_eq(zcrp_open_receiver(&e.receiver, sockets.receiver, &options), ZCRP_OK);
    replay(&sockets, &record);
    ck_assert_int_eq(zcrp_open_sender(&e.sender, sockets.sender, &options), ZCRP_OK);
    for (uint64_t i = 0; i < 10; i++) {
        replay(&sockets, &record);
        ends_move(&e, 1000, i);
    }
    ck_assert_uint_eq(ends_stats(e.receiver).messages, 10);
    ck_assert_uint_eq(ends_stats(e.receiver).messages_failed, 0);
    ends_part(&e);
    zcrp_keys_free(options.keys);
    loopback_close(&sockets);
}

/* The handshake and all that follows over a path that loses, repeats, reorders and damages. */
TEST(keys_handle_path__over_a_bad_path, .needs = has_keys, .rows = 3)
{
    static struct relay relay;
    const struct relay_faults faults = {
        .lost = 50, .doubled = 100, .late = 50, .damaged = 50, .late_ns = 5 * ENDS_MILLISECOND};
    relay_open(&relay, &faults, 7 + (unsigned)_i);
    relay_run(&relay);
    struct ends e = ends_meet(&relay.ends, (struct zcrp_options){.unit_bytes = 1400});
    for (uint64_t i = 0; i < 10; i++)
        ends_move(&e, 50000, i);
    ck_assert_uint_gt(ends_stats(e.receiver).drop_replayed, 0);
    if (loopback_is_udp()) /* else AAL5's CRC finds them first */
        ck_assert_uint_gt(ends_stats(e.receiver).drop_forged, 0);
    ck_assert_uint_eq(ends_stats(e.receiver).messages, 10);
    (void)zcrp_close(e.sender);
    (void)zcrp_close(e.receiver);
    relay_close(&relay);
    loopback_close(&relay.ends);
}

/* The handshake takes two round trips. The receiver has used its only session by then, and its
 * first sealed word comes a third one later: more than 5 s after the beginning. */
TEST(keys_handle_path__over_a_long_path, .needs = has_keys)
{
    static struct relay relay;
    const struct relay_faults faults = {.delay_ns = 900 * ENDS_MILLISECOND};
    relay_open(&relay, &faults, 1);
    relay_run(&relay);
    struct ends e = ends_meet(&relay.ends, (struct zcrp_options){.unit_bytes = 1400,
                                                                 .flags = ZCRP_NO_MEMORY,
                                                                 .connect_ns = 25 * ENDS_SECOND});
    ends_move(&e, 1000, 1);
    (void)zcrp_close(e.sender);
    (void)zcrp_close(e.receiver);
    relay_close(&relay);
    loopback_close(&relay.ends);
}
