/* Messages of several pieces beside everything else that messages meet: a network that loses and
 * reorders, keys, both directions of a connection, first messages, a queue, and lists of messages.
 */
#include "../../support/cuts.h"
#include "../../support/house.h"
#include "../../support/shared_keys.h"
#include "../../support/wire.h"

LOAD(asleep)

enum { MANY = 24, ROUNDS = 3, LARGE = 200000 };

/* ---- through a bad network ---- */

static const struct relay_faults networks[] = {
    {.lost = 0},
    {.lost = 50},
    {.lost = 250},
    {.late = 300, .late_ns = 2 * ENDS_MILLISECOND},
    {.doubled = 300},
    {.lost = 50, .doubled = 50, .late = 100, .late_ns = 3 * ENDS_MILLISECOND, .delay_ns = 300000},
};
enum { NETWORKS = sizeof networks / sizeof networks[0] };

/* Rows: each network without keys and with, in units of Ethernet's size and of the path's. */
static struct zcrp_options options_of(int row)
{
    return (struct zcrp_options){.unit_bytes = row / NETWORKS % 2 == 0 ? 1472 : 0,
                                 .linger_ns = 2 * ENDS_SECOND};
}

static void open_row(struct wire *w, int row)
{
    const struct zcrp_options options = options_of(row);
    struct relay_faults faults = networks[row % NETWORKS];

    if (row < 2 * NETWORKS) {
        wire_open(w, &faults, &options);
        return;
    }
    faults.damaged = 20; /* without keys nobody would notice */
    relay_open(&w->relay, &faults, 1998);
    w->ends = ends_meet(&w->relay.ends, options);
    relay_run(&w->relay);
}

/* As many as there are, cut in each way, one after the other and all at once. */
static void pass_many(struct zcrp_entity *sender, struct zcrp_entity *receiver, uint64_t round)
{
    struct cut *in[MANY], *out[MANY];

    for (unsigned i = 0; i < MANY; i++) {
        nlong size = (round + i) % 3 == 0 ? i * 50 : (i * 9973 + round) % 60000;
        in[i] = cut_make(size + i % 4 * 64, (i + round) / CUT_KINDS % CUT_KINDS, round * MANY + i);
        out[i] = cut_make(size, (i + round) % CUT_KINDS, round * MANY + i);
        cut_fill(out[i], i);
        ck_assert_int_eq(zcrp_submit(receiver, in[i]->message, in[i]->size), ZCRP_OK);
        ck_assert_int_eq(zcrp_submit(sender, out[i]->message, size), ZCRP_OK);
    }
    for (unsigned i = 0; i < MANY; i++) {
        ck_assert_int_eq(ends_wait(out[i]->message), ZCRP_OK);
        ck_assert_int_eq(ends_wait(in[i]->message), ZCRP_OK);
        ck_assert_uint_eq(in[i]->message->length, out[i]->size);
        ck_assert(cut_holds(in[i], out[i]->size, i));
        cut_free(in[i]);
        cut_free(out[i]);
    }
}

TEST(wrap_iov__through_a_bad_network, .rows = 4 * NETWORKS)
{
    static struct wire w;

    if (_i >= 2 * NETWORKS && !has_keys())
        return;
    open_row(&w, _i);
    for (uint64_t round = 0; round < ROUNDS; round++)
        pass_many(w.ends.sender, w.ends.receiver, round + (uint64_t)_i);
    wire_close(&w);
}

/* Units that come out of order are copied to their pieces; if all come in order, the kernel writes
 * them there, also where a unit lies in two. */
TEST(wrap_iov__lands_in_place, .needs = loopback_is_udp)
{
    const struct zcrp_options options = {.unit_bytes = 1472};
    struct loopback sockets = loopback_open(LOOPBACK_UDP4, false);
    struct ends e = ends_open_at(&sockets, &options, &options);
    struct zcrp_stats s = {.units_in_place = 0};
    bool was_in_place = false;

    for (uint64_t i = 0; i < 20 && !was_in_place; i++) {
        struct cut *in = cut_make(LARGE, CUT_GRAINS, i), *out = cut_make(LARGE, CUT_HEADER, i);
        uint64_t before = s.units_moved;
        cut_fill(out, i);
        ends_submit(&e, in->message, out->message, LARGE);
        ck_assert_int_eq(ends_wait(in->message), ZCRP_OK);
        ck_assert_int_eq(ends_wait(out->message), ZCRP_OK);
        ck_assert(cut_holds(in, LARGE, i));
        ck_assert_int_eq(zcrp_stats(e.receiver, &s), ZCRP_OK);
        was_in_place = i > 0 && s.units_moved == before;
        cut_free(in);
        cut_free(out);
    }
    ck_assert(was_in_place || s.bytes_copied_once > 0);
    ends_close(&e);
}

/* ---- connections ---- */

