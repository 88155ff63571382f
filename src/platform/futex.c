#include "futex.h"

#include "clock.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

/* FUTEX_WAIT takes a length of time, FUTEX_WAIT_BITSET a point in it, which survives restarts. */
bool futex_wait(const _Atomic uint32_t *word, uint32_t value, instant deadline)
{
    struct timespec until = clock_timespec(deadline);
    long result =
        syscall(SYS_futex, word, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG, value,
                deadline == NEVER ? NULL : &until, NULL, (unsigned)FUTEX_BITSET_MATCH_ANY);

    return result == 0 || errno != ETIMEDOUT;
}

void futex_wake_all(const _Atomic uint32_t *word)
{
    (void)syscall(SYS_futex, word, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, INT_MAX, NULL, NULL, 0);
}
