#include "condition.h"

#include "clock.h"
#include "core/check.h"

#include <errno.h>

void condition_init(struct condition *c)
{
    pthread_condattr_t attributes;

    CHECK(pthread_condattr_init(&attributes) == 0);
    CHECK(pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC) == 0);
    CHECK(pthread_cond_init(&c->handle, &attributes) == 0);
    CHECK(pthread_condattr_destroy(&attributes) == 0);
}

void condition_fini(struct condition *c)
{
    CHECK(pthread_cond_destroy(&c->handle) == 0);
}

bool condition_wait(struct condition *c, struct mutex *m, instant deadline)
{
    struct timespec until = clock_timespec(deadline);
    int error = deadline == NEVER ? pthread_cond_wait(&c->handle, &m->handle)
                                  : pthread_cond_timedwait(&c->handle, &m->handle, &until);

    CHECK(error == 0 || error == ETIMEDOUT);
    return error == 0;
}

void condition_signal(struct condition *c)
{
    CHECK(pthread_cond_signal(&c->handle) == 0);
}

void condition_broadcast(struct condition *c)
{
    CHECK(pthread_cond_broadcast(&c->handle) == 0);
}
