#include "counter.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/complain.h"
#include "common/pin.h"

/* Alone in what processors fetch at once, so that counters do not slow each other down. */
struct number {
    _Alignas(128) volatile _Atomic uint64_t value;
};

static int64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Volatile, so that the compiler keeps every pass; atomic, so that a reader never sees half of it.
 */
static _Noreturn void count_for_ever(volatile _Atomic uint64_t *value)
{
    for (;;) {
        uint64_t before = atomic_load_explicit(value, memory_order_relaxed);
        atomic_store_explicit(value, before + 1, memory_order_relaxed);
    }
}

/* The signals that the parent waits for would not end a child that inherited their mask. */
static _Noreturn void be_counter(volatile _Atomic uint64_t *value, int core, pid_t parent)
{
    sigset_t none;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (getppid() != parent || pin_to(core) < 0) /* gone already */
        _exit(EXIT_FAILURE);
    count_for_ever(value);
}

static int start_one(struct counters *counters, int core)
{
    size_t which = counters->count;
    pid_t parent = getpid();
    pid_t child = fork();

    if (child < 0)
        return complain("cannot start a process: %s", strerror(errno));
    if (child == 0)
        be_counter(&counters->numbers[which].value, core, parent);
    counters->pids[counters->count++] = child;
    return 0;
}

int counters_start(struct counters *counters, size_t count, const int *cores, size_t core_count)
{
    void *shared = mmap(NULL, count * sizeof(struct number), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (shared == MAP_FAILED)
        return complain("no memory for %zu counters: %s", count, strerror(errno));
    *counters = (struct counters){.numbers = shared, .start_ns = now_ns()};
    for (size_t i = 0; i < count; i++) {
        if (start_one(counters, core_count > 0 ? cores[i % core_count] : PIN_NONE) < 0) {
            counters_stop(counters);
            return -1;
        }
    }
    return 0;
}

uint64_t counters_read(struct counters *counters)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < counters->count; i++) {
        counters->counts[i] =
            atomic_load_explicit(&counters->numbers[i].value, memory_order_relaxed);
        sum += counters->counts[i];
    }
    return sum;
}

int64_t counters_age_ns(const struct counters *counters)
{
    return now_ns() - counters->start_ns;
}

/* Looks, and leaves the dead for counters_stop. */
static bool has_ended(pid_t pid)
{
    siginfo_t ended = {0};

    return waitid(P_PID, (id_t)pid, &ended, WEXITED | WNOHANG | WNOWAIT) < 0 || ended.si_pid != 0;
}

bool counters_are_alive(const struct counters *counters)
{
    for (size_t i = 0; i < counters->count; i++) {
        if (has_ended(counters->pids[i]))
            return false;
    }
    return true;
}

void counters_stop(struct counters *counters)
{
    for (size_t i = 0; i < counters->count; i++)
        kill(counters->pids[i], SIGKILL);
    for (size_t i = 0; i < counters->count; i++)
        waitpid(counters->pids[i], NULL, 0);
}
