/* The interruption of an entity's waits, which may come from a signal handler. */
#include "entity.h"

#include <errno.h>

/* Only what a signal handler may do: atomics, futexes, an eventfd. */
int zcrp_interrupt(struct zcrp_entity *entity)
{
    int error = errno;

    if (entity == NULL)
        return ZCRP_ERROR_ARGUMENT;
    if (entity->generation != forked_generation())
        return ZCRP_ERROR_FORKED;
    interrupt_raise(&entity->interrupt);
    if (atomic_load(&entity->helm.sleeps))
        wake_signal(&entity->helm.wake);
    bell_ring();
    errno = error;
    return ZCRP_OK;
}
