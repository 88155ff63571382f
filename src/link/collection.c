#include "collection.h"

#include "platform/thread.h"

static struct mutex collections = {.handle = PTHREAD_MUTEX_INITIALIZER};

void collection_init(struct collection *c)
{
    *c = (struct collection){.wake = {.fd = -1}};
}

static void let_go(struct collection *c, struct message *m)
{
    list_remove(&c->ended, m);
    atomic_store(&m->collection, NULL);
}

void collection_fini(struct collection *c)
{
    mutex_lock(&collections);
    while (c->ended.first != NULL)
        let_go(c, c->ended.first);
    mutex_unlock(&collections);
    if (atomic_load(&c->is_on))
        wake_fini(&c->wake);
}

/* Two threads may both be first. */
static bool turn_on(struct collection *c, struct wake *wake)
{
    mutex_lock(&collections);
    bool is_first = !atomic_load(&c->is_on);
    if (is_first)
        c->wake = *wake;
    atomic_store(&c->is_on, true);
    mutex_unlock(&collections);
    return is_first;
}

int collection_descriptor(struct collection *c)
{
    if (!atomic_load(&c->is_on)) {
        struct wake wake;
        int error = wake_init(&wake);

        if (error)
            return error;
        if (!turn_on(c, &wake))
            wake_fini(&wake);
    }
    return wake_fd(&c->wake);
}

void collection_put(struct collection *c, struct list ended)
{
    if (!atomic_load(&c->is_on))
        return;
    mutex_lock(&collections);
    for (struct message *m = ended.first; m != NULL; m = m->links.next)
        atomic_store(&m->collection, c);
    list_append(&c->ended, ended);
    mutex_unlock(&collections);
}

void collection_ring(struct collection *c)
{
    if (atomic_load(&c->is_on) && !atomic_exchange(&c->is_rung, true))
        wake_signal(&c->wake);
}

/* A message whose latch is still closed will be rung for: it is left for then. */
static struct message *take_open(struct collection *c, bool *is_empty)
{
    mutex_lock(&collections);
    struct message *m = c->ended.first;
    if (m != NULL && message_is_in_flight(m))
        m = NULL;
    if (m != NULL)
        let_go(c, m);
    *is_empty = c->ended.first == NULL;
    atomic_store_explicit(&c->has_more, m != NULL && !*is_empty, memory_order_relaxed);
    mutex_unlock(&collections);
    return m;
}

static bool is_empty_now(struct collection *c)
{
    mutex_lock(&collections);
    bool is_empty = c->ended.first == NULL;
    mutex_unlock(&collections);
    return is_empty;
}

/* Clearing may swallow the ring for a message that was put just then, hence the second look. */
static void clear(struct collection *c)
{
    wake_clear(&c->wake);
    atomic_store(&c->is_rung, false);
    if (!is_empty_now(c))
        collection_ring(c);
}

/* A user that gets nothing may wait for the next write of the descriptor (EPOLLET), although it is
 * readable already. So the next ring writes. */
struct message *collection_take(struct collection *c)
{
    bool is_empty;
    struct message *m;

    if (!atomic_load(&c->is_on))
        return NULL;
    m = take_open(c, &is_empty);
    if (is_empty)
        clear(c);
    else if (m == NULL)
        atomic_store(&c->is_rung, false);
    return m;
}

void collection_after_fork(void)
{
    mutex_init(&collections);
}

void collection_withdraw(struct message *message)
{
    if (message->generation != forked_generation()) {
        atomic_store(&message->collection, NULL);
        return;
    }
    if (atomic_load(&message->collection) == NULL)
        return;
    mutex_lock(&collections);
    struct collection *c = atomic_load(&message->collection);
    if (c != NULL)
        let_go(c, message);
    mutex_unlock(&collections);
}
