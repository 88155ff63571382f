#include "zcrp-bench/command/options.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/complain.h"
#include "common/quantity.h"

/* Calls `add` for each entry of a comma-separated list. */
static int read_list(struct options *options, const char *text,
                     int (*add)(struct options *options, const char *entry))
{
    char entry[CONTENDER_NAME];

    for (;;) {
        size_t length = strcspn(text, ",");

        snprintf(entry, sizeof entry, "%.*s",
                 (int)(length < sizeof entry - 1 ? length : sizeof entry - 1), text);
        if (add(options, entry) < 0)
            return -1;
        if (text[length] == '\0')
            return 0;
        text += length + 1;
    }
}

/* "zcrp", "tcp", "tcp:cubic" */
static int read_choice(const char *name, struct choice *choice)
{
    char kind[CONTENDER_NAME];
    size_t length = strcspn(name, ":");
    bool has_variant = name[length] == ':';

    snprintf(choice->name, sizeof choice->name, "%s", name);
    snprintf(kind, sizeof kind, "%.*s", (int)length, choice->name);
    choice->kind = strlen(name) < sizeof choice->name ? transport_find(kind) : NULL;
    choice->variant = has_variant ? &choice->name[length + 1] : MANNER_BEST;
    if (choice->kind == NULL)
        return complain("--transport: '%s' is none of zcrp, tcp, udp-limit, unix, pipe, srt, quic, "
                        "tls, ktls",
                        name);
    if (has_variant && (!choice->kind->has_manners || *choice->variant == '\0' ||
                        strlen(choice->variant) >= MANNER_NAME))
        return complain("--transport: '%s': only tcp, tls and ktls have others, as in tcp:cubic",
                        name);
    return 0;
}

/* A peer that is not built in, or that this machine cannot have, is named, and left out. */
static int add_one(struct options *options, const char *name)
{
    const struct peer *peer = peers_find(name);

    if (peer != NULL && peer->kind == NULL) {
        peers_complain(peer);
        return 0;
    }
    if (peer != NULL && peer->kind->check != NULL && peer->kind->check() < 0)
        return 0;
    for (size_t i = 0; i < options->transport_count; i++) {
        if (strcmp(options->transports[i].name, name) == 0)
            return complain("--transport: '%s' is there twice", name);
    }
    if (options->transport_count == OPTIONS_MAX_TRANSPORTS)
        return complain("--transport: more than %d", OPTIONS_MAX_TRANSPORTS);
    return read_choice(name, &options->transports[options->transport_count++]);
}

static int add_transport(struct options *options, const char *name)
{
    if (strcmp(name, "peers") != 0)
        return add_one(options, name);
    for (size_t i = 0; i < PEERS; i++) {
        if (add_one(options, peers[i].name) < 0)
            return -1;
    }
    return 0;
}

static int add_size(struct options *options, uint64_t size)
{
    if (options->size_count == OPTIONS_MAX_SIZES)
        return complain("--size: more than %d sizes", OPTIONS_MAX_SIZES);
    options->sizes[options->size_count++] = size;
    return 0;
}

/* "64..64M*4"; without a factor, 2. `dots` is where the dots are. */
static int add_sweep(struct options *options, const char *text, const char *dots)
{
    char end[CONTENDER_NAME];
    char start[CONTENDER_NAME];
    size_t length = strcspn(dots + 2, "*");
    uint64_t factor = 2;
    uint64_t first;
    uint64_t last;

    snprintf(start, sizeof start, "%.*s", (int)(dots - text), text);
    snprintf(end, sizeof end, "%.*s", (int)length, dots + 2);
    if (quantity_parse(start, &first) < 0 || quantity_parse(end, &last) < 0 || last < first ||
        last > INT64_MAX ||
        (dots[2 + length] == '*' && (quantity_parse(&dots[3 + length], &factor) < 0 || factor < 2)))
        return complain("--size: '%s' is no sweep, as in 64..64M*4", text);
    for (uint64_t size = first; size <= last; size *= factor) {
        if (add_size(options, size) < 0)
            return -1;
        if (size > last / factor)
            break;
    }
    return 0;
}

static int add_sizes(struct options *options, const char *text)
{
    const char *dots = strstr(text, "..");
    uint64_t size;

    if (dots != NULL)
        return add_sweep(options, text, dots);
    if (quantity_parse(text, &size) < 0 || size > INT64_MAX)
        return complain("--size: '%s' is not a number of bytes, as 64, 16K or 1M", text);
    return add_size(options, size);
}

int values_transport(void *place, const char *text)
{
    struct options *options = place;

    options->transport_count = 0;
    if (read_list(options, text, add_transport) < 0)
        return -1;
    return options->transport_count > 0 ? 0
                                        : complain("--transport: nothing is left of '%s'", text);
}

int values_size(void *place, const char *text)
{
    struct options *options = place;

    options->size_count = 0;
    return read_list(options, text, add_sizes);
}

static int add_core(struct options *options, const char *text)
{
    char *end;
    long core = strtol(text, &end, 10);

    if (options->core_count == 2)
        return complain("--pin: there are two ends only");
    if (end == text || *end != '\0' || core < 0 || core >= CPU_SETSIZE)
        return complain("--pin: '%s' is not the number of a core", text);
    options->cores[options->core_count++] = (int)core;
    return 0;
}

int values_pin(void *place, const char *text)
{
    struct options *options = place;

    options->core_count = 0;
    return read_list(options, text, add_core);
}

static int set_end(struct options *options, const char *text, enum options_mode mode)
{
    if (options->mode != OPTIONS_ALONE)
        return complain("--listen and --connect are one end each: give one of them, once");
    options->mode = mode;
    if (address_parse(text, &options->address) < 0)
        return complain("'%s' is not HOST:PORT", text);
    return 0;
}

int values_listen(void *place, const char *text)
{
    return set_end(place, text != NULL ? text : "", OPTIONS_LISTEN);
}

int values_connect(void *place, const char *text)
{
    return set_end(place, text, OPTIONS_CONNECT);
}
