#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "common/complain.h"
#include "common/quantity.h"
#include "zcrp-bench/ends/ends.h"
#include "zcrp-bench/job/record.h"
#include "zcrp-bench/measuring/flows.h"
#include "zcrp-bench/recording/recording.h"
#include "zcrp-bench/results/report.h"

static int choose_lanes(struct sending_end *end, uint64_t size)
{
    if (end->options->is_ping)
        return 0;
    for (size_t i = 0; i < end->options->transport_count; i++) {
        if (contender_choose(&end->contenders[i], end, size) < 0)
            return -1;
    }
    flows_follow(end);
    return 0;
}

/* How far things are, and how long it takes if it goes on like this. */
static void show_progress(const struct sending_end *end, const struct results *results,
                          const struct run *last)
{
    size_t all = results_count(results);
    size_t done = (size_t)(last - results->runs) + 1;
    double elapsed_s = (double)(watch_now_ns() - end->start_ns) / 1e9;
    char size[QUANTITY_ROOM];
    char rate[QUANTITY_ROOM];

    quantity_bytes(size, last->size);
    quantity_figure(rate, run_figure(last, FIGURE_GBIT_PER_S));
    progress_show("%zu of %zu, about %.0f s left: %s, messages of %s: %s Gbit/s", done, all,
                  ceil(elapsed_s * (double)(all - done) / (double)done), last->transport, size,
                  rate);
}

/* One turn: each transport once, with messages of the same size. */
static int take_turn(struct sending_end *end, const struct results *results, size_t size,
                     size_t repeat)
{
    for (size_t i = 0; i < results->transports; i++) {
        struct run *run = results_run(results, size, repeat, i);

        if (flows_measure(end, i, end->options->sizes[size], run) < 0)
            return -1;
        details_write(end->options, run, repeat);
        show_progress(end, results, run);
    }
    return 0;
}

/* What --warmup asks for: nothing of it is kept. */
static int warm_up(struct sending_end *end, uint64_t size)
{
    for (uint64_t n = 0; n < end->options->warmup * end->options->transport_count; n++) {
        struct run run = {0};

        if (flows_measure(end, n % end->options->transport_count, size, &run) < 0)
            return -1;
        run_fini(&run);
    }
    return 0;
}

static int measure_all(struct sending_end *end, const struct results *results)
{
    end->start_ns = watch_now_ns();
    for (size_t size = 0; size < results->sizes; size++) {
        if (choose_lanes(end, end->options->sizes[size]) < 0 ||
            warm_up(end, end->options->sizes[size]) < 0)
            return -1;
        for (size_t repeat = 0; repeat < results->repeats; repeat++) {
            if (take_turn(end, results, size, repeat) < 0)
                return -1;
        }
    }
    return flows_say_bye(end);
}

static int converse(struct sending_end *ends, const struct address *address,
                    const struct results *results)
{
    int status = flows_open(ends, address);

    if (status == 0)
        status = measure_all(ends, results);
    progress_clear();
    flows_close(ends);
    return status;
}

static int run_and_report(struct sending_end *end, const struct address *address,
                          struct results *results)
{
    struct report report;

    if (report_open(&report, end->options) < 0)
        return -1;
    int status = capture_open(end->options->capture) < 0 ? -1 : trace_open(end->options->trace);
    if (status == 0)
        status = converse(end, address, results);
    if (capture_close() < 0 || trace_close() < 0)
        status = -1;
    if (status == 0)
        status = report_write(&report, results);
    report_close(&report);
    return status < 0 || end->is_different ? -1 : 0;
}

static int run_with_input(struct sending_end *ends, const struct address *address)
{
    const struct options *options = ends->options;
    struct results results;
    int status =
        results_init(&results, options->size_count, options->repeat, options->transport_count);

    if (status < 0)
        return -1;
    results.seed = options->settings.seed;
    results.options = options;
    progress_init(options->is_quiet);
    status = run_and_report(ends, address, &results);
    results_fini(&results);
    return status;
}

int sending_end_run(const struct options *options, const struct address *address)
{
    struct sending_end *ends = flows_create(options);
    int status = -1;

    if (ends == NULL)
        return -1;
    if (options->input == NULL || input_open(&ends->input, options->input) == 0)
        status = run_with_input(ends, address);
    input_close(&ends->input);
    free(ends);
    return status;
}
