/* Options of what is told, and where. */
#include <getopt.h>
#include <stddef.h>

#include "zcrp-bench/command/options_lists.h"
#include "zcrp-bench/command/options_rows.h"

static int set_capture(struct options *options, const char *value)
{
    options->capture = value;
    return 0;
}

static int set_trace(struct options *options, const char *value)
{
    options->trace = value;
    return 0;
}

static int set_interval(struct options *options, const char *value)
{
    int64_t interval_ns = 0;
    int status = options_seconds("interval", value, &interval_ns);

    options->settings.interval_ns = (uint64_t)interval_ns;
    return status;
}

static int set_json(struct options *options, const char *value)
{
    options->json = value != NULL ? value : "-";
    return 0;
}

static int set_stats(struct options *options, const char *value)
{
    (void)value;
    options->wants_stats = true;
    return 0;
}

static int set_quiet(struct options *options, const char *value)
{
    (void)value;
    options->is_quiet = true;
    return 0;
}

static int set_help(struct options *options, const char *value)
{
    (void)value;
    options->wants_help = true;
    return 0;
}

static int set_version(struct options *options, const char *value)
{
    (void)value;
    options->wants_version = true;
    return 0;
}

static const struct options_row rows[] = {
    {"capture", required_argument, false, set_capture},
    {"trace", required_argument, true, set_trace},
    {"interval", required_argument, true, set_interval},
    {"json", optional_argument, true, set_json},
    {"stats", no_argument, true, set_stats},
    {"quiet", no_argument, false, set_quiet},
    {"help", no_argument, false, set_help},
    {"version", no_argument, false, set_version},
};

const struct options_group options_report = {rows, sizeof rows / sizeof *rows};
