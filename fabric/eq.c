#include "eq.h"

#include "list.h"
#include "provider.h"

#include <pthread.h>
#include <rdma/fi_errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct event {
    struct list in;
    uint32_t event;
    size_t size;
    unsigned char bytes[];
};

enum { EVENT_MOST = 4096 }; /* bytes of one */

struct eq {
    struct fid_eq fid;
    struct fid_fabric *fabric;
    bool is_written; /* (c) by the program: FI_WRITE */
    pthread_mutex_t mutex;
    pthread_cond_t written;
    struct list events;
};

/* Within the mutex. */
static ssize_t take(struct eq *eq, uint32_t *event, void *buffer, size_t size, uint64_t flags)
{
    if (list_is_empty(&eq->events))
        return -FI_EAGAIN;
    struct event *e = OWNER(eq->events.next, struct event, in);
    if (e->size > size)
        return -FI_ETOOSMALL;
    ssize_t bytes = (ssize_t)e->size;
    *event = e->event;
    memcpy(buffer, e->bytes, e->size);
    if ((flags & FI_PEEK) == 0) {
        list_remove(&e->in);
        free(e);
    }
    return bytes;
}

static ssize_t eq_read(struct fid_eq *fid, uint32_t *event, void *buffer, size_t size,
                       uint64_t flags)
{
    struct eq *eq = OWNER(fid, struct eq, fid);

    (void)pthread_mutex_lock(&eq->mutex);
    ssize_t result = take(eq, event, buffer, size, flags);
    (void)pthread_mutex_unlock(&eq->mutex);
    return result;
}

static struct timespec deadline_after(int timeout_ms)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    t.tv_sec += timeout_ms / 1000;
    t.tv_nsec += timeout_ms % 1000 * 1000000L;
    if (t.tv_nsec >= 1000000000L) {
        t.tv_nsec -= 1000000000L;
        t.tv_sec++;
    }
    return t;
}

static ssize_t eq_sread(struct fid_eq *fid, uint32_t *event, void *buffer, size_t size,
                        int timeout_ms, uint64_t flags)
{
    struct eq *eq = OWNER(fid, struct eq, fid);
    struct timespec deadline = deadline_after(timeout_ms < 0 ? 0 : timeout_ms);
    int over = 0;

    (void)pthread_mutex_lock(&eq->mutex);
    while (list_is_empty(&eq->events) && over == 0)
        over = timeout_ms < 0 ? pthread_cond_wait(&eq->written, &eq->mutex)
                              : pthread_cond_timedwait(&eq->written, &eq->mutex, &deadline);
    ssize_t result = take(eq, event, buffer, size, flags);
    (void)pthread_mutex_unlock(&eq->mutex);
    return result;
}

static ssize_t eq_readerr(struct fid_eq *fid, struct fi_eq_err_entry *entry, uint64_t flags)
{
    (void)fid, (void)entry, (void)flags;
    return -FI_EAGAIN;
}

static ssize_t eq_write(struct fid_eq *fid, uint32_t event, const void *buffer, size_t size,
                        uint64_t flags)
{
    struct eq *eq = OWNER(fid, struct eq, fid);

    if (!eq->is_written || flags != 0 || size > EVENT_MOST)
        return -FI_EINVAL;
    struct event *e = malloc(sizeof(*e) + size);
    if (e == NULL)
        return -FI_ENOMEM;
    *e = (struct event){.event = event, .size = size};
    list_init(&e->in);
    memcpy(e->bytes, buffer, size);
    (void)pthread_mutex_lock(&eq->mutex);
    list_add(&eq->events, &e->in);
    (void)pthread_cond_broadcast(&eq->written);
    (void)pthread_mutex_unlock(&eq->mutex);
    return (ssize_t)size;
}

static const char *eq_strerror(struct fid_eq *fid, int code, const void *data, char *text,
                               size_t size)
{
    (void)fid, (void)code, (void)data;
    if (text != NULL && size > 0)
        text[0] = '\0';
    return "no error";
}

static int eq_close(struct fid *fid)
{
    struct eq *eq = OWNER(fid, struct eq, fid.fid);

    LIST_EACH(link, &eq->events)
    free(OWNER(link, struct event, in));
    fabric_use(eq->fabric, -1);
    (void)pthread_cond_destroy(&eq->written);
    (void)pthread_mutex_destroy(&eq->mutex);
    free(eq);
    return 0;
}

static struct fi_ops fid_ops = {
    .size = sizeof(struct fi_ops),
    .close = eq_close,
    .bind = no_bind,
    .control = no_control,
    .ops_open = no_ops,
};

static struct fi_ops_eq eq_ops = {
    .size = sizeof(struct fi_ops_eq),
    .read = eq_read,
    .readerr = eq_readerr,
    .write = eq_write,
    .sread = eq_sread,
    .strerror = eq_strerror,
};

int eq_open(struct fid_fabric *fabric, struct fi_eq_attr *attr, struct fid_eq **eq, void *context)
{
    pthread_condattr_t clock;

    if (attr != NULL && attr->wait_obj != FI_WAIT_NONE && attr->wait_obj != FI_WAIT_UNSPEC)
        return -FI_ENOSYS;
    struct eq *e = calloc(1, sizeof(*e));
    if (e == NULL)
        return -FI_ENOMEM;
    e->fid.fid = (struct fid){.fclass = FI_CLASS_EQ, .context = context, .ops = &fid_ops};
    e->fid.ops = &eq_ops;
    e->is_written = attr != NULL && (attr->flags & FI_WRITE) != 0;
    e->fabric = fabric;
    fabric_use(fabric, 1);
    list_init(&e->events);
    (void)pthread_mutex_init(&e->mutex, NULL);
    (void)pthread_condattr_init(&clock);
    (void)pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&e->written, &clock);
    (void)pthread_condattr_destroy(&clock);
    *eq = &e->fid;
    return 0;
}
