#include "mutex.h"

#include "core/check.h"

#include <stddef.h>

void mutex_init(struct mutex *m)
{
    CHECK(pthread_mutex_init(&m->handle, NULL) == 0);
}

void mutex_fini(struct mutex *m)
{
    CHECK(pthread_mutex_destroy(&m->handle) == 0);
}

void mutex_lock(struct mutex *m)
{
    CHECK(pthread_mutex_lock(&m->handle) == 0);
}

void mutex_unlock(struct mutex *m)
{
    CHECK(pthread_mutex_unlock(&m->handle) == 0);
}
