#include "sleep.h"

#include "system.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

static const duration SLICE = 5 * MILLISECOND;

/* FUTEX_WAIT takes a length of time, FUTEX_WAIT_BITSET a point in it, which survives restarts. */
bool futex_wait(const _Atomic uint32_t *word, uint32_t value, instant deadline)
{
    struct timespec until = clock_timespec(deadline);
    long result =
        syscall(SYS_futex, word, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG, value,
                deadline == NEVER ? NULL : &until, NULL, (unsigned)FUTEX_BITSET_MATCH_ANY);

    return result == 0 || errno != ETIMEDOUT;
}

/* As the kernel has it since Linux 5.16; older headers do not. */
struct waiter {
    uint64_t value;
    uint64_t word;
    uint32_t flags;
    uint32_t reserved;
};

enum { CALL_FUTEX_WAITV = 449, WORD_OF_32_BITS = 2 };

static struct waiter waiter_of(const _Atomic uint32_t *word, uint32_t value)
{
    return (struct waiter){
        .value = value, .word = (uintptr_t)word, .flags = WORD_OF_32_BITS | FUTEX_PRIVATE_FLAG};
}

bool futex_wait_either(const _Atomic uint32_t *word, uint32_t value, const _Atomic uint32_t *other,
                       uint32_t other_value, instant deadline)
{
    const struct waiter waiters[] = {waiter_of(word, value), waiter_of(other, other_value)};
    struct timespec until = clock_timespec(deadline);
    long result = syscall(CALL_FUTEX_WAITV, waiters, 2, 0, deadline == NEVER ? NULL : &until,
                          CLOCK_MONOTONIC);

    if (result < 0 && errno == ENOSYS) {
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

int events_wait(int epoll, struct epoll_event *events, int most, instant deadline)
{
    if (deadline == NEVER)
        return epoll_wait(epoll, events, most, -1);
    duration left = deadline > 0 ? deadline - clock_now() : 0;
    if (left <= 0)
        return epoll_wait(epoll, events, most, 0);
    struct timespec limit = clock_timespec(left);
    int count = epoll_pwait2(epoll, events, most, &limit, NULL);
    if (count < 0 && errno == ENOSYS)
        count = epoll_wait(epoll, events, most, (int)(left / MILLISECOND) + 1);
    return count;
}
