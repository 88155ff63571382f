#include "options_rows.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/complain.h"
#include "common/dimension.h"
#include "common/quantity.h"
#include "held.h"

enum { MIN_MTU = 576, MAX_MTU = 65535, MAX_PORT = 65535, MAX_CORE = 1023, VALUE_ROOM = 64 };

/* Reads a value into one direction. 0, or -1. */
typedef int (*read_value)(struct conditions *conditions, const char *text);

/* Reads "VALUE" for both directions, or "VALUE/VALUE" for A to B and B to A. `wanted` is
 * what it should have been. */
static int set_ways(struct options *options, const char *name, const char *value, read_value read,
                    const char *wanted)
{
    const char *slash = strchr(value, '/');
    char first[VALUE_ROOM];
    int length = slash != NULL ? (int)(slash - value) : (int)strlen(value);

    if (length < VALUE_ROOM) {
        snprintf(first, sizeof first, "%.*s", length, value);
        if (read(&options->conditions[END_A], first) == 0 &&
            read(&options->conditions[END_B], slash != NULL ? slash + 1 : first) == 0)
            return 0;
    }
    return complain("--%s: '%s' is not %s", name, value, wanted);
}

static int read_rate(struct conditions *c, const char *text)
{
    c->rate = 0;
    return strcmp(text, "0") == 0 ? 0 : dimension_rate(text, &c->rate);
}

/* "64K" bytes, "100p" packets, "10ms". */
static int read_queue(struct conditions *c, const char *text)
{
    char *end;
    uint64_t bytes;
    int64_t ns;

    c->queue = (double)strtoul(text, &end, 10);
    c->queue_unit = QUEUE_PACKETS;
    if (end != text && strcmp(end, "p") == 0)
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

static int read_delay(struct conditions *c, const char *text)
{
    return dimension_time(text, &c->delay);
}

static int read_jitter(struct conditions *c, const char *text)
{
    return dimension_time(text, &c->jitter);
}

static int read_loss(struct conditions *c, const char *text)
{
    return dimension_share(text, &c->loss);
}

static int read_burst(struct conditions *c, const char *text)
{
    char *end;

    c->burst = strtod(text, &end);
    return end == text || *end != '\0' || !(c->burst == 0 || (c->burst >= 1 && c->burst <= 1e6))
               ? -1
               : 0;
}

static int read_reorder(struct conditions *c, const char *text)
{
    return dimension_share(text, &c->reorder);
}

static int read_reorder_by(struct conditions *c, const char *text)
{
    uint64_t by;

    if (quantity_parse(text, &by) < 0 || by > HELD_MOST)
        return -1;
    c->reorder_by = (unsigned)by;
    return 0;
}

static int read_duplicate(struct conditions *c, const char *text)
{
    return dimension_share(text, &c->duplicate);
}

static int read_corrupt(struct conditions *c, const char *text)
{
    return dimension_share(text, &c->corrupt);
}

static int set_rate(struct options *options, const char *value)
{
    return set_ways(options, "rate", value, read_rate, "a rate, as 64k, 155M or 2.5G");
}

static int set_queue(struct options *options, const char *value)
{
    return set_ways(options, "queue", value, read_queue, "an amount, as 64K, 100p or 10ms");
}

static int set_delay(struct options *options, const char *value)
{
    return set_ways(options, "delay", value, read_delay, "a time, as 50us or 1.5ms");
}

static int set_jitter(struct options *options, const char *value)
{
    return set_ways(options, "jitter", value, read_jitter, "a time, as 50us or 1.5ms");
}

static int set_loss(struct options *options, const char *value)
{
    return set_ways(options, "loss", value, read_loss, "a share, as 1% or 0.01");
}

static int set_burst(struct options *options, const char *value)
{
    return set_ways(options, "burst", value, read_burst, "a length from 1 on");
}

static int set_reorder(struct options *options, const char *value)
{
    return set_ways(options, "reorder", value, read_reorder, "a share, as 1% or 0.01");
}

static int set_reorder_by(struct options *options, const char *value)
{
    return set_ways(options, "reorder-by", value, read_reorder_by, "a number from 1 to 63");
}

static int set_duplicate(struct options *options, const char *value)
{
    return set_ways(options, "duplicate", value, read_duplicate, "a share, as 1% or 0.01");
}

static int set_corrupt(struct options *options, const char *value)
{
    return set_ways(options, "corrupt", value, read_corrupt, "a share, as 1% or 0.01");
}

/* A whole number in [least, most]. */
static int set_number(const char *name, const char *value, uint64_t least, uint64_t most,
                      uint64_t *number)
{
    char *end;

    *number = strtoull(value, &end, 10);
    if (*value < '0' || *value > '9' || *end != '\0' || *number < least || *number > most)
        return complain("--%s: '%s' is not a number from %llu to %llu", name, value,
                        (unsigned long long)least, (unsigned long long)most);
    return 0;
}

static int set_mtu(struct options *options, const char *value)
{
    return set_number("mtu", value, MIN_MTU, MAX_MTU, &options->mtu);
}

static int set_seed(struct options *options, const char *value)
{
    return set_number("seed", value, 0, UINT64_MAX, &options->seed);
}

static int set_port(struct options *options, const char *value)
{
    uint64_t port = 0;
    int status = set_number("port", value, 1, MAX_PORT, &port);

    options->port = (unsigned)port;
    return status;
}

static int set_pin(struct options *options, const char *value)
{
    uint64_t core = 0;
    int status = set_number("pin", value, 0, MAX_CORE, &core);

    options->core = (int)core;
    return status;
}

static int set_time(const char *name, const char *value, duration *length)
{
    if (dimension_time(value, length) == 0)
        return 0;
    return complain("--%s: '%s' is not a time, as 10ms or 2s", name, value);
}

static int set_wait(struct options *options, const char *value)
{
    return set_time("wait", value, &options->wait);
}

static int set_linger(struct options *options, const char *value)
{
    return set_time("linger", value, &options->linger);
}

static int set_spin(struct options *options, const char *value)
{
    (void)value;
    options->is_spinning = true;
    return 0;
}

static int set_json(struct options *options, const char *value)
{
    options->json = value;
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
    {"rate", required_argument, set_rate},
    {"queue", required_argument, set_queue},
    {"delay", required_argument, set_delay},
    {"jitter", required_argument, set_jitter},
    {"loss", required_argument, set_loss},
    {"burst", required_argument, set_burst},
    {"reorder", required_argument, set_reorder},
    {"reorder-by", required_argument, set_reorder_by},
    {"duplicate", required_argument, set_duplicate},
    {"corrupt", required_argument, set_corrupt},
    {"mtu", required_argument, set_mtu},
    {"seed", required_argument, set_seed},
    {"wait", required_argument, set_wait},
    {"port", required_argument, set_port},
    {"linger", required_argument, set_linger},
    {"pin", required_argument, set_pin},
    {"spin", no_argument, set_spin},
    {"json", required_argument, set_json},
    {"quiet", no_argument, set_quiet},
    {"help", no_argument, set_help},
    {"version", no_argument, set_version},
};
