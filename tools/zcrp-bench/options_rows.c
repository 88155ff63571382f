#include "options_rows.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/complain.h"
#include "common/quantity.h"
#include "loss.h"
#include "options_lists.h"
#include "zcrp.h"

enum {
    MAX_REPEAT = 10000,
    MAX_DEPTH = 1 << 20,
    MAX_SECONDS = 86400,
    MIN_UNIT = 64,
    MAX_UNIT = 65507,
    MIN_MTU = 576,
    MAX_MTU = 65535,
    MAX_LOAD = 1024,
    MAX_LOSS = 90, /* percent */
};

static const uint64_t second_ns = 1000000000;

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

static int set_load(struct options *options, const char *value)
{
    return options_quantity("load", value, &options->load, MAX_LOAD);
}

static int set_repeat(struct options *options, const char *value)
{
    return options_quantity("repeat", value, &options->repeat, MAX_REPEAT);
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

static int set_buffers(struct options *options, const char *value)
{
    return options_quantity("buffers", value, &options->settings.buffer_bytes, INT32_MAX);
}

static int set_tcp_cc(struct options *options, const char *value)
{
    if (*value == '\0' || strlen(value) >= MANNER_NAME || strpbrk(value, " \n") != NULL)
        return complain("--tcp-cc: '%s' is no congestion control's name", value);
    options->tcp_cc = value;
    return 0;
}

static int set_ping(struct options *options, const char *value)
{
    (void)value;
    options->is_ping = true;
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

static int set_stats(struct options *options, const char *value)
{
    (void)value;
    options->wants_stats = true;
    return 0;
}

static int set_allocations(struct options *options, const char *value)
{
    (void)value;
    options->wants_allocations = true;
    return 0;
}

static int set_no_gso(struct options *options, const char *value)
{
    (void)value;
    options->settings.flags |= ZCRP_NO_SEGMENT;
    return 0;
}

static int set_no_gro(struct options *options, const char *value)
{
    (void)value;
    options->settings.flags |= ZCRP_NO_GRO;
    return 0;
}

static int set_no_spin(struct options *options, const char *value)
{
    (void)value;
    options->settings.flags |= SETTINGS_NO_SPIN;
    return 0;
}

static int set_loss(struct options *options, const char *value)
{
    char *end;
    double percent = strtod(value, &end);

    if (end == value || strcmp(end, "%") != 0 || !(percent >= 0 && percent <= MAX_LOSS))
        return complain("--loss: '%s' is not from 0%% to %d%%", value, MAX_LOSS);
    options->settings.loss = (uint64_t)(percent / 100 * LOSS_WHOLE);
    return 0;
}

static int set_no_lend(struct options *options, const char *value)
{
    (void)value;
    options->settings.flags |= ZCRP_NO_LEND;
    return 0;
}

static int set_no_offload(struct options *options, const char *value)
{
    (void)value;
    options->settings.flags |= ZCRP_NO_SEGMENT | ZCRP_NO_GRO;
    return 0;
}

/* A number in a range. */
static int set_figure(const char *name, const char *value, uint64_t *figure, uint64_t least,
                      uint64_t most)
{
    if (quantity_parse(value, figure) < 0 || *figure < least || *figure > most)
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

static int set_timeout(struct options *options, const char *value)
{
    uint64_t seconds;

    if (options_quantity("timeout", value, &seconds, MAX_SECONDS) < 0)
        return -1;
    options->settings.limit_ns = seconds * second_ns;
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

static int set_capture(struct options *options, const char *value)
{
    options->capture = value;
    return 0;
}

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

static int set_json(struct options *options, const char *value)
{
    options->json = value != NULL ? value : "-";
    return 0;
}

static int set_csv(struct options *options, const char *value)
{
    options->csv = value;
    return 0;
}

static int set_plot(struct options *options, const char *value)
{
    options->plot = value;
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

const struct options_row options_rows[OPTIONS_ROWS] = {
    {"transport", required_argument, true, options_set_transport},
    {"size", required_argument, true, options_set_size},
    {"count", required_argument, true, set_count},
    {"bytes", required_argument, true, set_bytes},
    {"duration", required_argument, true, set_duration},
    {"rate", required_argument, true, set_rate},
    {"repeat", required_argument, true, set_repeat},
    {"memory", required_argument, true, set_memory},
    {"depth", required_argument, true, set_depth},
    {"unit", required_argument, true, set_unit},
    {"window", required_argument, true, set_window},
    {"no-gso", no_argument, true, set_no_gso},
    {"no-gro", no_argument, true, set_no_gro},
    {"no-lend", no_argument, true, set_no_lend},
    {"no-spin", no_argument, true, set_no_spin},
    {"no-offload", no_argument, true, set_no_offload},
    {"buffers", required_argument, true, set_buffers},
    {"channel", required_argument, true, options_set_channel},
    {"vpi", required_argument, true, set_vpi},
    {"vci", required_argument, true, set_vci},
    {"aal5-mtu", required_argument, true, set_aal5_mtu},
    {"cell-loss", required_argument, true, set_cell_loss},
    {"congestion", required_argument, true, options_set_congestion},
    {"tcp-cc", required_argument, true, set_tcp_cc},
    {"ping", no_argument, true, set_ping},
    {"netns", no_argument, true, set_netns},
    {"mtu", required_argument, true, set_mtu},
    {"loss", required_argument, true, set_loss},
    {"load", required_argument, false, set_load},
    {"pin", required_argument, false, options_set_pin},
    {"verify", no_argument, true, set_verify},
    {"input", required_argument, false, set_input},
    {"output", required_argument, false, set_output},
    {"capture", required_argument, false, set_capture},
    {"listen", required_argument, false, set_listen},
    {"connect", required_argument, false, set_connect},
    {"timeout", required_argument, false, set_timeout},
    {"json", optional_argument, true, set_json},
    {"csv", required_argument, true, set_csv},
    {"plot", required_argument, true, set_plot},
    {"stats", no_argument, true, set_stats},
    {"allocations", no_argument, true, set_allocations},
    {"quiet", no_argument, false, set_quiet},
    {"help", no_argument, false, set_help},
    {"version", no_argument, false, set_version},
};
