/* wrap: syscall */
#include "platform/sleep.h"

#include "../support/mock.h"
#include "platform/calls.h"

#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>

static struct {
    const void *word;
    int operation;
    unsigned value;
    const struct call_time *until;
    struct call_time copy;
} last;

long __wrap_syscall(long number, ...)
{
    va_list rest;

    assert_true(number == SYS_futex || (sizeof(long) == 4 && number == SYS_futex_time64));
    va_start(rest, number);
    last.word = va_arg(rest, const void *);
    last.operation = va_arg(rest, int);
    last.value = va_arg(rest, unsigned);
    last.until = va_arg(rest, const struct call_time *);
    va_end(rest);
    if (last.until)
        last.copy = *last.until;
    return MOCK_RESULT();
}

TEST(futex_wait__results)
{
    static const struct {
        int result;
        bool expected;
    } row[] = {{0, true}, {-EAGAIN, true}, {-EINTR, true}, {-ETIMEDOUT, false}};
    _Atomic uint32_t word = 7;

    for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
        will_return(__wrap_syscall, row[i].result);
        assert_int_equal(futex_wait(&word, 7, 3 * SECOND + 5), row[i].expected);
        assert_ptr_equal(last.word, &word);
        assert_int_equal(last.operation, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG);
        assert_int_equal(last.value, 7);
        assert_int_equal(last.copy.seconds, 3);
        assert_int_equal(last.copy.nanoseconds, 5);
    }
}

TEST(futex_wait__no_limit)
{
    _Atomic uint32_t word = 0;

    will_return(__wrap_syscall, 0);
    assert_true(futex_wait(&word, 0, NEVER));
    assert_null(last.until);
}

/* The kernel would refuse a negative time, and the caller would ask for ever. */
TEST(futex_wait__deadline_before_time_began)
{
    _Atomic uint32_t word = 0;

    will_return(__wrap_syscall, -ETIMEDOUT);
    assert_false(futex_wait(&word, 0, INT64_MIN));
    assert_int_equal(last.copy.seconds, 0);
    assert_int_equal(last.copy.nanoseconds, 0);
}

static void expect_wake(const _Atomic uint32_t *word, int most)
{
    assert_ptr_equal(last.word, word);
    assert_int_equal(last.operation, FUTEX_WAKE | FUTEX_PRIVATE_FLAG);
    assert_int_equal(last.value, most);
}

TEST(futex_wake__all_or_one)
{
    _Atomic uint32_t word = 0;

    will_return(__wrap_syscall, 3);
    futex_wake_all(&word);
    expect_wake(&word, INT_MAX);
    will_return(__wrap_syscall, 1);
    futex_wake_one(&word);
    expect_wake(&word, 1);
}
