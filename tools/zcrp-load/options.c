#include "options.h"

#include <sched.h>
#include <stdlib.h>

#include "common/arguments.h"
#include "common/complain.h"

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
    ARGUMENT_TRUE("help", 'h', AT(wants_help), "print this help"),
    ARGUMENT_TRUE("version", 'V', AT(wants_version), "print the version"),
};

static const struct argument_table table = {
    .rows = rows,
    .count = sizeof rows / sizeof *rows,
    .about = "zcrp-load keeps the processor busy by counting, and prints how far it counted. "
             "Competing programs slow it down.\v"
             "SIGUSR1 prints the counts so far. They are printed at the end, too.\n\n"
             "Exit status: 0 done; 1 something failed; 2 the command line is wrong.",
};

int options_parse(struct options *options, int argc, char **argv)
{
    *options = (struct options){.processes = 1};
    return arguments_read_all(&table, options, argc, argv);
}

void options_help(void)
{
    arguments_help(&table);
}
