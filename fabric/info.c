/* fi_getinfo: what a program asks for, beside what there is. */
#include "info.h"

#include "address.h"
#include "provider.h"

#include <ifaddrs.h>
#include <net/if.h>
#include <rdma/fi_endpoint.h>
#include <stdlib.h>
#include <string.h>

#define PRIMARY (FI_MSG | FI_TAGGED | FI_SEND | FI_RECV | FI_DIRECTED_RECV)
#define SECONDARY (FI_MULTI_RECV | FI_SOURCE | FI_LOCAL_COMM | FI_REMOTE_COMM)
#define TX_CAPS (FI_MSG | FI_TAGGED | FI_SEND)
#define RX_CAPS (FI_MSG | FI_TAGGED | FI_RECV | FI_DIRECTED_RECV | FI_MULTI_RECV | FI_SOURCE)

static const char fabric_name[] = "zcrp";

enum { PROTOCOL_VERSION = 1, DATA_BYTES = 8, KEY_BYTES = 8 };

#define PROTOCOL_OURS (1U << 31 | 0x7a637270U) /* of a provider's own; "zcrp" */
#define TAG_FORMAT 0xaaaaaaaaaaaaaaaaULL       /* all 64 bits, any use of them */

/* Programs that were written for libfabric 1 use these values. libfabric 2 warns of their names. */
enum { MR_BASIC = 1, MR_SCALABLE = 2 };
#define ORDER_DATA (1ULL << 16)

/* ---- what is asked for ---- */

static bool suits_domain(const struct fi_domain_attr *d)
{
    if (d == NULL)
        return true;
    return d->cq_data_size <= DATA_BYTES && d->mr_key_size <= KEY_BYTES && d->auth_key_size == 0 &&
           d->tx_ctx_cnt <= INFO_QUEUE && d->max_ep_tx_ctx <= 1 && d->max_ep_rx_ctx <= 1 &&
           d->max_ep_stx_ctx == 0 && d->max_ep_srx_ctx == 0 &&
           (d->caps & ~(FI_LOCAL_COMM | FI_REMOTE_COMM)) == 0;
}

static bool suits_endpoint(const struct fi_ep_attr *e)
{
    if (e == NULL)
        return true;
    return (e->type == FI_EP_UNSPEC || e->type == FI_EP_RDM) &&
           (e->protocol == FI_PROTO_UNSPEC || e->protocol == PROTOCOL_OURS) &&
           e->protocol_version <= PROTOCOL_VERSION && e->max_msg_size <= INFO_MESSAGE_MOST &&
           e->tx_ctx_cnt <= 1 && e->rx_ctx_cnt <= 1 && e->auth_key_size == 0;
}

static bool suits_tx(const struct fi_tx_attr *t, uint64_t caps)
{
    if (t == NULL)
        return true;
    return (t->caps & ~(caps | TX_CAPS)) == 0 && (t->op_flags & ~INFO_TX_FLAGS) == 0 &&
           (t->msg_order & ~FI_ORDER_SAS) == 0 && t->comp_order == 0 &&
           t->inject_size <= INFO_EAGER_MOST && t->size <= INFO_QUEUE &&
           t->iov_limit <= INFO_PIECES_MOST && t->rma_iov_limit == 0;
}

static bool suits_rx(const struct fi_rx_attr *r, uint64_t caps)
{
    if (r == NULL)
        return true;
    return (r->caps & ~(caps | RX_CAPS)) == 0 && (r->op_flags & ~INFO_RX_FLAGS) == 0 &&
           (r->msg_order & ~FI_ORDER_SAS) == 0 && (r->comp_order & ~ORDER_DATA) == 0 &&
           r->size <= INFO_QUEUE && r->iov_limit <= INFO_PIECES_MOST;
}

static bool suits(const struct fi_info *hints)
{
    if (hints == NULL)
        return true;
    const struct fi_fabric_attr *f = hints->fabric_attr;
    bool is_format = hints->addr_format == FI_FORMAT_UNSPEC ||
                     (hints->addr_format >= FI_SOCKADDR && hints->addr_format <= FI_SOCKADDR_IN6);

    return (hints->caps & ~(PRIMARY | SECONDARY)) == 0 && is_format &&
           (f == NULL || f->name == NULL || strcmp(f->name, fabric_name) == 0) &&
           suits_domain(hints->domain_attr) && suits_endpoint(hints->ep_attr) &&
           suits_tx(hints->tx_attr, hints->caps) && suits_rx(hints->rx_attr, hints->caps);
}

bool info_is_ours(const struct fi_info *info)
{
    return info != NULL && info->ep_attr != NULL && info->tx_attr != NULL &&
           info->rx_attr != NULL && info->domain_attr != NULL && info->ep_attr->type == FI_EP_RDM &&
           (info->caps & ~(PRIMARY | SECONDARY)) == 0;
}

