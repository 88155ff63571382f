/* Endpoints that close: what they have sent arrives, and both ends are told so. */
#include "../support/own.h"
#include "node.h"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

LOAD(asleep)

/* This node alone goes on until it has a message with this tag that no receive is there for. */
static void await_unexpected(const struct node *n, uint64_t tag)
{
    const struct fi_msg_tagged m = {.addr = FI_ADDR_UNSPEC, .tag = tag};
    int64_t until = now_ms() + WITHIN_S * 1000;
    int err = FI_ENOMSG;

    while (err == FI_ENOMSG && now_ms() < until) {
        OK(fi_trecvmsg(n->ep, &m, FI_PEEK));
        err = take_alone(n->received).err;
    }
    ck_assert_int_eq(err, 0);
}

/* The node alone grants the large message that is coming to it. */
static void grant(const struct node *n, uint8_t *in, uint64_t tag)
{
    await_unexpected(n, tag);
    OK(fi_trecv(n->ep, in, LARGE, NULL, FI_ADDR_UNSPEC, tag, 0, in));
}

/* When the receiver looks, a small message has landed, behind it the large one, and the sender has
 * closed. */
TEST(close__behind_a_large_message)
{
    uint8_t *out = filled(LARGE, 2), *in = blank(LARGE), byte = 3;
    struct pair p;

    pair_open(&p, NULL);
    pass(&p.a, p.to_b, &p.b, LARGE, 1);
    POST(fi_trecv(p.b.ep, &byte, 1, NULL, FI_ADDR_UNSPEC, 3, 0, &byte));
    POST(fi_tsend(p.a.ep, out, LARGE, NULL, p.to_b, 2, out));
    grant(&p.b, in, 2);
    OK(fi_tinject(p.a.ep, &byte, 1, p.to_b, 3));
    (void)usleep(100000); /* it lands: the large one leaves only when its sender goes on */
    struct fi_cq_err_entry e = take_alone(p.a.sent);
    ck_assert_int_eq(e.err, 0);
    node_close(&p.a);
    (void)take_of(p.b.received, &byte);
    ck_assert_uint_eq(take_of(p.b.received, in).len, LARGE);
    ck_assert(pattern_holds(in, LARGE, 2));
    node_close(&p.b);
    free(in);
    free(out);
}

static void *close_node(void *node)
{
    node_close(node);
    return NULL;
}

static uint8_t byte_of(int i)
{
    return (uint8_t)(i % 100 + 1);
}

/* Messages of one byte, and receives for them. Neither node goes on. */
static void post_small(const struct pair *p, uint8_t *in, int count)
{
    for (int i = 0; i < count; i++) {
        uint8_t byte = byte_of(i);
        OK(fi_tinject(p->a.ep, &byte, 1, p->to_b, 3));
        OK(fi_trecv(p->b.ep, &in[i], 1, NULL, FI_ADDR_UNSPEC, 3, 0, &in[i]));
    }
}

static void check_small(const uint8_t *in, int count)
{
    for (int i = 0; i < count; i++)
        ck_assert_int_eq(in[i], byte_of(i));
}

/* A large message was granted, and its sender closes without having sent it. The small messages
 * behind it arrive all the same, many more than the receiver has buffers for. */
TEST(close__with_a_large_message_left)
{
    enum { COUNT = 500 };
    uint8_t *out = filled(LARGE, 2), *in = blank(LARGE), small[COUNT] = {0};
    pthread_t thread;
    int failed = 0;
    struct pair p;

    pair_open(&p, NULL);
    pass(&p.a, p.to_b, &p.b, LARGE, 1);
    POST(fi_tsend(p.a.ep, out, LARGE, NULL, p.to_b, 2, out));
    grant(&p.b, in, 2);
    post_small(&p, small, COUNT);
    OK(pthread_create(&thread, NULL, close_node, &p.a));
    (void)usleep(100000);
    for (int i = 0; i < COUNT + 1; i++) {
        struct fi_cq_err_entry e = take(p.b.received);
        ck_assert_int_eq(e.err, e.op_context == in ? FI_ECONNRESET : 0);
        failed += e.err != 0;
    }
    ck_assert_int_eq(failed, 1);
    check_small(small, COUNT);
    OK(pthread_join(thread, NULL));
    node_close(&p.b);
    free(in);
    free(out);
}

/* A small message is left: behind many that its receiver has no buffers for yet, and before many
 * whose sends have succeeded. */
