#include "match.h"

#include "bulk.h"
#include "cq.h"
#include "ep.h"
#include "peer.h"
#include "provider.h"

#include <stdlib.h>
#include <string.h>

/* Bytes of unexpected messages. Each peer that the program knows has the first of these for itself.
 * Strangers have not: they may be one, under any number of addresses. */
enum {
    PEER_LEAST = 64 << 10,
    PEER_MOST = 64 << 20,
    ALL_MOST = 256 << 20,
};

/* A message without a receive. */
struct arrival {
    struct list in;
    struct peer *peer;
    struct way *way; /* of an RTS; NULL: it has ended */
    bool is_last;    /* beyond the bounds */
    struct envelope envelope;
    const void *claimer; /* the context of FI_CLAIM */
    uint8_t payload[];
};

void matching_init(struct matching *m)
{
    *m = (struct matching){.held_bytes = 0};
    for (int i = 0; i < 2; i++) {
        list_init(&m->posted[i]);
        list_init(&m->unexpected[i]);
    }
    list_init(&m->claimed);
}

static void free_arrivals(struct list *list)
{
    LIST_EACH(link, list)
    free(OWNER(link, struct arrival, in));
    list_init(list);
}

void matching_fini(struct matching *m, struct domain *d)
{
    for (int i = 0; i < 2; i++) {
        free_arrivals(&m->unexpected[i]);
        LIST_EACH(link, &m->posted[i])
        op_free(d, OWNER(link, struct op, in));
    }
    free_arrivals(&m->claimed);
}

/* ---- unexpected messages ---- */

static uint64_t payload_bytes(const struct envelope *e)
{
    return e->kind == ENVELOPE_EAGER ? e->length : 0;
}

static bool has_room(const struct ep *ep, const struct peer *p, uint64_t bytes)
{
    if (p->is_known && p->held_bytes + bytes <= PEER_LEAST)
        return true;
    return p->held_bytes + bytes <= PEER_MOST && ep->matching.held_bytes + bytes <= ALL_MOST;
}

/* When a way is not alive one ring of its messages is kept beyond the bounds. It ends only when its
 * ring is empty, and receives that wait for this peer alone end with it. */
static bool may_be_last(const struct way *w)
{
    const struct link *l = w->control;

    if (!w->peer->is_known || w->peer->last >= l->count)
        return false;
    return !way_is_alive(w);
}

/* False: no room, or no memory. */
static bool hold(struct way *w, const struct envelope *e, const uint8_t *payload)
{
    uint64_t bytes = sizeof(struct arrival) + payload_bytes(e);
    bool is_last = !has_room(w->ep, w->peer, bytes);

    if (is_last && !may_be_last(w))
        return false;
    struct arrival *a = malloc(bytes);
    if (a == NULL)
        return false;
    *a = (struct arrival){.peer = w->peer, .is_last = is_last, .envelope = *e};
    a->way = e->kind == ENVELOPE_RTS ? w : NULL;
    memcpy(a->payload, payload, payload_bytes(e));
    list_init(&a->in);
    list_add(&w->ep->matching.unexpected[e->is_tagged], &a->in);
    w->ep->matching.held_bytes += bytes;
    w->peer->held_bytes += bytes;
    w->peer->held++;
    w->peer->last += is_last;
    return true;
}

static void drop(struct ep *ep, struct arrival *a)
{
    uint64_t bytes = sizeof(struct arrival) + payload_bytes(&a->envelope);
    struct peer *p = a->peer;

    p->last -= a->is_last;
    list_remove(&a->in);
    free(a);
    ep->matching.held_bytes -= bytes;
    p->held_bytes -= bytes;
    p->held--;
    peer_let_go(ep, p);
}

/* ---- matching ---- */

static bool suits(const struct op *op, const struct peer *p, const struct envelope *e)
{
    return (op->peer == NULL || op->peer == p) && ((op->tag ^ e->tag) & ~op->ignore) == 0;
}

static struct op *find_posted(struct ep *ep, const struct peer *p, const struct envelope *e)
{
    struct list *posted = &ep->matching.posted[e->is_tagged];

    for (struct list *link = posted->next; link != posted; link = link->next)
        if (suits(OWNER(link, struct op, in), p, e))
            return OWNER(link, struct op, in);
    return NULL;
}

static struct arrival *find_arrival(const struct op *op, bool is_tagged)
{
    struct list *unexpected = &op->ep->matching.unexpected[is_tagged];

    for (struct list *link = unexpected->next; link != unexpected; link = link->next) {
        struct arrival *a = OWNER(link, struct arrival, in);
        if (suits(op, a->peer, &a->envelope))
            return a;
    }
    return NULL;
}