/* ---- what there is ---- */

static uint64_t caps_for(const struct fi_info *hints)
{
    uint64_t caps =
        hints != NULL && hints->caps != 0 ? hints->caps | SECONDARY : PRIMARY | SECONDARY;

    if ((caps & (FI_MSG | FI_TAGGED)) == 0)
        caps |= FI_MSG | FI_TAGGED;
    if ((caps & (FI_SEND | FI_RECV)) == 0)
        caps |= FI_SEND | FI_RECV;
    if ((caps & FI_MSG) == 0 && (hints == NULL || (hints->caps & FI_MULTI_RECV) == 0))
        caps &= ~FI_MULTI_RECV;
    return caps;
}

static void fill_tx(struct fi_tx_attr *t, uint64_t caps, const struct fi_tx_attr *hints)
{
    t->caps = caps & TX_CAPS;
    t->op_flags = hints != NULL ? hints->op_flags : 0;
    t->msg_order = FI_ORDER_SAS;
    t->inject_size = INFO_EAGER_MOST;
    t->size = INFO_QUEUE;
    t->iov_limit = INFO_PIECES_MOST;
}

static void fill_rx(struct fi_rx_attr *r, uint64_t caps, const struct fi_rx_attr *hints)
{
    r->caps = caps & RX_CAPS;
    r->op_flags = hints != NULL ? hints->op_flags : 0;
    r->msg_order = FI_ORDER_SAS;
    r->size = INFO_QUEUE;
    r->iov_limit = INFO_PIECES_MOST;
}

static void fill_endpoint(struct fi_ep_attr *e)
{
    e->type = FI_EP_RDM;
    e->protocol = PROTOCOL_OURS;
    e->protocol_version = PROTOCOL_VERSION;
    e->max_msg_size = INFO_MESSAGE_MOST;
    e->mem_tag_format = TAG_FORMAT;
    e->tx_ctx_cnt = 1;
    e->rx_ctx_cnt = 1;
}

/* Memory needs no registration. Programs of libfabric before 1.5 name one of two modes, and are
 * told the one that they named. */
static int mr_mode_for(uint32_t version, const struct fi_domain_attr *hints)
{
    if (FI_VERSION_GE(version, FI_VERSION(1, 5)))
        return 0;
    return hints != NULL && hints->mr_mode == MR_BASIC ? MR_BASIC : MR_SCALABLE;
}

static void fill_domain(struct fi_domain_attr *d, uint32_t version,
                        const struct fi_domain_attr *hints)
{
    d->threading =
        hints != NULL && hints->threading != FI_THREAD_UNSPEC ? hints->threading : FI_THREAD_SAFE;
    bool is_automatic = hints != NULL && (hints->data_progress == FI_PROGRESS_AUTO ||
                                          hints->control_progress == FI_PROGRESS_AUTO);
    d->data_progress = is_automatic ? FI_PROGRESS_AUTO : FI_PROGRESS_MANUAL;
    d->control_progress = d->data_progress;
    d->resource_mgmt = FI_RM_ENABLED;
    d->av_type = hints != NULL ? hints->av_type : FI_AV_UNSPEC;
    d->mr_mode = mr_mode_for(version, hints);
    d->mr_key_size = KEY_BYTES;
    d->cq_data_size = DATA_BYTES;
    d->cq_cnt = d->ep_cnt = d->cntr_cnt = d->mr_cnt = 1024;
    d->tx_ctx_cnt = d->rx_ctx_cnt = 1024;
    d->max_ep_tx_ctx = d->max_ep_rx_ctx = 1;
    d->mr_iov_limit = 1;
    d->caps = FI_LOCAL_COMM | FI_REMOTE_COMM;
}

static bool set_address(const struct address *a, void **sockaddr, size_t *size)
{
    struct sockaddr_storage whole;

    *size = address_write(a, &whole);
    *sockaddr = malloc(*size);
    if (*sockaddr != NULL)
        memcpy(*sockaddr, &whole, *size);
    return *sockaddr != NULL;
}

/* What fi_getinfo is asked for, once the texts have become addresses. */
struct request {
    uint32_t version;
    const struct fi_info *hints;
    bool has_source, has_target;
    struct address source, target;
};

/* `domain` is an interface's name. NULL: no memory. */
static struct fi_info *make(const struct request *r, const char *domain,
                            const struct address *source)
{
    const struct fi_info *hints = r->hints;
    struct fi_info *info = host_dupinfo(NULL);

    if (info == NULL)
        return NULL;
    info->caps = caps_for(hints);
    info->addr_format = source->is_ip6 ? FI_SOCKADDR_IN6 : FI_SOCKADDR_IN;
    info->handle = hints != NULL ? hints->handle : NULL;
    fill_tx(info->tx_attr, info->caps, hints != NULL ? hints->tx_attr : NULL);
    fill_rx(info->rx_attr, info->caps, hints != NULL ? hints->rx_attr : NULL);
    fill_endpoint(info->ep_attr);
    fill_domain(info->domain_attr, r->version, hints != NULL ? hints->domain_attr : NULL);
    info->domain_attr->name = strdup(domain);
    info->fabric_attr->name = strdup(fabric_name);
    if (info->domain_attr->name == NULL || info->fabric_attr->name == NULL ||
        !set_address(source, &info->src_addr, &info->src_addrlen) ||
        (r->has_target && !set_address(&r->target, &info->dest_addr, &info->dest_addrlen))) {
        host_freeinfo(info);
        return NULL;
    }
    return info;
}

