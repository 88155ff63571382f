/* A taker that is about to sleep, and what ends just then: it is told of, or stays awake. Messages
 * end here by a cancel of another thread, so no socket wakes the taker. */
#include "../../support/lonely.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

enum { LONG_WAITS = 20, RACES = 4000, LONG_NS = 100000, LATEST_NS = 10000 };

#define LIMIT (10 * ENDS_SECOND)

static struct zcrp_queue *q;
static struct lonely lonely;
static struct zcrp_msg *message;
static _Atomic unsigned round_begun; /* the taker is about to take; */
static _Atomic unsigned round_over;  /* the other thread has cancelled */
static _Atomic bool is_over;

static void begin(void)
{
    ck_assert_int_eq(zcrp_queue_open(&q), ZCRP_OK);
    lonely = lonely_open(false);
    ck_assert_int_eq(zcrp_queue_add(q, lonely.entity, NULL), ZCRP_OK);
    message = ends_empty(10);
}

static void end(void)
{
    ck_assert_int_eq(zcrp_queue_close(q), ZCRP_OK);
    (void)zcrp_close(lonely.entity);
    zcrp_free_msg(message);
    loopback_close(&lonely.sockets);
}

FIXTURE(begin, end)

static void submit(void)
{
    ck_assert_int_eq(zcrp_submit(lonely.entity, message, 10), ZCRP_OK);
}

/* Takes the end of the message. How long that took. */
static int64_t take(void)
{
    struct zcrp_completion c;
    int64_t before = clock_now_ns();

    ck_assert_int_eq(zcrp_queue_take(q, &c, 1, LIMIT), 1);
    ck_assert_ptr_eq(c.message, message);
    return clock_now_ns() - before;
}

static void spin_for(int64_t ns)
{
    int64_t until = clock_now_ns() + ns;

    while (clock_now_ns() < until)
        ;
}

static void *cancel_later(void *context)
{
    (void)context;
    usleep(2000);
    ck_assert_int_eq(zcrp_cancel(message), ZCRP_OK);
    return NULL;
}

/* The queue learns that waits are long: then a taker sleeps at once. */
static void learn_long_waits(void)
{
    for (int i = 0; i < LONG_WAITS; i++) {
        pthread_t other;
        submit();
        ck_assert_int_eq(pthread_create(&other, NULL, cancel_later, NULL), 0);
        ck_assert_int_lt(take(), LIMIT / 2);
        ck_assert_int_eq(pthread_join(other, NULL), 0);
    }
}

/* A taker that looks at the sockets beside what it has to tell does not sleep there. */
TEST(queue_take__tells_at_once)
{
    learn_long_waits();
    for (int i = 0; i < 3; i++) {
        submit();
        ck_assert_int_eq(zcrp_cancel(message), ZCRP_OK);
        usleep(1000);
        ck_assert_int_lt(take(), LIMIT / 2);
    }
}

/* Mostly late, so that the waits are long. */
static void *cancel_in_time(void *context)
{
    (void)context;
    for (unsigned i = 1; !is_over; i++) {
        while (round_begun < i && !is_over)
            ;
        spin_for(i % 4 == 0 ? 0 : LONG_NS);
        if (!is_over)
            ck_assert_int_eq(zcrp_cancel(message), ZCRP_OK);
        round_over = i;
    }
    return NULL;
}

/* The take begins a little later each time. */
TEST(queue_take__what_ends_beside_it)
{
    pthread_t other;

    ck_assert_int_eq(pthread_create(&other, NULL, cancel_in_time, NULL), 0);
    for (unsigned i = 1; i <= RACES; i++) {
        submit();
        round_begun = i;
        spin_for(i * 7 % LATEST_NS);
        ck_assert_int_lt(take(), LIMIT / 2);
        while (round_over < i)
            ;
    }
    is_over = true;
    ck_assert_int_eq(pthread_join(other, NULL), 0);
}

static void *interrupt_in_time(void *context)
{
    (void)context;
    for (unsigned i = 1; !is_over; i++) {
        while (round_begun < i && !is_over)
            ;
        ck_assert_int_eq(zcrp_queue_interrupt(q), ZCRP_OK);
    }
    return NULL;
}

TEST(queue_interrupt__beside_a_take)
{
    struct zcrp_completion c;
    pthread_t other;

    learn_long_waits();
    ck_assert_int_eq(pthread_create(&other, NULL, interrupt_in_time, NULL), 0);
    for (unsigned i = 1; i <= RACES; i++) {
        round_begun = i;
        spin_for(i * 7 % LATEST_NS);
        ck_assert_int_eq(zcrp_queue_take(q, &c, 1, LIMIT), ZCRP_ERROR_INTERRUPTED);
    }
    is_over = true;
    ck_assert_int_eq(pthread_join(other, NULL), 0);
}
