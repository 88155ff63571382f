#include "sleep.h"

#include "calls.h"
#include "system.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

static const duration SLICE = 5 * MILLISECOND;

/* The call with an absolute deadline. Where a long has 32 bits, the call by the old name takes a
 * time that ends in 2038; kernels before Linux 5.1 have no other. */
static long wait_call(const _Atomic uint32_t *word, uint32_t value, instant deadline)
{
    const int operation = FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG;
    struct call_time until = call_time_of(deadline);
    bool has_time = deadline != NEVER;

    if (sizeof(long) == sizeof(int64_t))
        return syscall(SYS_futex, word, operation, value, has_time ? &until : NULL, NULL,
                       FUTEX_BITSET_MATCH_ANY);
    long result = syscall(SYS_futex_time64, word, operation, value, has_time ? &until : NULL, NULL,
                          FUTEX_BITSET_MATCH_ANY);
    if (!call_is_missing(result))
        return result;
    bool is_far = until.seconds > INT32_MAX;
    int32_t old[] = {is_far ? INT32_MAX : (int32_t)until.seconds, (int32_t)until.nanoseconds};
    return syscall(SYS_futex, word, operation, value, has_time ? old : NULL, NULL,
                   FUTEX_BITSET_MATCH_ANY);
}

/* FUTEX_WAIT takes a length of time, FUTEX_WAIT_BITSET a point in it, which survives restarts. */
bool futex_wait(const _Atomic uint32_t *word, uint32_t value, instant deadline)
{
    long result = wait_call(word, value, deadline);

    return result == 0 || errno != ETIMEDOUT;
}

/* As the kernel has it since Linux 5.16; older headers do not. */
struct waiter {
    uint64_t value;
    uint64_t word;
    uint32_t flags;
    uint32_t reserved;
};

enum { WORD_OF_32_BITS = 2 };

static struct waiter waiter_of(const _Atomic uint32_t *word, uint32_t value)
{
    return (struct waiter){
        .value = value, .word = (uintptr_t)word, .flags = WORD_OF_32_BITS | FUTEX_PRIVATE_FLAG};
}

bool futex_wait_either(const _Atomic uint32_t *word, uint32_t value, const _Atomic uint32_t *other,
                       uint32_t other_value, instant deadline)
{
    const struct waiter waiters[] = {waiter_of(word, value), waiter_of(other, other_value)};
    struct call_time until = call_time_of(deadline);
    long result =
        syscall(SYS_futex_waitv, waiters, 2, 0, deadline == NEVER ? NULL : &until, CLOCK_MONOTONIC);

    if (call_is_missing(result)) {
        instant soon = clock_now() + SLICE;
        return futex_wait(word, value, instant_earlier(soon, deadline)) || soon < deadline;
    }
    return result >= 0 || errno != ETIMEDOUT;
}

static void wake(const _Atomic uint32_t *word, int most)
{
    (void)syscall(SYS_futex, word, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, most, NULL, NULL, 0);
}

void futex_wake_all(const _Atomic uint32_t *word)
{
    wake(word, INT_MAX);
}

void futex_wake_one(const _Atomic uint32_t *word)
{
    wake(word, 1);
}

static struct timespec left_until(instant deadline)
{
    instant now = clock_now();

    return clock_timespec(deadline > now ? deadline - now : 0);
}

int ready_wait(struct pollfd *set, nfds_t count, instant deadline)
{
    int ready;

    do {
        struct timespec left = left_until(deadline);

        ready = ppoll(set, count, deadline == NEVER ? NULL : &left, NULL);
    } while (ready < 0 && errno == EINTR);
    return ready < 0 ? -errno : ready;
}

/* Rounded up: waking early would only ask again. */
static int milliseconds_of(duration left)
{
    duration whole = (left - 1) / MILLISECOND + 1;

    return whole < INT_MAX ? (int)whole : INT_MAX;
}

int events_wait(int epoll, struct epoll_event *events, int most, instant deadline)
{
    if (deadline == NEVER)
        return epoll_wait(epoll, events, most, -1);
    duration left = deadline > 0 ? deadline - clock_now() : 0;
    if (left <= 0)
        return epoll_wait(epoll, events, most, 0);
    struct call_time limit = call_time_of(left);
    long count = syscall(SYS_epoll_pwait2, epoll, events, most, &limit, NULL, (size_t)0);
    if (call_is_missing(count))
        return epoll_wait(epoll, events, most, milliseconds_of(left));
    return (int)count;
}
