#include "av.h"

#include "ep.h"
#include "provider.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct address *av_address(const struct av *av, fi_addr_t number)
{
    bool is_there = number < av->count && av->entries[number].is_used;

    return is_there ? &av->entries[number].address : NULL;
}

fi_addr_t av_number(const struct av *av, const struct address *a)
{
    for (size_t i = 0; i < av->count; i++)
        if (av->entries[i].is_used && address_is_same(&av->entries[i].address, a))
            return i;
    return FI_ADDR_NOTAVAIL;
}

/* ---- inserting ---- */

static bool grow(struct av *av)
{
    size_t room = av->room > 0 ? 2 * av->room : 64;
    struct av_entry *entries = realloc(av->entries, room * sizeof(*entries));

    if (entries == NULL)
        return false;
    av->entries = entries;
    av->room = room;
    return true;
}

static size_t find_unused(const struct av *av)
{
    size_t at = 0;

    while (av->entries[at].is_used)
        at++;
    return at;
}

/* Who is not told the numbers counts them: those that were removed are not used again then.
 * FI_ADDR_NOTAVAIL: no memory. Within the mutex. */
static fi_addr_t insert_one(struct av *av, const struct address *a, bool is_told)
{
    bool is_again = is_told && av->unused > 0;

    if (!is_again && av->count == av->room && !grow(av))
        return FI_ADDR_NOTAVAIL;
    size_t at = is_again ? find_unused(av) : av->count++;
    av->unused -= is_again;
    av->entries[at] = (struct av_entry){.is_used = true, .address = *a};
    for (struct list *link = av->endpoints.next; link != &av->endpoints; link = link->next)
        ep_on_inserted(OWNER(link, struct ep, of_av), a, at);
    return at;
}

static size_t sockaddr_bytes(const void *sockaddr)
{
    sa_family_t family;

    memcpy(&family, (const char *)sockaddr + offsetof(struct sockaddr, sa_family), sizeof(family));
    return family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
}

/* With FI_SYNC_ERR the context is an array that takes each address's error. */
static int av_insert(struct fid_av *fid, const void *addresses, size_t count, fi_addr_t *numbers,
                     uint64_t flags, void *context)
{
    struct av *av = OWNER(fid, struct av, fid);
    const char *next = addresses;
    int *errors = (flags & FI_SYNC_ERR) != 0 ? context : NULL;
    int inserted = 0;

    if ((flags & ~(FI_MORE | FI_SYNC_ERR)) != 0 || (addresses == NULL && count > 0))
        return -FI_EINVAL;
    domain_enter(av->domain);
    for (size_t i = 0; i < count; i++) {
        struct address a;
        size_t bytes = sockaddr_bytes(next);
        bool is_good = address_read(&a, next, bytes) && a.port != 0 && !address_is_any(&a);
        fi_addr_t number = is_good ? insert_one(av, &a, numbers != NULL) : FI_ADDR_NOTAVAIL;
        inserted += number != FI_ADDR_NOTAVAIL;
        if (numbers != NULL)
            numbers[i] = number;
        if (errors != NULL)
            errors[i] = number != FI_ADDR_NOTAVAIL ? 0 : is_good ? FI_ENOMEM : FI_EINVAL;
        next += bytes;
    }
    domain_leave(av->domain);
    return inserted;
}

static int av_insertsvc(struct fid_av *fid, const char *node, const char *service,
                        fi_addr_t *number, uint64_t flags, void *context)
{
    struct address a;
    struct sockaddr_storage sockaddr;

    if (node == NULL || service == NULL)
        return -FI_EINVAL;
    int error = address_resolve(&a, node, service, 0, FI_FORMAT_UNSPEC);
    if (error != 0)
        return error;
    (void)address_write(&a, &sockaddr);
    return av_insert(fid, &sockaddr, 1, number, flags, context);
}

static int av_insertsym(struct fid_av *fid, const char *node, size_t nodes, const char *service,
                        size_t services, fi_addr_t *numbers, uint64_t flags, void *context)
{
    if (nodes == 1 && services == 1)
        return av_insertsvc(fid, node, service, numbers, flags, context);
    return -FI_ENOSYS;
}

/* ---- the rest ---- */

