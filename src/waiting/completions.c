#include "completions.h"

#include "core/check.h"
#include "platform/thread.h"

#include <sched.h>

static struct mutex places;

void completions_lock(void)
{
    mutex_lock(&places);
}

void completions_unlock(void)
{
    mutex_unlock(&places);
}

void completions_after_fork(void)
{
    mutex_init(&places);
}

void completions_init(struct completions *c, void (*ring)(void *queue), void *queue,
                      struct sockets *sockets)
{
    *c = (struct completions){.ring = ring, .queue = queue, .sockets = sockets};
}

void completions_fini(struct completions *c)
{
    CHECK(c->all == NULL);
    while (atomic_load(&c->ringers) > 0)
        sched_yield();
}

/* ---- the ready list, locked ---- */

static void add_ready(struct completions *c, struct place *p)
{
    p->ready_before = c->last;
    p->ready_behind = NULL;
    if (c->last != NULL)
        c->last->ready_behind = p;
    else
        c->first = p;
    c->last = p;
}

static void remove_ready(struct completions *c, struct place *p)
{
    if (p->ready_before != NULL)
        p->ready_before->ready_behind = p->ready_behind;
    else
        c->first = p->ready_behind;
    if (p->ready_behind != NULL)
        p->ready_behind->ready_before = p->ready_before;
    else
        c->last = p->ready_before;
}

struct place *completions_first(const struct completions *c)
{
    return c->first;
}

/* One that stays the last stays in the list: no look without the mutex finds it empty meanwhile. */
void completions_put_back(struct completions *c, struct place *p, uint32_t facts)
{
    bool stays = facts != 0 && c->last == p;

    if (!stays)
        remove_ready(c, p);
    p->facts = facts;
    if (facts != 0 && !stays)
        add_ready(c, p);
}

static struct completions *note(struct completions *c, struct place *p, uint32_t facts)
{
    if (c == NULL || facts == 0)
        return NULL;
    bool had_none = c->first == NULL;
    if (p->facts == 0)
        add_ready(c, p);
    p->facts |= facts;
    if (!had_none)
        return NULL;
    atomic_fetch_add(&c->ringers, 1);
    return c;
}

struct completions *place_note_locked(struct place *p, uint32_t facts)
{
    return note(atomic_load(&p->in), p, facts);
}

void completions_ring(struct completions *c)
{
    if (c == NULL)
        return;
    c->ring(c->queue);
    atomic_fetch_sub(&c->ringers, 1);
}

/* ---- busy users, locked ---- */

void completions_note_busy(struct completions *c, struct place *p)
{
    if (p->is_busy)
        return;
    p->is_busy = true;
    p->next_busy = c->first_busy;
    c->first_busy = p;
}

static void forget_busy(struct completions *c, struct place *p)
{
    struct place *before = c->first_busy;

    if (!p->is_busy)
        return;
    p->is_busy = false;
    if (before == p) {
        c->first_busy = p->next_busy;
        return;
    }
    while (before->next_busy != p)
        before = before->next_busy;
    before->next_busy = p->next_busy;
}

uint32_t completions_count_busy(const struct completions *c)
{
    uint32_t count = 0;

    for (const struct place *p = c->first_busy; p != NULL; p = p->next_busy)
        count++;
    return count;
}

struct place *completions_take_busy(struct completions *c, bool any)
{
    struct place *p = c->first_busy;

    while (p != NULL && !any && (p->facts & FACT_ENDED))
        p = p->next_busy;
    if (p != NULL)
        forget_busy(c, p);
    return p;
}

/* ---- a taker that looks ---- */

static _Thread_local struct taker *taker;

void completions_look_as(struct taker *t)
{
    taker = t;
}

struct taker *completions_taker(const struct place *p)
{
    const struct completions *c = atomic_load_explicit(&p->in, memory_order_acquire);
    struct taker *t = c != NULL ? taker : NULL;
    bool is_next = t != NULL && t->of == c && t->left > 0 && !completions_are_ready(c);

    return is_next ? t : NULL;
}

/* ---- places ---- */

/* Locked. It is ready before it is in the queue: what ends just then is not told ahead of what it
 * has. */
static struct completions *join(struct completions *c, struct place *p, const struct place *as)
{
    p->context = as->context;
    p->owner = as->owner;
    p->is_backlog = as->is_backlog;
    p->told = as->told;
    p->facts = p->callers = 0;
    p->previous = NULL;
    p->next = c->all;
    if (c->all != NULL)
        c->all->previous = p;
    c->all = p;
    struct completions *rung = note(c, p, as->facts);
    atomic_store(&p->in, c);
    return rung;
}

bool completions_add_both(struct completions *c, struct place *p, struct place *other,
                          const struct place *as)
{
    struct completions *rung = NULL;

    completions_lock();
    bool are_free = !place_is_in_queue(p) && (other == NULL || !place_is_in_queue(other));
    if (are_free)
        rung = join(c, p, as);
    if (are_free && other != NULL)
        (void)join(c, other, as); /* what there is to ring for the first one has */
    completions_unlock();
    completions_ring(rung);
    return are_free;
}

bool completions_add(struct completions *c, struct place *p, const struct place *as)
{
    return completions_add_both(c, p, NULL, as);
}

void place_note(struct place *p, uint32_t facts)
{
    if (!place_is_in_queue(p))
        return;
    completions_lock();
    struct completions *c = place_note_locked(p, facts);
    completions_unlock();
    completions_ring(c);
}

void place_note_callers(struct place *p, uint32_t callers)
{
    if (!place_is_in_queue(p) || callers == 0)
        return;
    completions_lock();
    p->callers += callers;
    struct completions *c = place_note_locked(p, FACT_CALLER);
    completions_unlock();
    completions_ring(c);
}

bool place_leave(struct place *p)
{
    struct completions *c = atomic_load(&p->in);

    if (c == NULL)
        return false;
    if (p->facts != 0)
        remove_ready(c, p);
    forget_busy(c, p);
    if (p->previous != NULL)
        p->previous->next = p->next;
    else
        c->all = p->next;
    if (p->next != NULL)
        p->next->previous = p->previous;
    p->facts = 0;
    atomic_store(&p->in, NULL);
    return true;
}
