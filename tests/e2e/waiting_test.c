/* How one waits for messages: with a limit, for any of several, and by a descriptor. */
#include "../support/lonely.h"

#include <poll.h>
#include <stdlib.h>

LOAD(asleep)

/* ---- time limits ---- */

TEST(wait_for__timeout, .rows = 2)
{
    struct lonely l = lonely_open(_i == 0);
    struct zcrp_msg *m = ends_filled(10, 0);

    ck_assert_int_eq(zcrp_wait_for(NULL, 0), ZCRP_ERROR_ARGUMENT);
    ck_assert_int_eq(zcrp_wait_for(m, -1), ZCRP_ERROR_IDLE);
    ck_assert_int_eq(zcrp_submit(l.entity, m, 10), 0);
    ck_assert_int_eq(zcrp_wait_for(m, 0), ZCRP_ERROR_TIMEOUT);
    ck_assert_int_eq(zcrp_wait_for(m, 20 * ENDS_MILLISECOND), ZCRP_ERROR_TIMEOUT);
    ck_assert_uint_eq(zcrp_probe(m), 0);
    ck_assert_int_eq(zcrp_cancel(m), 0);
    ck_assert_uint_eq(zcrp_probe(m), 1);
    ck_assert_int_eq(zcrp_wait_for(m, -1), ZCRP_ERROR_CANCELLED);
    zcrp_free_msg(m);
    (void)zcrp_close(l.entity);
    loopback_close(&l.sockets);
}

/* A limit holds also while other messages keep arriving. */
TEST(wait_for__limit_while_others_arrive)
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
    ck_assert_int_eq(zcrp_wait_for(in[COUNT - 1], ENDS_MILLISECOND), ZCRP_ERROR_TIMEOUT);
    ck_assert_int_eq(zcrp_close(e.receiver), ZCRP_OK);
    e.receiver = NULL;
    for (unsigned i = 0; i < COUNT; i++)
        zcrp_free_msg(in[i]);
    zcrp_free_msg(out);
    ends_close(&e);
}

/* ---- wait_any ---- */

TEST(wait_any__none)
{
    struct lonely l = lonely_open(true);
    struct zcrp_msg *m[3] = {NULL, zcrp_alloc_msg(1), zcrp_alloc_msg(1)};

    ck_assert_int_eq(zcrp_wait_any(NULL, 1, 0), ZCRP_ERROR_ARGUMENT);
    ck_assert_int_eq(zcrp_wait_any(m, -1, 0), ZCRP_ERROR_ARGUMENT);
    ck_assert_int_eq(zcrp_wait_any(m, 0, -1), ZCRP_ERROR_IDLE);
    ck_assert_int_eq(zcrp_wait_any(m, 3, -1), ZCRP_ERROR_IDLE);
    ck_assert_int_eq(zcrp_submit(l.entity, m[1], 1), 0);
    ck_assert_int_eq(zcrp_wait_any(m, 3, 0), ZCRP_ERROR_TIMEOUT);
    ck_assert_int_eq(zcrp_wait_any(m, 3, 20 * ENDS_MILLISECOND), ZCRP_ERROR_TIMEOUT);
    ck_assert_int_eq(zcrp_cancel(m[1]), 0);
    ck_assert_int_eq(zcrp_wait_any(m, 3, -1), 1);
    zcrp_free_msg(m[1]);
    zcrp_free_msg(m[2]);
    (void)zcrp_close(l.entity);
    loopback_close(&l.sockets);
}

/* Messages of both entities at once; each is reported until it is taken out. */
TEST(wait_any__all)
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

/* What is lost comes later; and a peer that stands still while units turn from the socket to memory
 * finds the later ones first. */
static bool may_overtake(void)
{
    const char *forbidden = getenv("ZCRP_NO_MEMORY");
    return loopback_is_lossy() || forbidden == NULL || forbidden[0] == '0';
}

TEST(collect__all)
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
        ends_submit(&e, in[i], out[i], 2000);
    }
    while (collected < COUNT) {
        ck_assert(is_readable(fd, 10000));
        for (struct zcrp_msg *m; (m = zcrp_collect(e.receiver)) != NULL; collected++) {
            unsigned i = index_of(in, COUNT, m);
            ck_assert_uint_lt(i, COUNT);
            ck_assert(i == collected || may_overtake());
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

/* What is freed, submitted again, or left over at the end was never there, or is no trouble. */
TEST(collect__taken_otherwise)
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

/* Three messages have crossed; the first of them, collected, is submitted again while there is more
 * to collect, on both sides. */
static void submit_amid(struct ends *e, struct zcrp_msg *in[3], struct zcrp_msg *out[3])
{
    ck_assert_int_ge(zcrp_descriptor(e->receiver), 0);
    ck_assert_int_ge(zcrp_descriptor(e->sender), 0);
    for (unsigned i = 0; i < 3; i++) {
        in[i] = ends_empty(10);
        out[i] = ends_filled(10, i);
        ends_submit(e, in[i], out[i], 10);
    }
    for (unsigned i = 0; i < 3; i++) {
        ck_assert_int_eq(ends_wait(in[i]), ZCRP_OK);
        ck_assert_int_eq(ends_wait(out[i]), ZCRP_OK);
    }
    struct zcrp_msg *in_again = zcrp_collect(e->receiver);
    struct zcrp_msg *out_again = zcrp_collect(e->sender);
    ck_assert_int_eq(zcrp_submit(e->receiver, in_again, 10), 0);
    ck_assert_int_eq(zcrp_submit(e->sender, out_again, 10), 0);
}

static void end_amid(struct ends *e, struct zcrp_msg *in[3], struct zcrp_msg *out[3])
{
    for (unsigned i = 0; i < 3; i++) {
        ck_assert_int_eq(ends_wait(in[i]), ZCRP_OK);
        ck_assert_int_eq(ends_wait(out[i]), ZCRP_OK);
        zcrp_free_msg(in[i]);
        zcrp_free_msg(out[i]);
    }
    ends_close(e);
}

/* What is submitted amid a collection waits for more. It leaves also if no more comes: the user
 * collects no further, or waits, or closes. */
TEST(collect__submitted_amid)
{
    struct ends e = ends_open(LOOPBACK_UDP4, false, NULL);
    struct zcrp_msg *in[3], *out[3];

    submit_amid(&e, in, out);
    ck_assert(is_readable(zcrp_descriptor(e.receiver), 0));
    while (zcrp_probe(in[0]) == 0 || zcrp_probe(out[0]) == 0)
        (void)poll(NULL, 0, 1);
    end_amid(&e, in, out);
}

TEST(collect__submitted_amid_and_waited_for)
{
    struct ends e = ends_open(LOOPBACK_UDP4, false, NULL);
    struct zcrp_msg *in[3], *out[3];

    submit_amid(&e, in, out);
    end_amid(&e, in, out);
}

TEST(collect__submitted_amid_and_closed)
{
    struct ends e = ends_open(LOOPBACK_UDP4, false, NULL);
    struct zcrp_msg *in[3], *out[3];

    submit_amid(&e, in, out);
    ck_assert_int_eq(zcrp_close(e.sender), ZCRP_OK);
    e.sender = NULL;
    end_amid(&e, in, out);
}
