#include "ep.h"

#include "av.h"
#include "cntr.h"
#include "cq.h"
#include "info.h"
#include "peer.h"
#include "provider.h"
#include "way.h"

#include <rdma/fi_cm.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

enum { CONNECTIONS_MOST = 8192, BACKLOG_MOST = 2048, LEAST = 64 };

/* ---- what happens ---- */

static void accept_caller(struct ep *ep)
{
    struct zcrp_connection *connection;

    if (zcrp_accept(ep->listener, &connection, 0) == ZCRP_OK)
        way_accept(ep, connection);
}

void ep_on_completion(const struct zcrp_completion *c)
{
    if (c->kind == ZCRP_PEER_CALLED)
        accept_caller(c->context);
    else
        way_on_completion(c->context, c);
}

/* ---- enabling ---- */

/* The first message of a caller is its greeting, so that arrives without a request. */
static int listen_at(struct ep *ep)
{
    char host[ADDRESS_TEXT], port[PORT_TEXT];
    struct zcrp_options options = ep->options;

    options.first_messages = 1;
    options.first_bytes = GREETING_BYTES;
    options.connections = CONNECTIONS_MOST;
    options.backlog = BACKLOG_MOST;
    options.accept_ns = INT64_MAX; /* a rank may compute for hours */
    address_text(&ep->address, host);
    (void)snprintf(port, sizeof(port), "%u", (unsigned)ep->address.port);
    int code = zcrp_listen(&ep->listener, host, port, &options);
    if (code != ZCRP_OK) {
        host_log(FI_LOG_WARN, "%s", zcrp_explain(code));
        return -error_of_code(code);
    }
    ep->address.port = (uint16_t)zcrp_listener_port(ep->listener);
    code = zcrp_queue_add_listener(ep->domain->queue, ep->listener, ep);
    return -error_of_code(code);
}

static int enable(struct ep *ep)
{
    if (ep->is_enabled)
        return 0;
    if (ep->av == NULL)
        return -FI_ENOAV;
    if ((ep->may[OP_SEND] && ep->send_queue == NULL && ep->send_counter == NULL) ||
        (ep->may[OP_RECEIVE] && ep->receive_queue == NULL && ep->receive_counter == NULL))
        return -FI_ENOCQ;
    if (getrandom(&ep->nonce, sizeof(ep->nonce), 0) != sizeof(ep->nonce))
        return -FI_EIO;
    domain_enter(ep->domain);
    int error = listen_at(ep);
    ep->is_enabled = error == 0;
    domain_leave(ep->domain);
    return error;
}

/* The flags of calls that have none, of sends (FI_TRANSMIT) or of receives (FI_RECV). */
static int control_flags(struct ep *ep, bool is_set, uint64_t *flags)
{
    bool is_send = (*flags & FI_TRANSMIT) != 0;
    uint64_t *own = &ep->op_flags[is_send ? OP_SEND : OP_RECEIVE];

    if (is_send == ((*flags & FI_RECV) != 0))
        return -FI_EINVAL;
    if (is_set)
        *own = *flags & (is_send ? INFO_TX_FLAGS : INFO_RX_FLAGS);
    else
        *flags = *own;
    return 0;
}

static int ep_control(struct fid *fid, int command, void *argument)
{
    struct ep *ep = OWNER(fid, struct ep, fid.fid);

    switch (command) {
    case FI_ENABLE:
        return enable(ep);
    case FI_GETOPSFLAG:
    case FI_SETOPSFLAG:
        return control_flags(ep, command == FI_SETOPSFLAG, argument);
    default:
        return -FI_ENOSYS;
    }
}

/* ---- binding ---- */

static int bind_cq(struct ep *ep, struct cq *cq, uint64_t flags)
{
    bool is_selective = (flags & FI_SELECTIVE_COMPLETION) != 0;

    if (cq->domain != ep->domain ||
        (flags & ~(FI_TRANSMIT | FI_RECV | FI_SELECTIVE_COMPLETION)) != 0 ||
        (flags & (FI_TRANSMIT | FI_RECV)) == 0)
        return -FI_EINVAL;
    if (((flags & FI_TRANSMIT) != 0 && ep->send_queue != NULL) ||
        ((flags & FI_RECV) != 0 && ep->receive_queue != NULL))
        return -FI_EINVAL;
    if ((flags & FI_TRANSMIT) != 0) {
        ep->send_queue = cq;
        ep->is_selective[OP_SEND] = is_selective;
        cq->users++;
    }
    if ((flags & FI_RECV) != 0) {
        ep->receive_queue = cq;
        list_add(&cq->endpoints, &ep->of_queue);
        ep->is_selective[OP_RECEIVE] = is_selective;
        cq->users++;
    }
    return 0;
}