static int av_remove(struct fid_av *fid, fi_addr_t *numbers, size_t count, uint64_t flags)
{
    struct av *av = OWNER(fid, struct av, fid);
    int error = 0;

    if (flags != 0 || (numbers == NULL && count > 0))
        return -FI_EINVAL;
    domain_enter(av->domain);
    for (size_t i = 0; i < count; i++) {
        if (av_address(av, numbers[i]) == NULL) {
            error = -FI_EINVAL;
            continue;
        }
        av->entries[numbers[i]].is_used = false;
        av->unused++;
        for (struct list *link = av->endpoints.next; link != &av->endpoints; link = link->next)
            ep_on_removed(OWNER(link, struct ep, of_av), numbers[i]);
    }
    domain_leave(av->domain);
    return error;
}

static int av_lookup(struct fid_av *fid, fi_addr_t number, void *sockaddr, size_t *size)
{
    struct av *av = OWNER(fid, struct av, fid);
    struct sockaddr_storage whole;

    domain_enter(av->domain);
    const struct address *a = av_address(av, number);
    size_t bytes = a != NULL ? address_write(a, &whole) : 0;
    domain_leave(av->domain);
    if (a == NULL)
        return -FI_EINVAL;
    memcpy(sockaddr, &whole, *size < bytes ? *size : bytes);
    *size = bytes;
    return 0;
}

static const char *av_straddr(struct fid_av *fid, const void *sockaddr, char *text, size_t *size)
{
    char number[ADDRESS_TEXT];
    char whole[sizeof("fi_sockaddr_in6://[]:65535") + ADDRESS_TEXT];
    struct address a;

    (void)fid;
    if (!address_read(&a, sockaddr, sockaddr_bytes(sockaddr)))
        return NULL;
    address_text(&a, number);
    int length = snprintf(whole, sizeof(whole),
                          a.is_ip6 ? "fi_sockaddr_in6://[%s]:%u" : "fi_sockaddr_in://%s:%u", number,
                          (unsigned)a.port);
    if (text != NULL && *size > 0)
        (void)snprintf(text, *size, "%s", whole);
    *size = (size_t)length + 1;
    return text;
}

static int av_close(struct fid *fid)
{
    struct av *av = OWNER(fid, struct av, fid.fid);

    domain_enter(av->domain);
    bool is_used = !list_is_empty(&av->endpoints);
    domain_leave(av->domain);
    if (is_used)
        return -FI_EBUSY;
    domain_unuse(av->domain);
    free(av->entries);
    free(av);
    return 0;
}

/* An event queue may be bound, and is never told anything: inserting is done when it returns. */
static int av_bind(struct fid *fid, struct fid *other, uint64_t flags)
{
    (void)fid, (void)flags;
    return other->fclass == FI_CLASS_EQ ? 0 : -FI_EINVAL;
}

static struct fi_ops fid_ops = {
    .size = sizeof(struct fi_ops),
    .close = av_close,
    .bind = av_bind,
    .control = no_control,
    .ops_open = no_ops,
};

static struct fi_ops_av av_ops = {
    .size = sizeof(struct fi_ops_av),
    .insert = av_insert,
    .insertsvc = av_insertsvc,
    .insertsym = av_insertsym,
    .remove = av_remove,
    .lookup = av_lookup,
    .straddr = av_straddr,
};

int av_open(struct fid_domain *domain, struct fi_av_attr *attr, struct fid_av **av, void *context)
{
    struct domain *d = OWNER(domain, struct domain, fid);

    if (attr == NULL || (attr->flags & ~FI_SYMMETRIC) != 0 || attr->rx_ctx_bits != 0 ||
        attr->type > FI_AV_TABLE)
        return -FI_EINVAL;
    if (attr->name != NULL)
        return -FI_ENOSYS;
    struct av *a = calloc(1, sizeof(*a));
    if (a == NULL)
        return -FI_ENOMEM;
    a->fid.fid = (struct fid){.fclass = FI_CLASS_AV, .context = context, .ops = &fid_ops};
    a->fid.ops = &av_ops;
    a->domain = d;
    list_init(&a->endpoints);
    if (attr->type == FI_AV_UNSPEC)
        attr->type = FI_AV_TABLE;
    domain_use(d);
    *av = &a->fid;
    return 0;
}
