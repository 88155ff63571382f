#include "zcrp-bench/command/options.h"

#include <getopt.h>
#include <string.h>
#include <unistd.h>

#include "common/complain.h"
#include "common/pin.h"
#include "zcrp-bench/command/options_lists.h"
#include "zcrp-bench/command/options_rows.h"
#include "zcrp-bench/transports/channel.h"

enum { MANY_MESSAGES = 400000, SECONDS_OF_PATIENCE = 10 };

static const char default_transports[] = "zcrp,tcp";
static const char default_sizes[] = "64,1K,16K,64K,1M,64M";
static const char default_input_size[] = "1M";
static const char default_ping_size[] = "64";
static const uint64_t many_bytes = 1u << 30;

static const struct options defaults = {
    .repeat = 5,
    .parallel = 1,
    .memory_bytes = 64u << 20,
    .tcp_cc = MANNER_BEST,
    .cores = {PIN_NONE, PIN_NONE},
    .settings = {.depth = 1024, .limit_ns = SECONDS_OF_PATIENCE * UINT64_C(1000000000)},
};

static void describe_to_getopt(const struct options_row *const rows[], size_t count,
                               struct option described[OPTIONS_ROWS_MOST + 1])
{
    for (size_t i = 0; i < count; i++)
        described[i] = (struct option){.name = rows[i]->name, .has_arg = rows[i]->has_argument};
    described[count] = (struct option){0};
}

/* The value of an option whose argument may follow it with or without '='. */
static const char *optional_value(int argc, char **argv)
{
    const char *next = optind < argc ? argv[optind] : NULL;

    if (optarg != NULL || next == NULL || (next[0] == '-' && next[1] != '\0'))
        return optarg;
    optind++;
    return next;
}

/* Takes one option that getopt_long found; `result` is what it returned. */
static int take(struct options *options, int result, const struct options_row *row, int argc,
                char **argv)
{
    const char *value = optarg;

    if (result == ':')
        return complain("%s needs a value", argv[optind - 1]);
    if (result != 0)
        return complain("unknown option '%s'", argv[optind - 1]);
    if (row->has_argument == optional_argument)
        value = optional_value(argc, argv);
    if (row->is_of_sender && options->first_of_sender == NULL)
        options->first_of_sender = row->name;
    return row->set(options, value);
}

static int read_command_line(struct options *options, int argc, char **argv)
{
    const struct options_row *rows[OPTIONS_ROWS_MOST];
    struct option described[OPTIONS_ROWS_MOST + 1];
    int which = 0;
    int result;

    describe_to_getopt(rows, options_rows(rows), described);
    opterr = 0;
    while ((result = getopt_long(argc, argv, "+:", described, &which)) != -1) {
        if (take(options, result, rows[which], argc, argv) < 0)
            return -1;
    }
    return optind == argc ? 0 : complain("what is '%s'?", argv[optind]);
}

/* Options of the ends that do not fit how many ends there are here. */
static int check_ends(const struct options *options)
{
    bool is_alone = options->mode == OPTIONS_ALONE;

    if (options->is_netns && !is_alone)
        return complain("--netns is for both ends on this machine");
    if (options->mtu != 0 && !options->is_netns)
        return complain("--mtu needs --netns");
    if (options->core_count > 0 && options->core_count != (is_alone ? 2 : 1))
        return complain(is_alone ? "--pin needs a core for each end, as in --pin 0,1"
                                 : "--pin needs one core: this end's");
    return 0;
}

static int check_ping(const struct options *options)
{
    if (options->input != NULL || options->is_verified || options->bytes != 0)
        return complain("--ping has no --input, --verify or --bytes");
    if (options->settings.interval_ns != 0)
        return complain("--ping has no --interval");
    if (options->parallel > 1)
        return complain("--ping has no --parallel");
    if (options->duration_ns != 0 || options->bits_per_s > 0)
        return complain("--ping has no --duration or --rate");
    for (size_t i = 0; i < options->transport_count; i++) {
        if (options->transports[i].kind->ping == NULL)
            return complain("--ping: %s only goes one way", options->transports[i].name);
    }
    return 0;
}

