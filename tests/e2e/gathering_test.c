/* What is submitted while its user has more to collect waits for more of it (gathering). Meanwhile
 * the library goes on with everything else. */
#include "../support/ends.h"

#include <pthread.h>
#include <stdatomic.h>

LOAD(asleep)

enum { POSTED = 4, LEFT = 2, SIZE = 64, FEW = 10 };

/* So long gathered messages wait, if nothing sends them before. */
#define GATHERING_NS ENDS_MILLISECOND

/* Ends whose receiver has POSTED buffers, LEFT messages that its user has not collected, and a
 * spare one. What that user submits is gathered. */
struct collecting {
    struct ends ends;
    struct zcrp_msg *in[POSTED + LEFT + 1], *out, *spare;
};

static void send_one(const struct collecting *c)
{
    ck_assert_int_eq(zcrp_submit(c->ends.sender, c->out, SIZE), ZCRP_OK);
    ck_assert_int_eq(ends_wait(c->out), ZCRP_OK);
}

static struct collecting collecting_open(void)
{
    struct collecting c = {.ends = ends_open(LOOPBACK_UDP4, false, NULL),
                           .out = ends_filled(SIZE, 1)};

    ck_assert_int_ge(zcrp_descriptor(c.ends.receiver), 0);
    for (unsigned i = 0; i < POSTED + LEFT + 1; i++) {
        c.in[i] = ends_empty(SIZE);
        ck_assert_int_eq(zcrp_submit(c.ends.receiver, c.in[i], SIZE), ZCRP_OK);
    }
    for (unsigned i = 0; i < LEFT + 1; i++) {
        send_one(&c);
        ck_assert_int_eq(ends_wait(c.in[i]), ZCRP_OK);
    }
    c.spare = zcrp_collect(c.ends.receiver);
    ck_assert_ptr_eq(c.spare, c.in[0]);
    return c;
}

static void collecting_close(struct collecting *c)
{
    ends_close(&c->ends);
    for (unsigned i = 0; i < POSTED + LEFT + 1; i++)
        zcrp_free_msg(c->in[i]);
    zcrp_free_msg(c->out);
}

/* From the beginning of a gathering, which its user does not end, until the sender has an
 * acknowledgement of a message that came meanwhile. */
static int64_t acknowledged_ns(struct collecting *c)
{
    int64_t began = clock_now_ns();

    ck_assert_int_eq(zcrp_submit(c->ends.receiver, c->spare, SIZE), ZCRP_OK);
    send_one(c);
    int64_t taken = clock_now_ns() - began;
    c->spare = zcrp_collect(c->ends.receiver);
    ck_assert_ptr_nonnull(c->spare);
    return taken;
}

/* If acknowledgements waited for the end of the gathering, hardly any would be earlier. Beside
 * other tests most are late. */
TEST(gathering__does_not_delay_acknowledgements)
{
    struct collecting c = collecting_open();
    int early = 0;

    for (int i = 0; i < 1000 && early <= 5; i++)
        early += acknowledged_ns(&c) < GATHERING_NS;
    ck_assert_int_gt(early, 5);
    collecting_close(&c);
}

/* ---- two threads ---- */

struct waiting {
    struct zcrp_msg *message;
    _Atomic bool is_over;
};

static void *wait_on(void *context)
{
    struct waiting *w = context;

    while (!atomic_load(&w->is_over))
        ck_assert_int_eq(zcrp_wait_for(w->message, 0), ZCRP_ERROR_TIMEOUT);
    return NULL;
}

/* On a busy machine the thread that receives may be away from its processor amid a call. */
static void take_back(struct zcrp_msg *m)
{
    int code = ZCRP_ERROR_BUSY;

    for (int i = 0; i < 50 && code == ZCRP_ERROR_BUSY; i++)
        code = zcrp_cancel(m);
    ck_assert(code == ZCRP_OK || code == ZCRP_ERROR_IDLE); /* it came back after a BUSY */
    ck_assert_int_eq(ends_wait(m), ZCRP_ERROR_CANCELLED);
}

/* Buffers are announced at once, and so gathered, while the sender knows of few. */
static void gather_beside_a_waiter(void)
{
    struct collecting c = collecting_open();
    struct waiting w = {.message = c.in[LEFT + 1]};
    pthread_t thread;

    ck_assert_int_eq(pthread_create(&thread, NULL, wait_on, &w), 0);
    for (int i = 0; i < FEW; i++) {
        ck_assert_int_eq(zcrp_submit(c.ends.receiver, c.spare, SIZE), ZCRP_OK);
        take_back(c.spare);
    }
    atomic_store(&w.is_over, true);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    collecting_close(&c);
}