/* ---- the interfaces ---- */

static bool is_link_local(const struct address *a)
{
    return a->is_ip6 && a->bytes[0] == 0xfe && (a->bytes[1] & 0xc0) == 0x80;
}

/* May an endpoint listen there? FI_ZCRP_IFACE names the one interface that it may. */
static bool is_offered(const struct request *r, const struct ifaddrs *i, const struct address *a)
{
    const char *chosen = getenv("FI_ZCRP_IFACE");
    const struct fi_info *hints = r->hints;
    const char *domain =
        hints != NULL && hints->domain_attr != NULL ? hints->domain_attr->name : NULL;
    uint32_t format = hints != NULL ? hints->addr_format : FI_FORMAT_UNSPEC;
    struct address only = r->source;

    only.port = 0;
    if ((i->ifa_flags & IFF_UP) == 0 || is_link_local(a))
        return false;
    if (chosen != NULL && *chosen != '\0' && strcmp(chosen, i->ifa_name) != 0)
        return false;
    if (domain != NULL && strcmp(domain, i->ifa_name) != 0)
        return false;
    if ((format == FI_SOCKADDR_IN && a->is_ip6) || (format == FI_SOCKADDR_IN6 && !a->is_ip6))
        return false;
    if (r->has_target && a->is_ip6 != r->target.is_ip6)
        return false;
    return !r->has_source || address_is_any(&only) || address_is_same(&only, a);
}

/* Those that other machines can reach come first, and IPv4 before IPv6. */
static int rank_of(const struct address *a)
{
    return (address_is_loopback(a) ? 2 : 0) + (a->is_ip6 ? 1 : 0);
}

static int list_interfaces(const struct request *r, struct fi_info **infos)
{
    struct ifaddrs *all;
    struct fi_info **end = infos;

    if (getifaddrs(&all) != 0)
        return -FI_ENODATA;
    for (int rank = 0; rank < 4; rank++)
        for (struct ifaddrs *i = all; i != NULL; i = i->ifa_next) {
            struct address a;
            if (i->ifa_addr == NULL || !address_read(&a, i->ifa_addr, sizeof(struct sockaddr_in6)))
                continue;
            if (rank_of(&a) != rank || !is_offered(r, i, &a))
                continue;
            a.port = r->has_source ? r->source.port : 0;
            *end = make(r, i->ifa_name, &a);
            if (*end == NULL) {
                freeifaddrs(all);
                return -FI_ENOMEM;
            }
            end = &(*end)->next;
        }
    freeifaddrs(all);
    return *infos != NULL ? 0 : -FI_ENODATA;
}

/* ---- asking ---- */

/* A node and a service come before what the hints have. */
static int read_addresses(struct request *r, const char *node, const char *service, uint64_t flags)
{
    const struct fi_info *hints = r->hints;
    uint32_t format = hints != NULL ? hints->addr_format : FI_FORMAT_UNSPEC;
    bool is_source = (flags & FI_SOURCE) != 0;
    bool is_named = node != NULL || service != NULL;

    if (is_named &&
        address_resolve(is_source ? &r->source : &r->target, node, service, flags, format) != 0)
        return -FI_ENODATA;
    r->has_source = is_named && is_source;
    r->has_target = is_named && !is_source;
    if (!r->has_source && hints != NULL && hints->src_addr != NULL)
        r->has_source = address_read(&r->source, hints->src_addr, hints->src_addrlen);
    if (!r->has_target && hints != NULL && hints->dest_addr != NULL)
        r->has_target = address_read(&r->target, hints->dest_addr, hints->dest_addrlen);
    if (!r->has_source && r->has_target)
        r->has_source = address_toward(&r->source, &r->target);
    return 0;
}

int info_get(uint32_t version, const char *node, const char *service, uint64_t flags,
             const struct fi_info *hints, struct fi_info **info)
{
    struct request r = {.version = version, .hints = hints};

    *info = NULL;
    if (!suits(hints))
        return -FI_ENODATA;
    int error = read_addresses(&r, node, service, flags);
    if (error == 0)
        error = list_interfaces(&r, info);
    if (error != 0 && *info != NULL) {
        host_freeinfo(*info);
        *info = NULL;
    }
    return error;
}
