#include "bell.h"

#include "futex.h"

#include <stdatomic.h>

static struct {
    _Atomic uint32_t rings;     /* (a) counts, and wraps around */
    _Atomic uint32_t listeners; /* (a) */
} bell;

uint32_t bell_listen(void)
{
    atomic_fetch_add(&bell.listeners, 1);
    return atomic_load(&bell.rings);
}

bool bell_wait(uint32_t *heard, instant deadline)
{
    uint32_t rings;

    while ((rings = atomic_load(&bell.rings)) == *heard)
        if (!futex_wait(&bell.rings, *heard, deadline))
            return false;
    *heard = rings;
    return true;
}

void bell_leave(void)
{
    atomic_fetch_sub(&bell.listeners, 1);
}

void bell_ring(void)
{
    if (atomic_load(&bell.listeners) == 0)
        return;
    atomic_fetch_add(&bell.rings, 1);
    futex_wake_all(&bell.rings);
}

void bell_after_fork(void)
{
    atomic_store(&bell.listeners, 0);
}
