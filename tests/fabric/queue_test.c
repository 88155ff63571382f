/* Completion queues: formats, several at a time, selective completions, and waits. */
#include "ranks.h"

#include <poll.h>
#include <pthread.h>
#include <unistd.h>

LOAD(asleep)

#define DATA UINT64_C(0x8877665544332211)

/* ---- reading */

static const struct {
    enum fi_cq_format format;
    size_t bytes;
} formats[] = {{FI_CQ_FORMAT_CONTEXT, sizeof(struct fi_cq_entry)},
               {FI_CQ_FORMAT_MSG, sizeof(struct fi_cq_msg_entry)},
               {FI_CQ_FORMAT_DATA, sizeof(struct fi_cq_data_entry)},
               {FI_CQ_FORMAT_TAGGED, sizeof(struct fi_cq_tagged_entry)}};

static void check_entry(const uint8_t *bytes, int row, const void *context)
{
    struct fi_cq_tagged_entry e = {0};

    memcpy(&e, bytes, formats[row].bytes);
    ck_assert_ptr_eq(e.op_context, context);
    if (row >= 1) {
        ck_assert_uint_eq(e.len, SMALL);
        ck_assert_uint_eq(e.flags & (FI_RECV | FI_TAGGED), FI_RECV | FI_TAGGED);
    }
    if (row >= 2)
        ck_assert_uint_eq(e.data, DATA);
    if (row >= 3)
        ck_assert_uint_eq(e.tag, 9);
}

/* Several at once lie as the format says, one behind the other, and nothing behind the last. */
TEST(read__in_each_format, .rows = ROWS(formats))
{
    enum { COUNT = 6 };
    uint8_t in[COUNT][SMALL], out[SMALL] = {0},
                              entries[(COUNT + 1) * sizeof(struct fi_cq_tagged_entry)];
    size_t bytes = formats[_i].bytes, got = 0;
    int64_t until = now_ms() + WITHIN_S * 1000;
    struct pair p;

    pair_open(&p, &(struct node_wish){.format = formats[_i].format});
    memset(entries, 0x77, sizeof(entries));
    for (int i = 0; i < COUNT; i++) {
        POST(fi_trecv(p.b.ep, in[i], SMALL, NULL, FI_ADDR_UNSPEC, 9, 0, in[i]));
        POST(fi_tsenddata(p.a.ep, out, SMALL, NULL, DATA, p.to_b, 9, NULL));
    }
    while (got < COUNT) {
        ssize_t count = fi_cq_read(p.b.received, entries + got * bytes, COUNT - got);
        ck_assert(count > 0 || count == -FI_EAGAIN);
        got += count > 0 ? (size_t)count : 0;
        ck_assert_int_lt(now_ms(), until);
        nodes_turn();
    }
    for (int i = 0; i < COUNT; i++)
        check_entry(entries + (size_t)i * bytes, _i, in[i]);
    ck_assert(pattern_is_even(entries + COUNT * bytes, sizeof(entries) - COUNT * bytes, 0x77));
    pair_close(&p);
}

TEST(read__of_nothing_and_of_errors)
{
    struct fi_cq_err_entry e = {0};
    struct fi_cq_tagged_entry entry;
    uint8_t in[SMALL];
    char text[100] = "";
    struct pair p;

    pair_open(&p, NULL);
    ck_assert_int_eq(fi_cq_read(p.b.received, &entry, 1), -FI_EAGAIN);
    ck_assert_int_eq(fi_cq_readerr(p.b.received, &e, 0), -FI_EAGAIN);
    POST(fi_recv(p.b.ep, in, SMALL, NULL, FI_ADDR_UNSPEC, in));
    OK(fi_cancel(&p.b.ep->fid, in));
    ssize_t code = -FI_EAGAIN;
    for (int64_t until = now_ms() + 5000; code == -FI_EAGAIN && now_ms() < until; nodes_turn())
        code = fi_cq_read(p.b.received, &entry, 1);
    ck_assert_int_eq(code, -FI_EAVAIL);
    ck_assert_int_eq(fi_cq_read(p.b.received, &entry, 1), -FI_EAVAIL); /* it stays */
    ck_assert_int_eq(fi_cq_readerr(p.b.received, &e, 0), 1);
    ck_assert_int_eq(e.err, FI_ECANCELED);
    ck_assert_ptr_nonnull(
        fi_cq_strerror(p.b.received, e.prov_errno, e.err_data, text, sizeof(text)));
    ck_assert_int_eq(fi_cq_read(p.b.received, &entry, 1), -FI_EAGAIN);
    pair_close(&p);
}

