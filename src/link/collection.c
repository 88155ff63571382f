#include "collection.h"

void collection_init(struct collection *c)
{
    *c = (struct collection){.wake = {.fd = -1}};
}

/* Both locked. A message keeps its code while it is in the list: whoever submits it again withdraws
 * it first. */
static void add_ended(struct collection *c, struct message *m)
{
    atomic_store_explicit(&m->collection, c, memory_order_relaxed);
    list_add(&c->ended, m);
    c->good += m->code == ZCRP_OK;
}

static void let_go(struct collection *c, struct message *m)
{
    list_remove(&c->ended, m);
    c->good -= m->code == ZCRP_OK;
    atomic_store(&m->collection, NULL);
}

/* Locked. */
static void let_go_of_all(struct collection *c)
{
    while (c->ended.first != NULL)
        let_go(c, c->ended.first);
}

void collection_fini(struct collection *c)
{
    completions_lock();
    (void)place_leave(&c->place);
    let_go_of_all(c);
    completions_unlock();
    if (atomic_load(&c->is_on))
        wake_fini(&c->wake);
}

/* Two threads may both be first. */
static bool turn_on(struct collection *c, struct wake *wake)
{
    completions_lock();
    bool is_first = !atomic_load(&c->is_on);
    if (is_first)
        c->wake = *wake;
    atomic_store(&c->is_on, true);
    completions_unlock();
    return is_first;
}

static bool is_empty(struct collection *c)
{
    completions_lock();
    bool is = c->ended.first == NULL;
    completions_unlock();
    return is;
}

/* There may be messages, if the entity is in a queue. */
int collection_descriptor(struct collection *c)
{
    if (!atomic_load(&c->is_on)) {
        struct wake wake;
        int error = wake_init(&wake);

        if (error)
            return error;
        if (!turn_on(c, &wake))
            wake_fini(&wake);
        if (!is_empty(c))
            collection_ring(c);
    }
    return wake_fd(&c->wake);
}

/* Tells the taker that looks in this thread, if there is one, of as many as it has room for.
 * Returns the rest. Behind its latch a message is its user's again. */
static struct list hand_over(struct collection *c, struct list ended, struct wakes *wakes)
{
    struct taker *t = atomic_load(&c->is_on) ? NULL : completions_taker(&c->place);

    while (t != NULL && t->left > 0 && ended.first != NULL) {
        struct message *m = ended.first;
        int code = m->code;
        ended.first = m == ended.last ? NULL : m->links.next;
        latch_open_under_mutex(&m->latch, wakes);
        t->tell(t, &c->place, &m->public, code);
    }
    if (ended.first != NULL)
        ended.first->links.previous = NULL;
    return ended;
}

/* None of them leaves the collection, or goes on, before the mutex is free. */
static struct completions *put(struct collection *c, struct list ended, struct wakes *wakes)
{
    struct message *next;

    completions_lock();
    bool has_taker = collection_has_taker(c);
    for (struct message *m = ended.first; m != NULL; m = next) {
        next = m->links.next;
        if (has_taker || m->is_lent)
            add_ended(c, m);
        latch_open_under_mutex(&m->latch, wakes);
    }
    struct completions *queue = place_note_locked(&c->place, FACT_ENDED);
    completions_unlock();
    return queue;
}

struct completions *collection_put(struct collection *c, struct list ended, struct wakes *wakes)
{
    ended = hand_over(c, ended, wakes);
    return ended.first != NULL ? put(c, ended, wakes) : NULL;
}

void collection_ring(struct collection *c)
{
    if (atomic_load(&c->is_on) && !atomic_exchange(&c->is_rung, true))
        wake_signal(&c->wake);
}

void collection_tell(struct collection *c, struct completions *queue)
{
    collection_ring(c);
    completions_ring(queue);
}

struct message *collection_take_locked(struct collection *c, int *code)
{
    struct message *m = c->ended.first;

    if (m == NULL)
        return NULL;
    *code = m->code;
    let_go(c, m); /* its owner may free it now */
    collection_set_more(c, false);
    return m;
}

bool collection_leave_queue(struct collection *c, const struct completions *from,
                            struct sockets **sockets)
{
    completions_lock();
    struct completions *in = atomic_load(&c->place.in);
    bool was_in = in != NULL && (from == NULL || in == from);
    if (was_in) {
        *sockets = in->sockets;
        (void)place_leave(&c->place);
    }
    if (was_in)
        collection_set_more(c, false);
    if (was_in && !atomic_load(&c->is_on))
        let_go_of_all(c);
    completions_unlock();
    return was_in;
}

/* Clearing may swallow the ring for a message that was put just then, hence the second look. */
static void clear(struct collection *c)
{
    if (!atomic_load(&c->is_on))
        return;
    wake_clear(&c->wake);
    atomic_store(&c->is_rung, false);
    if (!is_empty(c))
        collection_ring(c);
}

/* A user that gets nothing may wait for the next write of the descriptor (EPOLLET), although it is
 * readable already. So the next ring writes. */
struct message *collection_take(struct collection *c)
{
    if (!collection_has_taker(c))
        return NULL;
    completions_lock();
    int code;
    struct message *m = collection_take_locked(c, &code);
    bool has_more = c->ended.first != NULL;
    collection_set_more(c, has_more);
    completions_unlock();
    if (!has_more)
        clear(c);
    return m;
}

void collection_withdraw(struct message *message)
{
    if (atomic_load(&message->collection) == NULL)
        return;
    if (message->generation != forked_generation()) {
        atomic_store(&message->collection, NULL);
        return;
    }
    completions_lock();
    struct collection *c = atomic_load(&message->collection);
    if (c != NULL)
        let_go(c, message);
    completions_unlock();
}