static int check_duration(const struct options *options)
{
    if (options->count != 0 || options->bytes != 0 || options->input != NULL)
        return complain("--duration says how much is sent: no --count, --bytes or --input");
    if (options->memory_bytes == OPTIONS_MEMORY_ALL)
        return complain("--memory all needs to know how much is sent: no --duration");
    return 0;
}

static bool has_zcrp(const struct options *options)
{
    bool has = options->transport_count == 0; /* by default */

    for (size_t i = 0; i < options->transport_count; i++)
        has = has || options->transports[i].kind == &transport_zcrp;
    return has;
}

/* Options that contradict each other. */
static int check(const struct options *options)
{
    bool listens = options->mode == OPTIONS_LISTEN;

    if (listens && options->first_of_sender != NULL)
        return complain("--%s is for the connecting end to say", options->first_of_sender);
    if (options->mode == OPTIONS_CONNECT && options->output != NULL)
        return complain("--output is for the listening end to say");
    if (options->output != NULL && options->input == NULL && !listens)
        return complain("--output needs --input");
    if (options->count != 0 && options->bytes != 0)
        return complain("--count and --bytes contradict each other");
    if (options->input != NULL && (options->count != 0 || options->bytes != 0))
        return complain("--input sends the file, no more and no less: no --count, no --bytes");
    if (options->duration_ns != 0 && check_duration(options) < 0)
        return -1;
    if (options->capture != NULL && !listens && !has_zcrp(options))
        return complain("--capture is of ZCRP: there is none in --transport");
    if (options->parallel > 1 && options->settings.channel == CHANNEL_AAL5)
        return complain("--channel aal5 has circuits for one flow: no --parallel");
    if (options->settings.seed != 0 && options->settings.cell_loss == 0)
        return complain("--seed is for --cell-loss, which is not given");
    if (options->trace != NULL && !has_zcrp(options))
        return complain("--trace is of ZCRP: there is none in --transport");
    if (options->is_ping && check_ping(options) < 0)
        return -1;
    return check_ends(options);
}

static const char *sizes_by_default(const struct options *options)
{
    if (options->is_ping)
        return default_ping_size;
    return options->input != NULL ? default_input_size : default_sizes;
}

static int check_loss(const struct options *options)
{
    for (size_t i = 0; i < options->transport_count && options->settings.loss > 0; i++) {
        if (options->transports[i].kind == &transport_limit)
            return complain("--loss: udp-limit does not repeat what is lost");
    }
    return 0;
}

/* Raw sockets hear every run between two machines that uses their circuits, so runs take different
 * ones: four from VCI 32 on. */
static void choose_circuit(struct settings *settings)
{
    if (settings->channel == CHANNEL_AAL5 && settings->vci == 0)
        settings->vci = 32 + 4 * ((uint64_t)getpid() % 255);
}

static int set_defaults(struct options *options)
{
    choose_circuit(&options->settings);
    if (options->transport_count == 0 && options_set_transport(options, default_transports) < 0)
        return -1;
    if (check_loss(options) < 0)
        return -1;
    for (size_t i = 0; i < options->transport_count; i++) {
        if (strcmp(options->transports[i].name, "tcp") == 0)
            options->transports[i].variant = options->tcp_cc;
    }
    return options->size_count > 0 ? 0 : options_set_size(options, sizes_by_default(options));
}

int options_parse(struct options *options, int argc, char **argv)
{
    *options = defaults;
    if (read_command_line(options, argc, argv) < 0)
        return -1;
    if (options->wants_help || options->wants_version)
        return 0;
    return check(options) < 0 ? -1 : set_defaults(options);
}

uint64_t options_count(const struct options *options, uint64_t size)
{
    uint64_t bytes = options->bytes != 0 ? options->bytes : many_bytes;
    uint64_t count = bytes / size;

    if (options->count != 0)
        return options->count;
    if (options->bytes == 0 && count > MANY_MESSAGES)
        return MANY_MESSAGES;
    return count > 0 ? count : 1;
}

uint64_t options_slots(const struct options *options, uint64_t size, uint64_t count)
{
    uint64_t slots = options->memory_bytes / size;

    if (slots < 2)
        slots = 2;
    if (options->duration_ns != 0)
        return slots;
    return options->memory_bytes == OPTIONS_MEMORY_ALL || slots > count ? count : slots;
}