/* Only what asks for a completion has one, and errors. */
TEST(read__of_selective_completions)
{
    uint8_t in[3][SMALL], out[SMALL] = {0};
    struct iovec piece = {in[1], SMALL}, sent = {out, SMALL};
    struct fi_msg m = {.msg_iov = &piece, .iov_count = 1, .addr = FI_ADDR_UNSPEC, .context = in[1]};
    struct fi_msg s = {.msg_iov = &sent, .iov_count = 1, .context = out};
    struct pair p;

    pair_open(&p, &(struct node_wish){.selective = FI_SELECTIVE_COMPLETION});
    s.addr = p.to_b;
    POST(fi_recv(p.b.ep, in[0], SMALL, NULL, FI_ADDR_UNSPEC, in[0]));
    POST(fi_recvmsg(p.b.ep, &m, FI_COMPLETION));
    POST(fi_recv(p.b.ep, in[2], 10, NULL, FI_ADDR_UNSPEC, in[2]));
    POST(fi_send(p.a.ep, out, SMALL, NULL, p.to_b, NULL));
    POST(fi_sendmsg(p.a.ep, &s, FI_COMPLETION));
    POST(fi_send(p.a.ep, out, SMALL, NULL, p.to_b, NULL));
    (void)take_of(p.b.received, in[1]);
    (void)take_error(p.b.received, in[2], FI_ETRUNC);
    (void)take_of(p.a.sent, out);
    take_nothing(p.a.sent);
    take_nothing(p.b.received);
    pair_close(&p);
}

/* One queue for both directions of two endpoints. */
TEST(read__of_a_shared_queue)
{
    struct fi_cq_attr attr = {.format = FI_CQ_FORMAT_TAGGED};
    uint8_t in[SMALL], out[SMALL] = {0};
    struct node n;
    struct fid_ep *ep;
    struct fid_cq *cq;
    uint8_t name[NAME_BYTES];
    size_t bytes = sizeof(name);

    node_open(&n, NULL);
    OK(fi_cq_open(n.domain, &attr, &cq, NULL));
    OK(fi_endpoint(n.domain, n.info, &ep, NULL));
    OK(fi_ep_bind(ep, &n.av->fid, 0));
    OK(fi_ep_bind(ep, &cq->fid, FI_TRANSMIT | FI_RECV));
    OK(fi_enable(ep));
    OK(fi_getname(&ep->fid, name, &bytes));
    POST(fi_recv(ep, in, SMALL, NULL, FI_ADDR_UNSPEC, in));
    POST(fi_send(ep, out, SMALL, NULL, node_insert(&n, name), out));
    bool is_received = (take(cq).flags & FI_RECV) != 0;
    ck_assert_int_ne((take(cq).flags & FI_RECV) != 0, is_received);
    OK(fi_close(&ep->fid));
    OK(fi_close(&cq->fid));
    node_close(&n);
}

/* ---- waiting */

TEST(sread__has_a_limit)
{
    struct fi_cq_tagged_entry e;
    struct pair p;

    pair_open(&p, &(struct node_wish){.wait = FI_WAIT_FD});
    int64_t began = now_ms();
    ck_assert_int_eq(fi_cq_sread(p.b.received, &e, 1, NULL, 200), -FI_EAGAIN);
    ck_assert_int_ge(now_ms() - began, 190);
    ck_assert_int_lt(now_ms() - began, 10000);
    ck_assert_int_eq(fi_cq_sread(p.b.received, &e, 1, NULL, 0), -FI_EAGAIN);
    pair_close(&p);
    pair_open(&p, NULL); /* without a wait object nothing can wait */
    ck_assert_int_lt(fi_cq_sread(p.b.received, &e, 1, NULL, 1000), 0);
    pair_close(&p);
}

/* A provider may ignore the condition (fi_cq(3)): this one wakes for one completion. */
TEST(sread__with_a_threshold)
{
    size_t threshold = 3;
    struct fi_cq_tagged_entry e[3];
    uint8_t in[SMALL], out[SMALL] = {0};
    struct pair p;

    pair_open(&p, &(struct node_wish){.wait = FI_WAIT_FD, .condition = FI_CQ_COND_THRESHOLD});
    POST(fi_recv(p.b.ep, in, SMALL, NULL, FI_ADDR_UNSPEC, in));
    POST(fi_inject(p.a.ep, out, SMALL, p.to_b));
    ck_assert_int_eq(fi_cq_sread(p.b.received, e, 3, &threshold, WITHIN_S * 1000), 1);
    ck_assert_ptr_eq(e[0].op_context, in);
    pair_close(&p);
}

static void *signal_later(void *cq)
{
    (void)usleep(100000);
    OK(fi_cq_signal(cq));
    return NULL;
}

