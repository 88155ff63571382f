#include "zcrp-bench/measuring/interval.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "common/complain.h"
#include "common/quantity.h"
#include "zcrp-bench/job/record.h"
#include "zcrp-bench/results/report.h"

enum { CELL = 40, TENTH_NS = 100000000, NS_A_SECOND = 1000000000 };

/* The state of things now; a mean over the flows where it is not a sum. */
struct state {
    bool is_known; /* all flows can be looked at */
    uint64_t window_bytes;
    double rtt_us;
};

static int64_t length_ns(const struct interval *interval)
{
    return interval->ends->options->interval_ns;
}

static struct state look(const struct interval *interval, struct reading *now)
{
    struct state state = {.is_known = true};

    *now = (struct reading){.cpu_ns = (uint64_t)watch_read().cpu_ns};
    for (size_t i = 0; i < interval->count; i++) {
        struct sending_end *end = &interval->ends[i];
        struct transport *transport = contender_transport(&end->contenders[interval->which]);
        struct look look = {.is_known = false};

        if (transport->kind->look != NULL)
            look = transport->kind->look(transport);
        state.is_known = state.is_known && look.is_known;
        now->bytes += look.is_known ? look.bytes : atomic_load(&end->passed);
        now->repeated += look.repeated;
        state.window_bytes += look.window_bytes;
        state.rtt_us += (double)look.rtt_ns / 1e3 / (double)interval->count;
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

static void write_line(const struct interval *interval, uint64_t n, const struct reading *now,
                       const struct state *state)
{
    const struct reading *last = &interval->last;
    double ns = (double)length_ns(interval);
    char rate[QUANTITY_ROOM];

    quantity_figure(rate, 8 * (double)(now->bytes - last->bytes) / ns);
    printf("%8.*f  %8s", length_ns(interval) % TENTH_NS == 0 ? 1 : 3, (double)n * ns / 1e9, rate);
    write_cell(9, state->is_known, "%.0f", (double)(now->repeated - last->repeated));
    write_cell(10, state->is_known, "%.1f", state->rtt_us);
    write_cell(10, state->is_known, "%.0f", (double)state->window_bytes / 1024);
    write_cell(6, true, "%.0f %%", 100 * (double)(now->cpu_ns - last->cpu_ns) / ns);
    putchar('\n');
    fflush(stdout);
}

static void write_headings(const struct interval *interval)
{
    static const char format[] = "%8s  %8s  %9s  %10s  %10s  %6s\n";
    char text[QUANTITY_ROOM];

    quantity_bytes(text, interval->size);
    printf("%s, messages of %s\n", interval->ends->contenders[interval->which].name, text);
    printf(format, "", "", "", "round trip", "window", "");
    printf(format, "seconds", "Gbit/s", "repeated", "us", "KiB", "CPU");
}

static void tick(struct interval *interval, uint64_t n)
{
    struct reading now;
    struct state state = look(interval, &now);

    progress_clear();
    if (n == 1)
        write_headings(interval);
    write_line(interval, n, &now, &state);
    interval->last = now;
    interval->has_lines = true;
}

/* Whether the job is over before that time. */
static bool is_over_by(struct interval *interval, int64_t ns)
{
    const struct timespec until = {.tv_sec = ns / NS_A_SECOND, .tv_nsec = ns % NS_A_SECOND};
    int status;

    do
        status = sem_clockwait(&interval->over, CLOCK_MONOTONIC, &until);
    while (status < 0 && errno == EINTR);
    return status == 0;
}

static void *run(void *argument)
{
    struct interval *interval = argument;
    uint64_t n = 1;

    while (!is_over_by(interval, interval->start_ns + (int64_t)n * length_ns(interval)))
        tick(interval, n++);
    return NULL;
}

int interval_begin(struct interval *interval, struct sending_end *ends, size_t count, size_t which,
                   uint64_t size)
{
    *interval = (struct interval){.count = count, .which = which, .size = size};
    if (ends->options->interval_ns == 0 || !options_have_output(ends->options))
        return 0;
    interval->ends = ends;
    interval->start_ns = watch_now_ns();
    (void)look(interval, &interval->last);
    sem_init(&interval->over, 0, 0);
    int error = pthread_create(&interval->thread, NULL, run, interval);
    return error == 0 ? 0 : complain("cannot start a thread: %s", strerror(error));
}

void interval_end(struct interval *interval)
{
    if (interval->ends == NULL)
        return;
    sem_post(&interval->over);
    pthread_join(interval->thread, NULL);
    sem_destroy(&interval->over);
    if (interval->has_lines)
        putchar('\n');
}
