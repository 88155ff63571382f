/* How messages end, and who is told: what submit refuses, cancel, close. */
#include "../support/lonely.h"

#include <pthread.h>

LOAD(asleep)

/* ---- what submit refuses ---- */

TEST(submit__errors, .rows = 2)
{
    struct lonely l = lonely_open(_i == 0);
    struct zcrp_msg *m = ends_filled(100, 0);

    ck_assert_int_eq(zcrp_submit(NULL, m, 1), ZCRP_ERROR_ARGUMENT);
    ck_assert_int_eq(zcrp_submit(l.entity, NULL, 1), ZCRP_ERROR_ARGUMENT);
    ck_assert_int_eq(zcrp_submit(l.entity, m, 101), ZCRP_ERROR_SIZE);
    ck_assert_int_eq(zcrp_error(m), ZCRP_ERROR_IDLE);
    ck_assert_int_eq(zcrp_submit(l.entity, m, 100), 0);
    ck_assert_int_eq(zcrp_error(m), ZCRP_ERROR_BUSY);
    ck_assert_int_eq(zcrp_submit(l.entity, m, 100), ZCRP_ERROR_BUSY);
    zcrp_free_msg(m); /* is refused */
    ck_assert_int_eq(zcrp_error(m), ZCRP_ERROR_BUSY);
    ck_assert_int_eq(zcrp_close(l.entity), _i == 0 ? ZCRP_ERROR_TIMEOUT : ZCRP_OK);
    ck_assert_int_eq(zcrp_error(m), ZCRP_ERROR_CLOSED);
    zcrp_free_msg(m);
    loopback_close(&l.sockets);
}

/* ---- cancel ---- */

TEST(cancel__not_in_flight)
{
    struct zcrp_msg *m = zcrp_alloc_msg(1);

    ck_assert_int_eq(zcrp_cancel(NULL), ZCRP_ERROR_ARGUMENT);
    ck_assert_int_eq(zcrp_cancel(m), ZCRP_ERROR_IDLE);
    zcrp_free_msg(m);
}

/* The third of five is cancelled, by either side, before the other side has its own; in tables
 * where it already is, and where it waits for a place. The others keep their pairs. */
TEST(cancel__one_of_five, .rows = 4)
{
    bool by_sender = _i & 1;
    const struct zcrp_options options = {.messages = _i & 2 ? 1 : 0};
    struct ends e = ends_open(LOOPBACK_UDP4, false, &options);
    struct zcrp_entity *first = by_sender ? e.sender : e.receiver;
    struct zcrp_entity *second = by_sender ? e.receiver : e.sender;
    struct zcrp_msg *mine[5], *other[5];

    for (unsigned i = 0; i < 5; i++) {
        mine[i] = by_sender ? ends_filled(1000, i) : ends_empty(1000);
        other[i] = by_sender ? ends_empty(1000) : ends_filled(1000, i);
        ck_assert_int_eq(zcrp_submit(first, mine[i], 1000), 0);
    }
    ck_assert_int_eq(zcrp_cancel(mine[2]), 0);
    ck_assert_int_eq(zcrp_error(mine[2]), ZCRP_ERROR_CANCELLED);
    ck_assert_int_eq(zcrp_cancel(mine[2]), ZCRP_ERROR_IDLE);
    for (unsigned i = 0; i < 5; i++)
        ck_assert_int_eq(zcrp_submit(second, other[i], 1000), 0);
    for (unsigned i = 0; i < 5; i++) {
        ck_assert_int_eq(ends_wait(other[i]), i == 2 ? ZCRP_ERROR_PEER_CANCELLED : ZCRP_OK);
        ck_assert_int_eq(ends_wait(mine[i]), i == 2 ? ZCRP_ERROR_CANCELLED : ZCRP_OK);
        if (i != 2)
            ck_assert(pattern_holds(by_sender ? other[i]->buffer : mine[i]->buffer, 1000, i));
        zcrp_free_msg(mine[i]);
        zcrp_free_msg(other[i]);
    }
    ends_close(&e);
}

