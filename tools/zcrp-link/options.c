#include "options.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/arguments.h"
#include "common/complain.h"
#include "common/environment.h"
#include "common/quantity.h"
#include "packets.h"

static const struct conditions no_harm = {
    .queue_unit = QUEUE_TIME,
    .queue = 50e6,
};

enum { REORDER_BY = 3 }; /* packets, if nothing is said */

/* "64K" bytes, "100p" packets, "10ms". */
static int read_queue(void *place, const char *text)
{
    struct conditions *c = place;
    char *end;
    uint64_t bytes;
    int64_t ns;

    c->queue = (double)strtoul(text, &end, 10);
    c->queue_unit = QUEUE_PACKETS;
    if (*text >= '0' && *text <= '9' && strcmp(end, "p") == 0)
        return 0;
    c->queue_unit = QUEUE_BYTES;
    if (quantity_parse(text, &bytes) == 0) {
        c->queue = (double)bytes;
        return 0;
    }
    c->queue_unit = QUEUE_TIME;
    if (dimension_time(text, &ns) < 0)
        return -1;
    c->queue = (double)ns;
    return 0;
}

static int read_burst(void *place, const char *text)
{
    double *burst = place;
    char *end;

    *burst = strtod(text, &end);
    return end != text && *end == '\0' && (*burst == 0 || (*burst >= 1 && *burst <= 1e6)) ? 0 : -1;
}

/* Any number of 64 bits: K, M and G would not fit all of them. */
static int read_seed(void *place, const char *text)
{
    char *end;

    errno = 0;
    *(uint64_t *)place = strtoull(text, &end, 10);
    return *text >= '0' && *text <= '9' && *end == '\0' && errno == 0 ? 0 : -1;
}

#define AT(field) offsetof(struct options, field)

/* Of both directions; `way` is a field of struct conditions. */
#define WAY(word, letter, what, way, low, high, shown, text, ...)                                  \
    ARGUMENT(word, letter, what, AT(conditions[END_A]) + offsetof(struct conditions, way), low,    \
             high, shown, text, .again = sizeof(struct conditions), __VA_ARGS__)

static const struct argument_row rows[] = {
    ARGUMENT_HEADING("The link. A value V holds for both directions, V/W for A to B and B to A:"),
    WAY("rate", 'r', RATE, rate, 0, 0, "RATE",
        "bits a second, counting whole IP packets: 64k, 155M, 2.5G (no limit)"),
    ARGUMENT(
        "queue", 'q', OTHER, AT(conditions[END_A]), 0, 0, "AMOUNT",
        "room in the queue before the rate limit, in bytes (64K), packets of a full MTU (100p) or "
        "time (10ms); what does not fit is dropped (50ms)",
        .again = sizeof(struct conditions), .read = read_queue,
        .wanted = "an amount, as 64K, 100p or 10ms"),
    WAY("delay", 'd', TIME, delay, 0, 0, "TIME", "delay every packet: 50us, 1.5ms, 1s (0)"),
    WAY("jitter", 'J', TIME, jitter, 0, 0, "TIME",
        "add a random delay of up to TIME, which may reorder packets (0)"),
    WAY("loss", 'l', SHARE, loss, 0, 0, "SHARE", "lose packets: 1% or 0.01 (0)"),
    WAY("burst", 0, OTHER, burst, 0, 0, "N",
        "lose packets in rows of N on average (0: each loss is independent)", .read = read_burst,
        .wanted = "a length from 1 on"),
    WAY("reorder", 0, SHARE, reorder, 0, 0, "SHARE",
        "hold packets back until others have overtaken them (0)"),
    WAY("reorder-by", 0, NUMBER, reorder_by, 1, HELD_MOST, "N",
        "how many packets overtake one that is held back, 1 to 63 (3)"),
    WAY("duplicate", 0, SHARE, duplicate, 0, 0, "SHARE", "deliver packets twice (0)"),
    WAY("corrupt", 0, SHARE, corrupt, 0, 0, "SHARE", "flip one bit in packets (0)"),
    ARGUMENT("mtu", 'm', NUMBER, AT(mtu), 576, 65535, "BYTES", "the largest IP packet (1500)"),
    ARGUMENT("seed", 's', OTHER, AT(seed), 0, 0, "N",
             "seed of all random choices, to repeat a run (a fresh one)", .read = read_seed,
             .wanted = "a number from 0 to 2^64 - 1"),

    ARGUMENT_HEADING("The commands:"),
    ARGUMENT("wait", 'w', TIME, AT(wait), 0, 0, "TIME",
             "start A after TIME at the latest, even if B does not listen (1s)"),
    ARGUMENT("port", 'p', NUMBER, AT(port), 1, 65535, "N",
             "B listens once TCP or UDP port N is open (any port)"),
    ARGUMENT("linger", 0, TIME, AT(linger), 0, 0, "TIME", "let B run on for TIME after A (1s)"),

    ARGUMENT_HEADING("The relay and its report:"),
    ARGUMENT("pin", 0, NUMBER, AT(core), 0, 1023, "CORE", "run the relay on this core (any)"),
    ARGUMENT_TRUE("spin", 0, AT(is_spinning),
                  "never sleep: the timing is more exact, and takes a whole core"),
    ARGUMENT("json", 'j', TEXT, AT(json), 0, 0, "FILE", "write the counts to FILE as JSON"),
    ARGUMENT_TRUE("quiet", 0, AT(is_quiet), "print no summary"),
    ARGUMENT_USUAL,
};

static const struct argument_table table = {
    .rows = rows,
    .count = sizeof rows / sizeof *rows,
    .usage = "-- COMMAND_A -- COMMAND_B",
    .about =
        "zcrp-link runs two commands at the two ends of an emulated link.\n\n"
        "  A 198.18.0.1 ===== rate, delay, loss ===== 198.18.0.2 B\n\n"
        "B starts first, and A once B listens. Each finds its own address in $ZCRP_HERE and the "
        "other's in $ZCRP_THERE. When A ends, B is asked to end. The link vanishes on exit.\v"
        "Exit status: A's, or if that is 0, B's if it ended by itself; 128 + signal if a signal "
        "ended the run; 125 the link could not be set up; 2 the command line is wrong.",
};

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

/* Finds the two commands behind the options: COMMAND_A -- COMMAND_B. */
static int read_commands(struct options *options, int first, int argc, char **argv)
{
    int cut = first;

    while (cut < argc && strcmp(argv[cut], "--") != 0)
        cut++;
    if (strcmp(argv[first - 1], "--") != 0 || cut == first || cut + 1 >= argc)
        return complain("two commands are needed: [OPTION...] -- COMMAND_A -- COMMAND_B");
    argv[cut] = NULL;
    options->command[END_A] = &argv[first];
    options->command[END_B] = &argv[cut + 1];
    return 0;
}

/* An option that says how something is done is of no use where that is not done. */
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
    int first = argc;

    set_defaults(options);
    int status = arguments_read(&table, options, argc, argv, &first);
    if (status != 0)
        return status;
    if (check(options) < 0)
        return -1;
    for (int end = 0; end < ENDS; end++) {
        if (options->conditions[end].reorder_by == 0)
            options->conditions[end].reorder_by = REORDER_BY;
    }
    return read_commands(options, first, argc, argv);
}