/* One thread waits for a message, and looks whether others are gathered, which another thread
 * submits. For the thread sanitizer. */
TEST(gathering__while_another_thread_waits)
{
    for (int i = 0; i < 20; i++)
        gather_beside_a_waiter();
}

/* ---- beside a send that is held up ---- */

/* Holds up the thread that sends the next unit, as the pages of a mapped file may. */
struct hold {
    _Atomic bool is_next, is_on, is_over;
};

static void hold_up(void *context, const struct zcrp_crossing *crossing)
{
    struct hold *h = context;

    if (!crossing->is_outward || !atomic_exchange(&h->is_next, false))
        return;
    h->is_on = true;
    for (int i = 0; i < 5000 && !h->is_over; i++)
        usleep(1000);
    h->is_on = false;
}

/* One message, and the ends that it goes between. */
struct flight {
    struct ends ends;
    struct zcrp_msg *out;
};

static void *submit_one(void *context)
{
    const struct flight *t = context;

    ck_assert_int_eq(zcrp_submit(t->ends.sender, t->out, SIZE), ZCRP_OK);
    return NULL;
}

/* While one send is held up, what gathers behind it is overdue, and nobody can send it. Another
 * sender's limit passes all the same, although nobody waits for its message. */
TEST(gathering__beside_a_send_that_is_held_up)
{
    struct hold hold = {.is_next = false};
    const struct zcrp_options held = {.tap = hold_up,
                                      .tap_context = &hold,
                                      .flags = ZCRP_NO_MEMORY},
                              brief = {.connect_ns = 200 * ENDS_MILLISECOND};
    struct loopback sockets = loopback_open(LOOPBACK_UDP4, false),
                    others = loopback_open(LOOPBACK_UDP4, false);
    struct flight t = {.ends = ends_open_at(&sockets, &held, NULL), .out = ends_filled(SIZE, 1)};
    struct zcrp_msg *in[LEFT + 3], *out[LEFT + 1];
    struct zcrp_msg *more = ends_filled(SIZE, 2), *lost = ends_filled(SIZE, 3);
    struct zcrp_entity *other;
    pthread_t thread;

    ck_assert_int_eq(zcrp_open_sender(&other, others.sender, &brief), 0);
    ck_assert_int_ge(zcrp_descriptor(t.ends.sender), 0);
    for (int i = 0; i < LEFT + 3; i++) {
        in[i] = ends_empty(SIZE);
        ck_assert_int_eq(zcrp_submit(t.ends.receiver, in[i], SIZE), ZCRP_OK);
    }
    for (int i = 0; i < LEFT + 1; i++) {
        out[i] = ends_filled(SIZE, 0);
        ck_assert_int_eq(zcrp_submit(t.ends.sender, out[i], SIZE), ZCRP_OK);
        ck_assert_int_eq(ends_wait(out[i]), ZCRP_OK);
    }
    hold.is_next = true;
    ck_assert_int_eq(pthread_create(&thread, NULL, submit_one, &t), 0);
    while (!hold.is_on)
        usleep(1000);
    ck_assert_ptr_eq(zcrp_collect(t.ends.sender), out[0]); /* and there is more */
    ck_assert_int_eq(zcrp_submit(t.ends.sender, more, SIZE), ZCRP_OK);
    ck_assert_int_eq(zcrp_submit(other, lost, SIZE), ZCRP_OK);
    for (int i = 0; i < 3000 && zcrp_error(lost) == ZCRP_ERROR_BUSY; i++)
        usleep(1000);
    bool was_held = hold.is_on;
    int code = zcrp_error(lost);
    hold.is_over = true;
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    ck_assert(was_held);
    ck_assert_int_ne(code, ZCRP_ERROR_BUSY);
    ck_assert_int_eq(ends_wait(more), ZCRP_OK);
    ck_assert_int_eq(ends_wait(t.out), ZCRP_OK);
    ck_assert_int_eq(zcrp_close(other), 0);
    ends_close(&t.ends);
    loopback_close(&others);
    for (int i = 0; i < LEFT + 3; i++)
        zcrp_free_msg(in[i]);
    for (int i = 0; i < LEFT + 1; i++)
        zcrp_free_msg(out[i]);
    zcrp_free_msg(t.out);
    zcrp_free_msg(more);
    zcrp_free_msg(lost);
}
