#include "interrupt.h"

#include "entity.h"
#include "platform/bell.h"
#include "platform/forked.h"
#include "platform/futex.h"

#include <errno.h>

static _Atomic bool is_known;

bool interrupt_is_known(void)
{
    return atomic_load(&is_known);
}

/* Only what a signal handler may do: atomics, futexes, an eventfd. */
int zcrp_interrupt(struct zcrp_entity *entity)
{
    int error = errno;

    if (entity == NULL)
        return ZCRP_ERROR_ARGUMENT;
    if (entity->generation != forked_generation())
        return ZCRP_ERROR_FORKED;
    atomic_store(&is_known, true);
    atomic_fetch_add(&entity->interrupt.raised, 1);
    futex_wake_all(&entity->interrupt.raised);
    if (atomic_load(&entity->helm.sleeps))
        wake_signal(&entity->helm.wake);
    bell_ring();
    errno = error;
    return ZCRP_OK;
}
