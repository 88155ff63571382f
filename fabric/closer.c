#include "closer.h"

#include "domain.h"
#include "ep.h"
#include "way.h"

void closers_init(struct closers *c)
{
    *c = (struct closers){.count = 0};
    list_init(&c->ways);
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

/* Within the mutex, which it leaves meanwhile. */
static void close_one(struct domain *d)
{
    struct way *w = OWNER(d->closers.ways.next, struct way, in);

    list_remove(&w->in);
    d->closers.waiting--;
    domain_leave(d);
    cancel(&w->flying);
    cancel(&w->matched);
    if (w->bulk != NULL)
        link_close(w->bulk);
    if (w->control != NULL)
        link_close(w->control);
    domain_enter(d);
    w->ep->closing--;
    way_destroy(w);
    (void)pthread_cond_broadcast(&d->closers.closed);
}

static void *run(void *domain)
{
    struct domain *d = domain;
    struct closers *c = &d->closers;

    domain_enter(d);
    while (!c->is_over || !list_is_empty(&c->ways)) {
        if (!list_is_empty(&c->ways)) {
            close_one(d);
            continue;
        }
        c->idle++;
        (void)pthread_cond_wait(&c->added, &d->mutex);
        c->idle--;
    }
    domain_leave(d);
    return NULL;
}

/* An idle thread is woken when the caller leaves the mutex, and takes one way. Without a thread a
 * way waits until the next one is added, or its endpoint is closed. */
void closer_add(struct way *w)
{
    struct domain *d = w->ep->domain;
    struct closers *c = &d->closers;

    w->ep->closing++;
    list_add(&c->ways, &w->in);
    c->waiting++;
    if (c->waiting > c->idle && c->count < CLOSERS_MOST &&
        domain_start(d, &c->threads[c->count], "zcrp-fabric-end", run) == 0)
        c->count++;
    (void)pthread_cond_signal(&c->added);
}

void closer_await(struct domain *d, const int *count)
{
    while (*count > 0) {
        if (!list_is_empty(&d->closers.ways))
            close_one(d);
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
