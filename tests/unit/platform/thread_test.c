#include "platform/thread.h"

#include "../../support/suite.h"

#include <signal.h>
#include <string.h>

/* What a thread finds out about itself. */
struct portrait {
    char name[16];
    sigset_t blocked;
    int runs;
};

static void look(void *context)
{
    struct portrait *p = context;

    pthread_getname_np(pthread_self(), p->name, sizeof(p->name));
    pthread_sigmask(SIG_SETMASK, NULL, &p->blocked);
    p->runs++;
}

TEST(thread_start__name_and_signals)
{
    struct portrait p = {.runs = 0};
    struct thread t;
    sigset_t before, after;

    pthread_sigmask(SIG_SETMASK, NULL, &before);
    ck_assert_int_eq(thread_start(&t, "zcrp-receiving", look, &p), 0);
    thread_join(&t);
    pthread_sigmask(SIG_SETMASK, NULL, &after);
    ck_assert_int_eq(p.runs, 1);
    ck_assert_str_eq(p.name, "zcrp-receiving");
    ck_assert_int_eq(sigismember(&p.blocked, SIGINT), 1);
    ck_assert_int_eq(sigismember(&p.blocked, SIGALRM), 1);
    ck_assert_int_eq(sigismember(&p.blocked, SIGUSR2), 1);
    ck_assert_int_eq(sigismember(&before, SIGINT), sigismember(&after, SIGINT));
}

TEST(thread_start__longest_name)
{
    struct portrait p = {.runs = 0};
    struct thread t;

    ck_assert_int_eq(thread_start(&t, "123456789012345", look, &p), 0);
    thread_join(&t);
    ck_assert_uint_eq(strlen(p.name), THREAD_NAME_MAX);
}

TEST(thread_start__name_too_long, .signal = SIGABRT)
{
    struct thread t;

    (void)!thread_start(&t, "1234567890123456", look, NULL);
}
