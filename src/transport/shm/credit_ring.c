#include "credit_ring.h"

#include <stddef.h>

static struct credit_entry *entry_of(const struct credit_ring *c, uint64_t message)
{
    uint64_t i = message % CREDIT_ENTRIES;

    return i < CREDIT_NEAR ? &c->near->entry[i] : &c->far->entry[i - CREDIT_NEAR];
}

void credit_ring_show(const struct credit_ring *c, uint64_t message, uint64_t size)
{
    struct credit_entry *entry = entry_of(c, message);

    atomic_store_explicit(&entry->size, size, memory_order_relaxed);
    atomic_store(&entry->message, message + 1);
}

bool credit_ring_take_want(const struct credit_ring *c)
{
    return atomic_load(&c->near->is_wanted) != 0 && atomic_exchange(&c->near->is_wanted, 0) != 0;
}

bool credit_ring_find(const struct credit_ring *c, uint64_t message, uint64_t *size)
{
    const struct credit_entry *entry = entry_of(c, message);

    if (atomic_load(&entry->message) != message + 1)
        return false;
    *size = atomic_load_explicit(&entry->size, memory_order_relaxed);
    return true;
}

void credit_ring_want(const struct credit_ring *c)
{
    if (atomic_load_explicit(&c->near->is_wanted, memory_order_relaxed) == 0)
        atomic_store(&c->near->is_wanted, 1);
}
