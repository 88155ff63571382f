#include "ready.h"

#include "clock.h"

#include <errno.h>
#include <stddef.h>

static struct timespec left_until(instant deadline)
{
    instant now = clock_now();

    return clock_timespec(deadline > now ? deadline - now : 0);
}

int ready_wait(struct pollfd *set, nfds_t count, instant deadline)
{
    int ready;

    do {
        struct timespec left = left_until(deadline);

        ready = ppoll(set, count, deadline == NEVER ? NULL : &left, NULL);
    } while (ready < 0 && errno == EINTR);
    return ready < 0 ? -errno : ready;
}
