#include "op.h"

#include "cntr.h"
#include "cq.h"
#include "ep.h"
#include "peer.h"

#include <rdma/fi_errno.h>
#include <stdlib.h>
#include <string.h>

static struct op *allocate(struct domain *d)
{
    if (list_is_empty(&d->spare_ops))
        return malloc(sizeof(struct op));
    d->spare_op_count--;
    return OWNER(list_take(&d->spare_ops), struct op, in);
}

struct op *op_create(struct ep *ep, enum op_kind kind, const struct iovec *iov, size_t count)
{
    struct op *op = allocate(ep->domain);

    if (op == NULL)
        return NULL;
    memset(op, 0, offsetof(struct op, iov));
    list_init(&op->in);
    op->ep = ep;
    op->kind = kind;
    op->source = FI_ADDR_NOTAVAIL;
    for (size_t i = 0; i < count; i++) {
        if (iov[i].iov_len == 0)
            continue;
        op->iov[op->iov_count++] = iov[i];
        op->size += iov[i].iov_len;
    }
    return op;
}

/* The one that was freed last is the next one: its memory is in the cache. */
void op_free(struct domain *d, struct op *op)
{
    if (d->spare_op_count == SPARE_OPS_MOST) {
        free(op);
        return;
    }
    d->spare_op_count++;
    list_init(&op->in);
    list_add(d->spare_ops.next, &op->in);
}

void op_scatter(struct op *op, const uint8_t *bytes, uint64_t size)
{
    for (int i = 0; i < op->iov_count && size > 0; i++) {
        size_t part = op->iov[i].iov_len < size ? op->iov[i].iov_len : (size_t)size;
        memcpy(op->iov[i].iov_base, bytes, part);
        bytes += part;
        size -= part;
    }
}

void op_arrived(struct op *op, const struct peer *from, const struct envelope *e)
{
    bool is_whole = e->length <= op->size;

    op->flags |= e->has_data ? FI_REMOTE_CQ_DATA : 0;
    op->tag = e->tag;
    op->data = e->data;
    op->length = is_whole ? e->length : op->size;
    op->over = is_whole ? 0 : e->length - op->size;
    op->source = from->fi_addr;
    if (op->iov_count > 0)
        op->buffer = op->iov[0].iov_base;
}

void op_count(struct ep *ep, enum op_kind kind)
{
    struct cntr *c = kind == OP_SEND ? ep->send_counter : ep->receive_counter;

    if (c != NULL)
        cntr_on_success(c);
}

/* What an endpoint leaves undone when it closes is told to nobody: queue and counter may be
 * another's, too. */
static void tell(struct op *op, int error)
{
    struct ep *ep = op->ep;
    struct cq *queue = op->kind == OP_SEND ? ep->send_queue : ep->receive_queue;
    struct cntr *counter = op->kind == OP_SEND ? ep->send_counter : ep->receive_counter;

    if (counter != NULL && error == 0)
        cntr_on_success(counter);
    else if (counter != NULL && !ep->is_closing)
        cntr_on_error(counter);
    free(op->copy);
    op->copy = NULL;
    op->ep = NULL;
    op->peer = NULL;
    op->error = error;
    if (error == FI_ETRUNC)
        op->zcrp_code = ZCRP_ERROR_TOO_LARGE;
    else if (error == FI_ECANCELED)
        op->zcrp_code = ZCRP_ERROR_CANCELLED;
    if (queue != NULL && (op->is_told || error != 0) && !ep->is_closing)
        cq_add(queue, op);
    else
        op_free(ep->domain, op);
}

/* The last part gives the buffer back to the program, which has to learn that. */
void op_end(struct op *op, int error)
{
    struct op *whole = op->whole;
    struct domain *d = op->ep->domain;
    bool is_last = whole != NULL && --whole->parts == 0 && whole->is_spent;

    if (error == 0 && op->over > 0)
        error = FI_ETRUNC;
    if (is_last && !whole->is_cancelled) {
        op->flags |= FI_MULTI_RECV;
        op->is_told = true;
    }
    tell(op, error);
    if (is_last && whole->is_cancelled)
        tell(whole, whole->error);
    else if (is_last)
        op_free(d, whole);
}
