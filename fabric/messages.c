/* Sends and receives: the calls of a program, which differ in how they say the same. */
#include "bulk.h"
#include "ep.h"
#include "info.h"
#include "match.h"
#include "peer.h"
#include "provider.h"
#include "way.h"

#include <rdma/fi_tagged.h>
#include <stdlib.h>
#include <string.h>

/* One call. */
struct call {
    bool is_tagged;
    bool is_inject; /* the buffer is the program's again at once; no completion */
    const struct iovec *iov;
    size_t count;
    fi_addr_t peer;
    uint64_t tag, ignore, data;
    void *context;
    uint64_t flags;
};

static struct ep *ep_of(struct fid_ep *fid)
{
    return OWNER(fid, struct ep, fid);
}

/* With FI_SELECTIVE_COMPLETION only calls that ask for it have a completion. */
static bool is_told(const struct ep *ep, enum op_kind kind, uint64_t flags)
{
    return !ep->is_selective[kind] || (flags & FI_COMPLETION) != 0;
}

/* ---- sending ---- */

static uint64_t bytes_of(const struct call *c)
{
    uint64_t bytes = 0;

    for (size_t i = 0; i < c->count; i++)
        bytes += c->iov[i].iov_len;
    return bytes;
}

static struct op *create_send(struct ep *ep, const struct call *c, struct peer *p)
{
    struct op *op = op_create(ep, OP_SEND, c->iov, c->count);

    if (op == NULL)
        return NULL;
    op->context = c->context;
    op->peer = p;
    op->is_told = is_told(ep, OP_SEND, c->flags);
    op->flags = FI_SEND | (c->is_tagged ? FI_TAGGED : FI_MSG);
    op->length = op->size;
    return op;
}

static ssize_t refused(struct op *op, int code)
{
    if (op != NULL) {
        zcrp_free_msg(op->message);
        free(op->copy);
        op_free(op->ep->domain, op);
    }
    return -error_of_code(code);
}

/* With FI_INJECT the program may write to its buffer before ZCRP has sent it. False: no memory. */
static bool keep_copy(struct op *op)
{
    char *to = malloc(op->size + 1);

    op->copy = to;
    if (to == NULL)
        return false;
    for (int i = 0; i < op->iov_count; i++) {
        memcpy(to, op->iov[i].iov_base, op->iov[i].iov_len);
        to += op->iov[i].iov_len;
    }
    op->iov[0] = (struct iovec){op->copy, op->size};
    op->iov_count = op->size > 0;
    return true;
}

/* A copy; while too many of those are under way, the program's own buffer, until it was received.
 * The first copies end when the peer is found, so that a send to nobody fails. Nothing tells when a
 * copy of ZCRP's has arrived, so a send that must have is a message of this end's. */
static ssize_t send_eager(struct way *w, const struct call *c, struct peer *p,
                          const struct envelope *e)
{
    struct ep *ep = w->ep;
    bool is_copied = c->is_inject || (c->flags & FI_INJECT) != 0;
    bool must_arrive = (c->flags & FI_TRANSMIT_COMPLETE) != 0;
    struct op *op = NULL;

    if (must_arrive || !is_copied || (!c->is_inject && is_told(ep, OP_SEND, c->flags))) {
        op = create_send(ep, c, p);
        if (op == NULL)
            return -FI_ENOMEM;
    }
    if (must_arrive && is_copied && !keep_copy(op))
        return refused(op, ZCRP_ERROR_MEMORY);
    int code = must_arrive ? ZCRP_ERROR_BUSY : way_send(w, e, c->iov, (int)c->count);
    if (code == ZCRP_OK && op == NULL)
        op_count(ep, OP_SEND);
    else if (code == ZCRP_OK && w->is_up)
        op_end(op, 0);
    else if (code == ZCRP_OK)
        list_add(&w->early, &op->in);
    if (code != ZCRP_ERROR_BUSY || (is_copied && !must_arrive))
        return code == ZCRP_OK ? 0 : refused(op, code);
    envelope_encode(e, op->envelope);
    op->message = bulk_wrap(op, true);
    code = op->message != NULL ? way_submit(w, zcrp_connection_sender(w->control->connection), op,
                                            op->message->message_size)
                               : ZCRP_ERROR_MEMORY;
    return code == ZCRP_OK ? 0 : refused(op, code);
}

