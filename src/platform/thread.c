#include "thread.h"

#include "core/check.h"
#include "sleep.h"
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

/* ---- the mutex ----
 *
 * The thread sanitizer finds threads that take two mutexes in opposite orders, if it is told of
 * them. */
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define IS_WATCHED
#endif
#elif defined(__SANITIZE_THREAD__)
#define IS_WATCHED
#endif
#ifdef IS_WATCHED
#include <sanitizer/tsan_interface.h>
#else
#define __tsan_mutex_pre_lock(m, flags) ((void)(m))
#define __tsan_mutex_post_lock(m, flags, recursion) ((void)(m))
#define __tsan_mutex_pre_unlock(m, flags) ((void)(m))
#define __tsan_mutex_post_unlock(m, flags) ((void)(m))
#endif

enum { LOOKS = 16 }; /* at a mutex that another thread holds, before this one sleeps */

/* Not a variable of the thread's: that is a call of the linker's in a shared library. Nor
 * pthread_self, which is a call as well, where the compiler can say where the thread's data lie. */
static const void *self(void)
{
#if (defined(__x86_64__) && __GNUC__ >= 11) || defined(__aarch64__)
    return __builtin_thread_pointer();
#else
    return (const void *)(uintptr_t)pthread_self();
#endif
}

static void set_holder(struct mutex *m, const void *holder)
{
    atomic_store_explicit(&m->holder, holder, memory_order_relaxed);
}

void mutex_init(struct mutex *m)
{
    atomic_init(&m->state, MUTEX_FREE);
    set_holder(m, NULL);
}

void mutex_fini(struct mutex *m)
{
    CHECK(atomic_load_explicit(&m->state, memory_order_relaxed) == MUTEX_FREE);
}

static bool try_lock(struct mutex *m)
{
    uint32_t state = MUTEX_FREE;

    return atomic_compare_exchange_strong_explicit(&m->state, &state, MUTEX_HELD,
                                                   memory_order_acquire, memory_order_relaxed);
}

/* Unlike futex_wait it leaves errno as it is: which may say already why a call fails. */
static bool sleep_on(const _Atomic uint32_t *word, uint32_t value, instant deadline)
{
    int error = errno;
    bool in_time = futex_wait(word, value, deadline);

    errno = error;
    return in_time;
}

/* Sections are short. Whoever has slept cannot know whether others still do, so it takes the mutex
 * as one that is wanted. */
__attribute__((noinline)) static void lock_later(struct mutex *m)
{
    CHECK(!mutex_is_held(m));
    for (int i = 0; i < LOOKS; i++) {
        if (try_lock(m))
            return;
        processor_relax();
    }
    while (atomic_exchange_explicit(&m->state, MUTEX_WANTED, memory_order_acquire) != MUTEX_FREE)
        (void)sleep_on(&m->state, MUTEX_WANTED, NEVER);
}

void mutex_lock(struct mutex *m)
{
    __tsan_mutex_pre_lock(m, 0);
    if (!try_lock(m))
        lock_later(m);
    set_holder(m, self());
    __tsan_mutex_post_lock(m, 0, 0);
}

/* Others sleep, if somebody held it. */
__attribute__((noinline)) static void wake_next(struct mutex *m, uint32_t state)
{
    CHECK(state != MUTEX_FREE);
    futex_wake_one(&m->state);
}

/* The mutex may be gone once it is free: only its address is used. */
void mutex_unlock(struct mutex *m)
{
    (void)__tsan_mutex_pre_unlock(m, 0);
    set_holder(m, NULL);
    uint32_t state = atomic_exchange_explicit(&m->state, MUTEX_FREE, memory_order_release);
    if (state != MUTEX_HELD)
        wake_next(m, state);
    __tsan_mutex_post_unlock(m, 0);
}

bool mutex_is_free(const struct mutex *m)
{
    return atomic_load(&m->state) == MUTEX_FREE;
}

bool mutex_is_held(const struct mutex *m)
{
    return atomic_load_explicit(&m->holder, memory_order_relaxed) == self();
}

/* ---- the condition ---- */

void condition_init(struct condition *c)
{
    *c = (struct condition){.signals = 0};
}

void condition_fini(struct condition *c)
{
    CHECK(atomic_load(&c->waiters) == 0);
}

/* A waiter counts itself before it sleeps, and whoever signals counts that before it looks for
 * waiters: so one of them sees the other. */
bool condition_wait(struct condition *c, struct mutex *m, instant deadline)
{
    uint32_t seen = atomic_load(&c->signals);

    atomic_fetch_add(&c->waiters, 1);
    mutex_unlock(m);
    bool in_time = sleep_on(&c->signals, seen, deadline);
    mutex_lock(m);
    atomic_fetch_sub(&c->waiters, 1);
    return in_time;
}

void condition_signal(struct condition *c)
{
    atomic_fetch_add(&c->signals, 1);
    if (atomic_load(&c->waiters) > 0)
        futex_wake_one(&c->signals);
}

void condition_broadcast(struct condition *c)
{
    atomic_fetch_add(&c->signals, 1);
    if (atomic_load(&c->waiters) > 0)
        futex_wake_all(&c->signals);
}
