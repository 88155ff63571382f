/* A queue that many threads use at once: takers, a thread that closes and opens connections, one
 * that waits for messages as without a queue, one that adds and removes, one that interrupts. */
#include "../../support/house.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

LOAD(asleep)

enum { PEERS = 8, TAKERS = 2, ROUNDS = 200, BYTES = 300, ROOM = 8 };

static struct zcrp_queue *q;
static struct house house;
static _Atomic bool is_over;
static _Atomic int answered;

/* Both ends of a connection. The near one is in the queue, and echoes what comes; the far one is a
 * thread's own, which asks and waits. */
struct pair {
    struct both ends;
    struct zcrp_msg *in, *out; /* of the near end */
    pthread_t asker;
};

static struct pair pairs[PEERS];

static void begin(void)
{
    house = house_open("127.0.0.1", NULL);
    ck_assert_int_eq(zcrp_queue_open(&q), ZCRP_OK);
}

static void end(void)
{
    ck_assert_int_eq(zcrp_queue_close(q), ZCRP_OK);
    (void)zcrp_listener_close(house.listener);
}

FIXTURE(begin, end)

static void *ask(void *context)
{
    struct pair *p = context;
    struct zcrp_msg *in = ends_empty(BYTES), *out = ends_filled(BYTES, 0);

    for (uint64_t i = 0; i < ROUNDS; i++) {
        pattern_fill(out->buffer, BYTES, i);
        ck_assert_int_eq(zcrp_submit(zcrp_connection_receiver(p->ends.there), in, BYTES), ZCRP_OK);
        ck_assert_int_eq(zcrp_submit(zcrp_connection_sender(p->ends.there), out, BYTES), ZCRP_OK);
        ck_assert_int_eq(ends_wait(in), ZCRP_OK);
        ck_assert_int_eq(ends_wait(out), ZCRP_OK);
        ck_assert(pattern_holds(in->buffer, BYTES, i));
        answered++;
    }
    zcrp_free_msg(in);
    zcrp_free_msg(out);
    return NULL;
}

/* What has come goes back. A message of the queue's is told to one taker alone; the next one of
 * this connection comes behind the answer. */
static void echo(struct pair *p, const struct zcrp_completion *c)
{
    if (c->message == p->out)
        return;
    ck_assert_ptr_eq(c->message, p->in);
    ck_assert_int_eq(c->code, ZCRP_OK);
    int code = zcrp_wait_for(p->out, 20 * ENDS_SECOND);
    ck_assert(code == ZCRP_OK || code == ZCRP_ERROR_IDLE);
    memcpy(p->out->buffer, p->in->buffer, BYTES);
    ck_assert_int_eq(zcrp_submit(zcrp_connection_receiver(p->ends.here), p->in, BYTES), ZCRP_OK);
    ck_assert_int_eq(zcrp_submit(zcrp_connection_sender(p->ends.here), p->out, BYTES), ZCRP_OK);
}

/* Some takes do not wait, some a little, so that the lease goes round. */
static void *take(void *context)
{
    const int64_t times[] = {0, 0, 0, 100000, 3 * ENDS_MILLISECOND, 20 * ENDS_MILLISECOND};
    unsigned taken = (unsigned)(uintptr_t)context;

    while (!is_over) {
        struct zcrp_completion c[ROOM];
        int count = zcrp_queue_take(q, c, 1 + (int)(taken % ROOM), times[taken % ROWS(times)]);
        taken++;
        ck_assert(count >= 0 || count == ZCRP_ERROR_INTERRUPTED);
        for (int i = 0; i < count; i++)
            if (c[i].kind == ZCRP_MESSAGE_ENDED)
                echo(c[i].context, &c[i]);
        if (taken % 50 == 0)
            usleep(4000); /* the engine takes over */
    }
    return NULL;
}

/* Connections that come and go: in the queue, out of it, closed with what they have. */
static void *come_and_go(void *context)
{
    (void)context;
    while (!is_over) {
        struct zcrp_connection *c;
        struct zcrp_msg *m = ends_empty(10);
        ck_assert_int_eq(house_connect(&house, &c, NULL, 5 * ENDS_SECOND), ZCRP_OK);
        struct zcrp_entity *r = zcrp_connection_receiver(c);
        ck_assert_int_eq(zcrp_queue_add(q, r, &pairs[0]), ZCRP_OK);
        ck_assert_int_eq(zcrp_queue_remove(q, r), ZCRP_OK);
        ck_assert_int_eq(zcrp_submit(r, m, 10), ZCRP_OK);
        ck_assert_int_eq(zcrp_queue_add_connection(q, c, NULL), ZCRP_OK);
        (void)zcrp_connection_close(c);
        ck_assert_int_ne(zcrp_error(m), ZCRP_ERROR_BUSY);
        zcrp_free_msg(m);
        (void)zcrp_queue_interrupt(q);
        struct zcrp_connection *here;
        while (zcrp_accept(house.listener, &here, 0) == ZCRP_OK)
            (void)zcrp_connection_close(here);
    }
    return NULL;
}

