/* A rank that is killed: what the others have with it ends with an error, and nothing else does. */
#include "ranks.h"

#include <stdio.h>
#include <unistd.h>

LOAD(asleep)

enum { BYTES = 4 << 20 };

/* Exchanges a message with rank 0, then answers nothing. */
static void live(struct rank *r)
{
    uint8_t byte = 1;

    POST(fi_tsend(r->node.ep, &byte, 1, NULL, r->to[0], (uint64_t)r->number, &byte));
    (void)take_of(r->node.sent, &byte);
    if (r->number == 1) {
        ranks_sync(r);
        for (;;)
            nodes_turn();
    }
    ranks_sync(r);
    uint8_t *m = blank(LARGE); /* rank 2 answers until it gets an empty message */
    for (size_t size = 1; size > 0;) {
        POST(fi_trecv(r->node.ep, m, LARGE, NULL, r->to[0], 7, 0, m));
        size = take_of(r->node.received, m).len;
        POST(fi_tsend(r->node.ep, m, size, NULL, r->to[0], 8, m));
        (void)take_of(r->node.sent, m);
    }
    free(m);
}

/* The first time before anybody dies: a rank that gets no processor for five seconds is not found,
 * and here only the dead one is to be lost. */
static void ask_other(struct rank *r, size_t size)
{
    uint8_t *out = filled(LARGE, 2), *in = blank(LARGE);

    POST(fi_trecv(r->node.ep, in, LARGE, NULL, r->to[2], 8, 0, in));
    POST(fi_tsend(r->node.ep, out, size, NULL, r->to[2], 7, out));
    ck_assert_uint_eq(take_of(r->node.received, in).len, size);
    (void)take_of(r->node.sent, out);
    ck_assert(pattern_holds(in, size, 2));
    free(in);
    free(out);
}

/* ---- what rank 0 has with the dead one; each returns the error, of the call or its completion */

static uint8_t bytes[BYTES];

/* Those that left before it died, or stay with the provider, may succeed. */
static int send_small(struct rank *r)
{
    int64_t until = now_ms() + WITHIN_S * 1000;
    int err = 0, sent = 0;

    while (err == 0 && now_ms() < until) {
        ssize_t code = fi_tsend(r->node.ep, bytes, SMALL, NULL, r->to[1], 5, bytes);
        if (code == 0)
            err = take(r->node.sent).err;
        else if (code != -FI_EAGAIN)
            err = (int)-code;
        (void)printf("%d", ++sent % 10);
        (void)fflush(stdout);
        (void)usleep(10000);
        nodes_turn();
    }
    return err;
}

/* The call itself fails where the process had no processor until its peer was known to be gone. */
static int send_large(struct rank *r)
{
    ssize_t code = fi_tsend(r->node.ep, bytes, BYTES, NULL, r->to[1], 5, bytes);

    return code == 0 ? take(r->node.sent).err : (int)-code;
}

static int receive_from_it(struct rank *r)
{
    POST(fi_trecv(r->node.ep, bytes, BYTES, NULL, r->to[1], 5, 0, bytes));
    return take(r->node.received).err;
}

/* The second one is posted when nothing of the dead one is left that could end it. */
static int receive_after(struct rank *r)
{
    ck_assert_int_gt(send_large(r), 0);
    ck_assert_int_gt(receive_from_it(r), 0);
    return receive_from_it(r);
}

/* Whether it has sent something is asked again and again, as MPI_Probe does: without an end that
 * would hang. */
static int look_for_it(struct rank *r)
{
    const struct fi_msg_tagged m = {.addr = r->to[1], .tag = 5};
    int64_t until = now_ms() + WITHIN_S * 1000;
    ssize_t code = 0;

    while (code == 0 && now_ms() < until) {
        code = fi_trecvmsg(r->node.ep, &m, FI_PEEK);
        if (code == 0)
            ck_assert_int_eq(take(r->node.received).err, FI_ENOMSG);
        nodes_turn();
    }
    return (int)-code;
}

/* What was already under way when it died. */
static int send_before(struct rank *r)
{
    return take(r->node.sent).err;
}

