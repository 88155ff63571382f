/* Counters of sends and receives, and waits for them. */
#include "ranks.h"

#include <pthread.h>
#include <unistd.h>

LOAD(asleep)

static const struct node_wish counted = {.has_counters = true, .wait = FI_WAIT_FD};
static const struct node_wish counted_alone = {
    .has_counters = true, .wait = FI_WAIT_FD, .selective = FI_SELECTIVE_COMPLETION};

static void await_count(struct fid_cntr *counter, uint64_t value)
{
    int64_t until = now_ms() + WITHIN_S * 1000;

    while (fi_cntr_read(counter) < value) {
        ck_assert_int_lt(now_ms(), until);
        nodes_turn();
    }
    ck_assert_uint_eq(fi_cntr_read(counter), value);
}

/* Injected messages count, too, and messages without a completion. */
TEST(counter__counts, .rows = 2)
{
    bool is_alone = _i == 1;
    uint8_t out[SMALL] = {1}, in[4][SMALL], *large = filled(LARGE, 1), *to = blank(LARGE);
    struct pair p;

    pair_open(&p, is_alone ? &counted_alone : &counted);
    for (int i = 0; i < 4; i++)
        POST(fi_recv(p.b.ep, in[i], SMALL, NULL, FI_ADDR_UNSPEC, in[i]));
    POST(fi_trecv(p.b.ep, to, LARGE, NULL, FI_ADDR_UNSPEC, 1, 0, to));
    for (int i = 0; i < 3; i++)
        POST(fi_send(p.a.ep, out, SMALL, NULL, p.to_b, out));
    POST(fi_inject(p.a.ep, out, 8, p.to_b));
    POST(fi_tsend(p.a.ep, large, LARGE, NULL, p.to_b, 1, large));
    await_count(p.a.sends, 5);
    await_count(p.b.receptions, 5);
    ck_assert_uint_eq(fi_cntr_read(p.a.receptions) + fi_cntr_read(p.b.sends), 0);
    ck_assert_uint_eq(fi_cntr_readerr(p.a.sends) + fi_cntr_readerr(p.b.receptions), 0);
    ck_assert(pattern_holds(to, LARGE, 1));
    if (is_alone)
        take_nothing(p.b.received);
    pair_close(&p);
    free(large);
    free(to);
}

/* An error counts as an error alone, and ends a wait. */
TEST(counter__counts_errors)
{
    uint8_t out[SMALL] = {1}, in[SMALL];
    struct pair p;

    pair_open(&p, &counted);
    POST(fi_recv(p.b.ep, in, 10, NULL, FI_ADDR_UNSPEC, in));
    POST(fi_inject(p.a.ep, out, 20, p.to_b));
    (void)take_error(p.b.received, in, FI_ETRUNC);
    ck_assert_uint_eq(fi_cntr_read(p.b.receptions), 0);
    ck_assert_uint_eq(fi_cntr_readerr(p.b.receptions), 1);
    pair_close(&p);
}

/* An endpoint that closes leaves a send undone, which is no error of another one's counter. */
TEST(counter__of_an_endpoint_that_closes)
{
    uint8_t *out = filled(LARGE, 1);
    struct fid_ep *ep;
    struct pair p;

    pair_open(&p, &counted);
    OK(fi_endpoint(p.a.domain, p.a.info, &ep, NULL));
    OK(fi_ep_bind(ep, &p.a.av->fid, 0));
    OK(fi_ep_bind(ep, &p.a.sent->fid, FI_TRANSMIT));
    OK(fi_ep_bind(ep, &p.a.received->fid, FI_RECV));
    OK(fi_ep_bind(ep, &p.a.sends->fid, FI_SEND));
    OK(fi_enable(ep));
    POST(fi_tsend(ep, out, LARGE, NULL, p.to_b, 1, out));
    for (int i = 0; i < 100; i++)
        nodes_turn();
    OK(fi_close(&ep->fid));
    ck_assert_uint_eq(fi_cntr_readerr(p.a.sends), 0);
    ck_assert_uint_eq(fi_cntr_read(p.a.sends), 0);
    pair_close(&p);
    free(out);
}

