#include "zcrp-bench/measuring/interval.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/complain.h"
#include "common/quantity.h"
#include "zcrp-bench/job/watch.h"
#include "zcrp-bench/results/report.h"

enum { CELL = 40, PATIENCE_NS = 100000000, TENTH_NS = 100000000 };

/* The state of things now; a mean over the flows where it is not a sum. */
struct state {
    bool is_known;   /* all flows can be looked at */
    bool has_pulses; /* all flows' receiving ends were heard of in this interval */
    uint64_t window_bytes;
    double rtt_us;
};

static struct transport *transport_of(const struct interval *interval, size_t flow)
{
    return contender_transport(&interval->ends[flow].contenders[interval->which]);
}

static void look(const struct interval *interval, struct reading *now, struct state *state)
{
    *state = (struct state){.is_known = true};
    for (size_t i = 0; i < interval->count; i++) {
        struct transport *transport = transport_of(interval, i);
        struct look look = {.is_known = false};

        if (transport->kind->look != NULL)
            look = transport->kind->look(transport);
        state->is_known = state->is_known && look.is_known;
        now->bytes += look.is_known ? look.bytes : atomic_load(&interval->ends[i].passed);
        now->repeated += look.repeated;
        state->window_bytes += look.window_bytes;
        state->rtt_us += (double)look.rtt_ns / 1e3 / (double)interval->count;
    }
}

/* What the receiving ends say; of a process that they share, its work once. */
static void hear(const struct interval *interval, struct reading *now, struct state *state)
{
    int64_t limit_ns = watch_now_ns() + PATIENCE_NS;

    state->has_pulses = true;
    for (size_t i = 0; i < interval->count; i++) {
        struct beat *beat = &interval->beats[i];
        bool is_heard = transport_of(interval, i)->kind->look != NULL &&
                        pulse_hear(&interval->ends[i].control, limit_ns, beat);

        state->has_pulses = state->has_pulses && is_heard;
        now->units += beat->units;
        now->in_place += beat->in_place;
        if (beat->cpu_ns > now->receiver_cpu_ns)
            now->receiver_cpu_ns = beat->cpu_ns;
    }
    now->pulses = interval->beats[0].n;
}

static void read_own(const struct interval *interval, struct reading *now, struct state *state)
{
    *now = (struct reading){.sender_cpu_ns = (uint64_t)watch_read().cpu_ns};
    look(interval, now, state);
}

static void write_cell(int width, bool is_known, const char *format, double value)
{
    char cell[CELL] = "-";

    if (is_known)
        snprintf(cell, sizeof cell, format, value);
    printf("  %*s", width, cell);
}

static void write_figure(int width, bool is_known, double value)
{
    char cell[QUANTITY_ROOM] = "-";

    if (is_known)
        quantity_figure(cell, value);
    printf("  %*s", width, cell);
}

/* Cut, not rounded: 100 % is said of all units only. */
static double percent(uint64_t part, uint64_t whole)
{
    return whole > 0 ? (double)(part * 1000 / whole) / 10 : 0;
}

static void write_line(const struct interval *interval, uint64_t n, const struct reading *now,
                       const struct state *state)
{
    const struct reading *last = &interval->last;
    double interval_ns = (double)interval->ticker.interval_ns;
    uint64_t units = now->units - last->units;
    double pulses_ns = (double)(now->pulses - last->pulses) * interval_ns;
    bool has_cpu = state->has_pulses && pulses_ns > 0;

    printf("%8.*f", interval->ticker.interval_ns % TENTH_NS == 0 ? 1 : 3,
           (double)n * interval_ns / 1e9);
    write_figure(8, true, 8 * (double)(now->bytes - last->bytes) / interval_ns);
    write_cell(9, state->is_known, "%.0f", (double)(now->repeated - last->repeated));
    write_cell(8, has_cpu && units > 0, "%.1f %%", percent(now->in_place - last->in_place, units));
    write_cell(10, state->is_known, "%.1f", state->rtt_us);
    write_cell(10, state->is_known, "%.0f", (double)state->window_bytes / 1024);
    write_cell(6, true, "%.0f %%",
               100 * (double)(now->sender_cpu_ns - last->sender_cpu_ns) / interval_ns);
    write_cell(8, has_cpu, "%.0f %%",
               100 * (double)(now->receiver_cpu_ns - last->receiver_cpu_ns) / pulses_ns);
    putchar('\n');
    fflush(stdout);
}

static void write_headings(const struct interval *interval)
{
    char text[QUANTITY_ROOM];

    quantity_bytes(text, interval->size);
    printf("%s, messages of %s\n", interval->ends->contenders[interval->which].name, text);
    printf("%8s  %8s  %9s  %8s  %10s  %10s  %6s  %8s\n", "", "", "", "in", "round trip", "window",
           "CPU", "CPU");
    printf("%8s  %8s  %9s  %8s  %10s  %10s  %6s  %8s\n", "seconds", "Gbit/s", "repeated", "place",
           "us", "KiB", "sender", "receiver");
}

static void tick(void *context, uint64_t n)
{
    struct interval *interval = context;
    struct reading now;
    struct state state;

    read_own(interval, &now, &state);
    hear(interval, &now, &state);
    progress_clear();
    if (n == 1)
        write_headings(interval);
    write_line(interval, n, &now, &state);
    interval->last = now;
    interval->has_lines = true;
}

int interval_begin(struct interval *interval, struct sending_end *ends, size_t count, size_t which,
                   uint64_t size)
{
    const struct options *options = ends->options;
    bool is_wanted = options->settings.interval_ns > 0 && options_have_output(options);
    struct state state;

    *interval = (struct interval){.ends = ends, .count = count, .which = which, .size = size};
    if (!is_wanted)
        return 0;
    interval->beats = calloc(count, sizeof *interval->beats);
    if (interval->beats == NULL)
        return complain("no memory for intervals: %s", strerror(ENOMEM));
    read_own(interval, &interval->last, &state);
    if (ticker_begin(&interval->ticker, (int64_t)options->settings.interval_ns, tick, interval) ==
        0)
        return 0;
    free(interval->beats);
    return -1;
}

void interval_end(struct interval *interval)
{
    if (interval->beats == NULL)
        return;
    ticker_end(&interval->ticker);
    free(interval->beats);
    if (interval->has_lines)
        putchar('\n');
}