/* In the middle of a transfer: afterwards the buffer is the caller's alone. A sender that cancels
 * may come too late: the receiver has everything already, and only the acknowledgement is under
 * way. */
TEST(cancel__under_way, .rows = 2)
{
    const nlong size = 32 << 20;
    struct ends e = ends_open(LOOPBACK_UDP4, false, NULL);
    struct zcrp_msg *in = ends_empty(size);
    struct zcrp_msg *out = ends_filled(size, 1);
    struct zcrp_msg *mine = _i == 0 ? out : in;
    struct zcrp_msg *other = _i == 0 ? in : out;

    ends_submit(&e, in, out, size);
    (void)zcrp_wait_for(in, ENDS_MILLISECOND);
    int code = zcrp_cancel(mine);
    memset(mine->buffer, 0x77, size);
    ck_assert_int_eq(zcrp_error(mine), code == 0 ? ZCRP_ERROR_CANCELLED : ZCRP_OK);
    if (code != 0)
        ck_assert_int_eq(code, ZCRP_ERROR_IDLE);
    int others = ends_wait(other);
    if (code == 0 && (mine == in || others != ZCRP_OK))
        ck_assert_int_eq(others, ZCRP_ERROR_PEER_CANCELLED);
    else
        ck_assert_int_eq(others, ZCRP_OK);
    if (mine == out && others == ZCRP_OK)
        ck_assert(pattern_holds(in->buffer, size, 1));
    if (mine == in)
        ck_assert(pattern_is_even(in->buffer, size, 0x77));
    zcrp_free_msg(in);
    zcrp_free_msg(out);
    ends_close(&e);
}

/* ---- close ---- */

static void *wait_for_it(void *message)
{
    return zcrp_wait(message) == 0 && zcrp_error(NULL) == ZCRP_ERROR_CLOSED ? NULL : message;
}

/* Others wait meanwhile, for messages in the table and for those behind it. */
TEST(close__during_wait, .rows = 2)
{
    enum { COUNT = 10 };
    struct lonely l = lonely_open(_i == 0);
    struct zcrp_msg *m[COUNT];
    pthread_t waiter[COUNT];
    void *result;

    for (int i = 0; i < COUNT; i++) {
        m[i] = zcrp_alloc_msg(100);
        ck_assert_int_eq(zcrp_submit(l.entity, m[i], 100), 0);
        ck_assert_int_eq(pthread_create(&waiter[i], NULL, wait_for_it, m[i]), 0);
    }
    (void)zcrp_close(l.entity);
    for (int i = 0; i < COUNT; i++) {
        ck_assert_int_eq(pthread_join(waiter[i], &result), 0);
        ck_assert_ptr_null(result);
        ck_assert_int_eq(zcrp_error(m[i]), ZCRP_ERROR_CLOSED);
        zcrp_free_msg(m[i]);
    }
    loopback_close(&l.sockets);
}

static struct ends ends_of_few_messages(void)
{
    const struct zcrp_options options = {.messages = 8};

    return ends_open(LOOPBACK_UDP4, false, &options);
}

/* Everything that was submitted before the close arrives, though nobody waited for it. */
static void *close_and_linger(void *context)
{
    enum { COUNT = 50 };
    const struct ends *e = context;
    struct zcrp_msg *in[COUNT], *out[COUNT];

    for (unsigned i = 0; i < COUNT; i++) {
        in[i] = ends_empty(50000);
        out[i] = ends_filled(50000, i);
        ck_assert_int_eq(zcrp_submit(e->sender, out[i], 50000), 0);
        ck_assert_int_eq(zcrp_submit(e->receiver, in[i], 50000), 0);
    }
    ck_assert_int_eq(zcrp_close(e->sender), 0);
    for (unsigned i = 0; i < COUNT; i++) {
        ck_assert_int_eq(zcrp_error(out[i]), ZCRP_OK);
        ends_finish(in[i], out[i], 50000, i);
    }
    ck_assert_int_eq(zcrp_close(e->receiver), 0);
    return NULL;
}

