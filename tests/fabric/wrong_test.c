/* Calls that are wrong are refused, and nothing else changes. */
#include "../support/own.h"
#include "node.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <zcrp.h>

static struct pair p;
static uint8_t bytes[SMALL];

static void open_pair(void)
{
    pair_open(&p, NULL);
}

/* Whatever was refused, messages still pass. */
static void close_pair(void)
{
    pass(&p.a, p.to_b, &p.b, SMALL, 1);
    pass(&p.b, p.to_a, &p.a, LARGE, 1);
    take_nothing(p.a.sent);
    take_nothing(p.b.received);
    pair_close(&p);
}

FIXTURE(open_pair, close_pair)

static void check_refused(ssize_t code)
{
    ck_assert_int_lt(code, 0);
    ck_assert_int_ne(code, -FI_EAGAIN);
}

TEST(wrong__sizes)
{
    size_t most = p.a.info->ep_attr->max_msg_size;

    if (most == SIZE_MAX)
        return;
    check_refused(fi_send(p.a.ep, bytes, most + 1, NULL, p.to_b, bytes));
    check_refused(fi_tsend(p.a.ep, bytes, most + 1, NULL, p.to_b, 1, bytes));
    check_refused(fi_senddata(p.a.ep, bytes, most + 1, NULL, 1, p.to_b, bytes));
    struct iovec piece[2] = {{bytes, most}, {bytes, 1}};
    if (p.a.info->tx_attr->iov_limit >= 2)
        check_refused(fi_sendv(p.a.ep, piece, NULL, 2, p.to_b, bytes));
}

TEST(wrong__numbers_of_pieces)
{
    static struct iovec piece[10000];

    check_refused(fi_sendv(p.a.ep, piece, NULL, p.a.info->tx_attr->iov_limit + 1, p.to_b, NULL));
    check_refused(fi_tsendv(p.a.ep, piece, NULL, 10000, p.to_b, 1, NULL));
    check_refused(fi_recvv(p.a.ep, piece, NULL, p.a.info->rx_attr->iov_limit + 1, p.to_b, NULL));
    check_refused(fi_trecvv(p.a.ep, piece, NULL, 10000, p.to_b, 1, 0, NULL));
}

TEST(wrong__flags)
{
    static const uint64_t of_sends[] = {FI_PEEK, FI_MULTI_RECV, FI_CLAIM, FI_DISCARD,
                                        UINT64_C(1) << 40};
    static const uint64_t of_receives[] = {FI_CLAIM, FI_DISCARD, FI_INJECT, FI_REMOTE_CQ_DATA};
    struct iovec one = {bytes, SMALL};
    struct fi_msg m = {.msg_iov = &one, .iov_count = 1, .addr = p.to_b};
    struct fi_context context;
    struct fi_msg_tagged t = {
        .msg_iov = &one, .iov_count = 1, .addr = p.to_b, .tag = 1, .context = &context};

    for (int i = 0; i < ROWS(of_sends); i++) {
        check_refused(fi_sendmsg(p.a.ep, &m, of_sends[i]));
        check_refused(fi_tsendmsg(p.a.ep, &t, of_sends[i]));
    }
    for (int i = 0; i < ROWS(of_receives); i++)
        check_refused(fi_recvmsg(p.b.ep, &m, of_receives[i]));
    check_refused(fi_trecvmsg(p.b.ep, &t, FI_DISCARD));
    check_refused(fi_trecvmsg(p.b.ep, &t, FI_REMOTE_CQ_DATA));
}

/* A claim of what was never claimed. */
TEST(wrong__claim)
{
    struct fi_context context = {{0}};
    struct iovec one = {bytes, SMALL};
    struct fi_msg_tagged t = {
        .msg_iov = &one, .iov_count = 1, .addr = FI_ADDR_UNSPEC, .tag = 1, .context = &context};

    if (fi_trecvmsg(p.b.ep, &t, FI_CLAIM) == 0)
        ck_assert_int_gt(take(p.b.received).err, 0);
}

/* A send that fails at this end tells nothing of the peer, whose message still comes. */
TEST(wrong__send_without_a_descriptor)
{
    POST(fi_trecv(p.a.ep, bytes, SMALL, NULL, p.to_b, 5, 0, bytes));
    struct rlimit before = own_leave_descriptors(0);
    check_refused(fi_tsend(p.a.ep, bytes, SMALL, NULL, p.to_b, 5, NULL));
    own_limit_descriptors(before);
    take_nothing(p.a.received);
    POST(fi_tsend(p.b.ep, NULL, 0, NULL, p.to_a, 5, NULL));
    (void)take_of(p.b.sent, NULL);
    (void)take_of(p.a.received, bytes);
}

/* Another send, which is under way, fails with it, and is told later: errno is about something else
 * by then. */
