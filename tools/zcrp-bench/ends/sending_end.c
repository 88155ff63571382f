#include "zcrp-bench/ends/ends.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

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
    sem_t over;               /* the job is */
    struct sending_end *ends; /* of the flows; NULL: no lines are wanted */
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
    size_t count = interval.ends->options->parallel;
    struct state state = {.is_known = true};

    *now = (struct reading){.cpu_ns = (uint64_t)watch_read().cpu_ns};
    for (size_t i = 0; i < count; i++) {
        struct sending_end *end = &interval.ends[i];
        struct transport *transport = contender_transport(&end->contenders[end->which]);
        struct look look = {.is_known = false};

        if (transport->kind->look != NULL)
            look = transport->kind->look(transport);
        state.is_known = state.is_known && look.is_known;
        now->bytes += look.is_known ? look.bytes : atomic_load(&end->passed);
        now->repeated += look.repeated;
        state.window_bytes += look.window_bytes;
        state.rtt_us += (double)look.rtt_ns / 1e3 / (double)count;
    }
    return state;
}

static void write_cell(int width, bool is_known, const char *format, double value)
{
    char cell[CELL] = "-";

    if (is_known)
        snprintf(cell, sizeof cell, format, value);
    printf("  %*s", width, cell);
}

static void write_headings(const struct sending_end *end)
{
    static const char format[] = "%8s  %8s  %9s  %10s  %10s  %6s\n";
    char text[QUANTITY_ROOM];

    quantity_bytes(text, end->size);
    printf("%s, messages of %s\n", end->contenders[end->which].name, text);
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
        write_headings(interval.ends);
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
    int status;

    do
        status = sem_clockwait(&interval.over, CLOCK_MONOTONIC, &until);
    while (status < 0 && errno == EINTR);
    return status == 0;
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

/* Before a measurement in all these flows: from now on a line at each interval, below headings.
 * Nothing of this where the options do not ask for it, or standard output is for something else.
 * 0, or -1 with a complaint. */
static int interval_begin(struct sending_end *ends)
{
    interval.ends = NULL;
    if (ends->options->interval_ns == 0 || !options_have_output(ends->options))
        return 0;
    interval.ends = ends;
    interval.length_ns = ends->options->interval_ns;
    interval.start_ns = watch_now_ns();
    (void)look_at_all(&interval.last);
    sem_init(&interval.over, 0, 0);
    int error = pthread_create(&interval.thread, NULL, write_lines, NULL);
    return error == 0 ? 0 : complain("cannot start a thread: %s", strerror(error));
}

/* When it is over, however it ended; only after a begin that worked. */
static void interval_end(void)
{
    if (interval.ends == NULL)
        return;
    sem_post(&interval.over);
    pthread_join(interval.thread, NULL);
    sem_destroy(&interval.over);
}

/* --parallel: flows at once. Each has a control connection, channels, memory and a thread of its
 * own at either end; `options->parallel` of them, usually one, lie in an array, and the first
 * decides for all. */

static uint64_t more(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* The work of a process is all flows'. */
static void add_end(struct record *sum, const struct record *end)
{
    if (end->watch.cpu_ns > sum->watch.cpu_ns)
        sum->watch = end->watch;
    counts_add(&sum->counts, &end->counts);
    sum->allocations.calls = more(sum->allocations.calls, end->allocations.calls);
    sum->allocations.peak_bytes = more(sum->allocations.peak_bytes, end->allocations.peak_bytes);
}

static void add(struct run *sum, const struct run *run)
{
    sum->count += run->count;
    sum->bytes += run->bytes;
    sum->seconds = fmax(sum->seconds, run->seconds);
    if (run->verdict > sum->verdict)
        sum->verdict = run->verdict;
    add_end(&sum->sender, &run->sender);
    add_end(&sum->receiver, &run->receiver);
}

/* Runs of one measurement in `count` flows as one: sums; the longest time; the process's work once.
 */
static struct run flows_sum(const struct run *runs, size_t count)
{
    double rates[OPTIONS_MAX_PARALLEL];
    struct run sum = runs[0];

    if (count == 1)
        return sum;
    for (size_t i = 1; i < count; i++)
        add(&sum, &runs[i]);
    for (size_t i = 0; i < count; i++)
        rates[i] = run_figure(&runs[i], FIGURE_GBIT_PER_S);
    sum.flows = count;
    sum.fairness = fairness_index(rates, count);
    return sum;
}

/* A flow's part of a measurement. */
static void *run_part(void *argument)
{
    struct sending_end *end = argument;
    struct contender *contender = &end->contenders[end->which];
    struct job job;

    end->status = measurement_job(end, contender, end->size, &job);
    if (end->status == 0)
        end->status = measurement_run(end, contender, &job, end->run);
    return NULL;
}

/* All flows at once, the first in this thread. */
static int run_parts(struct sending_end *ends, size_t count)
{
    size_t started = 1;
    int error = 0;

    while (started < count && error == 0) {
        error = pthread_create(&ends[started].thread, NULL, run_part, &ends[started]);
        started += error == 0;
    }
    run_part(&ends[0]);
    int status =
        error == 0 ? ends[0].status : complain("cannot start a thread: %s", strerror(error));
    for (size_t i = 1; i < started; i++) {
        pthread_join(ends[i].thread, NULL);
        if (ends[i].status < 0)
            status = -1;
    }
    return status;
}

/* One measurement with messages of this size over contender `which`, in all flows at once: *run is
 * what they come to together. */
static int flows_measure(struct sending_end *ends, size_t which, uint64_t size, struct run *run)
{
    size_t count = ends->options->parallel;
    struct run runs[OPTIONS_MAX_PARALLEL] = {0};

    assert(count > 0 && count <= OPTIONS_MAX_PARALLEL);
    for (size_t i = 0; i < count; i++) {
        ends[i].which = which;
        ends[i].size = size;
        ends[i].run = &runs[i];
    }
    if (interval_begin(ends) < 0)
        return -1;
    if (ends->contenders[which].lanes[0].kind == &transport_zcrp)
        trace_begin(size, count);
    int status = run_parts(ends, count);
    trace_end();
    interval_end();
    if (status == 0)
        *run = flows_sum(runs, count);
    return status;
}

enum { SEED_SHIFT = 40 };

/* The other end may take the limit for an answer of its own, and then has to say so. */
static const int64_t ANSWER_NS = 5000000000;

/* Opens all channels. */
static int open_contenders(struct sending_end *end)
{
    const struct options *options = end->options;
    size_t number = 0;

    for (size_t i = 0; i < options->transport_count; i++) {
        if (contender_open(&end->contenders[i], &options->transports[i], options, &end->control,
                           &number) < 0)
            return -1;
    }
    return 0;
}

/* Moves a little through each. Each flow is alone meanwhile, but not in a measurement. */
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
                (double)run.bytes / run.seconds / (double)end->options->parallel;
        }
        contender->lane = 0;
    }
    return 0;
}