static int receive_before(struct rank *r)
{
    return take(r->node.received).err;
}

static const struct {
    int (*end)(struct rank *r);
    bool is_sent, is_posted;
    const char *name;
} ways[] = {{send_small, false, false, "small sends"},
            {send_large, false, false, "a large send"},
            {receive_from_it, false, false, "a receive from it"},
            {receive_after, false, false, "a receive, after its death was told"},
            {look_for_it, false, false, "a look for its message"},
            {send_before, true, false, "a large send, begun before"},
            {receive_before, false, true, "a receive from it, posted before"}};

/* Rows: over UDP, by memory. */
TEST(death__ends_what_is_with_it, .rows = 2 * ROWS(ways))
{
    const struct ranks_plan plan = {.count = 3, .is_memory = _i % 2 == 1, .part = live};
    uint8_t in[2];
    struct rank r;

    ranks_start(&r, &plan);
    for (uint64_t i = 1; i < 3; i++) {
        POST(fi_trecv(r.node.ep, in, 1, NULL, r.to[i], i, 0, in));
        (void)take_of(r.node.received, in);
    }
    ranks_sync(&r);
    ask_other(&r, LARGE);
    if (ways[_i / 2].is_sent)
        POST(fi_tsend(r.node.ep, bytes, BYTES, NULL, r.to[1], 5, bytes));
    if (ways[_i / 2].is_posted)
        POST(fi_trecv(r.node.ep, bytes, BYTES, NULL, r.to[1], 5, 0, bytes));
    for (int i = 0; i < 100; i++)
        nodes_turn();
    ranks_kill(&r, 1);
    int64_t began = now_ms();
    int err = ways[_i / 2].end(&r);
    (void)printf("%s: %s, after %.1f s\n", ways[_i / 2].name, fi_strerror(err),
                 (double)(now_ms() - began) / 1000);
    ck_assert_int_gt(err, 0);
    ask_other(&r, SMALL);
    ask_other(&r, LARGE);
    ask_other(&r, 0);
    ranks_finish(&r);
}

/* A receive from anybody stays posted when somebody dies, and takes the next message. */
TEST(death__leaves_a_receive_from_anybody)
{
    const struct ranks_plan plan = {.count = 3, .is_memory = true, .part = live};
    uint8_t in[2], any[SMALL], out[1] = {3};
    struct rank r;

    ranks_start(&r, &plan);
    for (uint64_t i = 1; i < 3; i++) {
        POST(fi_trecv(r.node.ep, in, 1, NULL, r.to[i], i, 0, in));
        (void)take_of(r.node.received, in);
    }
    ranks_sync(&r);
    ask_other(&r, SMALL);
    POST(fi_trecv(r.node.ep, any, SMALL, NULL, FI_ADDR_UNSPEC, 8, 0, any));
    ranks_kill(&r, 1);
    ck_assert_int_gt(send_large(&r), 0);
    POST(fi_tsend(r.node.ep, out, 1, NULL, r.to[2], 7, out));
    (void)take_of(r.node.received, any);
    (void)take_of(r.node.sent, out);
    ask_other(&r, 0);
    ranks_finish(&r);
}

/* Sends no byte of a large message, because it does not look for the grant. */
static void announce(struct rank *r)
{
    OK(fi_send(r->node.ep, bytes, LARGE, NULL, r->to[0], bytes));
    for (;;)
        (void)pause();
}

static void await_announced(struct rank *r)
{
    const struct fi_msg m = {.addr = FI_ADDR_UNSPEC};
    int64_t until = now_ms() + WITHIN_S * 1000;
    int err = FI_ENOMSG;

    while (err == FI_ENOMSG && now_ms() < until) {
        POST(fi_recvmsg(r->node.ep, &m, FI_PEEK));
        err = take(r->node.received).err;
    }
    ck_assert_int_eq(err, 0);
}

