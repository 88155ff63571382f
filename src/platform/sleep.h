/* Sleeping with a deadline on the monotonic clock: on a word in memory (futex), or on descriptors
 * (poll, epoll). */
#ifndef ZCRP_PLATFORM_SLEEP_H
#define ZCRP_PLATFORM_SLEEP_H

#include "core/instant.h"

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/epoll.h>

/* Sleeps while *word is `value`, until woken or the deadline (NEVER: no limit). False once the
 * deadline has passed. True says nothing: the sleeper was woken, *word had another value, a signal
 * came, or the wake-up was meant for what used to live at this address. Look at the word again.
 * Within one process only. */
bool futex_wait(const _Atomic uint32_t *word, uint32_t value, instant deadline);

/* The same on two words at once: sleeps while *word is `value` and *other is `other_value`. Kernels
 * before Linux 5.16 cannot: there it returns every few milliseconds. */
bool futex_wait_either(const _Atomic uint32_t *word, uint32_t value, const _Atomic uint32_t *other,
                       uint32_t other_value, instant deadline);

/* Wakes all who sleep on the word. Only the address is used: the memory may be gone already. */
void futex_wake_all(const _Atomic uint32_t *word);

/* The same, but one of them. */
void futex_wake_one(const _Atomic uint32_t *word);

/* Waits until one of the descriptors is ready (their `revents` say for what) or until the deadline
 * (NEVER: no limit; one in the past only asks). The number of ready ones, 0 after the deadline, or
 * the system's negative error number (-ENOMEM). Signals do not end the wait. */
__attribute__((warn_unused_result)) int ready_wait(struct pollfd *set, nfds_t count,
                                                   instant deadline);

/* Waits until a descriptor of the epoll is ready, or until the deadline, as ready_wait has it. The
 * number of events, or -1 and errno, EINTR among others. Kernels before Linux 5.11 have no
 * epoll_pwait2, and wake up to a millisecond late. */
int events_wait(int epoll, struct epoll_event *events, int most, instant deadline);

/* Tells the processor that this is a loop of waiting, and to leave the core to its sibling. */
static inline void processor_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

#endif
