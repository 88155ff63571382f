/* How messages end, and who is told: cancel, time limits, wait_any, collect, close. */
#include "../support/ends.h"

#include <poll.h>
#include <pthread.h>

#define MILLISECONDS(n) ((int64_t)(n)*1000000)

/* An entity whose peer is not there: what is submitted stays in flight. */
static const struct zcrp_options alone = {.linger_ns = 1, .messages = 4};

struct lonely {
    struct loopback sockets;
    struct zcrp_entity *entity;
};

static struct lonely lonely_open(bool is_sender)
{
    struct lonely l = {.sockets = loopback_open(LOOPBACK_UDP4, false)};
    int code = is_sender ? zcrp_open_sender(&l.entity, l.sockets.sender, &alone)
                         : zcrp_open_receiver(&l.entity, l.sockets.receiver, &alone);

    ck_assert_int_eq(code, 0);
    return l;
}

/* ---- what submit refuses ---- */

START_TEST(submit__errors)
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
END_TEST

/* ---- time limits ---- */

START_TEST(wait_for__timeout)
{
    struct lonely l = lonely_open(_i == 0);
    struct zcrp_msg *m = ends_filled(10, 0);

    ck_assert_int_eq(zcrp_wait_for(NULL, 0), ZCRP_ERROR_ARGUMENT);
    ck_assert_int_eq(zcrp_wait_for(m, -1), ZCRP_ERROR_IDLE);
    ck_assert_int_eq(zcrp_submit(l.entity, m, 10), 0);
    ck_assert_int_eq(zcrp_wait_for(m, 0), ZCRP_ERROR_TIMEOUT);
    ck_assert_int_eq(zcrp_wait_for(m, MILLISECONDS(20)), ZCRP_ERROR_TIMEOUT);
    ck_assert_uint_eq(zcrp_probe(m), 0);
    ck_assert_int_eq(zcrp_cancel(m), 0);
    ck_assert_uint_eq(zcrp_probe(m), 1);
    ck_assert_int_eq(zcrp_wait_for(m, -1), ZCRP_ERROR_CANCELLED);
    zcrp_free_msg(m);
    (void)zcrp_close(l.entity);
    loopback_close(&l.sockets);
}
END_TEST

/* ---- cancel ---- */

START_TEST(cancel__not_in_flight)
{
    struct zcrp_msg *m = zcrp_alloc_msg(1);

    ck_assert_int_eq(zcrp_cancel(NULL), ZCRP_ERROR_ARGUMENT);
    ck_assert_int_eq(zcrp_cancel(m), ZCRP_ERROR_IDLE);
    zcrp_free_msg(m);
}
END_TEST

/* The third of five is cancelled, by either side, before the other side has its own; in tables
 * where it already is, and where it waits for a place. The others keep their pairs. */
START_TEST(cancel__one_of_five)
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
END_TEST

/* In the middle of a transfer: afterwards the buffer is the caller's alone. A sender that cancels
 * may come too late: the receiver has everything already, and only the acknowledgement is under
 * way. */
