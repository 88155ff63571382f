/* zcrp-load: the competitor. Processes count, and their parent says how far they are. See
 * docs/zcrp-load.1. */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/complain.h"
#include "counter.h"
#include "options.h"
#include "zcrp.h"

enum { EXIT_USAGE = 2 };

static const int64_t second_ns = 1000000000;

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
    int status;

    sigemptyset(&signals);
    sigaddset(&signals, SIGUSR1);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGCHLD);
    sigprocmask(SIG_BLOCK, &signals, NULL);
    if (counters_start(&counters, options->processes, options->cores, options->core_count) < 0)
        return -1;
    status = watch(options, &counters, &signals);
    if (status == 0)
        status = report(options, &counters);
    counters_stop(&counters);
    return status;
}

int main(int argc, char **argv)
{
    struct options options;

    if (options_parse(&options, argc, argv) < 0) {
        fprintf(stderr, "Try 'zcrp-load --help'.\n");
        return EXIT_USAGE;
    }
    if (options.wants_help) {
        options_help();
        return EXIT_SUCCESS;
    }
    if (options.wants_version) {
        puts("zcrp-load " ZCRP_VERSION_TEXT);
        return EXIT_SUCCESS;
    }
    return run(&options) < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