/* A counter of what no peer can do here counts nothing. */
static int bind_cntr(struct ep *ep, struct cntr *cntr, uint64_t flags)
{
    if (cntr->domain != ep->domain ||
        (flags & ~(FI_SEND | FI_RECV | FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE)) != 0)
        return -FI_EINVAL;
    if (((flags & FI_SEND) != 0 && ep->send_counter != NULL) ||
        ((flags & FI_RECV) != 0 && ep->receive_counter != NULL))
        return -FI_EINVAL;
    if ((flags & FI_SEND) != 0) {
        ep->send_counter = cntr;
        cntr->users++;
    }
    if ((flags & FI_RECV) != 0) {
        ep->receive_counter = cntr;
        cntr->users++;
    }
    return 0;
}

static int bind_av(struct ep *ep, struct av *av)
{
    if (ep->av != NULL || av->domain != ep->domain)
        return -FI_EINVAL;
    ep->av = av;
    list_add(&av->endpoints, &ep->of_av);
    return 0;
}

static int ep_bind(struct fid *fid, struct fid *other, uint64_t flags)
{
    struct ep *ep = OWNER(fid, struct ep, fid.fid);
    int error = -FI_EINVAL;

    domain_enter(ep->domain);
    if (ep->is_enabled)
        error = -FI_EOPBADSTATE;
    else if (other->fclass == FI_CLASS_CQ)
        error = bind_cq(ep, OWNER(other, struct cq, fid.fid), flags);
    else if (other->fclass == FI_CLASS_CNTR)
        error = bind_cntr(ep, OWNER(other, struct cntr, fid.fid), flags);
    else if (other->fclass == FI_CLASS_AV)
        error = bind_av(ep, OWNER(other, struct av, fid.fid));
    else if (other->fclass == FI_CLASS_EQ)
        error = 0;
    domain_leave(ep->domain);
    return error;
}

/* ---- small calls ---- */

static ssize_t ep_cancel(fid_t fid, void *context)
{
    struct ep *ep = OWNER(fid, struct ep, fid.fid);

    domain_enter(ep->domain);
    bool is_found = match_cancel(ep, context);
    domain_leave(ep->domain);
    return is_found ? 0 : -FI_ENOENT;
}

static int ep_getopt(fid_t fid, int level, int name, void *value, size_t *size)
{
    struct ep *ep = OWNER(fid, struct ep, fid.fid);

    if (level != FI_OPT_ENDPOINT || name != FI_OPT_MIN_MULTI_RECV)
        return -FI_ENOPROTOOPT;
    if (*size < sizeof(size_t))
        return -FI_ETOOSMALL;
    *(size_t *)value = ep->least;
    *size = sizeof(size_t);
    return 0;
}

static int ep_setopt(fid_t fid, int level, int name, const void *value, size_t size)
{
    struct ep *ep = OWNER(fid, struct ep, fid.fid);

    if (level != FI_OPT_ENDPOINT || name != FI_OPT_MIN_MULTI_RECV)
        return -FI_ENOPROTOOPT;
    if (size != sizeof(size_t))
        return -FI_EINVAL;
    ep->least = *(const size_t *)value > 0 ? *(const size_t *)value : 1;
    return 0;
}

static ssize_t size_left(struct fid_ep *ep)
{
    (void)ep;
    return INFO_QUEUE;
}

static int ep_getname(fid_t fid, void *sockaddr, size_t *size)
{
    return address_hand_out(&OWNER(fid, struct ep, fid.fid)->address, sockaddr, size);
}

static int ep_setname(fid_t fid, void *sockaddr, size_t size)
{
    struct ep *ep = OWNER(fid, struct ep, fid.fid);

    if (ep->is_enabled)
        return -FI_EOPBADSTATE;
    return address_read(&ep->address, sockaddr, size) ? 0 : -FI_EINVAL;
}

static int no_getpeer(struct fid_ep *ep, void *sockaddr, size_t *size)
{
    (void)ep, (void)sockaddr, (void)size;
    return -FI_ENOSYS;
}

static int no_connect(struct fid_ep *ep, const void *sockaddr, const void *data, size_t size)
{
    (void)ep, (void)sockaddr, (void)data, (void)size;
    return -FI_ENOSYS;
}

static int no_accept(struct fid_ep *ep, const void *data, size_t size)
{
    (void)ep, (void)data, (void)size;
    return -FI_ENOSYS;
}

static int no_tx_context(struct fid_ep *ep, int index, struct fi_tx_attr *attr,
                         struct fid_ep **context_ep, void *context)
{
    (void)ep, (void)index, (void)attr, (void)context_ep, (void)context;
    return -FI_ENOSYS;
}

