/* The engine's alarm: how often it is set. */
/* wrap: alarm_set */
#include "../support/mock.h"
#include "platform/sleep.h"
#include "platform/system.h"
#include "platform/waking.h"
#include "workers/engine.h"

#include <unistd.h>

void __real_alarm_set(struct alarm *a, instant at);

static _Atomic int sets;
static struct latch has_expired;

void __wrap_alarm_set(struct alarm *a, instant at)
{
    sets++;
    __real_alarm_set(a, at);
}

static void expire(void *client)
{
    (void)client;
    latch_open(&has_expired);
}

/* One deadline, which passes: once for that, and once to end the thread. */
TEST(engine_due__sets_the_alarm_once)
{
    static const struct engine_duties duties = {.expire = expire};
    static const _Atomic uint32_t never;
    struct engine_member member;
    int fd[2];

    assert_int_equal(pipe(fd), 0);
    latch_reset(&has_expired);
    assert_int_equal(engine_join(&member, ENGINE_RECEIVERS, &duties, NULL, fd[0], fd[1]), 0);
    engine_due(&member, clock_now() + MILLISECOND);
    assert_true(latch_wait(&has_expired, NEVER, 0, &never, 0));
    engine_leave(&member);
    assert_in_range(sets, 1, 2); /* once before the thread waits for it, or while it does */
    close(fd[0]);
    close(fd[1]);
}

/* A stream of messages asks and puts off again and again: the alarm is not moved each time. */
TEST(engine_put_off__moves_the_alarm_now_and_then)
{
    static const struct engine_duties duties = {.expire = expire};
    struct engine_member member;
    int fd[2];

    assert_int_equal(pipe(fd), 0);
    assert_int_equal(engine_join(&member, ENGINE_RECEIVERS, &duties, NULL, fd[0], fd[1]), 0);
    instant now = clock_now();
    for (sets = 0; sets == 0; engine_put_off(&member, NEVER, 0)) /* until the thread waits */
        engine_due(&member, now + SECOND);
    sets = 0;
    for (int i = 0; i < 1000; i++) {
        engine_due(&member, now + SECOND);
        engine_put_off(&member, NEVER, 0);
    }
    assert_in_range(sets, 0, 3 + 2 * (clock_now() - now) / RESTING_PUT_OFF);
    engine_leave(&member);
    close(fd[0]);
    close(fd[1]);
}
