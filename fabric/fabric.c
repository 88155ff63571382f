/* A fabric: the network of all machines that reach each other over UDP. */
#include "cntr.h"
#include "cq.h"
#include "domain.h"
#include "eq.h"
#include "provider.h"

#include <stdatomic.h>
#include <stdlib.h>

struct fabric {
    struct fid_fabric fid;
    atomic_int users; /* domains and event queues */
};

void fabric_use(struct fid_fabric *fabric, int change)
{
    (void)atomic_fetch_add(&OWNER(fabric, struct fabric, fid)->users, change);
}

static int fabric_close(struct fid *fid)
{
    struct fabric *f = OWNER(fid, struct fabric, fid.fid);

    if (atomic_load(&f->users) > 0)
        return -FI_EBUSY;
    free(f);
    return 0;
}

static int no_passive_ep(struct fid_fabric *fabric, struct fi_info *info, struct fid_pep **ep,
                         void *context)
{
    (void)fabric, (void)info, (void)ep, (void)context;
    return -FI_ENOSYS;
}

static int no_wait(struct fid_fabric *fabric, struct fi_wait_attr *attr, struct fid_wait **set)
{
    (void)fabric, (void)attr, (void)set;
    return -FI_ENOSYS;
}

/* A counter is never empty: whoever sleeps on its descriptor compares the value behind this. */
static int fabric_trywait(struct fid_fabric *fabric, struct fid **fids, int count)
{
    (void)fabric;
    for (int i = 0; i < count; i++) {
        if (fids[i]->fclass == FI_CLASS_CQ) {
            int error = cq_trywait(OWNER(fids[i], struct cq, fid.fid));
            if (error != 0)
                return error;
        } else if (fids[i]->fclass == FI_CLASS_CNTR) {
            cntr_trywait(OWNER(fids[i], struct cntr, fid.fid));
        } else if (fids[i]->fclass != FI_CLASS_EQ) {
            return -FI_EINVAL;
        }
    }
    return 0;
}

static struct fi_ops fid_ops = {
    .size = sizeof(struct fi_ops),
    .close = fabric_close,
    .bind = no_bind,
    .control = no_control,
    .ops_open = no_ops,
};

static struct fi_ops_fabric fabric_ops = {
    .size = sizeof(struct fi_ops_fabric),
    .domain = domain_open,
    .passive_ep = no_passive_ep,
    .eq_open = eq_open,
    .wait_open = no_wait,
    .trywait = fabric_trywait,
};

int fabric_open(struct fi_fabric_attr *attr, struct fid_fabric **fabric, void *context)
{
    struct fabric *f = calloc(1, sizeof(*f));

    if (f == NULL)
        return -FI_ENOMEM;
    f->fid.fid = (struct fid){.fclass = FI_CLASS_FABRIC, .context = context, .ops = &fid_ops};
    f->fid.ops = &fabric_ops;
    f->fid.api_version = attr->api_version;
    *fabric = &f->fid;
    return 0;
}