static int no_rx_context(struct fid_ep *ep, int index, struct fi_rx_attr *attr,
                         struct fid_ep **context_ep, void *context)
{
    (void)ep, (void)index, (void)attr, (void)context_ep, (void)context;
    return -FI_ENOSYS;
}

static int no_shutdown(struct fid_ep *ep, uint64_t flags)
{
    (void)ep, (void)flags;
    return -FI_ENOSYS;
}

/* ---- life ---- */

static void unbind(struct ep *ep)
{
    if (ep->send_queue != NULL)
        ep->send_queue->users--;
    if (ep->receive_queue != NULL)
        ep->receive_queue->users--;
    if (ep->send_counter != NULL)
        ep->send_counter->users--;
    if (ep->receive_counter != NULL)
        ep->receive_counter->users--;
    list_remove(&ep->of_av);
    list_remove(&ep->of_queue);
}

/* Delivers sent messages first; gives up after options.linger_ns without progress. */
static int ep_close(struct fid *fid)
{
    struct ep *ep = OWNER(fid, struct ep, fid.fid);
    struct domain *d = ep->domain;

    domain_enter(d);
    ep->is_closing = true;
    (void)zcrp_listener_close(ep->listener);
    while (!list_is_empty(&ep->ways))
        way_end(OWNER(ep->ways.next, struct way, in), ZCRP_ERROR_CLOSED);
    closer_await(d, &ep->closing);
    matching_fini(&ep->matching, d);
    peer_free_all(ep);
    unbind(ep);
    domain_leave(d);
    domain_unuse(d);
    free(ep);
    return 0;
}

static struct fi_ops fid_ops = {
    .size = sizeof(struct fi_ops),
    .close = ep_close,
    .bind = ep_bind,
    .control = ep_control,
    .ops_open = no_ops,
};

static struct fi_ops_ep ep_ops = {
    .size = sizeof(struct fi_ops_ep),
    .cancel = ep_cancel,
    .getopt = ep_getopt,
    .setopt = ep_setopt,
    .tx_ctx = no_tx_context,
    .rx_ctx = no_rx_context,
    .rx_size_left = size_left,
    .tx_size_left = size_left,
};

static struct fi_ops_cm cm_ops = {
    .size = sizeof(struct fi_ops_cm),
    .setname = ep_setname,
    .getname = ep_getname,
    .getpeer = no_getpeer,
    .connect = no_connect,
    .accept = no_accept,
    .shutdown = no_shutdown,
};

/* Addresses that the program has not chosen: those that fi_getinfo would tell first. */
static bool choose_address(struct ep *ep, const struct fi_info *info)
{
    struct fi_info *own = NULL;

    if (info->src_addr != NULL)
        return address_read(&ep->address, info->src_addr, info->src_addrlen);
    if (info_get(FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION), NULL, NULL, 0, NULL, &own) != 0)
        return false;
    bool is_good = address_read(&ep->address, own->src_addr, own->src_addrlen);
    host_freeinfo(own);
    return is_good;
}

int ep_open(struct fid_domain *domain, struct fi_info *info, struct fid_ep **ep, void *context)
{
    if (!info_is_ours(info))
        return -FI_EINVAL;
    struct ep *e = calloc(1, sizeof(*e));
    if (e == NULL)
        return -FI_ENOMEM;
    if (!choose_address(e, info)) {
        free(e);
        return -FI_EINVAL;
    }
    e->fid.fid = (struct fid){.fclass = FI_CLASS_EP, .context = context, .ops = &fid_ops};
    e->fid.ops = &ep_ops;
    e->fid.cm = &cm_ops;
    e->fid.msg = &ep_msg_ops;
    e->fid.tagged = &ep_tagged_ops;
    e->domain = OWNER(domain, struct domain, fid);
    e->op_flags[OP_SEND] = info->tx_attr->op_flags;
    e->op_flags[OP_RECEIVE] = info->rx_attr->op_flags;
    bool is_any = (info->caps & (FI_SEND | FI_RECV)) == 0;
    e->may[OP_SEND] = is_any || (info->caps & FI_SEND) != 0;
    e->may[OP_RECEIVE] = is_any || (info->caps & FI_RECV) != 0;
    e->is_directed = (info->caps & FI_DIRECTED_RECV) != 0;
    e->least = LEAST;
    e->options.keys = e->domain->keys;
    list_init(&e->of_av);
    list_init(&e->of_queue);
    list_init(&e->peers);
    list_init(&e->ways);
    list_init(&e->stalled);
    matching_init(&e->matching);
    domain_use(e->domain);
    *ep = &e->fid;
    return 0;
}
