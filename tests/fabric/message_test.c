/* Messages between two endpoints: every way to send one, every kind of size, in order. */
#include "node.h"

#include <unistd.h>

LOAD(asleep)

#define DATA UINT64_C(0xfedcba9876543210)
#define TAG UINT64_C(0x8000000000001234)

PAIR_FIXTURE

/* ---- ways to send */

static size_t cut(void *bytes, size_t size, size_t limit, struct iovec piece[3])
{
    size_t count = limit < 3 ? 1 : 3, first = count == 3 ? size / 3 : 0;

    piece[0] = (struct iovec){bytes, count == 3 ? first : size};
    piece[1] = (struct iovec){(char *)bytes + first, 0};
    piece[2] = (struct iovec){(char *)bytes + first, size - first};
    return count;
}

static ssize_t send_whole(struct fid_ep *ep, void *m, size_t size, fi_addr_t to)
{
    return fi_send(ep, m, size, NULL, to, m);
}
static ssize_t send_pieces(struct fid_ep *ep, void *m, size_t size, fi_addr_t to)
{
    struct iovec piece[3];
    return fi_sendv(ep, piece, NULL, cut(m, size, p.a.info->tx_attr->iov_limit, piece), to, m);
}
static ssize_t send_struct(struct fid_ep *ep, void *m, size_t size, fi_addr_t to)
{
    struct iovec one = {m, size};
    struct fi_msg msg = {.msg_iov = &one, .iov_count = 1, .addr = to, .context = m, .data = DATA};
    return fi_sendmsg(ep, &msg, FI_REMOTE_CQ_DATA | FI_COMPLETION | FI_TRANSMIT_COMPLETE);
}
static ssize_t send_data(struct fid_ep *ep, void *m, size_t size, fi_addr_t to)
{
    return fi_senddata(ep, m, size, NULL, DATA, to, m);
}
static ssize_t inject(struct fid_ep *ep, void *m, size_t size, fi_addr_t to)
{
    return fi_inject(ep, m, size, to);
}
static ssize_t inject_data(struct fid_ep *ep, void *m, size_t size, fi_addr_t to)
{
    return fi_injectdata(ep, m, size, DATA, to);
}
static ssize_t tsend_whole(struct fid_ep *ep, void *m, size_t size, fi_addr_t to)
{
    return fi_tsend(ep, m, size, NULL, to, TAG, m);
}
static ssize_t tsend_pieces(struct fid_ep *ep, void *m, size_t size, fi_addr_t to)
{
    struct iovec piece[3];
    return fi_tsendv(ep, piece, NULL, cut(m, size, p.a.info->tx_attr->iov_limit, piece), to, TAG,
                     m);
}
static ssize_t tsend_struct(struct fid_ep *ep, void *m, size_t size, fi_addr_t to)
{
    struct iovec one = {m, size};
    struct fi_msg_tagged msg = {
        .msg_iov = &one, .iov_count = 1, .addr = to, .tag = TAG, .context = m, .data = DATA};
    return fi_tsendmsg(ep, &msg, FI_REMOTE_CQ_DATA | FI_COMPLETION);
}
static ssize_t tsend_data(struct fid_ep *ep, void *m, size_t size, fi_addr_t to)
{
    return fi_tsenddata(ep, m, size, NULL, DATA, to, TAG, m);
}
static ssize_t tinject(struct fid_ep *ep, void *m, size_t size, fi_addr_t to)
{
    return fi_tinject(ep, m, size, to, TAG);
}
static ssize_t tinject_data(struct fid_ep *ep, void *m, size_t size, fi_addr_t to)
{
    return fi_tinjectdata(ep, m, size, DATA, to, TAG);
}

static const struct way {
    ssize_t (*send)(struct fid_ep *ep, void *m, size_t size, fi_addr_t to);
    bool is_tagged, has_data, is_injected;
} ways[] = {
    {send_whole, false, false, false}, {send_pieces, false, false, false},
    {send_struct, false, true, false}, {send_data, false, true, false},
    {inject, false, false, true},      {inject_data, false, true, true},
    {tsend_whole, true, false, false}, {tsend_pieces, true, false, false},
    {tsend_struct, true, true, false}, {tsend_data, true, true, false},
    {tinject, true, false, true},      {tinject_data, true, true, true},
};

