#include "credit_ring.h"

#include <stddef.h>

static size_t place_of(uint64_t message)
{
    return CREDIT_ENTRIES - 1 - message % CREDIT_ENTRIES;
}

void credit_ring_show(struct credit_ring *c, uint64_t message, uint64_t size)
{
    struct credit_entry *entry = &c->entry[place_of(message)];

    atomic_store_explicit(&entry->message, 0, memory_order_relaxed);
    atomic_store_explicit(&entry->size, size, memory_order_release);
    atomic_store(&entry->message, message + 1);
}

bool credit_ring_take_want(struct credit_ring *c)
{
    return atomic_load(&c->is_wanted) != 0 && atomic_exchange(&c->is_wanted, 0) != 0;
}

bool credit_ring_find(const struct credit_ring *c, uint64_t message, uint64_t *size)
{
    const struct credit_entry *entry = &c->entry[place_of(message)];

    if (atomic_load(&entry->message) != message + 1)
        return false;
    *size = atomic_load_explicit(&entry->size, memory_order_relaxed);
    return true;
}

void credit_ring_want(struct credit_ring *c)
{
    if (atomic_load_explicit(&c->is_wanted, memory_order_relaxed) == 0)
        atomic_store(&c->is_wanted, 1);
}
