#include "platform/waking.h"

#include "platform/system.h"
#include "platform/thread.h"

#include "../../support/suite.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

enum { MESSAGES = 2000, SLEEPERS = 3, LATCHES = 8 };

/* Hands messages one at a time to a thread that ends them as the library would. */
static struct latch *_Atomic posted;

static void end_messages(void *context)
{
    for (int i = 0; i < MESSAGES; i++) {
        struct latch *latch;

        while (!(latch = atomic_exchange(&posted, NULL)))
            sched_yield();
        latch_open(latch);
        bell_ring();
    }
    (void)context;
}

/* The waiter frees each latch at once, which the address sanitizer would not forgive the opener. */
TEST(latch_wait__freed_at_once)
{
    struct thread ender;

    ck_assert_int_eq(thread_start(&ender, "zcrp-test", end_messages, NULL), 0);
    for (int i = 0; i < MESSAGES; i++) {
        struct latch *latch = malloc(sizeof(*latch));

        latch_reset(latch);
        atomic_store(&posted, latch);
        ck_assert(latch_wait(latch, NEVER, i % 2 ? 0 : 5 * MICROSECOND, NULL, 0));
        free(latch);
    }
    thread_join(&ender);
}

static void sleep_on(void *context)
{
    struct latch *latch = context;

    ck_assert(latch_wait(latch, NEVER, 0, NULL, 0));
}

TEST(latch_open__wakes_all_sleepers)
{
    struct thread sleeper[SLEEPERS];
    struct latch latch;

    latch_reset(&latch);
    for (int i = 0; i < SLEEPERS; i++)
        ck_assert_int_eq(thread_start(&sleeper[i], "zcrp-test", sleep_on, &latch), 0);
    while (atomic_load(&latch.state) != LATCH_SLEEPERS)
        sched_yield();
    latch_open(&latch);
    for (int i = 0; i < SLEEPERS; i++)
        thread_join(&sleeper[i]);
}

TEST(latch_wait__deadline)
{
    struct latch latch;
    instant deadline = clock_now() + MILLISECOND;

    latch_reset(&latch);
    ck_assert(!latch_wait(&latch, deadline, 0, NULL, 0));
    ck_assert_int_ge(clock_now(), deadline);
    ck_assert(!latch_wait(&latch, 0, 0, NULL, 0));
    ck_assert(!latch_wait(&latch, INT64_MIN, MICROSECOND, NULL, 0));
    latch_open(&latch);
    ck_assert(latch_wait(&latch, 0, 0, NULL, 0));
}

/* Opens and rings as fast as it can, each latch once the last one was seen to be open. */
struct peal {
    struct latch latch[LATCHES];
    _Atomic int seen;
};

static void open_all(void *context)
{
    struct peal *peal = context;

    for (int i = 0; i < LATCHES; i++) {
        latch_open(&peal->latch[(3 * i) % LATCHES]);
        bell_ring();
        while (atomic_load(&peal->seen) <= i)
            sched_yield();
    }
}

static int count_open(struct peal *peal)
{
    int open = 0;

    for (int i = 0; i < LATCHES; i++)
        open += latch_is_open(&peal->latch[i]);
    return open;
}

static void hear_all(struct peal *peal)
{
    for (int expected = 1; expected <= LATCHES; expected++) {
        uint32_t heard = bell_listen();

        while (count_open(peal) < expected)
            ck_assert(bell_wait(&heard, clock_now() + 60 * SECOND));
        bell_leave();
        atomic_store(&peal->seen, expected);
    }
}

TEST(bell_wait__any_of_several)
{
    for (int round = 0; round < 200; round++) {
        struct peal peal = {.seen = 0};
        struct thread opener;

        ck_assert_int_eq(thread_start(&opener, "zcrp-test", open_all, &peal), 0);
        hear_all(&peal);
        thread_join(&opener);
    }
}

TEST(bell_wait__deadline)
{
    uint32_t heard = bell_listen();

    ck_assert(!bell_wait(&heard, clock_now() + MILLISECOND));
    bell_leave();
}
