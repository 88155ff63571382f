/* zcrp-load: the competitor. Processes count, and their parent says how far they are. See
 * docs/zcrp-load.1. */
#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/arguments.h"
#include "common/complain.h"
#include "counter.h"

static const int64_t second_ns = 1000000000;

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
static int report(const struct options *options, struct counters *counters)
{
    uint64_t sum = counters_read(counters);
    double seconds = (double)counters_age_ns(counters) / 1e9;

    printf("%" PRIu64 " counts in %.6f s, %.6g a second", sum, seconds, (double)sum / seconds);
    for (size_t i = 0; options->wants_each && i < counters->count; i++)
        printf("%s %" PRIu64, i > 0 ? "," : ":", counters->counts[i]);
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
        if (signal == SIGCHLD && !counters_are_alive(counters))
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
