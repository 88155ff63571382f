/* wrap: ppoll clock_now */
#include "platform/sleep.h"

#include "../../support/mock.h"
#include "platform/system.h"

#include <signal.h>

static instant now;
static duration asked[4]; /* what each call was given; NEVER for no limit */
static int calls;

/* Each call takes a second. */
int __wrap_ppoll(struct pollfd *set, nfds_t count, const struct timespec *left,
                 const sigset_t *mask)
{
    assert_non_null(set);
    assert_int_equal(count, 2);
    assert_null(mask);
    asked[calls++] = left ? left->tv_sec * SECOND + left->tv_nsec : NEVER;
    now += SECOND;
    return MOCK_RESULT();
}

instant __wrap_clock_now(void)
{
    return now;
}

static void setup(void)
{
    now = 100 * SECOND;
    calls = 0;
}

FIXTURE(setup, NULL)

TEST(ready_wait__results)
{
    static const struct {
        int result, expected;
    } row[] = {{2, 2}, {0, 0}, {-ENOMEM, -ENOMEM}, {-EFAULT, -EFAULT}};
    struct pollfd set[2];

    for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
        will_return(__wrap_ppoll, row[i].result);
        assert_int_equal(ready_wait(set, 2, NEVER), row[i].expected);
        assert_true(asked[i] == NEVER);
    }
}

TEST(ready_wait__interrupted)
{
    struct pollfd set[2];

    will_return_count(__wrap_ppoll, -EINTR, 2);
    will_return(__wrap_ppoll, 0);
    assert_int_equal(ready_wait(set, 2, 101 * SECOND + 500 * MILLISECOND), 0);
    assert_int_equal(asked[0], 1500 * MILLISECOND);
    assert_int_equal(asked[1], 500 * MILLISECOND);
    assert_int_equal(asked[2], 0);
}

TEST(ready_wait__past_deadline_asks)
{
    static const instant past[] = {100 * SECOND, 0, INT64_MIN};
    struct pollfd set[2];

    for (int i = 0; i < 3; i++) {
        will_return(__wrap_ppoll, 1);
        assert_int_equal(ready_wait(set, 2, past[i]), 1);
        assert_int_equal(asked[i], 0);
    }
}
