#include "gathering.h"

bool gathering_adds(struct gathering *g, instant now, uint64_t size)
{
    if (!gathering_is_on(g))
        *g = (struct gathering){.is_on = true, .until = now + GATHERING_MOST};
    g->messages++;
    g->bytes += size;
    return g->messages < GATHERING_MESSAGES && g->bytes < GATHERING_BYTES;
}

void gathering_end(struct gathering *g)
{
    atomic_store_explicit(&g->is_on, false, memory_order_relaxed);
}