/* The next part of a receive of many messages, as large as the message, or what is left. */
static struct op *take_part(struct op *whole, const struct envelope *e)
{
    struct iovec *rest = &whole->iov[0];
    size_t bytes = e->length < rest->iov_len ? (size_t)e->length : rest->iov_len;
    struct op *part = op_create(whole->ep, OP_RECEIVE, &(struct iovec){rest->iov_base, bytes}, 1);

    if (part == NULL)
        return NULL;
    part->whole = whole;
    part->is_told = whole->is_told;
    part->context = whole->context;
    part->flags = whole->flags;
    part->buffer = rest->iov_base;
    whole->parts++;
    whole->size -= bytes;
    rest->iov_base = (char *)rest->iov_base + bytes;
    rest->iov_len -= bytes;
    if (whole->size < whole->ep->least) {
        whole->is_spent = true;
        list_remove(&whole->in);
    }
    return part;
}

/* What receives the message. NULL: no memory. */
static struct op *take(struct op *posted, const struct envelope *e)
{
    if (posted->is_whole)
        return take_part(posted, e);
    list_remove(&posted->in);
    return posted;
}

/* `way` is an RTS's. */
static void deliver(struct op *op, const struct peer *from, struct way *way,
                    const struct envelope *e, const uint8_t *payload)
{
    op_arrived(op, from, e);
    if (e->kind == ENVELOPE_EAGER) {
        op_scatter(op, payload, op->length);
        op_end(op, 0);
    } else if (way != NULL) {
        bulk_accept(way, op, e->id);
    } else {
        op->length = 0;
        op->zcrp_code = ZCRP_ERROR_DIED;
        op_end(op, FI_ECONNRESET);
    }
}

/* Each message in a buffer for many is one more completion. */
static bool has_queue_room(const struct op *posted)
{
    struct cq *queue = posted->ep->receive_queue;

    return !posted->is_whole || !posted->is_told || queue == NULL || cq_has_room(queue);
}

/* The parts of a receive of many messages that are under way end first. */
static void cancel(struct op *op, int code, int error)
{
    struct ep *ep = op->ep;
    struct peer *p = op->peer;

    list_remove(&op->in);
    op->peer = NULL;
    op->is_spent = op->is_cancelled = true;
    op->zcrp_code = code;
    op->error = error;
    if (op->parts == 0)
        op_end(op, error);
    if (p != NULL)
        peer_let_go(ep, p);
}

/* A buffer for many messages without memory for the next one: it ends, which tells the program, and
 * the message goes to another. Else the messages behind it could go into the buffer first. */
static void give_up(struct op *whole)
{
    cancel(whole, ZCRP_ERROR_MEMORY, FI_ENOMEM);
}

bool match_arrived(struct way *w, const struct envelope *e, const uint8_t *payload)
{
    struct op *posted;

    while ((posted = find_posted(w->ep, w->peer, e)) != NULL) {
        if (!has_queue_room(posted))
            return false;
        struct op *op = take(posted, e);
        if (op != NULL) {
            deliver(op, w->peer, w, e, payload);
            return true;
        }
        give_up(posted);
    }
    return hold(w, e, payload);
}

/* A link that still has no room waits again, behind those that waited. */
void match_retry(struct ep *ep)
{
    struct list stalled;

    if (list_is_empty(&ep->stalled))
        return;
    list_init(&stalled);
    list_move(&stalled, &ep->stalled);
    while (!list_is_empty(&stalled))
        link_process(OWNER(stalled.next, struct link, in));
}

/* Nothing that happens later would end it: the peer was lost before, and nobody tells so again. */
static bool waits_in_vain(const struct op *op)
{
    const struct peer *p = op->peer;

    return p != NULL && p->lost != ZCRP_OK && p->out == NULL && p->back == NULL;
}

/* A receive of many messages takes several. It may be gone when its last part has ended. */
void match_post(struct op *op, bool is_tagged)
{
    struct ep *ep = op->ep;
    bool is_done = false;
    struct arrival *a;

    list_add(&ep->matching.posted[is_tagged], &op->in);
    while (!is_done && (a = find_arrival(op, is_tagged)) != NULL) {
        struct op *receiver = take(op, &a->envelope);
        if (receiver == NULL) {
            give_up(op);
            match_retry(ep);
            return;
        }
        is_done = receiver == op || op->is_spent;
        deliver(receiver, a->peer, a->way, &a->envelope, a->payload);
        drop(ep, a);
        is_done = is_done || op->is_spent; /* its peer's way may have ended */
    }
    if (!is_done && waits_in_vain(op))
        cancel(op, op->peer->lost, error_of_end(op->peer->lost));
    match_retry(ep);
}