static ssize_t send_bulk(struct way *w, const struct call *c, struct peer *p,
                         const struct envelope *e)
{
    struct op *op = create_send(w->ep, c, p);

    if (op == NULL)
        return -FI_ENOMEM;
    if ((c->flags & FI_INJECT) != 0 && !keep_copy(op))
        return refused(op, ZCRP_ERROR_MEMORY);
    struct domain *d = w->ep->domain;
    int code = bulk_announce(w, op, e);
    if (code != ZCRP_OK)
        return refused(op, code);
    domain_on_announced(d); /* which may end the way */
    return 0;
}

/* The peer takes no second way while the first one is there, and sends that would have completed by
 * then would be lost. Where no thread could be made that closes the first one, nobody waits. */
static bool must_wait(const struct ep *ep, const struct peer *p)
{
    return p->out == NULL && p->leaving > 0 && ep->domain->closers.count > 0;
}

/* A CTS answers a sender that asks for delivery, or for a match. */
static ssize_t send_locked(struct ep *ep, const struct call *c, uint64_t bytes)
{
    struct peer *p = peer_named(ep, c->peer);
    int error = 0;

    if (p == NULL)
        return -FI_EINVAL;
    if (must_wait(ep, p))
        return -FI_EAGAIN;
    struct way *w = p->out != NULL ? p->out : way_open(ep, p, &error);
    if (w == NULL)
        return -error;
    bool has_data = (c->flags & FI_REMOTE_CQ_DATA) != 0;
    const struct envelope e = {.kind = ENVELOPE_EAGER,
                               .is_tagged = c->is_tagged,
                               .has_data = has_data,
                               .tag = c->tag,
                               .data = has_data ? c->data : 0,
                               .length = bytes};
    bool is_eager =
        bytes <= INFO_EAGER_MOST && (c->flags & (FI_DELIVERY_COMPLETE | FI_MATCH_COMPLETE)) == 0;
    return is_eager ? send_eager(w, c, p, &e) : send_bulk(w, c, p, &e);
}

static ssize_t send_call(struct fid_ep *fid, const struct call *c)
{
    struct ep *ep = ep_of(fid);
    uint64_t bytes;

    if (c->count > INFO_PIECES_MOST || (c->flags & ~INFO_TX_FLAGS) != 0)
        return -FI_EINVAL;
    if (!ep->may[OP_SEND])
        return -FI_EOPNOTSUPP;
    bytes = bytes_of(c);
    if (bytes > INFO_MESSAGE_MOST ||
        ((c->is_inject || (c->flags & FI_INJECT) != 0) && bytes > INFO_EAGER_MOST))
        return -FI_EMSGSIZE;
    if (!ep->is_enabled)
        return -FI_EOPBADSTATE;
    domain_enter(ep->domain);
    ssize_t result = send_locked(ep, c, bytes);
    domain_leave(ep->domain);
    return result;
}

/* ---- receiving ---- */

static ssize_t receive_locked(struct ep *ep, const struct call *c)
{
    bool is_asking = (c->flags & (FI_PEEK | FI_CLAIM | FI_DISCARD)) != 0;
    struct peer *p = NULL;

    if (ep->is_directed && c->peer != FI_ADDR_UNSPEC) {
        p = peer_named(ep, c->peer);
        if (p == NULL)
            return -FI_EINVAL;
    }
    bool reads_none = (c->flags & (FI_PEEK | FI_DISCARD)) != 0;
    struct op *op = op_create(ep, OP_RECEIVE, c->iov, reads_none ? 0 : c->count);
    if (op == NULL)
        return -FI_ENOMEM;
    op->context = c->context;
    op->peer = p;
    op->flags = FI_RECV | (c->is_tagged ? FI_TAGGED : FI_MSG);
    op->is_told = is_told(ep, OP_RECEIVE, c->flags);
    op->tag = c->tag;
    op->ignore = c->ignore;
    op->is_whole = (c->flags & FI_MULTI_RECV) != 0;
    if (is_asking)
        domain_progress(ep->domain);
    if ((c->flags & FI_PEEK) != 0)
        return match_peek(op, c->is_tagged, c->flags);
    if (!is_asking) {
        match_post(op, c->is_tagged);
    } else if (!match_claim(op, c->flags)) {
        op_free(ep->domain, op);
        return -FI_EINVAL;
    }
    return 0;
}

