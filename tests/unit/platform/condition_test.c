#include "platform/thread.h"

#include "platform/system.h"

#include "../../support/suite.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>

enum { ROUNDS = 1000 };

/* A ball that two threads throw to each other: whoever's turn it is counts. */
struct game {
    struct mutex mutex;
    struct condition changed;
    int ball; /* (m) even: the test's turn, odd: the other thread's */
};

static struct game game;

static void setup(void)
{
    mutex_init(&game.mutex);
    condition_init(&game.changed);
    game.ball = 0;
}

static void teardown(void)
{
    condition_fini(&game.changed);
    mutex_fini(&game.mutex);
}

static void play(int side)
{
    for (int i = 0; i < ROUNDS; i++) {
        mutex_lock(&game.mutex);
        while (game.ball % 2 != side)
            condition_wait(&game.changed, &game.mutex, NEVER);
        game.ball++;
        condition_signal(&game.changed);
        mutex_unlock(&game.mutex);
    }
}

static void play_other_side(void *context)
{
    (void)context;
    play(1);
}

FIXTURE(setup, teardown)

TEST(condition_wait__hand_to_hand)
{
    struct thread other;

    ck_assert_int_eq(thread_start(&other, "zcrp-test", play_other_side, NULL), 0);
    play(0);
    thread_join(&other);
    ck_assert_int_eq(game.ball, 2 * ROUNDS);
}

static void wait_for_ball(void *context)
{
    (void)context;
    mutex_lock(&game.mutex);
    while (game.ball == 0)
        condition_wait(&game.changed, &game.mutex, clock_now() + 60 * SECOND);
    game.ball++;
    mutex_unlock(&game.mutex);
}

TEST(condition_broadcast__wakes_all)
{
    struct thread waiter[3];

    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(thread_start(&waiter[i], "zcrp-test", wait_for_ball, NULL), 0);
    mutex_lock(&game.mutex);
    game.ball = 1;
    condition_broadcast(&game.changed);
    mutex_unlock(&game.mutex);
    for (int i = 0; i < 3; i++)
        thread_join(&waiter[i]);
    ck_assert_int_eq(game.ball, 4);
}

TEST(condition_wait__deadline)
{
    instant deadline = clock_now() + MILLISECOND;

    mutex_lock(&game.mutex);
    while (condition_wait(&game.changed, &game.mutex, deadline))
        ;
    ck_assert_int_ge(clock_now(), deadline);
    ck_assert(!condition_wait(&game.changed, &game.mutex, 0));
    ck_assert(!condition_wait(&game.changed, &game.mutex, INT64_MIN));
    mutex_unlock(&game.mutex);
}

/* ---- several who want a mutex ---- */

static void count(void *counter)
{
    for (int i = 0; i < ROUNDS; i++) {
        mutex_lock(&game.mutex);
        ++*(volatile int *)counter;
        if (i % 100 == 0) /* others sleep meanwhile */
            (void)poll(NULL, 0, 1);
        mutex_unlock(&game.mutex);
    }
}

TEST(mutex_lock__one_at_a_time)
{
    struct thread other[3];
    volatile int counter = 0;

    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(thread_start(&other[i], "zcrp-test", count, (void *)&counter), 0);
    for (int i = 0; i < 3; i++)
        thread_join(&other[i]);
    ck_assert_int_eq(counter, 3 * ROUNDS);
}

TEST(mutex_lock__twice_by_one_thread, .signal = SIGABRT)
{
    mutex_lock(&game.mutex);
    mutex_lock(&game.mutex);
}

TEST(mutex_unlock__nobody_holds_it, .signal = SIGABRT)
{
    mutex_unlock(&game.mutex);
}

TEST(mutex_fini__held, .signal = SIGABRT)
{
    mutex_lock(&game.mutex);
    mutex_fini(&game.mutex);
}

/* ---- errno stays as it was ----
 *
 * It may say already why a call of the library's fails. */

static void on_signal(int signal)
{
    (void)signal;
}

static void *lock_with_errno(void *unused)
{
    (void)unused;
    errno = EDOM;
    mutex_lock(&game.mutex);
    int error = errno;
    mutex_unlock(&game.mutex);
    return (void *)(intptr_t)error;
}

TEST(mutex_lock__errno_stays)
{
    struct sigaction action = {.sa_handler = on_signal}; /* ends the kernel's wait: EINTR */
    pthread_t other;
    void *error;

    ck_assert_int_eq(sigaction(SIGUSR1, &action, NULL), 0);
    mutex_lock(&game.mutex);
    ck_assert_int_eq(pthread_create(&other, NULL, lock_with_errno, NULL), 0);
    while (atomic_load(&game.mutex.state) != MUTEX_WANTED)
        (void)poll(NULL, 0, 1);
    for (int i = 0; i < 20; i++) {
        ck_assert_int_eq(pthread_kill(other, SIGUSR1), 0);
        (void)poll(NULL, 0, 1);
    }
    mutex_unlock(&game.mutex);
    ck_assert_int_eq(pthread_join(other, &error), 0);
    ck_assert_int_eq((intptr_t)error, EDOM);
}

TEST(condition_wait__errno_stays)
{
    mutex_lock(&game.mutex);
    errno = EDOM;
    while (condition_wait(&game.changed, &game.mutex, clock_now() + MILLISECOND))
        continue;
    ck_assert_int_eq(errno, EDOM);
    mutex_unlock(&game.mutex);
}

/* ---- who holds a mutex ---- */

static struct mutex held;
static bool seen_by_other;

static void look_at_held(void *unused)
{
    (void)unused;
    seen_by_other = mutex_is_held(&held);
}

TEST(mutex_is_held__by_this_thread)
{
    struct condition never;
    struct thread other;

    mutex_init(&held);
    condition_init(&never);
    ck_assert(!mutex_is_held(&held));
    mutex_lock(&held);
    ck_assert(mutex_is_held(&held));
    ck_assert_int_eq(thread_start(&other, "other", look_at_held, NULL), 0);
    thread_join(&other);
    ck_assert(!seen_by_other);
    ck_assert(!condition_wait(&never, &held, clock_now() + MILLISECOND));
    ck_assert(mutex_is_held(&held)); /* again */
    mutex_unlock(&held);
    ck_assert(!mutex_is_held(&held));
    condition_fini(&never);
    mutex_fini(&held);
}