TEST(sread__ends_by_a_signal)
{
    struct fi_cq_tagged_entry e;
    pthread_t thread;
    struct pair p;

    pair_open(&p, &(struct node_wish){.wait = FI_WAIT_FD});
    for (int i = 0; i < 3; i++) {
        int64_t began = now_ms();
        OK(pthread_create(&thread, NULL, signal_later, p.b.received));
        ck_assert_int_lt(fi_cq_sread(p.b.received, &e, 1, NULL, WITHIN_S * 1000), 0);
        ck_assert_int_lt(now_ms() - began, 10000);
        OK(pthread_join(thread, NULL));
    }
    pair_close(&p);
}

enum { COUNT = 30 };

/* Answers each message, some of them late. */
static void answer(struct rank *r)
{
    uint8_t *m = blank(LARGE);

    for (int i = 0; i < COUNT; i++) {
        POST(fi_trecv(r->node.ep, m, LARGE, NULL, FI_ADDR_UNSPEC, 1, 0, m));
        size_t size = take_of(r->node.received, m).len;
        if (i % 5 == 0)
            (void)usleep(50000);
        POST(fi_tsend(r->node.ep, m, size, NULL, r->to[0], 2, m));
        (void)take_of(r->node.sent, m);
    }
    ranks_sync(r);
    free(m);
}

static void by_sread(struct fid_cq *cq, const void *context)
{
    struct fi_cq_tagged_entry e;
    ssize_t count = -FI_EAGAIN;

    for (int64_t until = now_ms() + WITHIN_S * 1000; count == -FI_EAGAIN && now_ms() < until;)
        count = fi_cq_sread(cq, &e, 1, NULL, -1);
    ck_assert_int_eq(count, 1);
    ck_assert_ptr_eq(e.op_context, context);
}

/* As fi_poll(3) says: trywait, then sleep at the descriptor, then read. */
static void by_poll(struct fid_cq *cq, const void *context, struct fid_fabric *fabric)
{
    struct fid *fids[] = {&cq->fid};
    struct pollfd fd = {.fd = -1, .events = POLLIN};
    struct fi_cq_tagged_entry e;
    ssize_t count;

    OK(fi_control(&cq->fid, FI_GETWAIT, &fd.fd));
    while ((count = fi_cq_read(cq, &e, 1)) == -FI_EAGAIN)
        if (fi_trywait(fabric, fids, 1) == 0)
            ck_assert_int_eq(poll(&fd, 1, WITHIN_S * 1000), 1);
    ck_assert_int_eq(count, 1);
    ck_assert_ptr_eq(e.op_context, context);
}

/* Rows: by sread or poll; over UDP or by memory; progress by the program or by the provider. */
TEST(wait__for_another_process, .rows = 8)
{
    const struct node_wish wish = {.wait = FI_WAIT_FD,
                                   .progress = _i / 4 ? FI_PROGRESS_AUTO : FI_PROGRESS_MANUAL};
    const struct ranks_plan plan = {
        .count = 2, .wish = wish, .is_memory = _i / 2 % 2 == 1, .part = answer};
    uint8_t *out = filled(LARGE, 6), *in = blank(LARGE);
    struct rank r;

    ranks_start(&r, &plan);
    for (int i = 0; i < COUNT; i++) {
        size_t size = i % 3 == 0 ? LARGE : SMALL;
        struct fid_cq *cq[] = {r.node.sent, r.node.received};
        POST(fi_trecv(r.node.ep, in, LARGE, NULL, FI_ADDR_UNSPEC, 2, 0, cq[1]));
        POST(fi_tsend(r.node.ep, out, size, NULL, r.to[1], 1, cq[0]));
        for (int j = 0; j < 2; j++)
            if (_i % 2 == 0)
                by_sread(cq[j], cq[j]);
            else
                by_poll(cq[j], cq[j], r.node.fabric);
        ck_assert(pattern_holds(in, size, 6));
    }
    ranks_sync(&r);
    ranks_finish(&r);
    free(in);
    free(out);
}

/* With automatic progress messages arrive while the receiver does not call at all. */
static void send_and_end(struct rank *r)
{
    uint8_t *out = filled(LARGE, 6);

    POST(fi_tsend(r->node.ep, out, LARGE, NULL, r->to[0], 1, out));
    (void)take_of(r->node.sent, out);
    atomic_store(&r->board->stage[RANKS_MOST - 1], 1);
    ranks_sync(r);
    free(out);
}

TEST(progress__is_automatic)
{
    const struct ranks_plan plan = {
        .count = 2, .wish = {.progress = FI_PROGRESS_AUTO}, .part = send_and_end};
    uint8_t *in = blank(LARGE);
    int64_t until = now_ms() + WITHIN_S * 1000;
    struct rank r;

    ranks_start(&r, &plan);
    POST(fi_trecv(r.node.ep, in, LARGE, NULL, FI_ADDR_UNSPEC, 1, 0, in));
    while (atomic_load(&r.board->stage[RANKS_MOST - 1]) == 0) {
        ck_assert_int_lt(now_ms(), until);
        (void)usleep(1000);
    }
    (void)take_of(r.node.received, in);
    ranks_sync(&r);
    ranks_finish(&r);
    free(in);
}