TEST(wrap_iov__both_ways, .rows = 2)
{
    struct zcrp_options options = {.linger_ns = ENDS_SECOND};
    struct house h;
    struct both b;

    if (_i == 1 && !has_keys())
        return;
    options.keys = _i == 1 ? shared("alice", key) : NULL;
    h = house_open("127.0.0.1", &options);
    b = house_meet(&h, &options);
    for (uint64_t round = 0; round < ROUNDS; round++) {
        pass_many(zcrp_connection_sender(b.there), zcrp_connection_receiver(b.here), round);
        pass_many(zcrp_connection_sender(b.here), zcrp_connection_receiver(b.there), round + 1);
    }
    house_part(&b);
    ck_assert_int_eq(zcrp_listener_close(h.listener), ZCRP_OK);
    zcrp_keys_free(options.keys);
}

/* The caller's pieces are the first thing that comes, and land in buffers that were there before.
 */
TEST(wrap_iov__first_messages, .rows = 2)
{
    struct zcrp_options options = {.first_messages = 2, .first_bytes = 4000};
    struct zcrp_connection *there, *here;
    struct cut *out[2];

    if (_i == 1 && !has_keys())
        return;
    options.keys = _i == 1 ? shared("alice", key) : NULL;
    struct house h = house_open("127.0.0.1", &options);
    ck_assert_int_eq(house_connect(&h, &there, &options, 0), ZCRP_OK);
    for (unsigned i = 0; i < 2; i++) {
        out[i] = cut_make(2500, i == 0 ? CUT_CRUMBS : CUT_RANDOM, i);
        cut_fill(out[i], i);
        ck_assert_int_eq(zcrp_submit(zcrp_connection_sender(there), out[i]->message, 2500),
                         ZCRP_OK);
    }
    ck_assert_int_eq(zcrp_accept(h.listener, &here, 10 * ENDS_SECOND), ZCRP_OK);
    for (unsigned i = 0; i < 2; i++) {
        struct zcrp_msg *in = zcrp_connection_first(here, i);
        ck_assert_int_eq(ends_wait(in), ZCRP_OK);
        ck_assert_uint_eq(in->length, 2500);
        ck_assert(pattern_holds(in->buffer, 2500, i));
        ck_assert_int_eq(ends_wait(out[i]->message), ZCRP_OK);
        cut_free(out[i]);
    }
    (void)zcrp_connection_close(there);
    (void)zcrp_connection_close(here);
    ck_assert_int_eq(zcrp_listener_close(h.listener), ZCRP_OK);
    zcrp_keys_free(options.keys);
}

/* ---- what tells of their ends ---- */

static struct zcrp_completion next_of(struct zcrp_queue *q)
{
    struct zcrp_completion c;

    ck_assert_int_eq(zcrp_queue_take(q, &c, 1, 10 * ENDS_SECOND), 1);
    return c;
}

TEST(wrap_iov__in_a_queue)
{
    struct ends e = ends_open(LOOPBACK_UDP4, false, NULL);
    struct cut *in = cut_make(LARGE, CUT_AS_MANY, 1), *out = cut_make(LARGE, CUT_GRAINS, 2);
    struct zcrp_queue *q;
    int ended = 0;

    cut_fill(out, 3);
    in->message->context = in;
    out->message->context = out;
    ck_assert_int_eq(zcrp_queue_open(&q), ZCRP_OK);
    ck_assert_int_eq(zcrp_queue_add(q, e.sender, NULL), ZCRP_OK);
    ck_assert_int_eq(zcrp_queue_add(q, e.receiver, NULL), ZCRP_OK);
    ends_submit(&e, in->message, out->message, LARGE);
    while (ended < 2) {
        struct zcrp_completion c = next_of(q);
        ck_assert_int_eq(c.kind, ZCRP_MESSAGE_ENDED);
        ck_assert_int_eq(c.code, ZCRP_OK);
        ck_assert_ptr_eq(((struct cut *)c.message->context)->message, c.message);
        ended++;
    }
    ck_assert(cut_holds(in, LARGE, 3));
    ck_assert_int_eq(zcrp_queue_close(q), ZCRP_OK);
    cut_free(in);
    cut_free(out);
    ends_close(&e);
}

TEST(wrap_iov__collected)
{
    struct ends e = ends_open(LOOPBACK_UDP4, false, NULL);
    struct cut *in = cut_make(3000, CUT_CRUMBS, 1), *out = cut_make(3000, CUT_RANDOM, 2);
    struct zcrp_msg *collected = NULL;

    cut_fill(out, 3);
    ck_assert_int_ge(zcrp_descriptor(e.receiver), 0);
    ends_submit(&e, in->message, out->message, 3000);
    while (collected == NULL)
        collected = zcrp_collect(e.receiver);
    ck_assert_ptr_eq(collected, in->message);
    ck_assert(cut_holds(in, 3000, 3));
    ck_assert_int_eq(ends_wait(out->message), ZCRP_OK);
    cut_free(in);
    cut_free(out);
    ends_close(&e);
}
