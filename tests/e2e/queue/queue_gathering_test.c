/* What the user of a queue's taker submits gathers while it is at several messages that have ended:
 * it leaves together when the taker is back. Where time matters one of some rounds has to show it,
 * as the machine may be busy. */
#include "../../support/ends.h"

LOAD(asleep)

enum { SENT = 8, POSTED = 4 * SENT, SIZE = 64, LARGE = 4096, ROUNDS = 50 };

static struct zcrp_queue *q;
static struct ends ends;
static struct zcrp_msg *in[POSTED], *out[SENT];
static unsigned next_in; /* that a message is to land in */

static void begin(void)
{
    const struct zcrp_options options = {.flags = ZCRP_NO_MEMORY};

    ck_assert_int_eq(zcrp_queue_open(&q), ZCRP_OK);
    ends = ends_open(LOOPBACK_UDP4, false, &options);
    ck_assert_int_eq(zcrp_queue_add(q, ends.sender, NULL), ZCRP_OK);
    for (unsigned i = 0; i < POSTED; i++) {
        in[i] = ends_empty(LARGE);
        ck_assert_int_eq(zcrp_submit(ends.receiver, in[i], LARGE), ZCRP_OK);
    }
    for (unsigned i = 0; i < SENT; i++)
        out[i] = ends_filled(LARGE, i);
}

static void end(void)
{
    ck_assert_int_eq(zcrp_queue_close(q), ZCRP_OK);
    ends_close(&ends);
    for (unsigned i = 0; i < POSTED; i++)
        zcrp_free_msg(in[i]);
    for (unsigned i = 0; i < SENT; i++)
        zcrp_free_msg(out[i]);
}

FIXTURE(begin, end)

static uint64_t bursts(void)
{
    return ends_stats(ends.sender).bursts;
}

static void submit(struct zcrp_msg *m, nlong size)
{
    ck_assert_int_eq(zcrp_submit(ends.sender, m, size), ZCRP_OK);
}

/* So many messages have arrived, and their buffers are posted again. Waiting here does not end what
 * the sender gathers. */
static void arrive(unsigned count)
{
    for (unsigned i = 0; i < count; i++, next_in = (next_in + 1) % POSTED) {
        ck_assert_int_eq(ends_wait(in[next_in]), ZCRP_OK);
        ck_assert_int_eq(zcrp_submit(ends.receiver, in[next_in], LARGE), ZCRP_OK);
    }
}

/* All have arrived and ended, whether the queue has told of them or not. */
static void end_all(void)
{
    arrive(SENT);
    for (unsigned i = 0; i < SENT; i++)
        ck_assert_int_eq(ends_wait(out[i]), ZCRP_OK);
}

static void send_all(void)
{
    for (unsigned i = 0; i < SENT; i++)
        submit(out[i], SIZE);
    end_all();
}

/* Takes once. How many it was told of, which are sent again if the size is not 0. */
static unsigned take(int most, nlong size)
{
    struct zcrp_completion c[SENT];
    int count = zcrp_queue_take(q, c, most, 0);

    ck_assert_int_ge(count, 0);
    for (int i = 0; i < count; i++) {
        ck_assert_int_eq(c[i].kind, ZCRP_MESSAGE_ENDED);
        if (size > 0)
            submit(c[i].message, size);
    }
    return (unsigned)count;
}

/* Takes until it was told of all. */
static void take_all(unsigned told, int most, nlong size)
{
    while (told < SENT)
        told += take(most, size);
    ck_assert_uint_eq(told, SENT);
}

/* ---- what gathers ---- */

/* In how many bursts all leave that are sent as they are told of, so many at once. */
static uint64_t bursts_of_round(int most)
{
    send_all();
    uint64_t before = bursts();
    take_all(0, most, SIZE);
    unsigned told = take(1, 0); /* the taker is back */
    end_all();
    take_all(told, SENT, 0);
    return bursts() - before;
}

