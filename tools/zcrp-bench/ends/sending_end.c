#include "zcrp-bench/ends/ends.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/complain.h"
#include "common/quantity.h"
#include "zcrp-bench/control/connection.h"
#include "zcrp-bench/ends/measurement.h"
#include "zcrp-bench/job/record.h"
#include "zcrp-bench/results/report.h"
#include "zcrp-bench/transports/trace.h"

/* The lines of --interval: how a measurement goes, as the sending end sees it, one line at each
 * interval on standard output. A thread writes them, for one measurement at a time.
 *
 *      begin    line 1     line 2     line 3  end
 *      |----------|----------|----------|------| */

/* All that has happened so far, over all flows. */
struct reading {
    uint64_t bytes, repeated, cpu_ns;
};

static struct {
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t over;     /* `is_over` is set; on the monotonic clock */
    bool is_over;            /* the job is */
    struct sending_end *end; /* NULL: no lines are wanted */
    size_t which;            /* contender, with messages */
    uint64_t size;           /* of so many bytes */
    int64_t start_ns, length_ns;
    struct reading last;
} interval;

enum { CELL = 40, TENTH_NS = 100000000, NS_A_SECOND = 1000000000 };

/* The state of things now; a mean over the flows where it is not a sum. */
struct state {
    bool is_known; /* all flows can be looked at */
    uint64_t window_bytes;
    double rtt_us;
};

static struct state look_at_all(struct reading *now)
{
    struct sending_end *end = interval.end;
    struct transport *flows = contender_transport(&end->contenders[interval.which]);
    size_t count = end->options->settings.flows;
    struct state state = {.is_known = flows->kind->look != NULL};

    *now = (struct reading){.cpu_ns = (uint64_t)watch_read().cpu_ns};
    for (size_t i = 0; i < count && state.is_known; i++) {
        struct look look = flows->kind->look(&flows[i]);

        state.is_known = look.is_known;
        now->bytes += look.bytes;
        now->repeated += look.repeated;
        state.window_bytes += look.window_bytes;
        state.rtt_us += (double)look.rtt_ns / 1e3 / (double)count;
    }
    if (!state.is_known)
        now->bytes = atomic_load(&end->passed);
    return state;
}

static void write_cell(int width, bool is_known, const char *format, double value)
{
    char cell[CELL] = "-";

    if (is_known)
        snprintf(cell, sizeof cell, format, value);
    printf("  %*s", width, cell);
}

static void write_headings(void)
{
    static const char format[] = "%8s  %8s  %9s  %10s  %10s  %6s\n";
    char text[QUANTITY_ROOM];

    quantity_bytes(text, interval.size);
    printf("%s, messages of %s\n", interval.end->contenders[interval.which].name, text);
    printf(format, "", "", "", "round trip", "window", "");
    printf(format, "seconds", "Gbit/s", "repeated", "us", "KiB", "CPU");
}

/* Line n, below headings. */
static void write_line(uint64_t n)
{
    const struct reading *last = &interval.last;
    double ns = (double)interval.length_ns;
    struct reading now;
    struct state state = look_at_all(&now);
    char rate[QUANTITY_ROOM];

    progress_clear();
    if (n == 1)
        write_headings();
    quantity_figure(rate, 8 * (double)(now.bytes - last->bytes) / ns);
    printf("%8.*f  %8s", interval.length_ns % TENTH_NS == 0 ? 1 : 3, (double)n * ns / 1e9, rate);
    write_cell(9, state.is_known, "%.0f", (double)(now.repeated - last->repeated));
    write_cell(10, state.is_known, "%.1f", state.rtt_us);
    write_cell(10, state.is_known, "%.0f", (double)state.window_bytes / 1024);
    write_cell(6, true, "%.0f %%", 100 * (double)(now.cpu_ns - last->cpu_ns) / ns);
    putchar('\n');
    fflush(stdout);
    interval.last = now;
}

/* Whether the job is over before that time. */
static bool is_over_by(int64_t ns)
{
    const struct timespec until = {.tv_sec = ns / NS_A_SECOND, .tv_nsec = ns % NS_A_SECOND};
    int error = 0;

    pthread_mutex_lock(&interval.mutex);
    while (!interval.is_over && error == 0)
        error = pthread_cond_timedwait(&interval.over, &interval.mutex, &until);
    bool is_over = interval.is_over;
    pthread_mutex_unlock(&interval.mutex);
    return is_over;
}

static void *write_lines(void *argument)
{
    uint64_t n = 1;

    (void)argument;
    while (!is_over_by(interval.start_ns + (int64_t)n * interval.length_ns))
        write_line(n++);
    if (n > 1)
        putchar('\n');
    return NULL;
}

/* Before a measurement over contender `which`: from now on a line at each interval, below headings.
 * Nothing of this where the options do not ask for it, or standard output is for something else.
 * 0, or -1 with a complaint. */
static int interval_begin(struct sending_end *end, size_t which, uint64_t size)
{
    interval.end = NULL;
    if (end->options->interval_ns == 0 || !options_have_output(end->options))
        return 0;
    interval.end = end;
    interval.which = which;
    interval.size = size;
    interval.length_ns = end->options->interval_ns;
    interval.start_ns = clock_now_ns();
    (void)look_at_all(&interval.last);
    interval.is_over = false;
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&interval.over, &monotonic);
    pthread_condattr_destroy(&monotonic);
    pthread_mutex_init(&interval.mutex, NULL);
    int error = pthread_create(&interval.thread, NULL, write_lines, NULL);
    return error == 0 ? 0 : complain("cannot start a thread: %s", strerror(error));
}