/* Closed flows; the caller frees them. NULL with a complaint. */
static struct sending_end *flows_create(const struct options *options)
{
    struct sending_end *ends = calloc(options->parallel, sizeof *ends);

    if (ends == NULL) {
        complain("no memory for %" PRIu64 " flows: %s", options->parallel, strerror(ENOMEM));
        return NULL;
    }
    for (size_t i = 0; i < options->parallel; i++) {
        ends[i].options = options;
        ends[i].control.fd = -1;
        ends[i].seed = (uint64_t)i << SEED_SHIFT;
    }
    return ends;
}

/* Each flow beside the first is announced there, with the port that its connection comes from. */
static int open_flow(struct sending_end *end, struct sending_end *first,
                     const struct address *address)
{
    int64_t limit_ns = (int64_t)end->options->settings.limit_ns;
    int fd = connection_open(address, "", limit_ns);
    struct address here;
    struct run warm_up;

    if (fd < 0)
        return -1;
    if (end != first &&
        (address_local(fd, &here) < 0 || control_say(&first->control, "flow %s", here.port) < 0)) {
        close(fd);
        return -1;
    }
    if (control_init(&end->control, fd, limit_ns) < 0)
        return -1;
    connection_limit(fd, limit_ns + ANSWER_NS);
    if (settings_say(&end->control, &end->options->settings) < 0 || open_contenders(end) < 0)
        return -1;
    if (end->options->peers > 0)
        return measurement_try(end, &end->contenders[0], end->options->sizes[0], &warm_up);
    return end->options->is_ping ? 0 : warm_up_channels(end);
}

/* The first says goodbye last: it answers for the others there. */
static int flows_close(struct sending_end *ends, int status)
{
    for (size_t i = ends->options->parallel; i-- > 0;) {
        if (status == 0)
            status = control_say(&ends[i].control, "bye");
    }
    for (size_t i = 0; i < ends->options->parallel; i++) {
        if (ends[i].control.fd >= 0)
            control_fini(&ends[i].control);
        for (size_t which = 0; which < ends->options->transport_count; which++)
            contender_close(&ends[i].contenders[which]);
        memory_fini(&ends[i].memory);
    }
    free(ends);
    return status;
}

/* ---- all measurements ---- */

/* The lanes that the first chooses are everybody's. */
static int choose_lanes(struct sending_end *ends, uint64_t size)
{
    const struct options *options = ends->options;

    for (size_t which = 0; !options->is_ping && which < options->transport_count; which++) {
        if (contender_choose(&ends->contenders[which], ends, size) < 0)
            return -1;
        for (size_t i = 1; i < options->parallel; i++)
            ends[i].contenders[which].lane = ends->contenders[which].lane;
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

        if (flows_measure(end, i, end->options->sizes[size], run) < 0)
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
    return 0;
}

int sending_end_measure(const struct address *address, const struct results *results)
{
    const struct options *options = results->options;
    int status = trace_open(options->trace);
    struct sending_end *ends = status == 0 ? flows_create(options) : NULL;

    if (ends != NULL) {
        for (size_t i = 0; i < options->parallel && status == 0; i++)
            status = open_flow(&ends[i], ends, address);
        if (status == 0)
            status = measure_all(ends, results);
        progress_clear();
        status = flows_close(ends, status);
    }
    return trace_close() < 0 || ends == NULL ? -1 : status;
}
