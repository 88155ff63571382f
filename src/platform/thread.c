#include "thread.h"

#include "core/check.h"

#include <signal.h>
#include <stddef.h>
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