/* A buffer for many messages, one of which is under way: both end, and because of the death. */
TEST(death__ends_a_receive_of_many)
{
    const struct ranks_plan plan = {.count = 2, .is_memory = true, .part = announce};
    struct iovec one = {bytes, BYTES};
    struct fi_msg m = {.msg_iov = &one, .iov_count = 1, .context = bytes};
    struct rank r;

    ranks_start(&r, &plan);
    await_announced(&r);
    m.addr = r.to[1];
    POST(fi_recvmsg(r.node.ep, &m, FI_MULTI_RECV));
    for (int i = 0; i < 100; i++)
        nodes_turn();
    ranks_kill(&r, 1);
    for (int i = 0; i < 2; i++) {
        struct fi_cq_err_entry e = take(r.node.received);
        ck_assert_ptr_eq(e.op_context, bytes);
        ck_assert_int_gt(e.err, 0);
        ck_assert_int_ne(e.err, FI_ECANCELED);
    }
    ranks_finish(&r);
}

/* Sends until no more is taken for a second. */
static void fill(struct rank *r)
{
    size_t size = r->node.info->tx_attr->inject_size;

    for (int64_t moved = now_ms(); now_ms() < moved + 1000;) {
        ssize_t code = fi_tinject(r->node.ep, bytes, size, r->to[0], 1);
        if (code == 0)
            moved = now_ms();
        else
            nodes_turn();
        ck_assert(code == 0 || code == -FI_EAGAIN);
    }
    ranks_sync(r);
    for (;;)
        nodes_turn();
}

/* It has sent so much without a receive that the rest waits for room. The receive of what it has
 * not sent ends, and what it has sent is there. */
TEST(death__of_one_whose_messages_wait_for_room)
{
    const struct ranks_plan plan = {.count = 2, .is_memory = true, .part = fill};
    struct rank r;

    ranks_start(&r, &plan);
    ranks_sync(&r);
    POST(fi_trecv(r.node.ep, bytes, BYTES, NULL, r.to[1], 5, 0, bytes));
    take_nothing(r.node.received);
    ranks_kill(&r, 1);
    struct fi_cq_err_entry e = take(r.node.received);
    ck_assert_int_gt(e.err, 0);
    ck_assert_ptr_eq(e.op_context, bytes);
    POST(fi_trecv(r.node.ep, bytes, BYTES, NULL, r.to[1], 1, 0, bytes));
    ck_assert_uint_eq(take_of(r.node.received, bytes).len, r.node.info->tx_attr->inject_size);
    ranks_finish(&r);
}

/* The message's sender is known of, though no address names it. */
static void await_message(struct rank *r, uint64_t tag)
{
    struct fi_msg_tagged m = {.addr = FI_ADDR_UNSPEC, .tag = tag};
    int64_t until = now_ms() + WITHIN_S * 1000;
    int err = FI_ENOMSG;

    while (err == FI_ENOMSG && now_ms() < until) {
        POST(fi_trecvmsg(r->node.ep, &m, FI_PEEK));
        err = take(r->node.received).err;
        nodes_turn();
    }
    ck_assert_int_eq(err, 0);
}

static void insert_again(struct rank *r, int number)
{
    uint8_t name[NAME_BYTES];
    size_t size = sizeof(name);

    OK(fi_av_lookup(r->node.av, r->to[number], name, &size));
    OK(fi_av_remove(r->node.av, &r->to[number], 1, 0));
    r->to[number] = node_insert(&r->node, name);
}

/* An address that is inserted again is another rank's, whatever is left of the dead one. */
TEST(death__ends_with_the_address)
{
    const struct ranks_plan plan = {.count = 3, .is_memory = true, .part = live};
    uint8_t in[2];
    struct rank r;

    ranks_start(&r, &plan);
    POST(fi_trecv(r.node.ep, in, 1, NULL, r.to[2], 2, 0, in));
    (void)take_of(r.node.received, in);
    await_message(&r, 1);
    ranks_sync(&r);
    ask_other(&r, SMALL);
    ranks_kill(&r, 1);
    ck_assert_int_gt(send_large(&r), 0);
    ck_assert_int_gt(receive_from_it(&r), 0);
    insert_again(&r, 1);
    POST(fi_trecv(r.node.ep, bytes, BYTES, NULL, r.to[1], 5, 0, bytes));
    take_nothing(r.node.received);
    ask_other(&r, 0);
    ranks_finish(&r);
}
