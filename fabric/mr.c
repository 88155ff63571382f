#include "mr.h"

#include "domain.h"
#include "provider.h"

#include <stdlib.h>

struct mr {
    struct fid_mr fid;
    struct domain *domain;
};

static int mr_close(struct fid *fid)
{
    struct mr *mr = OWNER(fid, struct mr, fid.fid);

    domain_unuse(mr->domain);
    free(mr);
    return 0;
}

static struct fi_ops fid_ops = {
    .size = sizeof(struct fi_ops),
    .close = mr_close,
    .bind = no_bind,
    .control = no_control,
    .ops_open = no_ops,
};

static int mr_make(struct fid *fid, uint64_t access, uint64_t key, struct fid_mr **mr,
                   void *context)
{
    struct mr *m;

    if (fid->fclass != FI_CLASS_DOMAIN || (access & ~(FI_SEND | FI_RECV)) != 0)
        return -FI_EINVAL;
    m = calloc(1, sizeof(*m));
    if (m == NULL)
        return -FI_ENOMEM;
    m->domain = OWNER(fid, struct domain, fid.fid);
    m->fid.fid = (struct fid){.fclass = FI_CLASS_MR, .context = context, .ops = &fid_ops};
    m->fid.key = key;
    domain_use(m->domain);
    *mr = &m->fid;
    return 0;
}

/* NOLINTNEXTLINE(readability-function-size): libfabric's parameters */
static int mr_reg(struct fid *fid, const void *buffer, size_t size, uint64_t access,
                  uint64_t offset, uint64_t key, uint64_t flags, struct fid_mr **mr, void *context)
{
    (void)buffer, (void)size, (void)offset;
    return flags != 0 ? -FI_EINVAL : mr_make(fid, access, key, mr, context);
}

/* NOLINTNEXTLINE(readability-function-size): the same */
static int mr_regv(struct fid *fid, const struct iovec *iov, size_t count, uint64_t access,
                   uint64_t offset, uint64_t key, uint64_t flags, struct fid_mr **mr, void *context)
{
    (void)iov, (void)count, (void)offset;
    return flags != 0 ? -FI_EINVAL : mr_make(fid, access, key, mr, context);
}

static int mr_regattr(struct fid *fid, const struct fi_mr_attr *attr, uint64_t flags,
                      struct fid_mr **mr)
{
    if (flags != 0)
        return -FI_EINVAL;
    return mr_make(fid, attr->access, attr->requested_key, mr, attr->context);
}

struct fi_ops_mr mr_ops = {
    .size = sizeof(struct fi_ops_mr), .reg = mr_reg, .regv = mr_regv, .regattr = mr_regattr};
