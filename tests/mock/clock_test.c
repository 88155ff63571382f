/* wrap: clock_gettime */
#include "platform/system.h"

#include "../support/mock.h"

int __wrap_clock_gettime(clockid_t clock, struct timespec *t)
{
    assert_int_equal(clock, CLOCK_MONOTONIC);
    t->tv_sec = mock_type(time_t);
    t->tv_nsec = mock_type(long);
    return 0;
}

TEST(clock_now__nanoseconds)
{
    will_return(__wrap_clock_gettime, 0);
    will_return(__wrap_clock_gettime, 999999999);
    assert_int_equal(clock_now(), 999999999);
    will_return(__wrap_clock_gettime, 2000000000);
    will_return(__wrap_clock_gettime, 7);
    assert_int_equal(clock_now(), 2000000000 * SECOND + 7);
}

/* Where time_t has 32 bits, a negative time would be refused, and an alarm would not be set. */
TEST(clock_timespec__far_away_is_never_negative)
{
    struct timespec t = clock_timespec(NEVER - 1);

    assert_true(t.tv_sec >= INT32_MAX);
}

TEST(clock_timespec__table)
{
    static const struct {
        instant t;
        time_t seconds;
        long nanoseconds;
    } row[] = {
        {0, 0, 0},  {999999999, 0, 999999999}, {SECOND, 1, 0}, {5 * SECOND + 7, 5, 7},
        {-1, 0, 0}, {INT64_MIN, 0, 0},
    };

    for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
        struct timespec t = clock_timespec(row[i].t);
        assert_int_equal(t.tv_sec, row[i].seconds);
        assert_int_equal(t.tv_nsec, row[i].nanoseconds);
    }
}
