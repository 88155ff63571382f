/* Options of what is measured, and how often. */
#include <getopt.h>
#include <string.h>

#include "common/complain.h"
#include "common/quantity.h"
#include "zcrp-bench/command/options_lists.h"
#include "zcrp-bench/command/options_rows.h"

enum {
    MAX_REPEAT = 10000,
    MAX_DEPTH = 1 << 20,
};

static int set_count(struct options *options, const char *value)
{
    return options_quantity("count", value, &options->count, INT64_MAX);
}

static int set_bytes(struct options *options, const char *value)
{
    return options_quantity("bytes", value, &options->bytes, INT64_MAX);
}

static int set_duration(struct options *options, const char *value)
{
    return options_seconds("duration", value, &options->duration_ns);
}

static int set_rate(struct options *options, const char *value)
{
    if (quantity_decimal(value, &options->bits_per_s) == 0)
        return 0;
    return complain("--rate: '%s' is not a number of bits a second, as in 64k, 155M, 2.5G", value);
}

static int set_repeat(struct options *options, const char *value)
{
    return options_quantity("repeat", value, &options->repeat, MAX_REPEAT);
}

static int set_parallel(struct options *options, const char *value)
{
    return options_quantity("parallel", value, &options->parallel, OPTIONS_MAX_PARALLEL);
}

static int set_memory(struct options *options, const char *value)
{
    options->memory_bytes = OPTIONS_MEMORY_ALL;
    if (strcmp(value, "all") == 0)
        return 0;
    return options_quantity("memory", value, &options->memory_bytes, INT64_MAX);
}

static int set_depth(struct options *options, const char *value)
{
    return options_quantity("depth", value, &options->settings.depth, MAX_DEPTH);
}

static int set_ping(struct options *options, const char *value)
{
    (void)value;
    options->is_ping = true;
    return 0;
}

static int set_verify(struct options *options, const char *value)
{
    (void)value;
    options->is_verified = true;
    return 0;
}

static int set_input(struct options *options, const char *value)
{
    options->input = value;
    options->is_verified = true;
    return 0;
}

static int set_output(struct options *options, const char *value)
{
    options->output = value;
    return 0;
}

static const struct options_row rows[] = {
    {"transport", required_argument, true, options_set_transport},
    {"size", required_argument, true, options_set_size},
    {"count", required_argument, true, set_count},
    {"bytes", required_argument, true, set_bytes},
    {"duration", required_argument, true, set_duration},
    {"rate", required_argument, true, set_rate},
    {"parallel", required_argument, true, set_parallel},
    {"repeat", required_argument, true, set_repeat},
    {"memory", required_argument, true, set_memory},
    {"depth", required_argument, true, set_depth},
    {"ping", no_argument, true, set_ping},
    {"verify", no_argument, true, set_verify},
    {"input", required_argument, false, set_input},
    {"output", required_argument, false, set_output},
};

const struct options_group options_work = {rows, sizeof rows / sizeof *rows};