static ssize_t receive_call(struct fid_ep *fid, const struct call *c)
{
    struct ep *ep = ep_of(fid);
    uint64_t known = INFO_RX_FLAGS | FI_PEEK | FI_CLAIM | FI_DISCARD;
    bool is_whole = (c->flags & FI_MULTI_RECV) != 0;

    if (c->count > INFO_PIECES_MOST || (c->flags & ~known) != 0 ||
        (is_whole && (c->is_tagged || c->count != 1 || c->iov[0].iov_len == 0)))
        return -FI_EINVAL;
    if ((c->flags & FI_DISCARD) != 0 && (c->flags & (FI_PEEK | FI_CLAIM)) == 0)
        return -FI_EINVAL;
    if (!ep->may[OP_RECEIVE])
        return -FI_EOPNOTSUPP;
    if (!ep->is_enabled)
        return -FI_EOPBADSTATE;
    domain_enter(ep->domain);
    ssize_t result = receive_locked(ep, c);
    domain_leave(ep->domain);
    return result;
}

/* ---- fi_ops_msg ---- */

static ssize_t msg_recvv(struct fid_ep *ep, const struct iovec *iov, void **desc, size_t count,
                         fi_addr_t from, void *context)
{
    (void)desc;
    return receive_call(ep, &(struct call){.iov = iov,
                                           .count = count,
                                           .peer = from,
                                           .context = context,
                                           .flags = ep_of(ep)->op_flags[OP_RECEIVE]});
}

static ssize_t msg_recv(struct fid_ep *ep, void *buffer, size_t size, void *desc, fi_addr_t from,
                        void *context)
{
    (void)desc;
    return msg_recvv(ep, &(struct iovec){buffer, size}, NULL, 1, from, context);
}

static ssize_t msg_recvmsg(struct fid_ep *ep, const struct fi_msg *m, uint64_t flags)
{
    return receive_call(ep, &(struct call){.iov = m->msg_iov,
                                           .count = m->iov_count,
                                           .peer = m->addr,
                                           .context = m->context,
                                           .flags = flags});
}

static ssize_t msg_sendv(struct fid_ep *ep, const struct iovec *iov, void **desc, size_t count,
                         fi_addr_t to, void *context)
{
    (void)desc;
    return send_call(ep, &(struct call){.iov = iov,
                                        .count = count,
                                        .peer = to,
                                        .context = context,
                                        .flags = ep_of(ep)->op_flags[OP_SEND]});
}

static ssize_t msg_send(struct fid_ep *ep, const void *buffer, size_t size, void *desc,
                        fi_addr_t to, void *context)
{
    (void)desc;
    return msg_sendv(ep, &(struct iovec){(void *)buffer, size}, NULL, 1, to, context);
}

static ssize_t msg_sendmsg(struct fid_ep *ep, const struct fi_msg *m, uint64_t flags)
{
    return send_call(ep, &(struct call){.iov = m->msg_iov,
                                        .count = m->iov_count,
                                        .peer = m->addr,
                                        .data = m->data,
                                        .context = m->context,
                                        .flags = flags});
}

static ssize_t msg_senddata(struct fid_ep *ep, const void *buffer, size_t size, void *desc,
                            uint64_t data, fi_addr_t to, void *context)
{
    const struct iovec iov = {(void *)buffer, size};

    (void)desc;
    return send_call(ep, &(struct call){.iov = &iov,
                                        .count = 1,
                                        .peer = to,
                                        .data = data,
                                        .context = context,
                                        .flags = ep_of(ep)->op_flags[OP_SEND] | FI_REMOTE_CQ_DATA});
}

static ssize_t msg_inject(struct fid_ep *ep, const void *buffer, size_t size, fi_addr_t to)
{
    const struct iovec iov = {(void *)buffer, size};

    return send_call(ep, &(struct call){.is_inject = true, .iov = &iov, .count = 1, .peer = to});
}

static ssize_t msg_injectdata(struct fid_ep *ep, const void *buffer, size_t size, uint64_t data,
                              fi_addr_t to)
{
    const struct iovec iov = {(void *)buffer, size};

    return send_call(ep, &(struct call){.is_inject = true,
                                        .iov = &iov,
                                        .count = 1,
                                        .peer = to,
                                        .data = data,
                                        .flags = FI_REMOTE_CQ_DATA});
}

struct fi_ops_msg ep_msg_ops = {
    .size = sizeof(struct fi_ops_msg),
    .recv = msg_recv,
    .recvv = msg_recvv,
    .recvmsg = msg_recvmsg,
    .send = msg_send,
    .sendv = msg_sendv,
    .sendmsg = msg_sendmsg,
    .inject = msg_inject,
    .senddata = msg_senddata,
    .injectdata = msg_injectdata,
};

/* ---- fi_ops_tagged ---- */