TEST(counter__is_set)
{
    struct pair p;

    pair_open(&p, &counted);
    OK(fi_cntr_set(p.a.sends, 10));
    await_count(p.a.sends, 10);
    OK(fi_cntr_add(p.a.sends, 5));
    await_count(p.a.sends, 15);
    OK(fi_cntr_seterr(p.a.sends, 3));
    OK(fi_cntr_adderr(p.a.sends, 4));
    ck_assert_uint_eq(fi_cntr_readerr(p.a.sends), 7);
    pass(&p.a, p.to_b, &p.b, SMALL, 1);
    await_count(p.a.sends, 16);
    pair_close(&p);
}

TEST(counter__wait_has_a_limit)
{
    struct pair p;
    int64_t began;

    pair_open(&p, &counted);
    OK(fi_cntr_wait(p.a.sends, 0, 1000));
    began = now_ms();
    ck_assert_int_eq(fi_cntr_wait(p.a.sends, 1, 200), -FI_ETIMEDOUT);
    ck_assert_int_ge(now_ms() - began, 190);
    ck_assert_int_lt(now_ms() - began, 10000);
    ck_assert_int_eq(fi_cntr_wait(p.a.sends, 1, 0), -FI_ETIMEDOUT);
    pair_close(&p);
}

/* ---- waits that other threads share */

struct wait {
    struct fid_cntr *counter;
    uint64_t threshold;
    int limit_ms;
};

static void *await_threshold(void *wait)
{
    struct wait *w = wait;

    OK(fi_cntr_wait(w->counter, w->threshold, w->limit_ms));
    return NULL;
}

/* Those that go on waiting do not keep the news from the one whose wait is over. */
TEST(counter__wait_beside_others)
{
    enum { ROUNDS = 300, OTHERS = 4 };
    struct wait last = {.threshold = ROUNDS + 1, .limit_ms = WITHIN_S * 1000};
    pthread_t thread, other[OTHERS];
    struct pair p;

    pair_open(&p, &counted);
    last.counter = p.a.sends;
    for (int i = 0; i < OTHERS; i++)
        OK(pthread_create(&other[i], NULL, await_threshold, &last));
    for (uint64_t i = 1; i <= ROUNDS; i++) {
        struct wait next = {p.a.sends, i, 30000};
        OK(pthread_create(&thread, NULL, await_threshold, &next));
        (void)usleep(1000);
        int64_t began = now_ms();
        OK(fi_cntr_add(p.a.sends, 1));
        OK(pthread_join(thread, NULL));
        ck_assert_int_lt(now_ms() - began, 20000);
    }
    OK(fi_cntr_add(p.a.sends, 1));
    for (int i = 0; i < OTHERS; i++)
        OK(pthread_join(other[i], NULL));
    pair_close(&p);
}

/* ---- waits that another process ends */

enum { COUNT = 20 };

static void send_later(struct rank *r)
{
    uint8_t *out = filled(LARGE, 1);

    for (int i = 0; i < COUNT; i++) {
        (void)usleep(10000);
        POST(fi_tsend(r->node.ep, out, i % 2 ? LARGE : SMALL, NULL, r->to[0], 1, NULL));
        ck_assert_int_eq(take(r->node.sent).err, 0);
    }
    ranks_sync(r);
    free(out);
}

TEST(counter__wait_for_another_process, .rows = 2)
{
    const struct ranks_plan plan = {
        .count = 2, .wish = counted, .is_memory = _i == 1, .part = send_later};
    uint8_t *in = blank(LARGE);
    struct rank r;

    ranks_start(&r, &plan);
    for (int i = 0; i < COUNT; i++)
        POST(fi_trecv(r.node.ep, in, LARGE, NULL, FI_ADDR_UNSPEC, 1, 0, NULL));
    OK(fi_cntr_wait(r.node.receptions, COUNT / 2, WITHIN_S * 1000));
    OK(fi_cntr_wait(r.node.receptions, COUNT, WITHIN_S * 1000));
    ranks_sync(&r);
    ranks_finish(&r);
    free(in);
}
