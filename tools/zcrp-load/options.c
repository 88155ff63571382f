#include "options.h"

#include <getopt.h>
#include <math.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "common/complain.h"
#include "common/quantity.h"

static const double most_seconds = 1e9;

const char options_help[] =
    "zcrp-load: does nothing but count, to see what others leave of the processor\n"
    "\n"
    "  zcrp-load [OPTION]...\n"
    "\n"
    "  --processes N       so many of them count, each for itself (1)\n"
    "  --pin CORE,...      the cores they run on, in turns (wherever the system likes)\n"
    "  --duration SECONDS  for so long (until SIGINT or SIGTERM)\n"
    "  --each              also say what each of them counted\n"
    "  --help, --version\n"
    "\n"
    "SIGUSR1: says how far they are. At the end it says so, too.\n"
    "\n"
    "Status: 0 done; 1 something failed; 2 the command line is wrong.\n";

static int set_processes(struct options *options, const char *value)
{
    if (quantity_parse(value, &options->processes) < 0 || options->processes > COUNTERS_MAX)
        return complain("--processes: '%s' is not a number from 1 to %d", value, COUNTERS_MAX);
    return 0;
}

static int set_pin(struct options *options, const char *value)
{
    const char *rest = value;

    options->core_count = 0;
    for (;;) {
        char *end;
        long core = strtol(rest, &end, 10);

        if (end == rest || (*end != '\0' && *end != ',') || core < 0 || core >= CPU_SETSIZE)
            return complain("--pin: '%s' is not a list of cores, as in 0,1", value);
        if (options->core_count == CORES_MAX)
            return complain("--pin: more than %d cores", CORES_MAX);
        options->cores[options->core_count++] = (int)core;
        if (*end == '\0')
            return 0;
        rest = end + 1;
    }
}

static int set_duration(struct options *options, const char *value)
{
    char *end;
    double seconds = strtod(value, &end);

    if (end == value || *end != '\0' || !(seconds >= 1e-3) || !(seconds <= most_seconds))
        return complain("--duration: '%s' is not a number of seconds", value);
    options->duration_ns = llround(seconds * 1e9);
    return 0;
}

enum { PROCESSES, PIN, DURATION, EACH, HELP, VERSION };

static const struct option described[] = {
    [PROCESSES] = {"processes", required_argument, NULL, 0},
    [PIN] = {"pin", required_argument, NULL, 0},
    [DURATION] = {"duration", required_argument, NULL, 0},
    [EACH] = {"each", no_argument, NULL, 0},
    [HELP] = {"help", no_argument, NULL, 0},
    [VERSION] = {"version", no_argument, NULL, 0},
    {NULL, 0, NULL, 0},
};

static int take(struct options *options, int which)
{
    switch (which) {
    case PROCESSES:
        return set_processes(options, optarg);
    case PIN:
        return set_pin(options, optarg);
    case DURATION:
        return set_duration(options, optarg);
    case EACH:
        options->wants_each = true;
        return 0;
    case HELP:
        options->wants_help = true;
        return 0;
    default:
        options->wants_version = true;
        return 0;
    }
}

int options_parse(struct options *options, int argc, char **argv)
{
    int which = 0;
    int result;

    *options = (struct options){.processes = 1};
    opterr = 0;
    while ((result = getopt_long(argc, argv, "+:", described, &which)) != -1) {
        if (result == ':')
            return complain("%s needs a value", argv[optind - 1]);
        if (result != 0)
            return complain("unknown option '%s'", argv[optind - 1]);
        if (take(options, which) < 0)
            return -1;
    }
    return optind == argc ? 0 : complain("what is '%s'?", argv[optind]);
}