TEST(queue__many_threads)
{
    pthread_t taker[TAKERS], comer;

    for (int i = 0; i < PEERS; i++) {
        struct pair *p = &pairs[i];
        *p = (struct pair){.in = ends_empty(BYTES), .out = ends_empty(BYTES)};
        p->ends = house_meet(&house, NULL);
        ck_assert_int_eq(zcrp_submit(zcrp_connection_receiver(p->ends.here), p->in, BYTES),
                         ZCRP_OK);
        ck_assert_int_eq(zcrp_queue_add_connection(q, p->ends.here, p), ZCRP_OK);
    }
    for (uintptr_t i = 0; i < TAKERS; i++)
        ck_assert_int_eq(pthread_create(&taker[i], NULL, take, (void *)(3 * i)), 0);
    ck_assert_int_eq(pthread_create(&comer, NULL, come_and_go, NULL), 0);
    for (int i = 0; i < PEERS; i++)
        ck_assert_int_eq(pthread_create(&pairs[i].asker, NULL, ask, &pairs[i]), 0);
    for (int i = 0; i < PEERS; i++)
        ck_assert_int_eq(pthread_join(pairs[i].asker, NULL), 0);
    ck_assert_int_eq(answered, PEERS * ROUNDS);
    is_over = true;
    for (int i = 0; i < TAKERS; i++)
        ck_assert_int_eq(pthread_join(taker[i], NULL), 0);
    ck_assert_int_eq(pthread_join(comer, NULL), 0);
    for (int i = 0; i < PEERS; i++) {
        house_part(&pairs[i].ends);
        zcrp_free_msg(pairs[i].in);
        zcrp_free_msg(pairs[i].out);
    }
}

/* ---- senders whose messages gather ---- */

enum { FLOWS = 4, FLOWING = 16, AGAIN = 1000 };

/* Messages go from the near end, whose sender is in the queue, to the far one, where a thread waits
 * for them. Each is sent again when it has ended, by the taker that is told so. */
static struct flow {
    struct both ends;
    struct zcrp_msg *in[FLOWING], *out[FLOWING];
    _Atomic int again; /* so many more are to be sent */
    pthread_t receiver;
} flows[FLOWS];

static void *receive(void *context)
{
    struct flow *f = context;
    struct zcrp_entity *r = zcrp_connection_receiver(f->ends.there);

    for (int i = 0; i < FLOWING; i++)
        ck_assert_int_eq(zcrp_submit(r, f->in[i], BYTES), ZCRP_OK);
    for (int i = 0; i < FLOWING + AGAIN; i++) {
        ck_assert_int_eq(ends_wait(f->in[i % FLOWING]), ZCRP_OK);
        ck_assert_int_eq(zcrp_submit(r, f->in[i % FLOWING], BYTES), ZCRP_OK);
    }
    return NULL;
}

static void *send_again(void *context)
{
    const int *most = context;
    unsigned taken = 0;

    while (!is_over) {
        struct zcrp_completion c[2 * FLOWING];
        int count = zcrp_queue_take(q, c, *most, taken++ % 2 * 100000);
        ck_assert_int_ge(count, 0);
        for (int i = 0; i < count; i++) {
            struct flow *f = c[i].context;
            if (atomic_fetch_sub(&f->again, 1) > 0)
                ck_assert_int_eq(zcrp_submit(c[i].entity, c[i].message, BYTES), ZCRP_OK);
        }
        if (taken % 500 == 0)
            usleep(4000); /* what it has not sent leaves without it */
    }
    return NULL;
}

static void flow_open(struct flow *f, uint32_t flags)
{
    const struct zcrp_options options = {.flags = flags};

    f->ends = house_meet(&house, &options);
    f->again = AGAIN;
    for (int i = 0; i < FLOWING; i++) {
        f->in[i] = ends_empty(BYTES);
        f->out[i] = ends_filled(BYTES, 1);
    }
    struct zcrp_entity *s = zcrp_connection_sender(f->ends.here);
    ck_assert_int_eq(zcrp_queue_add(q, s, f), ZCRP_OK);
    ck_assert_int_eq(pthread_create(&f->receiver, NULL, receive, f), 0);
    for (int i = 0; i < FLOWING; i++)
        ck_assert_int_eq(zcrp_submit(s, f->out[i], BYTES), ZCRP_OK);
}

/* Two takers send, each what it is told of, and end what the other one gathers; one comes for few
 * at once. At last connections are closed under them. Over sockets, or wherever it goes. */
TEST(queue__many_threads_that_send, .rows = 2)
{
    static const int mosts[TAKERS] = {3, 2 * FLOWING};
    pthread_t taker[TAKERS];

    for (int i = 0; i < FLOWS; i++)
        flow_open(&flows[i], _i == 0 ? ZCRP_NO_MEMORY : 0);
    for (int i = 0; i < TAKERS; i++)
        ck_assert_int_eq(pthread_create(&taker[i], NULL, send_again, (void *)&mosts[i]), 0);
    for (int i = 0; i < FLOWS; i++) {
        ck_assert_int_eq(pthread_join(flows[i].receiver, NULL), 0);
        house_part(&flows[i].ends);
    }
    is_over = true;
    for (int i = 0; i < TAKERS; i++)
        ck_assert_int_eq(pthread_join(taker[i], NULL), 0);
    for (int i = 0; i < FLOWS; i++)
        for (int k = 0; k < FLOWING; k++) {
            zcrp_free_msg(flows[i].in[k]);
            zcrp_free_msg(flows[i].out[k]);
        }
}
