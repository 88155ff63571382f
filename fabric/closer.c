#include "closer.h"

#include "domain.h"
#include "ep.h"
#include "way.h"

void closers_init(struct closers *c)
{
    *c = (struct closers){.count = 0};
    list_init(&c->awaited);
    list_init(&c->others);
    (void)pthread_cond_init(&c->added, NULL);
    (void)pthread_cond_init(&c->closed, NULL);
}

void closers_fini(struct closers *c)
{
    (void)pthread_cond_destroy(&c->closed);
    (void)pthread_cond_destroy(&c->added);
}

/* The program does not want these any more, so nobody waits until the peer has them. A way that has
 * ended is its closer's alone. */
static void cancel(struct list *ops)
{
    for (struct list *link = ops->next; link != ops; link = link->next) {
        struct op *op = OWNER(link, struct op, in);
        if (op->message != NULL)
            (void)zcrp_cancel(op->message);
    }
}

/* The list whose first way is to be closed next. NULL: nothing is. */
static struct list *next_of(struct closers *c, bool is_thread)
{
    bool may = !is_thread || c->at_others < OTHERS_MOST;

    if (!list_is_empty(&c->awaited))
        return &c->awaited;
    return may && !list_is_empty(&c->others) ? &c->others : NULL;
}

/* Within the mutex, which it leaves meanwhile. */
static void close_one(struct domain *d, struct list *from)
{
    struct way *w = OWNER(list_take(from), struct way, in);
    bool is_other = from == &d->closers.others;

    d->closers.waiting--;
    d->closers.at_others += is_other;
    domain_leave(d);
    cancel(&w->flying);
    cancel(&w->matched);
    if (w->bulk != NULL)
        link_close(w->bulk);
    if (w->control != NULL)
        link_close(w->control);
    domain_enter(d);
    d->closers.at_others -= is_other;
    if (is_other) /* whoever closes its endpoint may take no other one */
        (void)pthread_cond_signal(&d->closers.added);
    w->ep->closing--;
    way_destroy(w);
    (void)pthread_cond_broadcast(&d->closers.closed);
}

static void *run(void *domain)
{
    struct domain *d = domain;
    struct closers *c = &d->closers;
    struct list *from;

    domain_enter(d);
    while ((from = next_of(c, true)) != NULL || !c->is_over) {
        if (from != NULL) {
            close_one(d, from);
            continue;
        }
        c->idle++;
        (void)pthread_cond_wait(&c->added, &d->mutex);
        c->idle--;
    }
    domain_leave(d);
    return NULL;
}

/* Does an operation end when the way is closed, or may a send to its peer open another one? */
static bool is_awaited(const struct way *w)
{
    return w->is_ours || !list_is_empty(&w->flying) || !list_is_empty(&w->matched);
}

/* An idle thread is woken when the caller leaves the mutex, and takes one way. Without a thread a
 * way waits until the next one is added, or its endpoint is closed. */
void closer_add(struct way *w)
{
    struct domain *d = w->ep->domain;
    struct closers *c = &d->closers;

    w->ep->closing++;
    list_add(is_awaited(w) ? &c->awaited : &c->others, &w->in);
    c->waiting++;
    if (c->waiting > c->idle && c->count < CLOSERS_MOST &&
        domain_start(d, &c->threads[c->count], "zcrp-fabric-end", run) == 0)
        c->count++;
    (void)pthread_cond_signal(&c->added);
}

void closer_await(struct domain *d, const int *count)
{
    while (*count > 0) {
        struct list *from = next_of(&d->closers, false);
        if (from != NULL)
            close_one(d, from);
        else
            (void)pthread_cond_wait(&d->closers.closed, &d->mutex);
    }
}

void closers_stop(struct domain *d)
{
    domain_enter(d);
    d->closers.is_over = true;
    (void)pthread_cond_broadcast(&d->closers.added);
    domain_leave(d);
    for (int i = 0; i < d->closers.count; i++)
        (void)pthread_join(d->closers.threads[i], NULL);
}