/* Also in pieces, into a buffer that is larger by 10 bytes. */
static void receive(struct fid_ep *ep, uint8_t *m, size_t size, bool is_tagged, bool is_cut)
{
    struct iovec piece[3];
    size_t count = cut(m, size + 10, is_cut ? p.a.info->rx_attr->iov_limit : 1, piece);

    if (is_tagged)
        POST(fi_trecvv(ep, piece, NULL, count, FI_ADDR_UNSPEC, TAG, 0, m));
    else
        POST(fi_recvv(ep, piece, NULL, count, FI_ADDR_UNSPEC, m));
}

static void check_completion(const struct fi_cq_err_entry *e, const struct way *w, size_t size)
{
    uint64_t kind = w->is_tagged ? FI_TAGGED : FI_MSG;

    ck_assert_uint_eq(e->flags & (FI_RECV | FI_SEND | FI_TAGGED | FI_MSG), FI_RECV | kind);
    ck_assert_uint_eq(e->len, size);
    ck_assert_int_eq((e->flags & FI_REMOTE_CQ_DATA) != 0, w->has_data);
    if (w->has_data)
        ck_assert_uint_eq(e->data, DATA);
    if (w->is_tagged)
        ck_assert_uint_eq(e->tag, TAG);
}

static void trip(const struct node *from, fi_addr_t to, const struct node *at, size_t size,
                 const struct way *w)
{
    uint8_t *out = filled(size, size), *in = blank(size + 10);

    receive(at->ep, in, size, w->is_tagged, size % 2 == 1);
    POST(w->send(from->ep, out, size, to));
    if (w->is_injected) /* the memory is the sender's again */
        memset(out, 0x11, size);
    struct fi_cq_err_entry e = take_of(at->received, in);
    check_completion(&e, w, size);
    ck_assert(pattern_holds(in, size, size));
    ck_assert(pattern_is_even(in + size, 10, 0xEE));
    if (w->is_injected) {
        ck_assert_int_eq(fi_cq_read(from->sent, &e, 1), -FI_EAGAIN);
    } else {
        e = take_of(from->sent, out);
        ck_assert_uint_eq(e.flags & (FI_RECV | FI_SEND | FI_TAGGED | FI_MSG),
                          FI_SEND | (w->is_tagged ? FI_TAGGED : FI_MSG));
    }
    free(in);
    free(out);
}

static const size_t sizes[] = {0,     1,     2,     3,     7,      8,      63,      64,     65,
                               1023,  4096,  4097,  8191,  16000,  16351,  16352,   16353,  16383,
                               16384, 16385, 65535, 65536, 100001, 262144, 1048577, 4194307};

TEST(message__in_every_way_in_every_size, .rows = ROWS(ways))
{
    for (int i = 0; i < ROWS(sizes); i++)
        if (!ways[_i].is_injected || sizes[i] <= p.a.info->tx_attr->inject_size) {
            trip(&p.a, p.to_b, &p.b, sizes[i], &ways[_i]);
            trip(&p.b, p.to_a, &p.a, sizes[i], &ways[_i]);
        }
    if (ways[_i].is_injected)
        trip(&p.a, p.to_b, &p.b, p.a.info->tx_attr->inject_size, &ways[_i]);
}

/* Every size near where a message becomes too large for its envelope, wherever that is. */
TEST(message__about_the_eager_limit)
{
    for (size_t size = 16384 - 100; size < 16384 + 50; size++)
        pass(&p.a, p.to_b, &p.b, size, size);
}

TEST(inject__too_large_is_refused)
{
    size_t limit = p.a.info->tx_attr->inject_size;
    uint8_t *out = filled(limit + 1, 1);
    struct iovec one = {out, limit + 1};
    struct fi_msg msg = {.msg_iov = &one, .iov_count = 1, .addr = p.to_b};

    ck_assert_int_lt(fi_inject(p.a.ep, out, limit + 1, p.to_b), 0);
    ck_assert_int_ne(fi_inject(p.a.ep, out, limit + 1, p.to_b), -FI_EAGAIN);
    ck_assert_int_lt(fi_tinjectdata(p.a.ep, out, limit + 1, 1, p.to_b, 1), 0);
    ck_assert_int_lt(fi_sendmsg(p.a.ep, &msg, FI_INJECT), 0);
    pass(&p.a, p.to_b, &p.b, SMALL, 1);
    free(out);
}

/* With the flag the memory is free at once, and there is a completion; also if that says that the
 * message has arrived, was delivered, or matched. */
