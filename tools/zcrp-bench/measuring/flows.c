#include "zcrp-bench/measuring/flows.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/complain.h"
#include "zcrp-bench/control/connection.h"
#include "zcrp-bench/measuring/interval.h"
#include "zcrp-bench/recording/recording.h"

/* The measurements of all flows as one. */
static double larger(double a, double b)
{
    return a > b ? a : b;
}

static uint64_t more(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* The work of a process is all flows'. */
static void add_end(struct run_end *sum, const struct run_end *end)
{
    sum->cpu_s = larger(sum->cpu_s, end->cpu_s);
    counts_add(&sum->counts, &end->counts);
    sum->allocations.calls = more(sum->allocations.calls, end->allocations.calls);
    sum->allocations.peak_bytes = more(sum->allocations.peak_bytes, end->allocations.peak_bytes);
}

static void add(struct run *sum, const struct run *run)
{
    sum->count += run->count;
    sum->bytes += run->bytes;
    sum->seconds = larger(sum->seconds, run->seconds);
    if (run->verdict > sum->verdict)
        sum->verdict = run->verdict;
    add_end(&sum->sender, &run->sender);
    add_end(&sum->receiver, &run->receiver);
}

/* Jain's index: 1 if all are alike, 1 / count if one has everything. */
static double fairness(const struct run *runs, size_t count)
{
    double sum = 0;
    double squares = 0;

    for (size_t i = 0; i < count; i++) {
        double rate = run_figure(&runs[i], FIGURE_GBIT_PER_S);

        sum += rate;
        squares += rate * rate;
    }
    return squares > 0 ? sum * sum / ((double)count * squares) : 1;
}

struct run flows_sum(const struct run *runs, size_t count)
{
    struct run sum = runs[0];

    for (size_t i = 1; i < count; i++)
        add(&sum, &runs[i]);
    sum.flows = count;
    sum.fairness = fairness(runs, count);
    return sum;
}

/* A flow's part of a measurement. */
struct part {
    struct sending_end *end;
    size_t which;
    uint64_t size;
    struct run *run;
    pthread_t thread;
    int status;
};

/* One measurement of messages of this size. */
static int measure(struct sending_end *end, size_t which, uint64_t size, struct run *run)
{
    struct contender *contender = &end->contenders[which];
    struct job job;

    int status = end->options->is_ping ? measurement_ping_job(end, size, &job)
                                       : measurement_job(end, contender, size, &job);

    return status < 0 ? -1 : measurement_run(end, contender, &job, run);
}

static void *run_part(void *argument)
{
    struct part *part = argument;

    part->status = measure(part->end, part->which, part->size, part->run);
    return NULL;
}

/* All parts at once, the first in this thread. */
static int run_parts(struct part *parts, size_t count)
{
    size_t started = 1;
    int error = 0;
    int status;

    while (started < count && error == 0) {
        error = pthread_create(&parts[started].thread, NULL, run_part, &parts[started]);
        started += error == 0;
    }
    run_part(&parts[0]);
    status = error == 0 ? parts[0].status : complain("cannot start a thread: %s", strerror(error));
    for (size_t i = 1; i < started; i++) {
        pthread_join(parts[i].thread, NULL);
        if (parts[i].status < 0)
            status = -1;
    }
    return status;
}

int flows_measure(struct sending_end *ends, size_t which, uint64_t size, struct run *run)
{
    size_t count = ends->options->parallel;
    struct part parts[OPTIONS_MAX_PARALLEL] = {0};
    struct run runs[OPTIONS_MAX_PARALLEL] = {0};
    struct interval interval;

    assert(count > 0 && count <= OPTIONS_MAX_PARALLEL);
    for (size_t i = 0; i < count; i++)
        parts[i] = (struct part){.end = &ends[i], .which = which, .size = size, .run = &runs[i]};
    if (interval_begin(&interval, ends, count, which, size) < 0)
        return -1;
    if (ends->contenders[which].lanes[0].kind == &transport_zcrp)
        trace_begin(size, count);
    int status = run_parts(parts, count);
    trace_end();
    interval_end(&interval);
    for (size_t i = 0; i < count; i++)
        ends->is_different = ends->is_different || ends[i].is_different;
    if (status == 0)
        *run = flows_sum(runs, count);
    return status;
}

void flows_follow(struct sending_end *ends)
{
    for (size_t i = 1; i < ends->options->parallel; i++) {
        for (size_t which = 0; which < ends->options->transport_count; which++)
            ends[i].contenders[which].lane = ends->contenders[which].lane;
    }
}

enum { SEED_SHIFT = 40 };

/* Opens all channels. */
static int open_contenders(struct sending_end *end)
{
    const struct options *options = end->options;
    enum contender_use use = options->is_reverse ? CONTENDER_BACK : CONTENDER_THERE;
    size_t number = 0;

    if (options->is_ping)
        use = CONTENDER_PING;
    for (size_t i = 0; i < options->transport_count; i++) {
        const struct transport plain = {
            .kind = options->transports[i].kind,
            .settings = &end->settings,
            .control = &end->control,
        };

        if (contender_open(&end->contenders[i], &options->transports[i], use, &plain, &number) < 0)
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

struct sending_end *flows_create(const struct options *options)
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

/* Each flow beside the first is announced there, with the port that its connection comes from. */
static int announce_flow(struct sending_end *first, int fd)
{
    struct address here;

    if (address_local(fd, &here) < 0)
        return -1;
    return control_say(&first->control, "flow %s", here.port);
}

static int open_flow(struct sending_end *ends, size_t which, const struct address *address)
{
    struct sending_end *end = &ends[which];
    int64_t limit_ns = (int64_t)end->options->settings.limit_ns;
    int fd = connection_open(address, "", limit_ns);

    if (fd < 0)
        return -1;
    if (which > 0 && announce_flow(&ends[0], fd) < 0) {
        close(fd);
        return -1;
    }
    if (control_init(&end->control, fd, limit_ns) < 0)
        return -1;
    if (settings_say(&end->control, &end->settings) < 0 || open_contenders(end) < 0)
        return -1;
    return end->options->is_ping ? 0 : warm_up(end);
}

int flows_open(struct sending_end *ends, const struct address *address)
{
    for (size_t i = 0; i < ends->options->parallel; i++) {
        ends[i].input = ends->input;
        if (open_flow(ends, i, address) < 0)
            return -1;
    }
    return 0;
}

int flows_say_bye(struct sending_end *ends)
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

void flows_close(struct sending_end *ends)
{
    for (size_t i = 0; i < ends->options->parallel; i++)
        close_flow(&ends[i]);
}
