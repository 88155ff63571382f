/* zcrp-load: the competitor. Processes count, each a number of its own in memory shared with their
 * parent, which says how far they are. See docs/zcrp-load.1.
 *
 * One count is one pass of a loop that reads a 64-bit number from the level-one cache, adds one and
 * writes it back: no system call, no other memory, nothing shared with another counter. A reading
 * costs the counters one missed cache line. They end with their parent, however it ends. */
#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/arguments.h"
#include "common/clock.h"
#include "common/complain.h"
#include "common/environment.h"

enum { COUNTERS_MAX = 1024, CORES_MAX = 256 };

static const int64_t second_ns = 1000000000;

/* ---- the counters ---- */

/* Alone in what processors fetch at once, so that counters do not slow each other down. */
struct number {
    _Alignas(128) volatile _Atomic uint64_t value;
};

struct counters {
    struct number *numbers; /* one for each process, in shared memory */
    size_t count;           /* of processes that run; no more than COUNTERS_MAX */
    int64_t start_ns;       /* of the monotonic clock: when the first of them was started */
    int pids[COUNTERS_MAX];
};

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

/* Ends them; their numbers stay until the process ends. */
static void counters_stop(struct counters *counters)
{
    for (size_t i = 0; i < counters->count; i++)
        kill(counters->pids[i], SIGKILL);
    for (size_t i = 0; i < counters->count; i++)
        waitpid(counters->pids[i], NULL, 0);
}

/* Starts `count` processes; with cores the n-th runs on core n modulo `core_count`, without (0)
 * wherever the system likes. 0, or -1 with a complaint; then none is left. */
static int counters_start(struct counters *counters, size_t count, const int *cores,
                          size_t core_count)
{
    void *shared = mmap(NULL, count * sizeof(struct number), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (shared == MAP_FAILED)
        return complain("no memory for %zu counters: %s", count, strerror(errno));
    *counters = (struct counters){.numbers = shared, .start_ns = clock_now_ns()};
    for (size_t i = 0; i < count; i++) {
        if (start_one(counters, core_count > 0 ? cores[i % core_count] : PIN_NONE) < 0) {
            counters_stop(counters);
            return -1;
        }
    }
    return 0;
}

static int64_t counters_age_ns(const struct counters *counters)
{
    return clock_now_ns() - counters->start_ns;
}

/* Has none ended? It looks, and leaves the dead for counters_stop. */
static bool counters_are_alive(void)
{
    siginfo_t ended = {0};

    return waitid(P_ALL, 0, &ended, WEXITED | WNOHANG | WNOWAIT) == 0 && ended.si_pid == 0;
}

/* ---- the program ---- */

struct options {
    uint64_t processes; /* 1 .. COUNTERS_MAX */
    int cores[CORES_MAX];
    size_t core_count;   /* 0: wherever the system likes */
    int64_t duration_ns; /* 0: until a signal */
    bool wants_each;     /* what each process counted, too */
};

/* "0,1" */
static int read_cores(void *place, const char *text)
{
    struct options *options = place;
    const char *rest = text;

    options->core_count = 0;
    for (;;) {
        char *end;
        long core = strtol(rest, &end, 10);

        if (end == rest || (*end != '\0' && *end != ',') || core < 0 || core >= CPU_SETSIZE)
            return complain("--pin: '%s' is not a list of cores, as in 0,1", text);
        if (options->core_count == CORES_MAX)
            return complain("--pin: more than %d cores", CORES_MAX);
        options->cores[options->core_count++] = (int)core;
        if (*end == '\0')
            return 0;
        rest = end + 1;
    }
}

#define AT(field) offsetof(struct options, field)

static const struct argument_row rows[] = {
    ARGUMENT("processes", 'n', NUMBER, AT(processes), 1, COUNTERS_MAX, "N",
             "start N processes, each with a counter of its own (1)"),
    ARGUMENT("pin", 'p', OTHER, 0, 0, 0, "CORE,...", "run them on these cores, in turns (any core)",
             .read = read_cores),
    ARGUMENT("duration", 'd', SECONDS, AT(duration_ns), 1, UINT64_C(1000000000000), "SECONDS",
             "stop after SECONDS (on SIGINT or SIGTERM)"),
    ARGUMENT_TRUE("each", 'e', AT(wants_each), "also print the count of each process"),
    ARGUMENT_USUAL,
};

static const struct argument_table table = {
    .rows = rows,
    .count = sizeof rows / sizeof *rows,
    .about = "zcrp-load keeps the processor busy by counting, and prints how far it counted. "
             "Competing programs slow it down.\v"
             "SIGUSR1 prints the counts so far. They are printed at the end, too.\n\n"
             "Exit status: 0 done; 1 something failed; 2 the command line is wrong.",
};

/* One line: counts, seconds, counts a second; with --each also what each process counted. */
static int report(const struct options *options, const struct counters *counters)
{
    uint64_t counts[COUNTERS_MAX], sum = 0;

    for (size_t i = 0; i < counters->count; i++) {
        counts[i] = atomic_load_explicit(&counters->numbers[i].value, memory_order_relaxed);
        sum += counts[i];
    }
    double seconds = (double)counters_age_ns(counters) / 1e9;

    printf("%" PRIu64 " counts in %.6f s, %.6g a second", sum, seconds, (double)sum / seconds);
    for (size_t i = 0; options->wants_each && i < counters->count; i++)
        printf("%s %" PRIu64, i > 0 ? "," : ":", counts[i]);
    putchar('\n');
    return fflush(stdout) == 0 ? 0
                               : complain("cannot write to standard output: %s", strerror(errno));
}

/* The next of the signals, or 0 once `end_ns` of the counters' age has come (0: never). */
static int next_signal(const sigset_t *signals, const struct counters *counters, int64_t end_ns)
{
    int64_t left = end_ns - counters_age_ns(counters);
    struct timespec limit = {.tv_sec = left / second_ns, .tv_nsec = left % second_ns};

    if (end_ns == 0)
        return sigwaitinfo(signals, NULL);
    return left > 0 ? sigtimedwait(signals, NULL, &limit) : 0;
}

/* Says how far the counters are whenever it is asked to, until the end; not the last time. */
static int watch(const struct options *options, struct counters *counters, const sigset_t *signals)
{
    for (;;) {
        int signal = next_signal(signals, counters, options->duration_ns);

        if (signal == 0 || signal == SIGINT || signal == SIGTERM)
            return 0;
        if (signal == SIGCHLD && !counters_are_alive())
            return complain("a counter has ended before its time");
        if (signal == SIGUSR1 && report(options, counters) < 0)
            return -1;
    }
}

static int run(const struct options *options)
{
    static struct counters counters;
    sigset_t signals;

    sigemptyset(&signals);
    sigaddset(&signals, SIGUSR1);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGCHLD);
    sigprocmask(SIG_BLOCK, &signals, NULL);
    if (counters_start(&counters, options->processes, options->cores, options->core_count) < 0)
        return -1;
    int status = watch(options, &counters, &signals);
    if (status == 0)
        status = report(options, &counters);
    counters_stop(&counters);
    return status;
}

int main(int argc, char **argv)
{
    struct options options = {.processes = 1};
    int status = arguments_read_all(&table, &options, argc, argv);

    if (status != 0)
        return arguments_status(status);
    return run(&options) < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