TEST(inject__by_flag, .rows = 4)
{
    static const uint64_t flags[] = {0, FI_TRANSMIT_COMPLETE, FI_DELIVERY_COMPLETE,
                                     FI_MATCH_COMPLETE};
    uint8_t *out = filled(SMALL, 1), *in = blank(SMALL);
    struct iovec piece[3];
    struct fi_msg msg = {.msg_iov = piece,
                         .iov_count = cut(out, SMALL, p.a.info->tx_attr->iov_limit, piece),
                         .addr = p.to_b,
                         .context = out};

    ck_assert_uint_ge(p.a.info->tx_attr->inject_size, SMALL);
    POST(fi_sendmsg(p.a.ep, &msg, FI_INJECT | FI_COMPLETION | flags[_i]));
    memset(out, 0x11, SMALL);
    POST(fi_recv(p.b.ep, in, SMALL, NULL, FI_ADDR_UNSPEC, in));
    ck_assert_uint_eq(take_of(p.b.received, in).len, SMALL);
    ck_assert(pattern_holds(in, SMALL, 1));
    (void)take_of(p.a.sent, out);
    free(in);
    free(out);
}

/* The completion that says that the message has arrived comes no earlier. */
TEST(inject__that_tells_of_the_arrival)
{
    enum { COUNT = 100 }; /* more than the receiver has buffers for */
    uint8_t *out = filled(SMALL, 1), *in = blank(SMALL), byte = 1;
    struct iovec one = {out, SMALL};
    struct fi_msg msg = {.msg_iov = &one, .iov_count = 1, .addr = p.to_b, .context = out};
    struct fi_cq_tagged_entry e;

    pass(&p.a, p.to_b, &p.b, SMALL, 1);
    for (int i = 0; i < COUNT; i++)
        OK(fi_tinject(p.a.ep, &byte, 1, p.to_b, 2));
    OK(fi_sendmsg(p.a.ep, &msg, FI_INJECT | FI_COMPLETION | FI_TRANSMIT_COMPLETE));
    memset(out, 0x11, SMALL);
    for (int i = 0; i < 100; i++) {
        ck_assert_int_eq(fi_cq_read(p.a.sent, &e, 1), -FI_EAGAIN);
        (void)usleep(1000);
    }
    POST(fi_recv(p.b.ep, in, SMALL, NULL, FI_ADDR_UNSPEC, in));
    ck_assert_uint_eq(take_of(p.b.received, in).len, SMALL);
    ck_assert(pattern_holds(in, SMALL, 1));
    (void)take_of(p.a.sent, out);
    free(in);
    free(out);
}

/* ---- order (FI_ORDER_SAS): the n-th send goes to the n-th receive, whatever their sizes */

enum { MANY = 300 };

static size_t nth_size(int n)
{
    return n % 7 == 3 ? LARGE : n % 5 == 1 ? 20000 : (size_t)n;
}

static void post_all(uint8_t *in[MANY])
{
    for (int i = 0; i < MANY; i++) {
        in[i] = blank(nth_size(i));
        POST(fi_trecv(p.b.ep, in[i], nth_size(i), NULL, p.to_a, TAG, 0, in[i]));
    }
}

TEST(order__of_sends_is_that_of_receives, .rows = 2)
{
    static uint8_t *in[MANY], *out[MANY];
    bool is_unexpected = _i == 1;

    if (!is_unexpected)
        post_all(in);
    for (int i = 0; i < MANY; i++) {
        out[i] = filled(nth_size(i), (uint64_t)i);
        POST(fi_tsend(p.a.ep, out[i], nth_size(i), NULL, p.to_b, TAG, out[i]));
    }
    if (is_unexpected)
        post_all(in);
    for (int i = 0; i < 2 * MANY; i++)
        ck_assert_int_eq(take(i < MANY ? p.b.received : p.a.sent).err, 0);
    for (int i = 0; i < MANY; i++) {
        ck_assert_msg(pattern_holds(in[i], nth_size(i), (uint64_t)i), "message %d is another", i);
        free(in[i]);
        free(out[i]);
    }
}

/* ---- one process, several endpoints */

