/* Options of the channels that messages go through. */
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "common/complain.h"
#include "common/quantity.h"
#include "zcrp-bench/command/options_lists.h"
#include "zcrp-bench/command/options_rows.h"
#include "zcrp-bench/transports/transport.h"
#include "zcrp.h"

enum {
    MIN_UNIT = 64,
    MAX_UNIT = 65507,
    MAX_LOSS = 90, /* percent */
};

static int set_unit(struct options *options, const char *value)
{
    if (quantity_parse(value, &options->settings.unit_bytes) < 0 ||
        options->settings.unit_bytes < MIN_UNIT || options->settings.unit_bytes > MAX_UNIT)
        return complain("--unit: '%s' is not a number from %d to %d", value, MIN_UNIT, MAX_UNIT);
    return 0;
}

static int set_window(struct options *options, const char *value)
{
    return options_quantity("window", value, &options->settings.window_bytes, INT64_MAX);
}

static int set_no_spin(struct options *options, const char *value)
{
    (void)value;
    options->settings.is_spinless = true;
    return 0;
}

static int set_buffers(struct options *options, const char *value)
{
    return options_quantity("buffers", value, &options->settings.buffer_bytes, INT32_MAX);
}

/* A number in a range. */
static int set_figure(const char *name, const char *value, uint64_t *figure, uint64_t least,
                      uint64_t most)
{
    bool is_zero = strcmp(value, "0") == 0;

    *figure = 0;
    if ((!is_zero && quantity_parse(value, figure) < 0) || *figure < least || *figure > most)
        return complain("--%s: '%s' is not a number from %llu to %llu", name, value,
                        (unsigned long long)least, (unsigned long long)most);
    return 0;
}

static int set_vpi(struct options *options, const char *value)
{
    return set_figure("vpi", value, &options->settings.vpi, 0, 254);
}

static int set_vci(struct options *options, const char *value)
{
    return set_figure("vci", value, &options->settings.vci, 32, 4124);
}

static int set_aal5_mtu(struct options *options, const char *value)
{
    return set_figure("aal5-mtu", value, &options->settings.mtu, 1200, 65535);
}

static int set_cell_loss(struct options *options, const char *value)
{
    return set_figure("cell-loss", value, &options->settings.cell_loss, 0, 1000000);
}

static int set_tcp_cc(struct options *options, const char *value)
{
    if (*value == '\0' || strlen(value) >= MANNER_NAME || strpbrk(value, " \n") != NULL)
        return complain("--tcp-cc: '%s' is no congestion control's name", value);
    options->tcp_cc = value;
    return 0;
}

static int set_loss(struct options *options, const char *value)
{
    char *end;
    double percent = strtod(value, &end);

    if (end == value || strcmp(end, "%") != 0 || !(percent >= 0 && percent <= (double)MAX_LOSS))
        return complain("--loss: '%s' is not from 0%% to %d%%", value, MAX_LOSS);
    options->settings.loss = (uint64_t)(percent / 100 * (double)LOSS_WHOLE);
    return 0;
}

static int set_seed(struct options *options, const char *value)
{
    return set_figure("seed", value, &options->settings.seed, 1, UINT32_MAX);
}

static const struct options_row rows[] = {
    {"unit", required_argument, true, set_unit},
    {"window", required_argument, true, set_window},
    {"no-spin", no_argument, true, set_no_spin},
    {"buffers", required_argument, true, set_buffers},
    {"channel", required_argument, true, options_set_channel},
    {"vpi", required_argument, true, set_vpi},
    {"vci", required_argument, true, set_vci},
    {"aal5-mtu", required_argument, true, set_aal5_mtu},
    {"cell-loss", required_argument, true, set_cell_loss},
    {"congestion", required_argument, true, options_set_congestion},
    {"tcp-cc", required_argument, true, set_tcp_cc},
    {"loss", required_argument, true, set_loss},
    {"seed", required_argument, true, set_seed},
};

const struct options_group options_channel = {rows, sizeof rows / sizeof *rows};
