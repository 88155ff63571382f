#include "sending_end.h"

#include <inttypes.h>
#include <math.h>

#include "capture.h"
#include "common/complain.h"
#include "common/quantity.h"
#include "common/statistics.h"
#include "connection.h"
#include "details.h"
#include "interval.h"
#include "load.h"
#include "measurement.h"
#include "progress.h"
#include "report.h"
#include "watch.h"

enum { TRIALS = 3 };

static int agree_on_settings(struct sending_end *end)
{
    const struct settings *settings = &end->options->settings;

    if (control_say(&end->control,
                    "settings %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64
                    " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64
                    " %" PRIu64 " %" PRIu64,
                    settings->unit_bytes, settings->window_bytes, settings->depth, settings->flags,
                    settings->limit_ns, settings->buffer_bytes, settings->loss,
                    settings->congestion, settings->channel, settings->vpi, settings->vci,
                    settings->mtu, settings->cell_loss, settings->interval_ns) < 0)
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
        int status = options->is_ping ? contender_open_for_ping(contender, choice, &end->control,
                                                                &options->settings, &number)
                                      : contender_open(contender, choice, &end->control,
                                                       &options->settings, &number);

        if (status < 0)
            return -1;
    }
    return 0;
}

static void note_rate(struct sending_end *end, const struct run *run)
{
    double bytes_per_s = (double)run->bytes / run->seconds;

    if (end->least_bytes_per_s == 0 || bytes_per_s < end->least_bytes_per_s)
        end->least_bytes_per_s = bytes_per_s;
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
            note_rate(end, &run);
        }
        contender->lane = 0;
    }
    return 0;
}

/* Tries a manner with messages of this size. */
static int try_lane(struct sending_end *end, struct contender *contender, uint64_t size,
                    double *seconds)
{
    struct run trial;
    struct job job;

    if (measurement_trial(end, size, &job) < 0 || measurement_run(end, contender, &job, &trial) < 0)
        return -1;
    *seconds = trial.seconds;
    return 0;
}

/* Tries each useful manner several times, in turns, and stays with the one of the least median. */
static int choose_lane(struct sending_end *end, struct contender *contender, uint64_t size)
{
    double seconds[MANNERS_MAX][TRIALS];
    double least = INFINITY;
    size_t best = 0;

    for (size_t i = 0; contender->lane_count > 1 && i < TRIALS * contender->lane_count; i++) {
        size_t lane = contender->lane = i % contender->lane_count;

        if (contender_has_use(contender, lane, size) &&
            try_lane(end, contender, size, &seconds[lane][i / contender->lane_count]) < 0)
            return -1;
    }
    for (size_t lane = 0; contender->lane_count > 1 && lane < contender->lane_count; lane++) {
        double median = INFINITY;

        if (contender_has_use(contender, lane, size))
            median = statistics_median(seconds[lane], TRIALS);
        if (median < least) {
            least = median;
            best = lane;
        }
    }
    contender->lane = best;
    return 0;
}

static int choose_lanes(struct sending_end *end, uint64_t size)
{
    if (end->options->is_ping)
        return 0;
    for (size_t i = 0; i < end->options->transport_count; i++) {
        if (choose_lane(end, &end->contenders[i], size) < 0)
            return -1;
    }
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
    quantity_figure(rate, run_gbit_per_s(last));
    progress_show("%zu of %zu, about %.0f s left: %s, messages of %s: %s Gbit/s", done, all,
                  ceil(elapsed_s * (double)(all - done) / (double)done), last->transport, size,
                  rate);
}

/* One measurement of messages of this size. */
static int measure(struct sending_end *end, size_t which, uint64_t size, struct run *run)
{
    struct contender *contender = &end->contenders[which];
    struct interval interval;
    struct job job;
    int status;

    if (end->options->is_ping)
        return measurement_ping_job(end, size, &job) < 0
                   ? -1
                   : measurement_ping(end, contender, &job, run);
    if (measurement_job(end, size, &job) < 0 || interval_begin(&interval, end, 1, which, size) < 0)
        return -1;
    status = measurement_run(end, contender, &job, run);
    interval_end(&interval);
    return status;
}

/* One turn: each transport once, with messages of the same size. */
static int take_turn(struct sending_end *end, const struct results *results, size_t size,
                     size_t repeat)
{
    for (size_t i = 0; i < results->transports; i++) {
        struct run *run = results_run(results, size, repeat, i);

        if (measure(end, i, end->options->sizes[size], run) < 0)
            return -1;
        details_write(end->options, run, repeat);
        show_progress(end, results, run);
    }
    return 0;
}

static int measure_all(struct sending_end *end, const struct results *results)
{
    end->start_ns = watch_now_ns();
    for (size_t size = 0; size < results->sizes; size++) {
        if (choose_lanes(end, end->options->sizes[size]) < 0)
            return -1;
        for (size_t repeat = 0; repeat < results->repeats; repeat++) {
            if (take_turn(end, results, size, repeat) < 0)
                return -1;
        }
    }
    return control_say(&end->control, "bye");
}

static int measure_all_beside_load(struct sending_end *end, const struct results *results)
{
    struct load load;
    int status;

    if (load_begin(&load, end->options->load) < 0)
        return -1;
    status = measure_all(end, results);
    load_end(&load);
    return status;
}

static int converse(struct sending_end *end, const struct results *results)
{
    int status = -1;

    if (agree_on_settings(end) == 0 && open_contenders(end) == 0 &&
        (end->options->is_ping || warm_up(end) == 0))
        status = measure_all_beside_load(end, results);
    progress_clear();
    return status;
}

static int connect_and_converse(struct sending_end *end, const struct address *address,
                                const struct results *results)
{
    int64_t limit_ns = (int64_t)end->options->settings.limit_ns;
    int fd = connection_open(address, "", limit_ns);
    int status;

    if (fd < 0 || control_init(&end->control, fd, limit_ns) < 0)
        return -1;
    status = converse(end, results);
    control_fini(&end->control);
    for (size_t i = 0; i < end->options->transport_count; i++)
        contender_close(&end->contenders[i]);
    memory_fini(&end->memory);
    return status;
}

static int run_and_report(struct sending_end *end, const struct address *address,
                          struct results *results)
{
    struct report report;
    int status;

    if (report_open(&report, end->options) < 0)
        return -1;
    status = capture_open(end->options->capture);
    if (status == 0)
        status = connect_and_converse(end, address, results);
    if (capture_close() < 0)
        status = -1;
    if (status == 0)
        status = report_write(&report, results);
    report_close(&report);
    return status < 0 || end->is_different ? -1 : 0;
}

int sending_end_run(const struct options *options, const struct address *address)
{
    struct sending_end end = {.options = options};
    struct results results;
    int status;

    if (options->input != NULL && input_open(&end.input, options->input) < 0)
        return -1;
    status = results_init(&results, options->size_count, options->repeat, options->transport_count);
    if (status == 0) {
        progress_init(options->is_quiet);
        status = run_and_report(&end, address, &results);
        results_fini(&results);
    }
    input_close(&end.input);
    return status;
}