/* Before libfabric 1.5 an error's entry ended in front of err_data_size. */
TEST(read__of_an_error_by_an_old_program)
{
    struct fi_cq_err_entry e = {.err_data_size = 77};
    uint8_t in[SMALL];
    struct pair p;

    pair_open(&p, &(struct node_wish){.version = FI_VERSION(1, 4)});
    POST(fi_recv(p.b.ep, in, SMALL, NULL, FI_ADDR_UNSPEC, in));
    OK(fi_cancel(&p.b.ep->fid, in));
    while (fi_cq_readerr(p.b.received, &e, 0) == -FI_EAGAIN)
        nodes_turn();
    ck_assert_int_eq(e.err, FI_ECANCELED);
    ck_assert_uint_eq(e.err_data_size, 77);
    pair_close(&p);
}

/* Takes one completion; the limit of time is the test's. */
static void *take_one(void *cq)
{
    struct fi_cq_tagged_entry e;

    ck_assert_int_eq(fi_cq_sread(cq, &e, 1, NULL, WITHIN_S * 1000), 1);
    return NULL;
}

/* Each of the threads that sleep at one queue gets one of the completions that come together. */
TEST(sread__by_several_threads)
{
    enum { THREADS = 8, ROUNDS = 100 };
    uint8_t out[SMALL] = {0}, in[THREADS][SMALL];
    pthread_t thread[THREADS];
    struct pair p;

    pair_open(&p, &(struct node_wish){.wait = FI_WAIT_FD});
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < THREADS; i++)
            POST(fi_recv(p.b.ep, in[i], SMALL, NULL, FI_ADDR_UNSPEC, in[i]));
        for (int i = 0; i < THREADS; i++)
            OK(pthread_create(&thread[i], NULL, take_one, p.b.received));
        (void)usleep(1000);
        int64_t began = now_ms();
        for (int i = 0; i < THREADS; i++)
            POST(fi_inject(p.a.ep, out, SMALL, p.to_b));
        for (int i = 0; i < THREADS; i++)
            OK(pthread_join(thread[i], NULL));
        ck_assert_int_lt(now_ms() - began, 10000);
    }
    pair_close(&p);
}

static void *await_error(void *cq)
{
    struct fi_cq_tagged_entry e;

    ck_assert_int_eq(fi_cq_sread(cq, &e, 1, NULL, 30000), -FI_EAVAIL);
    return NULL;
}

static void *await_signal(void *cq)
{
    struct fi_cq_tagged_entry e;

    ck_assert_int_eq(fi_cq_sread(cq, &e, 1, NULL, 30000), -FI_EAGAIN);
    return NULL;
}

TEST(sread__signalled_beside_a_trywait)
{
    enum { ROUNDS = 100 };
    struct fid *fids[1];
    pthread_t thread;
    struct node n;

    node_open(&n, &(struct node_wish){.wait = FI_WAIT_FD});
    fids[0] = &n.received->fid;
    for (int i = 0; i < ROUNDS; i++) {
        OK(pthread_create(&thread, NULL, await_signal, n.received));
        (void)usleep(1000);
        int64_t began = now_ms();
        OK(fi_cq_signal(n.received));
        OK(fi_trywait(n.fabric, fids, 1));
        OK(pthread_join(thread, NULL));
        ck_assert_int_lt(now_ms() - began, 20000);
    }
    node_close(&n);
}

/* Whoever is about to sleep at the descriptor does not keep the news from a thread that sleeps. */
TEST(sread__beside_a_trywait)
{
    enum { ROUNDS = 100 };
    struct fid *fids[1];
    uint8_t in[SMALL];
    pthread_t thread;
    struct node n;

    node_open(&n, &(struct node_wish){.wait = FI_WAIT_FD});
    fids[0] = &n.received->fid;
    for (int i = 0; i < ROUNDS; i++) {
        POST(fi_recv(n.ep, in, SMALL, NULL, FI_ADDR_UNSPEC, in));
        OK(pthread_create(&thread, NULL, await_error, n.received));
        (void)usleep(1000);
        int64_t began = now_ms();
        OK(fi_cancel(&n.ep->fid, in));
        ck_assert_int_eq(fi_trywait(n.fabric, fids, 1), -FI_EAGAIN);
        OK(pthread_join(thread, NULL));
        ck_assert_int_lt(now_ms() - began, 20000);
        (void)take_error(n.received, in, FI_ECANCELED);
    }
    node_close(&n);
}
