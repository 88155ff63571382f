/* System calls that the C library may lack: they go by number. glibc 2.28 has none of these, musl
 * not all.
 *
 * Older headers lack the numbers, too. All processors but Alpha, MIPS and ia64 have the ones below.
 * A kernel that lacks the call says ENOSYS; a container's filter that lacks it may say EPERM, which
 * none of these calls says otherwise. Each caller has a fallback for both. */
#ifndef ZCRP_PLATFORM_CALLS_H
#define ZCRP_PLATFORM_CALLS_H

#include "core/instant.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>

#ifndef SYS_futex_time64
#define SYS_futex_time64 422 /* Linux 5.1; processors of 32 bits only */
#endif
#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434 /* 5.3 */
#endif
#ifndef SYS_epoll_pwait2
#define SYS_epoll_pwait2 441 /* 5.11 */
#endif
#ifndef SYS_futex_waitv
#define SYS_futex_waitv 449 /* 5.16 */
#endif

/* A time as these calls take it, however many bits the C library's time_t has. */
struct call_time {
    int64_t seconds;
    int64_t nanoseconds;
};

/* An instant below 0 becomes 0: the kernel refuses negative times. */
static inline struct call_time call_time_of(instant t)
{
    return (struct call_time){t > 0 ? t / SECOND : 0, t > 0 ? t % SECOND : 0};
}

/* Did the call fail because it is not there? */
static inline bool call_is_missing(long result)
{
    return result < 0 && (errno == ENOSYS || errno == EPERM);
}

#endif