TEST(wrong__large_send_without_a_descriptor)
{
    struct iovec one = {bytes, SMALL};
    const struct fi_msg_tagged awaited = {
        .msg_iov = &one, .iov_count = 1, .addr = p.to_b, .tag = 5, .context = bytes};
    uint8_t *large = filled(LARGE, 1);

    OK(fi_tsendmsg(p.a.ep, &awaited, FI_TRANSMIT_COMPLETE)); /* the peer does not go on */
    struct rlimit before = own_leave_descriptors(0);
    ck_assert_int_eq(fi_tsend(p.a.ep, large, LARGE, NULL, p.to_b, 5, NULL), -EMFILE);
    own_limit_descriptors(before);
    struct fi_cq_err_entry e = take_alone(p.a.sent);
    ck_assert_ptr_eq(e.op_context, bytes);
    ck_assert_int_eq(e.err, FI_EIO);
    ck_assert_int_eq(e.prov_errno, ZCRP_ERROR_SYSTEM);
    free(large);
}

/* The send fails alone: small ones behind it have succeeded, and arrive. */
TEST(wrong__send_of_memory_that_cannot_be_read)
{
    enum { BEHIND = 10 };
    void *none = mmap(NULL, SMALL, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct iovec one = {none, SMALL};
    const struct fi_msg_tagged m = {
        .msg_iov = &one, .iov_count = 1, .addr = p.to_b, .tag = 5, .context = none};

    ck_assert_ptr_ne(none, MAP_FAILED);
    pass(&p.a, p.to_b, &p.b, SMALL, 1);
    OK(fi_tsendmsg(p.a.ep, &m, FI_TRANSMIT_COMPLETE));
    for (int i = 0; i < BEHIND; i++) {
        OK(fi_tinject(p.a.ep, bytes, SMALL, p.to_b, 6));
        OK(fi_trecv(p.b.ep, bytes, SMALL, NULL, FI_ADDR_UNSPEC, 6, 0, bytes));
    }
    for (int i = 0; i < BEHIND; i++)
        (void)take_of(p.b.received, bytes);
    (void)take_error(p.a.sent, none, FI_EFAULT);
    OK(munmap(none, SMALL));
}

/* Empty messages need no memory. */
TEST(null__with_nothing)
{
    struct fi_msg m = {.addr = p.to_b};

    POST(fi_recv(p.b.ep, NULL, 0, NULL, FI_ADDR_UNSPEC, NULL));
    POST(fi_send(p.a.ep, NULL, 0, NULL, p.to_b, NULL));
    POST(fi_recvv(p.b.ep, NULL, NULL, 0, FI_ADDR_UNSPEC, NULL));
    POST(fi_sendmsg(p.a.ep, &m, 0));
    for (int i = 0; i < 2; i++) {
        ck_assert_uint_eq(take_of(p.b.received, NULL).len, 0);
        (void)take_of(p.a.sent, NULL);
    }
    POST(fi_inject(p.a.ep, NULL, 0, p.to_b));
    POST(fi_recv(p.b.ep, bytes, SMALL, NULL, FI_ADDR_UNSPEC, NULL));
    ck_assert_uint_eq(take_of(p.b.received, NULL).len, 0);
}

TEST(wrong__attributes)
{
    struct fi_cq_attr format = {.format = 99}, wait = {.wait_obj = 99};
    struct fi_av_attr type = {.type = 99};
    struct fi_cntr_attr events = {.events = 99};
    struct fid_cntr *counter;
    struct fid_cq *cq;
    struct fid_av *av;

    check_refused(fi_cq_open(p.a.domain, &format, &cq, NULL));
    check_refused(fi_cq_open(p.a.domain, &wait, &cq, NULL));
    check_refused(fi_av_open(p.a.domain, &type, &av, NULL));
    check_refused(fi_cntr_open(p.a.domain, &events, &counter, NULL));
}

/* An endpoint that is not enabled, or has too little to be so. */
TEST(wrong__endpoint_that_is_not_ready)
{
    struct fid_ep *ep;

    OK(fi_endpoint(p.a.domain, p.a.info, &ep, NULL));
    check_refused(fi_recv(ep, bytes, SMALL, NULL, FI_ADDR_UNSPEC, NULL));
    check_refused(fi_tsend(ep, bytes, SMALL, NULL, p.to_b, 1, NULL));
    check_refused(fi_enable(ep));
    OK(fi_ep_bind(ep, &p.a.av->fid, 0));
    check_refused(fi_enable(ep));
    check_refused(fi_ep_bind(ep, &p.a.domain->fid, 0));
    OK(fi_ep_bind(ep, &p.a.sent->fid, FI_TRANSMIT | FI_RECV));
    OK(fi_enable(ep));
    check_refused(fi_ep_bind(ep, &p.a.received->fid, FI_RECV));
    OK(fi_close(&ep->fid));
}

/* Nothing is closed while something uses it. */
TEST(wrong__close_in_use)
{
    struct node n;

    node_open(&n, &(struct node_wish){.has_counters = true});
    ck_assert_int_eq(fi_close(&n.sent->fid), -FI_EBUSY);
    ck_assert_int_eq(fi_close(&n.received->fid), -FI_EBUSY);
    ck_assert_int_eq(fi_close(&n.sends->fid), -FI_EBUSY);
    ck_assert_int_eq(fi_close(&n.av->fid), -FI_EBUSY);
    ck_assert_int_eq(fi_close(&n.domain->fid), -FI_EBUSY);
    ck_assert_int_eq(fi_close(&n.fabric->fid), -FI_EBUSY);
    node_close(&n);
}

/* libfabric calls these without a look whether the provider has them. */
TEST(wrong__calls_that_there_are_not)
{
    struct node n;
    struct fid_mr *mr;
    struct fid_eq *eq;
    struct fi_eq_attr attr = {.wait_obj = FI_WAIT_NONE};
    struct fid_ep *context;
    void *ops;

    node_open(&n, &(struct node_wish){.has_counters = true});
    OK(fi_mr_reg(n.domain, bytes, SMALL, FI_SEND, 0, 0, 0, &mr, NULL));
    OK(fi_eq_open(n.fabric, &attr, &eq, NULL));
    struct fid *fids[] = {&n.ep->fid, &n.sent->fid,   &n.sends->fid,  &n.av->fid,
                          &mr->fid,   &n.domain->fid, &n.fabric->fid, &eq->fid};
    for (int i = 0; i < ROWS(fids); i++)
        check_refused(fi_open_ops(fids[i], "none", 0, &ops, NULL));
    check_refused(fi_tx_context(n.ep, 0, NULL, &context, NULL));
    check_refused(fi_rx_context(n.ep, 0, NULL, &context, NULL));
    check_refused(fi_accept(n.ep, NULL, 0));
    OK(fi_close(&eq->fid));
    OK(fi_close(&mr->fid));
    node_close(&n);
}

/* What belongs to another domain has another mutex. */
TEST(wrong__parts_of_another_domain)
{
    struct fid_ep *ep;
    struct node n;

    node_open(&n, &(struct node_wish){.has_counters = true});
    OK(fi_endpoint(p.a.domain, p.a.info, &ep, NULL));
    check_refused(fi_ep_bind(ep, &n.av->fid, 0));
    check_refused(fi_ep_bind(ep, &n.sent->fid, FI_TRANSMIT));
    check_refused(fi_ep_bind(ep, &n.sends->fid, FI_SEND));
    OK(fi_close(&ep->fid));
    node_close(&n);
}

/* Flags are those of sends, or those of receives. */
TEST(wrong__flags_of_nothing)
{
    uint64_t flags = 0;

    check_refused(fi_control(&p.a.ep->fid, FI_GETOPSFLAG, &flags));
    flags = FI_TRANSMIT | FI_RECV;
    check_refused(fi_control(&p.a.ep->fid, FI_GETOPSFLAG, &flags));
    flags = FI_TRANSMIT;
    OK(fi_control(&p.a.ep->fid, FI_GETOPSFLAG, &flags));
}

/* An endpoint that only sends needs no queue for receives, and the other way round. */
TEST(endpoint__of_one_direction, .rows = 2)
{
    uint64_t caps = p.a.info->caps & ~(FI_SEND | FI_RECV | FI_DIRECTED_RECV | FI_MULTI_RECV);
    struct fi_info *info = fi_dupinfo(p.a.info);
    bool is_sender = _i == 0;
    struct fid_ep *ep;

    info->caps = caps | (is_sender ? FI_SEND : FI_RECV);
    OK(fi_endpoint(p.a.domain, info, &ep, NULL));
    OK(fi_ep_bind(ep, &p.a.av->fid, 0));
    check_refused(fi_enable(ep));
    OK(fi_ep_bind(ep, &p.a.sent->fid, is_sender ? FI_TRANSMIT : FI_RECV));
    OK(fi_enable(ep));
    if (is_sender) {
        check_refused(fi_recv(ep, bytes, SMALL, NULL, FI_ADDR_UNSPEC, NULL));
        POST(fi_recv(p.b.ep, bytes, SMALL, NULL, FI_ADDR_UNSPEC, bytes));
        POST(fi_send(ep, bytes, SMALL, NULL, p.to_b, bytes));
        (void)take_of(p.a.sent, bytes);
        (void)take_of(p.b.received, bytes);
    } else {
        check_refused(fi_send(ep, bytes, SMALL, NULL, p.to_b, NULL));
    }
    OK(fi_close(&ep->fid));
    fi_freeinfo(info);
}
