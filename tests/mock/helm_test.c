/* How the arriving thread parks while somebody is at the helm: how long each time, and until when.
 */
/* wrap: clock_now condition_wait */
#include "../support/mock.h"
#include "entity/helm.h"
#include "platform/system.h"

enum { LOOKS_MOST = 16, WITHOUT_LIMIT = -1 };

static struct helm helm;
static struct mutex mutex;
static instant now;
static duration looks[LOOKS_MOST]; /* what each look was away from the one before */
static int count;
static void (*meanwhile)(int look); /* what happens while the thread is parked */

instant __wrap_clock_now(void);
bool __wrap_condition_wait(struct condition *c, struct mutex *m, instant deadline);

instant __wrap_clock_now(void)
{
    return now;
}

bool __wrap_condition_wait(struct condition *c, struct mutex *m, instant deadline)
{
    bool is_limited = deadline != NEVER;

    assert_ptr_equal(c, &helm.parked);
    assert_ptr_equal(m, &mutex);
    assert_true(count < LOOKS_MOST);
    assert_int_equal(helm.parking, is_limited ? PARKING_LOOKS : PARKING_LONG);
    looks[count] = is_limited ? deadline - now : WITHOUT_LIMIT;
    now = is_limited ? deadline : now + SECOND;
    meanwhile(count++);
    return true;
}

static void leave(void)
{
    helm_leave(&helm);
    helm.left -= SECOND;
}

static void nap(void)
{
    helm_sleep(&helm, NEVER);
}

/* Parks while the helm is taken; `script` has to let it end. */
static void park(void (*script)(int look))
{
    helm = (struct helm){.state = HELM_FREE};
    assert_true(helm_take(&helm));
    now = SECOND;
    count = 0;
    meanwhile = script;
    helm_park(&helm, &mutex);
    assert_int_equal(helm.parking, PARKING_NONE);
}

static void leave_at_the_sixth(int look)
{
    if (look == 5)
        leave();
}

static void helm_park__looks_more_and_more_rarely(void **state)
{
    static const int expected_us[] = {250, 500, 1000, 2000, 4000, 4000};

    (void)state;
    park(leave_at_the_sixth);
    assert_int_equal(count, 6);
    for (int i = 0; i < count; i++)
        assert_int_equal(looks[i], expected_us[i] * MICROSECOND);
}

static void leave_and_be_attended(int look)
{
    if (look == 0) {
        helm_leave(&helm);
        helm.left = now - 1;
    }
}

static void helm_park__stays_a_moment_after_the_helm_was_left(void **state)
{
    (void)state;
    park(leave_and_be_attended);
    assert_int_equal(count, 2);
}

static void sleep_until_called(int look)
{
    if (look == 0)
        nap();
    if (look == 4)
        leave(); /* and call: the first look without a limit is over */
}

static void helm_park__without_limit_while_the_helm_sleeps_on(void **state)
{
    (void)state;
    park(sleep_until_called);
    assert_int_equal(count, 5);
    assert_int_equal(looks[3], 2000 * MICROSECOND);
    assert_int_equal(looks[4], WITHOUT_LIMIT);
}

static void nap_again_and_again(int look)
{
    nap();
    if (look == 7)
        leave();
}

/* Nobody has to call, which would cost every message of a paced stream two switches. */
static void helm_park__with_limit_while_naps_are_short(void **state)
{
    (void)state;
    park(nap_again_and_again);
    assert_int_equal(count, 8);
    for (int i = 0; i < count; i++)
        assert_int_not_equal(looks[i], WITHOUT_LIMIT);
}

static void wake_up_after_the_nap_was_seen(int look)
{
    if (look == 0)
        nap();
    if (look == 3)
        helm.state = HELM_AWAKE;
    if (look == 5)
        leave();
}

static void helm_park__with_limit_once_the_helm_is_awake(void **state)
{
    (void)state;
    park(wake_up_after_the_nap_was_seen);
    assert_int_equal(count, 6);
    for (int i = 0; i < count; i++)
        assert_int_not_equal(looks[i], WITHOUT_LIMIT);
}

static void stop(int look)
{
    (void)look;
    helm.is_closed = true;
}

static void helm_park__ends_with_the_entity(void **state)
{
    (void)state;
    park(stop);
    assert_int_equal(count, 1);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(helm_park__looks_more_and_more_rarely),
        cmocka_unit_test(helm_park__stays_a_moment_after_the_helm_was_left),
        cmocka_unit_test(helm_park__without_limit_while_the_helm_sleeps_on),
        cmocka_unit_test(helm_park__with_limit_while_naps_are_short),
        cmocka_unit_test(helm_park__with_limit_once_the_helm_is_awake),
        cmocka_unit_test(helm_park__ends_with_the_entity),
    };

    return cmocka_run_group_tests_name("helm", tests, NULL, NULL);
}