/* ---- peek and claim ---- */

static void discard(struct op *op, struct arrival *a)
{
    struct ep *ep = op->ep;

    op->is_discarded = true;
    if (a->way != NULL)
        bulk_accept(a->way, op, a->envelope.id);
    else
        op_end(op, 0);
    drop(ep, a);
    match_retry(ep);
}

/* Nothing comes any more: the call itself says so, because a program that looks again and again
 * takes an error in the queue for a fault of its own (Open MPI ends then). */
static int refuse(struct op *op)
{
    int error = error_of_end(op->peer->lost);

    op_free(op->ep->domain, op);
    return -error;
}

int match_peek(struct op *op, bool is_tagged, uint64_t flags)
{
    struct arrival *a = find_arrival(op, is_tagged);

    if (a == NULL && waits_in_vain(op))
        return refuse(op);
    if (a == NULL) {
        op_end(op, FI_ENOMSG);
        return 0;
    }
    op_arrived(op, a->peer, &a->envelope);
    op->length = a->envelope.length;
    op->over = 0;
    if ((flags & FI_DISCARD) != 0) {
        discard(op, a);
        return 0;
    }
    if ((flags & FI_CLAIM) != 0) {
        a->claimer = op->context;
        list_remove(&a->in);
        list_add(&op->ep->matching.claimed, &a->in);
    }
    op_end(op, 0);
    return 0;
}

bool match_claim(struct op *op, uint64_t flags)
{
    struct ep *ep = op->ep;

    for (struct list *link = ep->matching.claimed.next; link != &ep->matching.claimed;
         link = link->next) {
        struct arrival *a = OWNER(link, struct arrival, in);
        if (a->claimer != op->context)
            continue;
        if ((flags & FI_DISCARD) != 0) {
            op_arrived(op, a->peer, &a->envelope);
            op->length = a->envelope.length;
            op->over = 0;
            discard(op, a);
        } else {
            deliver(op, a->peer, a->way, &a->envelope, a->payload);
            drop(ep, a);
            match_retry(ep);
        }
        return true;
    }
    return false;
}

/* ---- ends ---- */

bool match_cancel(struct ep *ep, const void *context)
{
    for (int i = 0; i < 2; i++)
        LIST_EACH(link, &ep->matching.posted[i])
        {
            struct op *op = OWNER(link, struct op, in);
            if (op->context == context) {
                cancel(op, ZCRP_ERROR_CANCELLED, FI_ECANCELED);
                return true;
            }
        }
    return false;
}

bool match_awaits(const struct ep *ep, const struct peer *p)
{
    for (int i = 0; i < 2; i++) {
        const struct list *posted = &ep->matching.posted[i];
        for (struct list *link = posted->next; link != posted; link = link->next)
            if (OWNER(link, struct op, in)->peer == p)
                return true;
    }
    return false;
}

static void lose_announced(struct list *arrivals, const struct way *w)
{
    for (struct list *link = arrivals->next; link != arrivals; link = link->next) {
        struct arrival *a = OWNER(link, struct arrival, in);
        if (a->way == w)
            a->way = NULL;
    }
}

/* The fault is at this end (memory, descriptors), or of one message: the peer is not gone. */
static bool is_of_this_end(int code)
{
    return code == ZCRP_ERROR_MEMORY || code == ZCRP_ERROR_SYSTEM || code == ZCRP_ERROR_FAULT ||
           code == ZCRP_ERROR_PEER_CANCELLED;
}

/* Does the end of the way tell that nothing comes from its peer? One that has closed in order may
 * come again. What comes, comes on a way of the peer's: while there is one, only its own end tells.
 */
static bool tells_of_peer(const struct way *w)
{
    if (w->peer == NULL || w->code == ZCRP_ERROR_PEER_CLOSED || w->code == ZCRP_ERROR_CLOSED ||
        w->ep->is_closing)
        return false;
    return !w->is_ours || (w->peer->back == NULL && !is_of_this_end(w->code));
}

void match_lose(struct way *w)
{
    struct matching *m = &w->ep->matching;
    bool is_told = tells_of_peer(w);

    if (is_told)
        w->peer->lost = w->code;
    lose_announced(&m->claimed, w);
    for (int i = 0; i < 2; i++) {
        lose_announced(&m->unexpected[i], w);
        LIST_EACH(link, &m->posted[i])
        {
            struct op *op = OWNER(link, struct op, in);
            if (w->peer != NULL && op->peer == w->peer && (is_told || waits_in_vain(op)))
                cancel(op, w->peer->lost, error_of_end(w->peer->lost));
        }
    }
}