/* When it is over, however it ended; only after a begin that worked. */
static void interval_end(void)
{
    if (interval.end == NULL)
        return;
    pthread_mutex_lock(&interval.mutex);
    interval.is_over = true;
    pthread_cond_signal(&interval.over);
    pthread_mutex_unlock(&interval.mutex);
    pthread_join(interval.thread, NULL);
    pthread_cond_destroy(&interval.over);
    pthread_mutex_destroy(&interval.mutex);
}

/* ---- the run ---- */

/* The other end may take the limit for an answer of its own, and then has to say so. */
static const int64_t ANSWER_NS = 5000000000;

/* One measurement with messages of this size over contender `which`. */
static int measure(struct sending_end *end, size_t which, uint64_t size, struct run *run)
{
    struct contender *contender = &end->contenders[which];
    struct job job;

    if (measurement_job(end, contender, size, &job) < 0 || interval_begin(end, which, size) < 0)
        return -1;
    if (contender_transport(contender)->kind == &transport_zcrp)
        trace_begin(size, end->options->settings.flows);
    int status = measurement_run(end, contender, &job, run);
    trace_end();
    interval_end();
    return status;
}

/* Moves a little through each channel, but not in a measurement. */
static int warm_up_channels(struct sending_end *end)
{
    struct run run;
    struct job job;

    for (size_t i = 0; i < end->options->transport_count; i++) {
        struct contender *contender = &end->contenders[i];

        for (contender->lane = 0; contender->lane < contender->lane_count; contender->lane++) {
            if (measurement_warm_up(end, &job) < 0 ||
                measurement_run(end, contender, &job, &run) < 0)
                return -1;
            contender_transport(contender)->bytes_per_s =
                (double)run.bytes / run.seconds / (double)end->options->settings.flows;
        }
        contender->lane = 0;
    }
    return 0;
}

/* Agrees with the other end, opens all channels, and warms them up. */
static int open_all(struct sending_end *end, const struct address *address)
{
    const struct options *options = end->options;
    int64_t limit_ns = (int64_t)options->settings.limit_ns;
    int fd = connection_open(address, "", limit_ns);
    struct run warm_up;
    size_t number = 0;

    if (fd < 0 || control_init(&end->control, fd, limit_ns) < 0)
        return -1;
    connection_limit(fd, limit_ns + ANSWER_NS);
    if (settings_say(&end->control, &options->settings) < 0)
        return -1;
    for (size_t i = 0; i < options->transport_count; i++) {
        if (contender_open(&end->contenders[i], &options->transports[i], options, &end->control,
                           &number) < 0)
            return -1;
    }
    if (options->peers > 0)
        return measurement_try(end, &end->contenders[0], options->sizes[0], &warm_up);
    return options->is_ping ? 0 : warm_up_channels(end);
}

static int close_all(struct sending_end *end, int status)
{
    if (status == 0)
        status = control_say(&end->control, "bye");
    if (end->control.fd >= 0)
        control_fini(&end->control);
    for (size_t i = 0; i < end->options->transport_count; i++)
        contender_close(&end->contenders[i]);
    memory_fini(&end->memory);
    free(end);
    return status;
}

/* How far things are, and how long it takes if it goes on like this. */
static void show_progress(const struct sending_end *end, const struct results *results,
                          const struct run *last)
{
    size_t all = results_count(results);
    size_t done = (size_t)(last - results->runs) + 1;
    double elapsed_s = (double)(clock_now_ns() - end->start_ns) / 1e9;
    char size[QUANTITY_ROOM];
    char rate[QUANTITY_ROOM];

    if (all == 1)
        return;
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

        if (measure(end, i, end->options->sizes[size], run) < 0)
            return -1;
        details_write(end->options, run, repeat);
        show_progress(end, results, run);
    }
    return 0;
}

static int measure_all(struct sending_end *end, const struct results *results)
{
    end->start_ns = clock_now_ns();
    for (size_t size = 0; size < results->sizes; size++) {
        for (size_t i = 0; !end->options->is_ping && i < results->transports; i++) {
            if (contender_choose(&end->contenders[i], end, end->options->sizes[size]) < 0)
                return -1;
        }
        for (size_t repeat = 0; repeat < results->repeats; repeat++) {
            if (take_turn(end, results, size, repeat) < 0)
                return -1;
        }
    }
    return 0;
}

int sending_end_measure(const struct address *address, const struct results *results)
{
    const struct options *options = results->options;
    struct sending_end *end = calloc(1, sizeof *end);

    if (end == NULL)
        return complain("no memory for channels: %s", strerror(ENOMEM));
    end->options = options;
    end->control.fd = -1;
    int status = trace_open(options->trace);
    if (status == 0)
        status = open_all(end, address);
    if (status == 0)
        status = measure_all(end, results);
    progress_clear();
    status = close_all(end, status);
    return trace_close() < 0 ? -1 : status;
}
