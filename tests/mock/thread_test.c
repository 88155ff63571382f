/* wrap: pthread_create pthread_sigmask */
#include "platform/thread.h"

#include "../support/mock.h"

#include <signal.h>

static sigset_t mask; /* the caller's */

int __wrap_pthread_create(pthread_t *handle, const pthread_attr_t *attributes,
                          void *(*begin)(void *), void *argument)
{
    assert_non_null(handle);
    assert_null(attributes);
    assert_non_null(begin);
    assert_non_null(argument);
    assert_true(sigismember(&mask, SIGINT));
    assert_true(sigismember(&mask, SIGALRM));
    assert_true(sigismember(&mask, SIGRTMAX));
    return mock_type(int);
}

int __wrap_pthread_sigmask(int how, const sigset_t *set, sigset_t *before)
{
    assert_int_equal(how, SIG_SETMASK);
    if (before)
        *before = mask;
    mask = *set;
    return 0;
}

static void never_run(void *context)
{
    (void)context;
    fail();
}

static void start_with(int error)
{
    struct thread t;

    sigemptyset(&mask);
    sigaddset(&mask, SIGUSR1);
    will_return(__wrap_pthread_create, error);
    assert_int_equal(thread_start(&t, "zcrp-receiving", never_run, NULL), -error);
    assert_true(sigismember(&mask, SIGUSR1));
    assert_false(sigismember(&mask, SIGINT));
    assert_false(sigismember(&mask, SIGALRM));
}

TEST(thread_start__mask_is_given_back)
{
    start_with(0);
}

TEST(thread_start__no_more_threads)
{
    start_with(EAGAIN);
    start_with(ENOMEM);
}
