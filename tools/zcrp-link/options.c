#include "options.h"

#include <getopt.h>
#include <stddef.h>
#include <string.h>
#include <time.h>

#include "common/complain.h"
#include "common/pin.h"
#include "loss.h"
#include "options_rows.h"

static const struct conditions no_harm = {
    .queue_unit = QUEUE_TIME,
    .queue = 50e6,
};

enum { REORDER_BY = 3 }; /* packets, if nothing is said */

static void set_defaults(struct options *options)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    *options = (struct options){
        .conditions = {no_harm, no_harm},
        .mtu = 1500,
        .seed = (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000,
        .wait = SECOND,
        .linger = SECOND,
        .core = PIN_NONE,
    };
}

static void describe_to_getopt(struct option described[OPTIONS_ROWS + 1])
{
    for (int i = 0; i < OPTIONS_ROWS; i++) {
        described[i] = (struct option){
            .name = options_rows[i].name,
            .has_arg = options_rows[i].has_argument,
        };
    }
    described[OPTIONS_ROWS] = (struct option){0};
}

static int read_options(struct options *options, int argc, char **argv)
{
    struct option described[OPTIONS_ROWS + 1];
    int which = 0;
    int result;

    describe_to_getopt(described);
    opterr = 0;
    while ((result = getopt_long(argc, argv, "+:", described, &which)) != -1) {
        if (result == ':')
            return complain("%s needs a value", argv[optind - 1]);
        if (result != 0)
            return complain("unknown option '%s'", argv[optind - 1]);
        if (options_rows[which].set(options, optarg) < 0)
            return -1;
    }
    return 0;
}

/* Finds the two commands behind the options: COMMAND_A -- COMMAND_B. */
static int read_commands(struct options *options, int argc, char **argv)
{
    int cut = optind;

    while (cut < argc && strcmp(argv[cut], "--") != 0)
        cut++;
    if (strcmp(argv[optind - 1], "--") != 0 || cut == optind || cut + 1 >= argc)
        return complain("two commands are needed: [OPTION]... -- COMMAND_A -- COMMAND_B");
    argv[cut] = NULL;
    options->command[END_A] = &argv[optind];
    options->command[END_B] = &argv[cut + 1];
    return 0;
}

/* An option that only says how something is done is of no use where nothing is. */
static int check_use(const struct options *options)
{
    const struct conditions *a = &options->conditions[END_A];
    const struct conditions *b = &options->conditions[END_B];

    if ((a->burst > 0 || b->burst > 0) && a->loss == 0 && b->loss == 0)
        return complain("--burst says how packets are lost: it needs --loss");
    if ((a->reorder_by > 0 || b->reorder_by > 0) && a->reorder == 0 && b->reorder == 0)
        return complain("--reorder-by says how packets are overtaken: it needs --reorder");
    return 0;
}

static void fill_in(struct options *options)
{
    for (int end = 0; end < ENDS; end++)
        if (options->conditions[end].reorder_by == 0)
            options->conditions[end].reorder_by = REORDER_BY;
}

static int check(const struct options *options)
{
    if (check_use(options) < 0)
        return -1;
    for (int end = 0; end < ENDS; end++) {
        const struct conditions *c = &options->conditions[end];
        if (!loss_is_possible(c->loss, c->burst))
            return complain("rows of %g lost packets cannot make a loss of %g %%", c->burst,
                            100 * c->loss);
    }
    return 0;
}

int options_parse(struct options *options, int argc, char **argv)
{
    set_defaults(options);
    if (read_options(options, argc, argv) < 0)
        return -1;
    if (options->wants_help || options->wants_version)
        return 0;
    if (check(options) < 0)
        return -1;
    fill_in(options);
    return read_commands(options, argc, argv);
}
