/* Kernels, and filters of containers, that lack the calls which go by number: what is done instead.
 */
/* wrap: syscall epoll_wait clock_now */
#include "platform/calls.h"

#include "../support/mock.h"
#include "platform/sleep.h"
#include "platform/system.h"

#include <limits.h>
#include <string.h>
#include <sys/syscall.h>

static const int missing[] = {-ENOSYS, -EPERM};

static struct {
    long number[4]; /* of the calls so far */
    int calls;
    struct call_time limit; /* of epoll_pwait2 */
    int milliseconds;       /* of epoll_wait */
} seen;

static void forget(void)
{
    memset(&seen, 0, sizeof(seen));
}

FIXTURE(forget, NULL)

instant __wrap_clock_now(void)
{
    return 10 * SECOND;
}

long __wrap_syscall(long number, ...)
{
    if (number == SYS_epoll_pwait2) {
        va_list rest;

        va_start(rest, number);
        (void)va_arg(rest, int);
        (void)va_arg(rest, struct epoll_event *);
        (void)va_arg(rest, int);
        seen.limit = *va_arg(rest, const struct call_time *);
        va_end(rest);
    }
    assert_in_range(seen.calls, 0, 3);
    seen.number[seen.calls++] = number;
    return MOCK_RESULT();
}

int __wrap_epoll_wait(int epoll, struct epoll_event *events, int most, int milliseconds)
{
    (void)epoll;
    (void)events;
    (void)most;
    seen.milliseconds = milliseconds;
    return MOCK_RESULT();
}

TEST(events_wait__nanoseconds)
{
    struct epoll_event event;

    will_return(__wrap_syscall, 1);
    assert_int_equal(events_wait(5, &event, 1, 12 * SECOND + 7), 1);
    assert_int_equal(seen.limit.seconds, 2);
    assert_int_equal(seen.limit.nanoseconds, 7);
}

TEST(events_wait__errors_of_the_call_itself)
{
    struct epoll_event event;

    will_return(__wrap_syscall, -EINTR);
    assert_int_equal(events_wait(5, &event, 1, 12 * SECOND), -1);
    assert_int_equal(errno, EINTR);
}

TEST(events_wait__without_epoll_pwait2_milliseconds_rounded_up)
{
    static const struct {
        duration left;
        int milliseconds;
    } row[] = {
        {1, 1},
        {MILLISECOND, 1},
        {MILLISECOND + 1, 2},
        {SECOND, 1000},
        {INT_MAX * MILLISECOND, INT_MAX},
        {INT_MAX * MILLISECOND + 1, INT_MAX},
        {NEVER - 11 * SECOND, INT_MAX},
    };
    struct epoll_event event;

    for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
        seen.calls = 0;
        will_return(__wrap_syscall, missing[i % 2]);
        will_return(__wrap_epoll_wait, 3);
        assert_int_equal(events_wait(5, &event, 1, 10 * SECOND + row[i].left), 3);
        assert_int_equal(seen.milliseconds, row[i].milliseconds);
    }
}

TEST(events_wait__no_limit_and_only_asking)
{
    static const instant asking[] = {INT64_MIN, 0, 10 * SECOND};
    struct epoll_event event;

    will_return(__wrap_epoll_wait, 0);
    assert_int_equal(events_wait(5, &event, 1, NEVER), 0);
    assert_int_equal(seen.milliseconds, -1);
    for (size_t i = 0; i < sizeof(asking) / sizeof(asking[0]); i++) {
        will_return(__wrap_epoll_wait, 0);
        assert_int_equal(events_wait(5, &event, 1, asking[i]), 0);
        assert_int_equal(seen.milliseconds, 0);
    }
    assert_int_equal(seen.calls, 0);
}

/* It sleeps on the first word alone, for a moment: so the caller looks at the second one, too. */
TEST(futex_wait_either__without_futex_waitv)
{
    _Atomic uint32_t word = 7, other = 8;

    for (size_t i = 0; i < 2; i++) {
        seen.calls = 0;
        will_return(__wrap_syscall, missing[i]);
        will_return(__wrap_syscall, -ETIMEDOUT);
        assert_true(futex_wait_either(&word, 7, &other, 8, 20 * SECOND));
        assert_int_equal(seen.number[0], SYS_futex_waitv);
        assert_int_not_equal(seen.number[1], SYS_futex_waitv);
    }
    seen.calls = 0;
    will_return(__wrap_syscall, -ENOSYS);
    will_return(__wrap_syscall, -ETIMEDOUT);
    assert_false(futex_wait_either(&word, 7, &other, 8, 10 * SECOND + 1));
}

/* Where a long has 32 bits, kernels before Linux 5.1 have only the call whose time ends in 2038. */
TEST(futex_wait__old_kernels_of_32_bits)
{
    _Atomic uint32_t word = 7;

    will_return(__wrap_syscall, sizeof(long) == 4 ? -ENOSYS : 0);
    if (sizeof(long) == 4)
        will_return(__wrap_syscall, -ETIMEDOUT);
    assert_int_equal(futex_wait(&word, 7, 20 * SECOND), sizeof(long) != 4);
    assert_int_equal(seen.number[seen.calls - 1], SYS_futex);
}

TEST(process_file__without_pidfd_open)
{
    will_return(__wrap_syscall, -ENOSYS);
    assert_int_equal(process_file(1), -1);
    assert_int_equal(seen.number[0], SYS_pidfd_open);
}