TEST(close__lingers)
{
    struct ends e = ends_of_few_messages();

    (void)close_and_linger(&e);
    loopback_close(&e.sockets);
}

/* While other threads keep the processors busy, other sections come between those of a close. */
TEST(close__lingers_beside_others)
{
    enum { THREADS = 8 };
    pthread_t thread[THREADS];
    struct ends e[THREADS];

    for (int i = 0; i < THREADS; i++)
        e[i] = ends_of_few_messages();
    for (int i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_create(&thread[i], NULL, close_and_linger, &e[i]), 0);
    for (int i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_join(thread[i], NULL), 0);
    for (int i = 0; i < THREADS; i++)
        loopback_close(&e[i].sockets);
}

/* What the peer still has fails when this end closes. */
TEST(close__tells_the_peer, .rows = 2)
{
    bool by_sender = _i == 0;
    struct ends e = ends_open(LOOPBACK_UDP4, false, NULL);
    struct zcrp_msg *left = ends_filled(10, 0);

    ends_move(&e, 10, 0);
    ck_assert_int_eq(zcrp_submit(by_sender ? e.receiver : e.sender, left, 10), 0);
    ck_assert_int_eq(zcrp_close(by_sender ? e.sender : e.receiver), 0);
    ck_assert_int_eq(ends_wait(left), by_sender ? ZCRP_ERROR_PEER_CLOSED : ZCRP_ERROR_CUT_OFF);
    ck_assert_int_eq(zcrp_close(by_sender ? e.receiver : e.sender), 0);
    zcrp_free_msg(left);
    loopback_close(&e.sockets);
}

/* Nor does a close wait for what was cancelled, in the table or behind it. */
TEST(close__with_a_cancelled_backlog)
{
    enum { SENT = 10 };
    const struct zcrp_options few = {.messages = 4, .linger_ns = INT64_MAX};
    struct ends e = ends_open(LOOPBACK_UDP4, false, &few);
    struct zcrp_msg *out[SENT];

    ends_move(&e, 10, 0);
    for (unsigned i = 0; i < SENT; i++) {
        out[i] = ends_filled(64, i);
        ck_assert_int_eq(zcrp_submit(e.sender, out[i], 64), 0);
    }
    for (unsigned i = 0; i < SENT; i++)
        ck_assert_int_eq(zcrp_cancel(out[i]), ZCRP_OK);
    ends_close(&e);
    for (unsigned i = 0; i < SENT; i++)
        zcrp_free_msg(out[i]);
}

/* What waits for a place in the table was meant for the same peer: it fails with the rest. */
TEST(close__fails_the_backlog)
{
    enum { POSTED = 50, SENT = 10 };
    struct ends e = ends_open(LOOPBACK_UNIX, false, &(struct zcrp_options){.messages = 4});
    struct zcrp_msg *in[POSTED], *out[SENT];

    for (unsigned i = 0; i < POSTED; i++) {
        in[i] = ends_empty(64);
        ck_assert_int_eq(zcrp_submit(e.receiver, in[i], 64), 0);
    }
    for (unsigned i = 0; i < SENT; i++) {
        out[i] = ends_filled(64, i);
        ck_assert_int_eq(zcrp_submit(e.sender, out[i], 64), 0);
    }
    for (unsigned i = 0; i < SENT; i++)
        ck_assert_int_eq(ends_wait(out[i]), ZCRP_OK);
    ck_assert_int_eq(zcrp_close(e.sender), ZCRP_OK);
    e.sender = NULL;
    for (unsigned i = 0; i < POSTED; i++)
        ck_assert_int_eq(ends_wait(in[i]), i < SENT ? ZCRP_OK : ZCRP_ERROR_PEER_CLOSED);
    for (unsigned i = 0; i < POSTED; i++)
        zcrp_free_msg(in[i]);
    for (unsigned i = 0; i < SENT; i++)
        zcrp_free_msg(out[i]);
    ends_close(&e);
}