START_TEST(cancel__under_way)
{
    const nlong size = 32 << 20;
    struct ends e = ends_open(LOOPBACK_UDP4, false, NULL);
    struct zcrp_msg *in = ends_empty(size);
    struct zcrp_msg *out = ends_filled(size, 1);
    struct zcrp_msg *mine = _i == 0 ? out : in;
    struct zcrp_msg *other = _i == 0 ? in : out;

    ck_assert_int_eq(zcrp_submit(e.receiver, in, size), 0);
    ck_assert_int_eq(zcrp_submit(e.sender, out, size), 0);
    (void)zcrp_wait_for(in, MILLISECONDS(1));
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
END_TEST

/* ---- wait_any ---- */

START_TEST(wait_any__none)
{
    struct lonely l = lonely_open(true);
    struct zcrp_msg *m[3] = {NULL, zcrp_alloc_msg(1), zcrp_alloc_msg(1)};

    ck_assert_int_eq(zcrp_wait_any(NULL, 1, 0), ZCRP_ERROR_ARGUMENT);
    ck_assert_int_eq(zcrp_wait_any(m, -1, 0), ZCRP_ERROR_ARGUMENT);
    ck_assert_int_eq(zcrp_wait_any(m, 0, -1), ZCRP_ERROR_IDLE);
    ck_assert_int_eq(zcrp_wait_any(m, 3, -1), ZCRP_ERROR_IDLE);
    ck_assert_int_eq(zcrp_submit(l.entity, m[1], 1), 0);
    ck_assert_int_eq(zcrp_wait_any(m, 3, 0), ZCRP_ERROR_TIMEOUT);
    ck_assert_int_eq(zcrp_wait_any(m, 3, MILLISECONDS(20)), ZCRP_ERROR_TIMEOUT);
    ck_assert_int_eq(zcrp_cancel(m[1]), 0);
    ck_assert_int_eq(zcrp_wait_any(m, 3, -1), 1);
    zcrp_free_msg(m[1]);
    zcrp_free_msg(m[2]);
    (void)zcrp_close(l.entity);
    loopback_close(&l.sockets);
}
END_TEST

/* Messages of both entities at once; each is reported until it is taken out. */
START_TEST(wait_any__all)
{
    enum { COUNT = 40 };
    struct ends e = ends_open(LOOPBACK_UDP4, false, NULL);
    struct zcrp_msg *m[2 * COUNT];

    for (unsigned i = 0; i < COUNT; i++) {
        m[2 * i] = ends_filled(i * 1000, i);
        m[2 * i + 1] = ends_empty(i * 1000);
        ck_assert_int_eq(zcrp_submit(e.sender, m[2 * i], i * 1000), 0);
        ck_assert_int_eq(zcrp_submit(e.receiver, m[2 * i + 1], i * 1000), 0);
    }
    for (unsigned n = 0; n < 2 * COUNT; n++) {
        int i = zcrp_wait_any(m, 2 * COUNT, 10 * ENDS_SECOND);
        ck_assert_int_ge(i, 0);
        ck_assert_int_eq(zcrp_error(m[i]), ZCRP_OK);
        zcrp_free_msg(m[i]);
        m[i] = NULL;
    }
    ck_assert_int_eq(zcrp_wait_any(m, 2 * COUNT, -1), ZCRP_ERROR_IDLE);
    ends_close(&e);
}
END_TEST

/* ---- collect ---- */

static bool is_readable(int fd, int timeout_ms)
{
    struct pollfd set = {.fd = fd, .events = POLLIN};

    return poll(&set, 1, timeout_ms) == 1;
}

/* Where the message is among these; `count` if nowhere. */
static unsigned index_of(struct zcrp_msg *const *all, unsigned count, const struct zcrp_msg *m)
{
    unsigned i = 0;

    while (i < count && all[i] != m)
        i++;
    return i;
}

START_TEST(collect__all)
{
    enum { COUNT = 200 };
    struct ends e = ends_open(LOOPBACK_UDP4, false, NULL);
    int fd = zcrp_descriptor(e.receiver);
    struct zcrp_msg *in[COUNT], *out[COUNT];
    unsigned collected = 0;

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(zcrp_descriptor(e.receiver), fd);
    ck_assert_int_eq(zcrp_descriptor(NULL), ZCRP_ERROR_ARGUMENT);
    ck_assert_ptr_null(zcrp_collect(NULL));
    ck_assert_ptr_null(zcrp_collect(e.receiver));
    ck_assert(!is_readable(fd, 0));
    for (unsigned i = 0; i < COUNT; i++) {
        in[i] = ends_empty(2000);
        out[i] = ends_filled(2000, i);
        ck_assert_int_eq(zcrp_submit(e.receiver, in[i], 2000), 0);
        ck_assert_int_eq(zcrp_submit(e.sender, out[i], 2000), 0);
    }
    while (collected < COUNT) {
        ck_assert(is_readable(fd, 10000));
        for (struct zcrp_msg *m; (m = zcrp_collect(e.receiver)) != NULL; collected++) {
            unsigned i = index_of(in, COUNT, m);
            ck_assert_uint_lt(i, COUNT);
            ck_assert(i == collected || loopback_is_lossy());
            ck_assert_int_eq(zcrp_error(m), ZCRP_OK);
            ck_assert(pattern_holds(m->buffer, 2000, i));
            zcrp_free_msg(m);
            in[i] = NULL;
        }
    }
    for (unsigned i = 0; i < COUNT; i++) {
        ck_assert_int_eq(ends_wait(out[i]), ZCRP_OK);
        zcrp_free_msg(out[i]);
    }
    ck_assert_ptr_null(zcrp_collect(e.receiver));
    ck_assert_ptr_null(zcrp_collect(e.sender));
    ends_close(&e);
}
END_TEST

/* What is freed, submitted again, or left over at the end was never there, or is no trouble. */
START_TEST(collect__taken_otherwise)
{
    struct lonely l = lonely_open(true);
    struct zcrp_msg *m[4];

    ck_assert_int_ge(zcrp_descriptor(l.entity), 0);
    for (int i = 0; i < 4; i++) {
        m[i] = zcrp_alloc_msg(1);
        ck_assert_int_eq(zcrp_submit(l.entity, m[i], 1), 0);
        ck_assert_int_eq(zcrp_cancel(m[i]), 0);
    }
    zcrp_free_msg(m[0]);
    ck_assert_int_eq(zcrp_submit(l.entity, m[1], 1), 0);
    ck_assert_ptr_eq(zcrp_collect(l.entity), m[2]);
    ck_assert_ptr_eq(zcrp_collect(l.entity), m[3]);
    ck_assert_ptr_null(zcrp_collect(l.entity));
    ck_assert_int_eq(zcrp_cancel(m[1]), 0);
    (void)zcrp_close(l.entity);
    for (int i = 1; i < 4; i++)
        zcrp_free_msg(m[i]);
    loopback_close(&l.sockets);
}
END_TEST

/* ---- close ---- */

static void *wait_for_it(void *message)
{
    return zcrp_wait(message) == 0 && zcrp_error(NULL) == ZCRP_ERROR_CLOSED ? NULL : message;
}

/* Others wait meanwhile, for messages in the table and for those behind it. */
START_TEST(close__during_wait)
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
END_TEST

/* Everything that was submitted before the close arrives, though nobody waited for it. */
START_TEST(close__lingers)
{
    enum { COUNT = 50 };
    const struct zcrp_options options = {.messages = 8};
    struct ends e = ends_open(LOOPBACK_UDP4, false, &options);
    struct zcrp_msg *in[COUNT], *out[COUNT];

    for (unsigned i = 0; i < COUNT; i++) {
        in[i] = ends_empty(50000);
        out[i] = ends_filled(50000, i);
        ck_assert_int_eq(zcrp_submit(e.sender, out[i], 50000), 0);
        ck_assert_int_eq(zcrp_submit(e.receiver, in[i], 50000), 0);
    }
    ck_assert_int_eq(zcrp_close(e.sender), 0);
    for (unsigned i = 0; i < COUNT; i++) {
        ck_assert_int_eq(zcrp_error(out[i]), ZCRP_OK);
        ck_assert_int_eq(ends_wait(in[i]), ZCRP_OK);
        ck_assert(pattern_holds(in[i]->buffer, 50000, i));
        zcrp_free_msg(in[i]);
        zcrp_free_msg(out[i]);
    }
    ck_assert_int_eq(zcrp_close(e.receiver), 0);
    loopback_close(&e.sockets);
}
END_TEST

/* What the peer still has fails when this end closes. */
START_TEST(close__tells_the_peer)
{
    bool by_sender = _i == 0;
    struct ends e = ends_open(LOOPBACK_UDP4, false, NULL);
    struct zcrp_msg *in = ends_empty(10), *out = ends_filled(10, 0);
    struct zcrp_msg *left = ends_filled(10, 0);

    ck_assert_int_eq(zcrp_submit(e.receiver, in, 10), 0);
    ck_assert_int_eq(zcrp_submit(e.sender, out, 10), 0);
    ck_assert_int_eq(ends_wait(out), 0);
    ck_assert_int_eq(ends_wait(in), 0);
    ck_assert_int_eq(zcrp_submit(by_sender ? e.receiver : e.sender, left, 10), 0);
    ck_assert_int_eq(zcrp_close(by_sender ? e.sender : e.receiver), 0);
    ck_assert_int_eq(ends_wait(left), ZCRP_ERROR_PEER_CLOSED);
    ck_assert_int_eq(zcrp_close(by_sender ? e.receiver : e.sender), 0);
    zcrp_free_msg(in);
    zcrp_free_msg(out);
    zcrp_free_msg(left);
    loopback_close(&e.sockets);
}
END_TEST

/* A limit holds also while other messages keep arriving. */
START_TEST(wait_for__limit_while_others_arrive)
{
    enum { COUNT = 60, BYTES = 1 << 20 };
    struct ends e = ends_open(LOOPBACK_UDP4, false, NULL);
    struct zcrp_msg *in[COUNT], *out = ends_filled(BYTES, 0);

    for (unsigned i = 0; i < COUNT; i++) {
        in[i] = ends_empty(BYTES);
        ck_assert_int_eq(zcrp_submit(e.receiver, in[i], BYTES), 0);
    }
    ck_assert_int_eq(zcrp_submit(e.sender, out, BYTES), 0);
    ck_assert_int_eq(zcrp_wait_for(in[COUNT - 1], 0), ZCRP_ERROR_TIMEOUT);
    ck_assert_int_eq(ends_wait(out), ZCRP_OK);
    ck_assert_int_eq(ends_wait(in[0]), ZCRP_OK);
    ck_assert_int_eq(zcrp_wait_for(in[COUNT - 1], 1000000), ZCRP_ERROR_TIMEOUT);
    ck_assert_int_eq(zcrp_close(e.receiver), ZCRP_OK);
    e.receiver = NULL;
    for (unsigned i = 0; i < COUNT; i++)
        zcrp_free_msg(in[i]);
    zcrp_free_msg(out);
    ends_close(&e);
}
END_TEST

/* What waits for a place in the table was meant for the same peer: it fails with the rest. */
START_TEST(close__fails_the_backlog)
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
END_TEST

int main(void)
{
    Suite *suite = suite_create("ending");
    TCase *tcase = tcase_create("ending");

    tcase_set_timeout(tcase, 30);
    tcase_add_loop_test(tcase, submit__errors, 0, 2);
    tcase_add_loop_test(tcase, wait_for__timeout, 0, 2);
    tcase_add_test(tcase, cancel__not_in_flight);
    tcase_add_loop_test(tcase, cancel__one_of_five, 0, 4);
    tcase_add_loop_test(tcase, cancel__under_way, 0, 2);
    tcase_add_test(tcase, wait_any__none);
    tcase_add_test(tcase, wait_any__all);
    tcase_add_test(tcase, collect__all);
    tcase_add_test(tcase, collect__taken_otherwise);
    tcase_add_loop_test(tcase, close__during_wait, 0, 2);
    tcase_add_test(tcase, close__lingers);
    tcase_add_loop_test(tcase, close__tells_the_peer, 0, 2);
    tcase_add_test(tcase, wait_for__limit_while_others_arrive);
    tcase_add_test(tcase, close__fails_the_backlog);
    suite_add_tcase(suite, tcase);
    return ends_run(suite);
}
