#include "system.h"

#include "calls.h"
#include "core/check.h"
#include "numbers.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

enum { ENTROPY_MOST = 256 }; /* bytes that getrandom gives whole, whatever signals come */

static _Atomic uint32_t generation;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static void (*_Atomic on_child)(void);

_Noreturn void check_failed(const char *expression, const char *file, int line)
{
    fprintf(stderr, "libzcrp: invariant violated: %s (%s:%d)\n", expression, file, line);
    abort();
}

static instant read_clock(clockid_t clock)
{
    struct timespec t;

    CHECK(clock_gettime(clock, &t) == 0);
    return (instant)t.tv_sec * SECOND + t.tv_nsec;
}

instant clock_now(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

instant clock_tick(void)
{
    return read_clock(CLOCK_MONOTONIC_COARSE);
}

instant clock_deadline(int64_t timeout_ns)
{
    if (timeout_ns < 0)
        return NEVER;
    instant now = clock_now();
    return timeout_ns >= NEVER - now ? NEVER : now + timeout_ns;
}

instant clock_date(void)
{
    return read_clock(CLOCK_REALTIME);
}

/* Where time_t has 32 bits, what is farther away than 68 years is as far as can be. */
struct timespec clock_timespec(instant t)
{
    const instant farthest = sizeof(time_t) == sizeof(int32_t) ? INT32_MAX * SECOND : NEVER;

    if (t < 0)
        t = 0;
    if (t > farthest)
        t = farthest;
    return (struct timespec){.tv_sec = (time_t)(t / SECOND), .tv_nsec = (long)(t % SECOND)};
}

void entropy_fill(void *out, size_t size)
{
    ssize_t got;

    CHECK(size <= ENTROPY_MOST);
    do
        got = getrandom(out, size, 0);
    while (got < 0 && errno == EINTR);
    CHECK(got == (ssize_t)size);
}

/* 0, or an error number. */
static int populate(const void *at, size_t size, enum memory_access access)
{
    int advice = access == MEMORY_READ ? NUMBER_POPULATE_READ : NUMBER_POPULATE_WRITE;
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t first = (uintptr_t)at / page * page;
    int result;

    do
        result = madvise((void *)first, (uintptr_t)at + size - first, advice);
    while (result != 0 && (errno == EINTR || errno == EAGAIN));
    return result == 0 ? 0 : errno;
}

/* EINVAL says that the pages do not allow it, or that the kernel does not know the question: then
 * it says so of any page. */
bool memory_is_accessible(const void *at, size_t size, enum memory_access access)
{
    char any = 0;
    int error = size == 0 ? 0 : populate(at, size, access);

    return error == 0 || (error == EINVAL && populate(&any, sizeof(any), access) == EINVAL);
}

bool memory_is_writable(const void *at, size_t size)
{
    return memory_is_accessible(at, size, MEMORY_WRITE);
}

/* Where the system gives huge pages without being asked, one touch would cost 2 MiB. A kernel that
 * knows none refuses, which does no harm. */
void *memory_reserve(size_t bytes)
{
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, -1, 0);

    if (memory == MAP_FAILED)
        return NULL;
    (void)madvise(memory, bytes, MADV_NOHUGEPAGE);
    return memory;
}

void memory_forget(void *memory, size_t bytes, size_t kept)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);

    if (kept >= bytes)
        return;
    kept = (kept + page - 1) / page * page;
    if (kept < bytes)
        (void)madvise((uint8_t *)memory + kept, bytes - kept, MADV_DONTNEED);
}

void memory_release(void *memory, size_t bytes)
{
    if (memory == NULL || munmap(memory, bytes) == 0)
        return;
    /* The kernel had joined it with its neighbours, and the process may have no more mappings. */
    CHECK(errno == ENOMEM);
    (void)madvise(memory, bytes, MADV_DONTNEED);
}

bool processor_has_aes(void)
{
#if defined(__x86_64__) || defined(__i386__)
    return __builtin_cpu_supports("aes") && __builtin_cpu_supports("pclmul");
#elif defined(__aarch64__)
    return (getauxval(AT_HWCAP) & 1 << 3) != 0; /* HWCAP_AES */
#else
    return false;
#endif
}

int process_file(int pid)
{
    return (int)syscall(SYS_pidfd_open, pid, 0);
}

bool process_has_ended(int file)
{
    return file_is_readable(file);
}

bool file_is_readable(int file)
{
    struct pollfd set = {.fd = file, .events = POLLIN};

    return poll(&set, 1, 0) == 1 && (set.revents & POLLIN);
}

uint32_t forked_generation(void)
{
    return atomic_load_explicit(&generation, memory_order_relaxed);
}

static void be_child(void)
{
    atomic_fetch_add(&generation, 1);
    on_child();
}

static void watch(void)
{
    CHECK(pthread_atfork(NULL, NULL, be_child) == 0);
}

void forked_watch(void (*child)(void))
{
    on_child = child;
    CHECK(pthread_once(&once, watch) == 0);
}
