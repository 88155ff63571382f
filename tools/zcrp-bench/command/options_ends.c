/* Options of the two ends and what surrounds them. */
#include <getopt.h>

#include "common/complain.h"
#include "common/quantity.h"
#include "zcrp-bench/command/options_lists.h"
#include "zcrp-bench/command/options_rows.h"

enum {
    MIN_MTU = 576,
    MAX_MTU = 65535,
    MAX_SECONDS = 86400,
};

static const uint64_t second_ns = 1000000000;

static int set_end(struct options *options, const char *value, enum options_mode mode)
{
    if (options->mode != OPTIONS_ALONE)
        return complain("--listen and --connect are one end each: give one of them, once");
    options->mode = mode;
    if (address_parse(value, &options->address) < 0)
        return complain("'%s' is not HOST:PORT", value);
    return 0;
}

static int set_listen(struct options *options, const char *value)
{
    return set_end(options, value, OPTIONS_LISTEN);
}

static int set_connect(struct options *options, const char *value)
{
    return set_end(options, value, OPTIONS_CONNECT);
}

static int set_timeout(struct options *options, const char *value)
{
    uint64_t seconds;

    if (options_quantity("timeout", value, &seconds, MAX_SECONDS) < 0)
        return -1;
    options->settings.limit_ns = seconds * second_ns;
    return 0;
}

static int set_netns(struct options *options, const char *value)
{
    (void)value;
    options->is_netns = true;
    return 0;
}

static int set_mtu(struct options *options, const char *value)
{
    if (quantity_parse(value, &options->mtu) < 0 || options->mtu < MIN_MTU ||
        options->mtu > MAX_MTU)
        return complain("--mtu: '%s' is not a number from %d to %d", value, MIN_MTU, MAX_MTU);
    return 0;
}

static const struct options_row rows[] = {
    {"listen", required_argument, false, set_listen},
    {"connect", required_argument, false, set_connect},
    {"timeout", required_argument, false, set_timeout},
    {"netns", no_argument, true, set_netns},
    {"mtu", required_argument, true, set_mtu},
    {"pin", required_argument, false, options_set_pin},
};

const struct options_group options_ends = {rows, sizeof rows / sizeof *rows};