static ssize_t tagged_recvv(struct fid_ep *ep, const struct iovec *iov, void **desc, size_t count,
                            fi_addr_t from, uint64_t tag, uint64_t ignore, void *context)
{
    (void)desc;
    return receive_call(ep,
                        &(struct call){.is_tagged = true,
                                       .iov = iov,
                                       .count = count,
                                       .peer = from,
                                       .tag = tag,
                                       .ignore = ignore,
                                       .context = context,
                                       .flags = ep_of(ep)->op_flags[OP_RECEIVE] & ~FI_MULTI_RECV});
}

static ssize_t tagged_recv(struct fid_ep *ep, void *buffer, size_t size, void *desc, fi_addr_t from,
                           uint64_t tag, uint64_t ignore, void *context)
{
    (void)desc;
    return tagged_recvv(ep, &(struct iovec){buffer, size}, NULL, 1, from, tag, ignore, context);
}

static ssize_t tagged_recvmsg(struct fid_ep *ep, const struct fi_msg_tagged *m, uint64_t flags)
{
    return receive_call(ep, &(struct call){.is_tagged = true,
                                           .iov = m->msg_iov,
                                           .count = m->iov_count,
                                           .peer = m->addr,
                                           .tag = m->tag,
                                           .ignore = m->ignore,
                                           .context = m->context,
                                           .flags = flags});
}

static ssize_t tagged_sendv(struct fid_ep *ep, const struct iovec *iov, void **desc, size_t count,
                            fi_addr_t to, uint64_t tag, void *context)
{
    (void)desc;
    return send_call(ep, &(struct call){.is_tagged = true,
                                        .iov = iov,
                                        .count = count,
                                        .peer = to,
                                        .tag = tag,
                                        .context = context,
                                        .flags = ep_of(ep)->op_flags[OP_SEND]});
}

static ssize_t tagged_send(struct fid_ep *ep, const void *buffer, size_t size, void *desc,
                           fi_addr_t to, uint64_t tag, void *context)
{
    (void)desc;
    return tagged_sendv(ep, &(struct iovec){(void *)buffer, size}, NULL, 1, to, tag, context);
}

static ssize_t tagged_sendmsg(struct fid_ep *ep, const struct fi_msg_tagged *m, uint64_t flags)
{
    return send_call(ep, &(struct call){.is_tagged = true,
                                        .iov = m->msg_iov,
                                        .count = m->iov_count,
                                        .peer = m->addr,
                                        .tag = m->tag,
                                        .data = m->data,
                                        .context = m->context,
                                        .flags = flags});
}

static ssize_t tagged_senddata(struct fid_ep *ep, const void *buffer, size_t size, void *desc,
                               uint64_t data, fi_addr_t to, uint64_t tag, void *context)
{
    const struct iovec iov = {(void *)buffer, size};

    (void)desc;
    return send_call(ep, &(struct call){.is_tagged = true,
                                        .iov = &iov,
                                        .count = 1,
                                        .peer = to,
                                        .tag = tag,
                                        .data = data,
                                        .context = context,
                                        .flags = ep_of(ep)->op_flags[OP_SEND] | FI_REMOTE_CQ_DATA});
}

static ssize_t tagged_inject(struct fid_ep *ep, const void *buffer, size_t size, fi_addr_t to,
                             uint64_t tag)
{
    const struct iovec iov = {(void *)buffer, size};

    return send_call(
        ep,
        &(struct call){
            .is_tagged = true, .is_inject = true, .iov = &iov, .count = 1, .peer = to, .tag = tag});
}

static ssize_t tagged_injectdata(struct fid_ep *ep, const void *buffer, size_t size, uint64_t data,
                                 fi_addr_t to, uint64_t tag)
{
    const struct iovec iov = {(void *)buffer, size};

    return send_call(ep, &(struct call){.is_tagged = true,
                                        .is_inject = true,
                                        .iov = &iov,
                                        .count = 1,
                                        .peer = to,
                                        .tag = tag,
                                        .data = data,
                                        .flags = FI_REMOTE_CQ_DATA});
}

struct fi_ops_tagged ep_tagged_ops = {
    .size = sizeof(struct fi_ops_tagged),
    .recv = tagged_recv,
    .recvv = tagged_recvv,
    .recvmsg = tagged_recvmsg,
    .send = tagged_send,
    .sendv = tagged_sendv,
    .sendmsg = tagged_sendmsg,
    .inject = tagged_inject,
    .senddata = tagged_senddata,
    .injectdata = tagged_injectdata,
};