/* Whether the taker is told of all at once, or of one after the other while there are more. */
TEST(queue_take__several_leave_together, .rows = 2, .needs = loopback_is_udp)
{
    uint64_t fewest = SENT;

    for (int i = 0; i < ROUNDS && fewest > 1; i++) {
        uint64_t made = bursts_of_round(_i == 0 ? SENT : 1);
        fewest = made < fewest ? made : fewest;
    }
    ck_assert_uint_eq(fewest, 1);
}

/* It is sent within the call that takes. */
TEST(queue_take__sends_what_gathers, .needs = loopback_is_udp)
{
    bool is_seen = false;

    for (int i = 0; i < ROUNDS && !is_seen; i++) {
        send_all();
        take_all(0, SENT, 0);
        uint64_t before = bursts();
        submit(out[0], SIZE);
        bool gathers = bursts() == before;
        unsigned told = take(1, 0);
        is_seen = gathers && bursts() > before;
        arrive(1);
        ck_assert_int_eq(ends_wait(out[0]), ZCRP_OK);
        ck_assert_uint_eq(told + take(SENT, 0), 1);
    }
    ck_assert(is_seen);
}

/* ---- what does not ---- */

/* Does this message leave within the call that sends it? */
static bool leaves_at_once(struct zcrp_msg *m, nlong size)
{
    uint64_t before = bursts();

    submit(m, size);
    return bursts() > before;
}

/* What was gathered leaves although nobody takes any more; and what is sent then does not wait for
 * anybody. */
TEST(queue_take__user_that_stays_away, .needs = loopback_is_udp)
{
    bool is_seen = false;

    for (int i = 0; i < ROUNDS && !is_seen; i++) {
        send_all();
        take_all(0, SENT, 0);
        submit(out[0], SIZE);
        arrive(1);
        ck_assert_int_eq(ends_wait(out[0]), ZCRP_OK);
        is_seen = leaves_at_once(out[1], SIZE);
        arrive(1);
        ck_assert_int_eq(ends_wait(out[1]), ZCRP_OK);
        (void)(take(SENT, 0) + take(SENT, 0));
    }
    ck_assert(is_seen);
}

/* A user that polls need not take again; a large message takes longer to send than to submit. */
TEST(queue_take__leaves_at_once, .rows = 2, .needs = loopback_is_udp)
{
    bool is_seen = false;

    if (_i == 0)
        ck_assert_int_ge(zcrp_queue_descriptor(q), 0);
    for (int i = 0; i < ROUNDS && !is_seen; i++) {
        send_all();
        take_all(0, SENT, 0);
        is_seen = leaves_at_once(out[0], _i == 0 ? SIZE : LARGE);
        arrive(1);
        ck_assert_int_eq(ends_wait(out[0]), ZCRP_OK);
        ck_assert_uint_eq(take(SENT, 0), 1);
    }
    ck_assert(is_seen);
}

/* ---- whose place leaves meanwhile ---- */

static void leave(int how)
{
    if (how == 0) {
        ck_assert_int_eq(zcrp_queue_remove(q, ends.sender), ZCRP_OK);
    } else if (how == 1) {
        ck_assert_int_eq(zcrp_queue_close(q), ZCRP_OK);
        ck_assert_int_eq(zcrp_queue_open(&q), ZCRP_OK);
    } else {
        ck_assert_int_eq(zcrp_close(ends.sender), ZCRP_OK);
        ends.sender = NULL;
    }
}

/* The entity leaves the queue, or the queue is closed, or the entity is. */
TEST(queue_remove__while_messages_gather, .rows = 3, .needs = loopback_is_udp)
{
    send_all();
    take_all(0, SENT, 0);
    uint64_t before = bursts();
    for (unsigned i = 0; i < SENT / 2; i++)
        submit(out[i], SIZE);
    leave(_i);
    if (_i < 2) {
        submit(out[SENT / 2], SIZE);
        ck_assert_uint_gt(bursts(), before);
        arrive(1);
    }
    arrive(SENT / 2);
    ck_assert_uint_eq(take(SENT, 0), 0);
}
