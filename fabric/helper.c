#include "helper.h"

#include <signal.h>
#include <stddef.h>

/* A new thread inherits its creator's mask, so that there is no moment in which it is open. */
int helper_start(pthread_t *thread, const char *name, void *(*run)(void *), void *context)
{
    sigset_t all, before;

    (void)sigfillset(&all);
    (void)sigdelset(&all, SIGBUS);
    (void)sigdelset(&all, SIGSEGV);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(thread, NULL, run, context);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error == 0)
        (void)pthread_setname_np(*thread, name); /* a convenience: no reason to fail */
    return error;
}
