#include "thread.h"

#include "core/check.h"
#include "system.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static void *begin(void *argument)
{
    struct thread *t = argument;

    (void)pthread_setname_np(pthread_self(), t->name); /* a convenience: no reason to fail */
    t->run(t->context);
    return NULL;
}

/* A new thread inherits its creator's mask, so that there is no moment in which it is open. */
int thread_start(struct thread *t, const char *name, thread_run run, void *context)
{
    sigset_t all, before;
    int error;

    CHECK(strlen(name) <= THREAD_NAME_MAX);
    *t = (struct thread){.name = name, .run = run, .context = context};
    sigfillset(&all);
    sigdelset(&all, SIGBUS);
    sigdelset(&all, SIGSEGV);
    CHECK(pthread_sigmask(SIG_SETMASK, &all, &before) == 0);
    error = pthread_create(&t->handle, NULL, begin, t);
    CHECK(pthread_sigmask(SIG_SETMASK, &before, NULL) == 0);
    return -error;
}

void thread_join(struct thread *t)
{
    CHECK(pthread_join(t->handle, NULL) == 0);
}

void thread_leave(struct thread *t)
{
    CHECK(pthread_detach(t->handle) == 0);
}

/* Not a variable of the thread's: that is a call of the linker's in a shared library. */
static const void *self(void)
{
    return (const void *)(uintptr_t)pthread_self();
}

static void set_holder(struct mutex *m, const void *holder)
{
    atomic_store_explicit(&m->holder, holder, memory_order_relaxed);
}

void mutex_init(struct mutex *m)
{
    CHECK(pthread_mutex_init(&m->handle, NULL) == 0);
    set_holder(m, NULL);
}

void mutex_fini(struct mutex *m)
{
    CHECK(pthread_mutex_destroy(&m->handle) == 0);
}

void mutex_lock(struct mutex *m)
{
    CHECK(pthread_mutex_lock(&m->handle) == 0);
    set_holder(m, self());
}

void mutex_unlock(struct mutex *m)
{
    set_holder(m, NULL);
    CHECK(pthread_mutex_unlock(&m->handle) == 0);
}

bool mutex_is_held(const struct mutex *m)
{
    return atomic_load_explicit(&m->holder, memory_order_relaxed) == self();
}

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

    set_holder(m, NULL);
    int error = deadline == NEVER ? pthread_cond_wait(&c->handle, &m->handle)
                                  : pthread_cond_timedwait(&c->handle, &m->handle, &until);

    set_holder(m, self());
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
