#include "cntr.h"

#include "provider.h"

#include <stdlib.h>
#include <unistd.h>

enum { PAUSE_US = 200 };

/* A thread in cntr_wait. */
struct waiter {
    struct list in; /* of cntr->waiters */
    uint64_t threshold;
    uint64_t errors; /* that there were when it began */
};

void cntr_on_success(struct cntr *c)
{
    c->value++;
    waker_ring(&c->waker);
}

void cntr_on_error(struct cntr *c)
{
    c->errors++;
    waker_ring(&c->waker);
}

static uint64_t read_one(struct cntr *c, const uint64_t *which)
{
    domain_enter(c->domain);
    domain_progress(c->domain);
    uint64_t value = *which;
    domain_leave(c->domain);
    return value;
}

static uint64_t cntr_read(struct fid_cntr *fid)
{
    struct cntr *c = OWNER(fid, struct cntr, fid);

    return read_one(c, &c->value);
}

static uint64_t cntr_readerr(struct fid_cntr *fid)
{
    struct cntr *c = OWNER(fid, struct cntr, fid);

    return read_one(c, &c->errors);
}

static int change(struct cntr *c, uint64_t *which, bool adds, uint64_t value)
{
    domain_enter(c->domain);
    *which = adds ? *which + value : value;
    waker_ring(&c->waker);
    domain_leave(c->domain);
    return 0;
}

static int cntr_add(struct fid_cntr *fid, uint64_t value)
{
    struct cntr *c = OWNER(fid, struct cntr, fid);

    return change(c, &c->value, true, value);
}

static int cntr_set(struct fid_cntr *fid, uint64_t value)
{
    struct cntr *c = OWNER(fid, struct cntr, fid);

    return change(c, &c->value, false, value);
}

static int cntr_adderr(struct fid_cntr *fid, uint64_t value)
{
    struct cntr *c = OWNER(fid, struct cntr, fid);

    return change(c, &c->errors, true, value);
}

static int cntr_seterr(struct fid_cntr *fid, uint64_t value)
{
    struct cntr *c = OWNER(fid, struct cntr, fid);

    return change(c, &c->errors, false, value);
}

/* ---- waiting ---- */

static bool is_over(const struct cntr *c, const struct waiter *w)
{
    return c->value >= w->threshold || c->errors != w->errors;
}

/* Is a thread's wait over that has not noticed yet? A thread that arms the bell silences it for
 * that one, too. Within the mutex. */
static bool has_news(const struct cntr *c)
{
    for (struct list *link = c->waiters.next; link != &c->waiters; link = link->next)
        if (is_over(c, OWNER(link, struct waiter, in)))
            return true;
    return false;
}

enum look { LOOK_OVER, LOOK_AGAIN, LOOK_SLEEP };

/* When it is over, the waiter is in no list. The bell is armed for a sleep. */
static enum look look(struct cntr *c, struct waiter *w, bool may_sleep, int *result)
{
    domain_enter(c->domain);
    enum look next = may_sleep && !has_news(c) ? LOOK_SLEEP : LOOK_AGAIN;
    if (next == LOOK_SLEEP)
        waker_arm(&c->waker);
    domain_progress(c->domain);
    bool has_ended = is_over(c, w);
    *result = c->value >= w->threshold ? 0 : has_ended ? -FI_EAVAIL : -FI_ETIMEDOUT;
    if (has_ended)
        list_remove(&w->in);
    domain_leave(c->domain);
    return has_ended ? LOOK_OVER : next;
}

static void begin(struct cntr *c, struct waiter *w)
{
    domain_enter(c->domain);
    w->errors = c->errors;
    list_init(&w->in);
    list_add(&c->waiters, &w->in);
    domain_leave(c->domain);
}

static void give_up(struct cntr *c, struct waiter *w)
{
    domain_enter(c->domain);
    list_remove(&w->in);
    domain_leave(c->domain);
}

/* An error that comes while somebody waits ends the wait. While the bell rings for others, a sleep
 * would end at once: a pause leaves them the mutex. */
static int cntr_wait(struct fid_cntr *fid, uint64_t threshold, int timeout_ms)
{
    struct cntr *c = OWNER(fid, struct cntr, fid);
    struct waiter w = {.threshold = threshold};
    int64_t began = waker_now();
    int result;

    if (c->waker.descriptor < 0)
        return -FI_EINVAL;
    begin(c, &w);
    for (;;) {
        bool may_sleep = waker_now() - began >= WAKER_SPIN_NS;
        enum look next = look(c, &w, may_sleep, &result);
        if (next == LOOK_OVER)
            return result;
        int left = waker_left(began, timeout_ms);
        if (left == 0) {
            give_up(c, &w);
            return result;
        }
        if (next == LOOK_SLEEP)
            waker_sleep(&c->waker, left);
        else if (may_sleep)
            (void)usleep(PAUSE_US);
    }
}

void cntr_trywait(struct cntr *c)
{
    domain_enter(c->domain);
    waker_arm(&c->waker);
    domain_progress(c->domain);
    if (has_news(c))
        waker_ring(&c->waker);
    domain_leave(c->domain);
}

/* ---- life ---- */

static int cntr_close(struct fid *fid)
{
    struct cntr *c = OWNER(fid, struct cntr, fid.fid);

    domain_enter(c->domain);
    bool is_used = c->users > 0;
    domain_leave(c->domain);
    if (is_used)
        return -FI_EBUSY;
    waker_fini(&c->waker);
    domain_unuse(c->domain);
    free(c);
    return 0;
}

static int cntr_control(struct fid *fid, int command, void *argument)
{
    return waker_control(&OWNER(fid, struct cntr, fid.fid)->waker, command, argument);
}

static struct fi_ops fid_ops = {
    .size = sizeof(struct fi_ops),
    .close = cntr_close,
    .bind = no_bind,
    .control = cntr_control,
    .ops_open = no_ops,
};

static struct fi_ops_cntr cntr_ops = {
    .size = sizeof(struct fi_ops_cntr),
    .read = cntr_read,
    .readerr = cntr_readerr,
    .add = cntr_add,
    .set = cntr_set,
    .wait = cntr_wait,
    .adderr = cntr_adderr,
    .seterr = cntr_seterr,
};

int cntr_open(struct fid_domain *domain, struct fi_cntr_attr *attr, struct fid_cntr **cntr,
              void *context)
{
    struct domain *d = OWNER(domain, struct domain, fid);

    if (attr != NULL && (attr->flags != 0 || attr->events != FI_CNTR_EVENTS_COMP))
        return -FI_EINVAL;
    struct cntr *c = calloc(1, sizeof(*c));
    if (c == NULL)
        return -FI_ENOMEM;
    int error = waker_init(&c->waker, d, attr != NULL ? attr->wait_obj : FI_WAIT_UNSPEC);
    if (error != 0) {
        free(c);
        return error;
    }
    c->fid.fid = (struct fid){.fclass = FI_CLASS_CNTR, .context = context, .ops = &fid_ops};
    c->fid.ops = &cntr_ops;
    c->domain = d;
    list_init(&c->waiters);
    domain_use(d);
    *cntr = &c->fid;
    return 0;
}