TEST(self__sends_to_itself, .rows = 4)
{
    static const size_t size[] = {0, SMALL, LARGE, 4194304};
    fi_addr_t self = node_meet(&p.a, &p.a);
    uint8_t *in = blank(size[_i]), *out = filled(size[_i], 5);

    pass(&p.a, self, &p.a, size[_i], 3);
    POST(fi_send(p.a.ep, out, size[_i], NULL, self, out)); /* unexpected */
    nodes_turn();
    POST(fi_recv(p.a.ep, in, size[_i], NULL, self, in));
    ck_assert_uint_eq(take_of(p.a.received, in).len, size[_i]);
    (void)take_of(p.a.sent, out);
    ck_assert(pattern_holds(in, size[_i], 5));
    free(in);
    free(out);
}

TEST(endpoints__of_one_domain)
{
    enum { COUNT = 4 };
    struct node n[COUNT];
    fi_addr_t at[COUNT];

    for (int i = 0; i < COUNT; i++) {
        node_join(&n[i], &p.a, NULL);
        at[i] = node_meet(&p.a, &n[i]);
    }
    for (int i = 0; i < COUNT * COUNT; i++)
        pass(&n[i / COUNT], at[i % COUNT], &n[i % COUNT], i % 2 ? SMALL : LARGE, (uint64_t)i);
    node_close(&n[1]);
    pass(&n[0], at[2], &n[2], LARGE, 1);
    node_close(&n[0]);
    node_close(&n[2]);
    node_close(&n[3]);
    pass(&p.a, p.to_b, &p.b, LARGE, 1);
}

/* Both directions at once, large: neither waits for the other. */
TEST(message__both_ways_at_once)
{
    enum { SIZE = 4194304, COUNT = 4 };
    uint8_t *m[4][COUNT];

    for (int i = 0; i < COUNT; i++) {
        for (int j = 0; j < 4; j++)
            m[j][i] = j < 2 ? blank(SIZE) : filled(SIZE, (uint64_t)i);
        POST(fi_tsend(p.a.ep, m[2][i], SIZE, NULL, p.to_b, TAG, NULL));
        POST(fi_tsend(p.b.ep, m[3][i], SIZE, NULL, p.to_a, TAG, NULL));
        POST(fi_trecv(p.a.ep, m[0][i], SIZE, NULL, p.to_b, TAG, 0, NULL));
        POST(fi_trecv(p.b.ep, m[1][i], SIZE, NULL, p.to_a, TAG, 0, NULL));
    }
    struct fid_cq *cq[] = {p.a.sent, p.b.sent, p.a.received, p.b.received};
    for (int i = 0; i < 4 * COUNT; i++)
        ck_assert_int_eq(take(cq[i % 4]).err, 0);
    for (int i = 0; i < 4 * COUNT; i++) {
        ck_assert(pattern_holds(m[i % 4][i / 4], SIZE, (uint64_t)(i / 4)));
        free(m[i % 4][i / 4]);
    }
}

/* Closed with receives posted, and with messages that nobody has received. */
TEST(close__with_work_left)
{
    struct pair q;
    uint8_t *out = filled(LARGE, 1), *in = blank(LARGE);

    pair_open(&q, NULL);
    pass(&q.a, q.to_b, &q.b, SMALL, 1);
    OK(fi_trecv(q.b.ep, in, LARGE, NULL, FI_ADDR_UNSPEC, 1, 0, in));
    POST(fi_tsend(q.a.ep, out, SMALL, NULL, q.to_b, 2, NULL));
    POST(fi_tsend(q.a.ep, out, LARGE, NULL, q.to_b, 2, NULL));
    for (int i = 0; i < 100; i++)
        nodes_turn();
    pair_close(&q);
    free(in);
    free(out);
}

/* More sends wait for their matches than answers can be under way. */
TEST(message__many_that_are_told_of_their_match)
{
    enum { COUNT = 6000 };
    struct fi_msg_tagged out = {.addr = p.to_b, .tag = 3};

    for (int i = 0; i < COUNT; i++)
        POST(fi_tsendmsg(p.a.ep, &out, FI_COMPLETION | FI_MATCH_COMPLETE));
    take_nothing(p.b.received); /* all of them are there */
    for (int i = 0; i < COUNT; i++)
        POST(fi_trecv(p.b.ep, NULL, 0, NULL, FI_ADDR_UNSPEC, 3, 0, NULL));
    for (int i = 0; i < COUNT; i++)
        (void)take_of(p.b.received, NULL);
    for (int i = 0; i < COUNT; i++)
        (void)take_of(p.a.sent, NULL);
}