TEST(close__with_a_small_message_left)
{
    enum { BEFORE = 200, BEHIND = 300 };
    uint8_t left = 9, before[BEFORE] = {0}, behind[BEHIND] = {0};
    struct iovec one = {&left, 1};
    struct fi_msg_tagged m = {.msg_iov = &one, .iov_count = 1, .tag = 9, .context = &left};
    pthread_t thread;
    struct pair p;

    pair_open(&p, NULL);
    pass(&p.a, p.to_b, &p.b, SMALL, 1);
    m.addr = p.to_b;
    post_small(&p, before, BEFORE);
    OK(fi_tsendmsg(p.a.ep, &m, FI_TRANSMIT_COMPLETE));
    post_small(&p, behind, BEHIND);
    OK(pthread_create(&thread, NULL, close_node, &p.a));
    (void)usleep(100000);
    for (int i = 0; i < BEFORE + BEHIND; i++)
        ck_assert_int_eq(take(p.b.received).err, 0);
    check_small(before, BEFORE);
    check_small(behind, BEHIND);
    OK(pthread_join(thread, NULL));
    node_close(&p.b);
}

/* The sender's way ends, because the memory of a large message cannot be read. The small messages
 * behind it arrive all the same. */
TEST(close__behind_a_large_message_without_memory)
{
    enum { COUNT = 300 };
    void *out = mmap(NULL, LARGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    uint8_t *in = blank(LARGE), small[COUNT] = {0};
    int failed = 0;
    struct pair p;

    ck_assert_ptr_ne(out, MAP_FAILED);
    pair_open(&p, NULL);
    pass(&p.a, p.to_b, &p.b, LARGE, 1);
    POST(fi_tsend(p.a.ep, out, LARGE, NULL, p.to_b, 2, out));
    grant(&p.b, in, 2);
    post_small(&p, small, COUNT);
    /* It has the grant, sends, and learns of its fault. Its close bears 5 s in which b takes
     * nothing. */
    for (int64_t until = now_ms() + 100; now_ms() < until;) {
        node_turn(&p.a);
        (void)usleep(1000);
    }
    for (int i = 0; i < COUNT + 1; i++)
        failed += take(p.b.received).err != 0;
    ck_assert_int_eq(failed, 1);
    check_small(small, COUNT);
    (void)take_error(p.a.sent, out, FI_EFAULT);
    pair_close(&p);
    OK(munmap(out, LARGE));
    free(in);
}

/* The receiver has received and closed when the sender looks for the first time. */
TEST(close__behind_the_first_message)
{
    uint8_t out = 1, in = 0;
    struct pair p;

    pair_open(&p, NULL);
    OK(fi_trecv(p.b.ep, &in, 1, NULL, FI_ADDR_UNSPEC, 1, 0, &in));
    OK(fi_tsend(p.a.ep, &out, 1, NULL, p.to_b, 1, &out));
    ck_assert_int_eq(take_alone(p.b.received).err, 0);
    node_close(&p.b);
    (void)take_of(p.a.sent, &out);
    node_close(&p.a);
}

/* What a sender has with its peer fails at the sender's end. It begins anew, while the peer has not
 * received yet what it had sent before. No send is lost that has succeeded. */
TEST(close__of_a_connection_that_is_opened_again)
{
    enum { COUNT = 1000 }; /* many more than the receiver has buffers for */
    uint8_t *large = filled(LARGE, 3), out = 7, in = 0;
    struct pair p;

    pair_open(&p, NULL);
    pass(&p.a, p.to_b, &p.b, SMALL, 1);
    for (int i = 0; i < COUNT; i++)
        OK(fi_tinject(p.a.ep, &out, 1, p.to_b, 2));
    struct rlimit before = own_leave_descriptors(0);
    ssize_t code = fi_tsend(p.a.ep, large, LARGE, NULL, p.to_b, 3, large);
    own_limit_descriptors(before);
    ck_assert_int_lt(code, 0);
    ck_assert_int_ne(code, -FI_EAGAIN);
    if (fi_tsend(p.a.ep, &out, 1, NULL, p.to_b, 4, &out) == 0)
        ck_assert_int_eq(take_alone(p.a.sent).err, 0);
    else
        POST(fi_tsend(p.a.ep, &out, 1, NULL, p.to_b, 4, &out));
    for (int i = 0; i < COUNT; i++) {
        POST(fi_trecv(p.b.ep, &in, 1, NULL, FI_ADDR_UNSPEC, 2, 0, &in));
        (void)take_of(p.b.received, &in);
    }
    POST(fi_trecv(p.b.ep, &in, 1, NULL, FI_ADDR_UNSPEC, 4, 0, &in));
    (void)take_of(p.b.received, &in);
    pair_close(&p);
    free(large);
}
