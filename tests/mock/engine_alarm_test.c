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
    engine_due(&member, clock_now() + MILLISECOND, 1);
    assert_true(latch_wait(&has_expired, NEVER, 0, &never, 0));
    engine_leave(&member);
    assert_in_range(sets, 1, 2); /* once before the thread waits for it, or while it does */
    close(fd[0]);
    close(fd[1]);
}
