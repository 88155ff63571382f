#include "domain.h"

#include "av.h"
#include "cntr.h"
#include "cq.h"
#include "ep.h"
#include "mr.h"
#include "provider.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum {
    AT_ONCE = 64,  /* completions that are taken from the queue */
    ANNOUNCED = 8, /* large messages in a row, and then progress is made */
};

void domain_enter(struct domain *d)
{
    pthread_mutex_lock(&d->mutex);
}

void domain_leave(struct domain *d)
{
    pthread_mutex_unlock(&d->mutex);
}

void domain_use(struct domain *d)
{
    domain_enter(d);
    d->users++;
    domain_leave(d);
}

void domain_unuse(struct domain *d)
{
    domain_enter(d);
    d->users--;
    domain_leave(d);
}

/* ---- progress ---- */

void domain_progress(struct domain *d)
{
    struct zcrp_completion completions[AT_ONCE];
    int count;

    d->announced = 0;
    do {
        count = zcrp_queue_take(d->queue, completions, AT_ONCE, 0);
        for (int i = 0; i < count; i++)
            ep_on_completion(&completions[i]);
    } while (count == AT_ONCE);
}

void domain_on_announced(struct domain *d)
{
    if (++d->announced >= ANNOUNCED)
        domain_progress(d);
}

void domain_sleep(struct domain *d, int also, int timeout_ms)
{
    struct pollfd fds[] = {{.fd = zcrp_queue_descriptor(d->queue), .events = POLLIN},
                           {.fd = also, .events = POLLIN}};

    (void)poll(fds, 2, timeout_ms);
}

static void *run(void *domain)
{
    struct domain *d = domain;
    struct pollfd stop = {.fd = d->stop, .events = POLLIN};

    while (poll(&stop, 1, 0) != 1) {
        domain_enter(d);
        domain_progress(d);
        domain_leave(d);
        domain_sleep(d, d->stop, -1);
    }
    return NULL;
}

/* A new thread inherits its creator's mask, so that there is no moment in which it is open. */
int domain_start(struct domain *d, pthread_t *thread, const char *name, void *(*work)(void *))
{
    sigset_t all, before;

    (void)sigfillset(&all);
    (void)sigdelset(&all, SIGBUS);
    (void)sigdelset(&all, SIGSEGV);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(thread, NULL, work, d);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error == 0)
        (void)pthread_setname_np(*thread, name); /* a convenience: no reason to fail */
    return error;
}

static int start_thread(struct domain *d)
{
    d->stop = eventfd(0, EFD_CLOEXEC);
    if (d->stop < 0)
        return -errno;
    int error = domain_start(d, &d->thread, "zcrp-fabric", run);
    if (error != 0) {
        (void)close(d->stop);
        return -error;
    }
    return 0;
}

static void stop_thread(struct domain *d)
{
    (void)eventfd_write(d->stop, 1);
    (void)pthread_join(d->thread, NULL);
    (void)close(d->stop);
}

/* ---- life ---- */

/* The same file for all ranks: a pre-shared key, with which each can call and be called. */
static int read_keys(struct domain *d)
{
    const char *path = getenv("FI_ZCRP_KEYS");

    if (path == NULL || *path == '\0') {
        host_log(FI_LOG_WARN, "FI_ZCRP_KEYS is not set: messages cross the network in plain, and "
                              "whoever reaches this machine can send some");
        return 0;
    }
    int code = zcrp_keys_read(&d->keys, path);
    if (code == ZCRP_OK)
        return 0;
    host_log(FI_LOG_WARN, "FI_ZCRP_KEYS: %s", zcrp_explain(code));
    return -error_of_code(code);
}

static void destroy(struct domain *d)
{
    LIST_EACH(link, &d->spare_ops)
    free(OWNER(link, struct op, in));
    (void)zcrp_queue_close(d->queue);
    zcrp_keys_free(d->keys);
    closers_fini(&d->closers);
    (void)pthread_mutex_destroy(&d->mutex);
    free(d);
}

static int domain_close(struct fid *fid)
{
    struct domain *d = OWNER(fid, struct domain, fid.fid);

    domain_enter(d);
    if (d->users > 0) {
        domain_leave(d);
        return -FI_EBUSY;
    }
    domain_leave(d);
    closers_stop(d);
    if (d->is_automatic)
        stop_thread(d);
    fabric_use(d->fabric, -1);
    destroy(d);
    return 0;
}

/* ---- what it has not ---- */

static int no_scalable_ep(struct fid_domain *domain, struct fi_info *info, struct fid_ep **ep,
                          void *context)
{
    (void)domain, (void)info, (void)ep, (void)context;
    return -FI_ENOSYS;
}

static int no_poll(struct fid_domain *domain, struct fi_poll_attr *attr, struct fid_poll **set)
{
    (void)domain, (void)attr, (void)set;
    return -FI_ENOSYS;
}

static int no_stx(struct fid_domain *domain, struct fi_tx_attr *attr, struct fid_stx **stx,
                  void *context)
{
    (void)domain, (void)attr, (void)stx, (void)context;
    return -FI_ENOSYS;
}

static int no_srx(struct fid_domain *domain, struct fi_rx_attr *attr, struct fid_ep **ep,
                  void *context)
{
    (void)domain, (void)attr, (void)ep, (void)context;
    return -FI_ENOSYS;
}

static int no_atomic(struct fid_domain *domain, enum fi_datatype type, enum fi_op op,
                     struct fi_atomic_attr *attr, uint64_t flags)
{
    (void)domain, (void)type, (void)op, (void)attr, (void)flags;
    return -FI_EOPNOTSUPP;
}

static int no_collective(struct fid_domain *domain, enum fi_collective_op op,
                         struct fi_collective_attr *attr, uint64_t flags)
{
    (void)domain, (void)op, (void)attr, (void)flags;
    return -FI_ENOSYS;
}

static struct fi_ops fid_ops = {
    .size = sizeof(struct fi_ops),
    .close = domain_close,
    .bind = no_bind,
    .control = no_control,
    .ops_open = no_ops,
};

static struct fi_ops_domain domain_ops = {
    .size = sizeof(struct fi_ops_domain),
    .av_open = av_open,
    .cq_open = cq_open,
    .endpoint = ep_open,
    .scalable_ep = no_scalable_ep,
    .cntr_open = cntr_open,
    .poll_open = no_poll,
    .stx_ctx = no_stx,
    .srx_ctx = no_srx,
    .query_atomic = no_atomic,
    .query_collective = no_collective,
};

int domain_open(struct fid_fabric *fabric, struct fi_info *info, struct fid_domain **domain,
                void *context)
{
    if (!info_is_ours(info))
        return -FI_EINVAL;
    struct domain *d = calloc(1, sizeof(*d));
    if (d == NULL)
        return -FI_ENOMEM;
    d->fid.fid = (struct fid){.fclass = FI_CLASS_DOMAIN, .context = context, .ops = &fid_ops};
    d->fid.ops = &domain_ops;
    d->fid.mr = &mr_ops;
    d->fabric = fabric;
    closers_init(&d->closers);
    list_init(&d->spare_ops);
    (void)pthread_mutex_init(&d->mutex, NULL);
    int error = read_keys(d);
    if (error == 0)
        error = -error_of_code(zcrp_queue_open(&d->queue));
    if (error == 0 && info->domain_attr->data_progress == FI_PROGRESS_AUTO) {
        error = start_thread(d);
        d->is_automatic = error == 0;
    }
    if (error != 0) {
        destroy(d);
        return error;
    }
    fabric_use(fabric, 1);
    *domain = &d->fid;
    return 0;
}
