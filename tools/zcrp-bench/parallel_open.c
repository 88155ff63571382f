/* Opening and closing the flows, one after the other: TCP's channels come from the same socket as
 * the control connections. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/complain.h"
#include "connection.h"
#include "parallel.h"

enum { SEED_SHIFT = 40 };

static int agree_on_settings(struct sending_end *end)
{
    const struct settings *settings = &end->settings;

    if (control_say(&end->control,
                    "settings %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64
                    " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64
                    " %" PRIu64 " %" PRIu64 " %" PRIu64,
                    settings->unit_bytes, settings->window_bytes, settings->depth,
                    settings->is_spinless, settings->limit_ns, settings->buffer_bytes,
                    settings->loss, settings->congestion, settings->channel, settings->vpi,
                    settings->vci, settings->mtu, settings->cell_loss, settings->interval_ns,
                    settings->seed) < 0)
        return -1;
    return control_expect(&end->control, "settled") != NULL ? 0 : -1;
}

/* Opens all channels. */
static int open_contenders(struct sending_end *end)
{
    const struct options *options = end->options;
    size_t number = 0;

    for (size_t i = 0; i < options->transport_count; i++) {
        struct contender *contender = &end->contenders[i];
        const struct choice *choice = &options->transports[i];
        int status =
            options->is_ping
                ? contender_open_for_ping(contender, choice, &end->control, &end->settings, &number)
                : contender_open(contender, choice, &end->control, &end->settings, &number);

        if (status < 0)
            return -1;
    }
    return 0;
}

/* Each flow is alone when warming up, and not in a measurement. */
static void note_rate(struct transport *transport, const struct run *run, uint64_t parallel)
{
    transport->bytes_per_s = (double)run->bytes / run->seconds / (double)parallel;
}

/* Moves a little through each. */
static int warm_up(struct sending_end *end)
{
    struct run run;
    struct job job;

    for (size_t i = 0; i < end->options->transport_count; i++) {
        struct contender *contender = &end->contenders[i];

        for (contender->lane = 0; contender->lane < contender->lane_count; contender->lane++) {
            if (measurement_warm_up(end, &job) < 0 ||
                measurement_run(end, contender, &job, &run) < 0)
                return -1;
            note_rate(contender_transport(contender), &run, end->options->parallel);
        }
        contender->lane = 0;
    }
    return 0;
}

struct sending_end *parallel_create(const struct options *options)
{
    struct sending_end *ends = calloc(options->parallel, sizeof *ends);

    if (ends == NULL) {
        complain("no memory for %" PRIu64 " flows: %s", options->parallel, strerror(ENOMEM));
        return NULL;
    }
    for (size_t i = 0; i < options->parallel; i++) {
        ends[i].options = options;
        ends[i].settings = options->settings;
        if (options->settings.seed != 0)
            ends[i].settings.seed += (uint64_t)i << SEED_SHIFT;
        ends[i].control.fd = -1;
        ends[i].seed = (uint64_t)i << SEED_SHIFT;
    }
    return ends;
}

static int open_flow(struct sending_end *end, const struct address *address)
{
    int64_t limit_ns = (int64_t)end->options->settings.limit_ns;
    int fd = connection_open(address, "", limit_ns);

    if (fd < 0 || control_init(&end->control, fd, limit_ns) < 0)
        return -1;
    if (agree_on_settings(end) < 0 || open_contenders(end) < 0)
        return -1;
    return end->options->is_ping ? 0 : warm_up(end);
}

int parallel_open(struct sending_end *ends, const struct address *address)
{
    for (size_t i = 0; i < ends->options->parallel; i++) {
        ends[i].input = ends->input;
        if (i > 0 && control_say(&ends->control, "flow") < 0)
            return -1;
        if (open_flow(&ends[i], address) < 0)
            return -1;
    }
    return 0;
}

int parallel_say_bye(struct sending_end *ends)
{
    int status = 0;

    for (size_t i = ends->options->parallel; i-- > 0;) {
        if (control_say(&ends[i].control, "bye") < 0)
            status = -1;
    }
    return status;
}

static void close_flow(struct sending_end *end)
{
    if (end->control.fd >= 0)
        control_fini(&end->control);
    for (size_t i = 0; i < end->options->transport_count; i++)
        contender_close(&end->contenders[i]);
    memory_fini(&end->memory);
}

void parallel_close(struct sending_end *ends)
{
    for (size_t i = 0; i < ends->options->parallel; i++)
        close_flow(&ends[i]);
}
