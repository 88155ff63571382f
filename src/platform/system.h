/* What the library asks of the operating system in one call: the time, random bytes, whether memory
 * can be accessed, memory that costs nothing until it is touched, whether another process has
 * ended, and how many forks lie behind this process. The assertion of core/check.h ends the process
 * here, too, because the core cannot print. */
#ifndef ZCRP_PLATFORM_SYSTEM_H
#define ZCRP_PLATFORM_SYSTEM_H

#include "core/instant.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

/* The time of CLOCK_MONOTONIC: setting the date ends no timeout. Cannot fail; about 20 ns, no
 * system call where the kernel has a vDSO. */
instant clock_now(void);

/* The same, up to some milliseconds ago: as the last tick of the kernel's left it. About 5 ns. */
instant clock_tick(void);

/* The instant `timeout_ns` from now; negative: NEVER. */
instant clock_deadline(int64_t timeout_ns);

/* Nanoseconds since 1970 (CLOCK_REALTIME), to compare with dates of the kernel's; jumps when
 * somebody sets the date. Cannot fail; costs the same. */
instant clock_date(void);

/* The same point in time as the system writes it. An instant below 0 lies in the past in any case
 * and becomes 0, because the kernel refuses negative times. */
struct timespec clock_timespec(instant t);

/* Fills `size` bytes, 256 at most (CHECKed), with random numbers that nobody else knows. Waits only
 * early while the system starts. Cannot fail: the library does not run on a system without them
 * (CHECKed). */
void entropy_fill(void *out, size_t size);

enum memory_access { MEMORY_READ, MEMORY_WRITE };

/* True if all of [at, at + size) can be accessed so, or if the kernel (before Linux 5.14) cannot
 * tell. The kernel finds out; this process does not touch the memory. Nothing changes, but pages
 * that were not there yet are. */
bool memory_is_accessible(const void *at, size_t size, enum memory_access access);
bool memory_is_writable(const void *at, size_t size);

/* Reserves `bytes` of memory, all 0, not 0 bytes; NULL if there is none. The system gives each page
 * at its first touch, and no larger one than usual. */
__attribute__((warn_unused_result)) void *memory_reserve(size_t bytes);

/* What it holds behind its first `kept` bytes is not used any more, may be lost, and costs nothing
 * until it is touched again, but for a part of a page. */
void memory_forget(void *memory, size_t bytes, size_t kept);

/* Gives it back; fine for NULL. Where the process has as many mappings as it may have, the
 * addresses may stay reserved, but not their pages. */
void memory_release(void *memory, size_t bytes);

/* Has this processor instructions for AES and its mode GCM? False if it is of a kind that this
 * file does not know. */
bool processor_has_aes(void);

/* A descriptor of a process; -1 and errno if there is none, or the kernel (before Linux 5.3) has no
 * such. And whether that process has ended, with all its threads. Both are a system call. */
__attribute__((warn_unused_result)) int process_file(int pid);
bool process_has_ended(int file);

/* May it be read without waiting? A system call. */
bool file_is_readable(int file);

/* Forks. A child process has its parent's memory and descriptors, but not its threads. An object
 * that keeps the generation in which it was made can tell that it is in a child.
 *
 * Another thread of the parent may just have been changing what the child has a copy of. So global
 * state that a child goes on using is put in order in the child, before fork returns there. */

/* The number of forks between this process and the one that watched first. Any thread; a load. */
uint32_t forked_generation(void);

/* From the first call on, `child` runs in each child before fork returns there. It is the same in
 * all calls. Any thread. */
void forked_watch(void (*child)(void));

#endif
