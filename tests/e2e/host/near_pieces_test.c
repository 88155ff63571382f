/* Messages of several pieces on one host: small ones cross as a whole, of large ones what lies in
 * one piece is copied once, and what the peer may map is copied without the kernel. */
#include "../../support/cuts.h"
#include "../../support/house.h"

LOAD(asleep)

enum { MEETINGS = 200, LARGE = 3000000, MAPPED = 8 << 20 };

/* The environment of the suites says no. */
static void setup(void)
{
    ck_assert_int_eq(unsetenv("ZCRP_NO_MEMORY"), 0);
}

FIXTURE(setup, NULL)

static struct zcrp_stats stats_of(struct zcrp_entity *e)
{
    struct zcrp_stats s;

    ck_assert_int_eq(zcrp_stats(e, &s), 0);
    return s;
}

static void meet(const struct ends *e)
{
    for (uint64_t i = 0; i < MEETINGS && stats_of(e->receiver).messages_whole == 0; i++)
        ends_move(e, 100000 * (i % 2), i);
    ck_assert_uint_gt(stats_of(e->receiver).messages_whole, 0);
}

static void pass(const struct ends *e, nlong size, enum cut_kind from, enum cut_kind to,
                 uint64_t seed)
{
    struct cut *in = cut_make(size, to, 2 * seed), *out = cut_make(size, from, 2 * seed + 1);

    cut_fill(out, seed);
    ends_submit(e, in->message, out->message, size);
    ck_assert_int_eq(ends_wait(in->message), ZCRP_OK);
    ck_assert_int_eq(ends_wait(out->message), ZCRP_OK);
    ck_assert_uint_eq(in->message->length, size);
    ck_assert(cut_holds(in, size, seed));
    cut_free(in);
    cut_free(out);
}

/* Of 1,024 pieces, too. A process that stands still for long has some of it sent in units. */
TEST(near_pieces__small_ones_cross_as_a_whole)
{
    struct ends e = ends_open(LOOPBACK_UDP4, false, NULL);
    uint64_t messages = 0;

    meet(&e);
    uint64_t before = stats_of(e.receiver).messages_whole;
    for (unsigned from = CUT_NOT + 1; from < CUT_KINDS; from++)
        for (unsigned to = CUT_NOT + 1; to < CUT_KINDS; to++)
            for (nlong size = 2; size <= 4096; size = 3 * size + 1, messages++)
                pass(&e, size, from, to, from * 10 + size);
    ck_assert_uint_ge(stats_of(e.receiver).messages_whole - before, messages / 2);
    ends_close(&e);
}

/* A header of 40 bytes: one unit of many lies in two pieces. */
TEST(near_pieces__large_ones_are_copied_once)
{
    struct ends e = ends_open(LOOPBACK_UDP4, false, NULL);
    uint64_t once = 0;

    meet(&e);
    for (uint64_t i = 0; i < 10 && once < LARGE / 2; i++) {
        uint64_t before = stats_of(e.receiver).bytes_copied_once;
        pass(&e, LARGE, CUT_HEADER, i % CUT_KINDS, i);
        once = stats_of(e.receiver).bytes_copied_once - before;
    }
    ck_assert_uint_ge(once, LARGE / 2);
    ends_close(&e);
}

/* Pieces of memory that the peer may map, and others beside them. */
TEST(near_pieces__mapped, .rows = 2)
{
    const struct zcrp_options options = {.mapped_bytes = MAPPED, .channel = ZCRP_CHANNEL_MEMORY};
    const struct zcrp_options plain = {.channel = ZCRP_CHANNEL_MEMORY};
    struct house h = house_open("127.0.0.1", _i == 0 ? &options : &plain);
    struct both b = house_meet(&h, &options);
    struct zcrp_msg *mapped = zcrp_connection_alloc_msg(b.there, LARGE);
    static nbyte other[5000];
    struct iovec pieces[] = {{mapped->buffer, 1000001},
                             {other, 5000},
                             {mapped->buffer + 1500000, 1000000},
                             {mapped->buffer + 1200000, 7}};
    struct zcrp_msg *out = zcrp_wrap_iov(pieces, 4), *in = ends_empty(out->message_size);
    const struct ends e = {.sender = zcrp_connection_sender(b.there),
                           .receiver = zcrp_connection_receiver(b.here)};

    for (uint64_t i = 0; i < 5; i++) {
        memset(other, (int)i, sizeof other);
        pattern_fill(mapped->buffer, LARGE, i);
        ends_submit(&e, in, out, out->message_size);
        ck_assert_int_eq(ends_wait(in), ZCRP_OK);
        ck_assert_int_eq(ends_wait(out), ZCRP_OK);
        nbyte *at = in->buffer;
        for (int k = 0; k < 4; at += pieces[k++].iov_len)
            ck_assert_mem_eq(at, pieces[k].iov_base, pieces[k].iov_len);
    }
    zcrp_free_msg(out);
    zcrp_free_msg(in);
    zcrp_free_msg(mapped);
    house_part(&b);
    ck_assert_int_eq(zcrp_listener_close(h.listener), ZCRP_OK);
}
