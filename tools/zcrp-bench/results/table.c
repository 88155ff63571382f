#include <stdio.h>
#include <string.h>

#include "common/quantity.h"
#include "zcrp-bench/results/report.h"

enum { COLUMNS = 12, CELL = 40, GAP = 2 };

struct line {
    char cells[COLUMNS][CELL];
};

static const struct line trip_headings[2] = {
    {{"", "", "", "round trip, us:", "", "", "", "", "", "median,", "ratio"}},
    {{"transport", "channel", "size", "least", "median", "90 %", "99 %", "99.9 %", "most",
      "least..most", "to TCP"}},
};

static const struct line rate_headings[2] = {
    {{"", "", "", "", "Gbit/s,", "", "CPU s/GB", "CPU s/GB", "in", "units", "ratio", "Jain's"}},
    {{"transport", "channel", "size", "Gbit/s", "least..most", "messages/s", "sender", "receiver",
      "place", "repeated", "to TCP", "index"}},
};

static const struct line peers_headings[2] = {
    {{"", "", "", "", "Gbit/s,", "", "CPU s/GB", "CPU s/GB", "library's", "KiB", "ratio",
      "Jain's"}},
    {{"transport", "channel", "size", "Gbit/s", "least..most", "messages/s", "sender", "receiver",
      "threads", "a peer", "to TCP", "index"}},
};

static void figure(char cell[CELL], bool is_known, double value)
{
    if (is_known)
        quantity_figure(cell, value);
    else
        snprintf(cell, CELL, "-");
}

static void percent(char cell[CELL], bool is_known, double share)
{
    /* Cut, not rounded: 100 % is said of all units only. */
    double tenths = (double)(long)(share * 1000);

    if (is_known)
        snprintf(cell, CELL, share < 1 ? "%.1f %%" : "%.0f %%", tenths / 10);
    else
        snprintf(cell, CELL, "-");
}

static void units(char cell[CELL], const struct summary *summary)
{
    if (!summary->has_counts)
        snprintf(cell, CELL, "-");
    else if (summary->lost > 0)
        snprintf(cell, CELL, "%.0f lost", summary->lost);
    else
        snprintf(cell, CELL, "%.0f", summary->repeated);
}

static void names(struct line *line, const struct summary *summary)
{
    snprintf(line->cells[0], CELL, "%s", summary->transport);
    snprintf(line->cells[1], CELL, "%s", summary->channel);
    quantity_bytes(line->cells[2], summary->size);
}

/* How far the repeats lie apart. */
static void spread(char cell[CELL], const struct summary *summary)
{
    char least[QUANTITY_ROOM];
    char most[QUANTITY_ROOM];

    quantity_figure(least, summary->least);
    quantity_figure(most, summary->most);
    snprintf(cell, CELL, "%.16s..%.16s", least, most);
}

static struct line rate_line(const struct summary *summary)
{
    struct line line = {0};

    names(&line, summary);
    figure(line.cells[3], true, summary->gbit_per_s);
    spread(line.cells[4], summary);
    figure(line.cells[5], true, summary->messages_per_s);
    figure(line.cells[6], true, summary->sender_cpu_s_per_gb);
    figure(line.cells[7], true, summary->receiver_cpu_s_per_gb);
    if (summary->has_peers) {
        snprintf(line.cells[8], CELL, "%.0f, %.0f", summary->peers.sender_threads,
                 summary->peers.receiver_threads);
        snprintf(line.cells[9], CELL, "%.0f, %.0f", summary->peers.sender_kib,
                 summary->peers.receiver_kib);
    } else {
        percent(line.cells[8], summary->has_counts, summary->in_place);
        units(line.cells[9], summary);
    }
    figure(line.cells[10], summary->has_ratio, summary->ratio_to_tcp);
    if (summary->flows > 1 || summary->has_peers)
        snprintf(line.cells[11], CELL, "%.3f", summary->fairness);
    return line;
}

static struct line trip_line(const struct summary *summary)
{
    struct line line = {0};
    size_t column = 3;

    names(&line, summary);
#define TRIP_CELL(field, key) figure(line.cells[column++], true, summary->trips.field);
    ROUND_TRIPS(TRIP_CELL)
#undef TRIP_CELL
    spread(line.cells[column++], summary);
    figure(line.cells[column], summary->has_ratio, summary->ratio_to_tcp);
    return line;
}

static void widen(int widths[COLUMNS], const struct line *line)
{
    for (int i = 0; i < COLUMNS; i++) {
        int width = (int)strlen(line->cells[i]);

        if (width > widths[i])
            widths[i] = width;
    }
}

/* Names to the left, numbers to the right. */
static void write_line(FILE *out, const int widths[COLUMNS], const struct line *line)
{
    for (int i = 0; i < COLUMNS && widths[i] > 0; i++) {
        int width = i < 2 ? -widths[i] : widths[i];

        fprintf(out, "%*s%*s", i > 0 ? GAP : 0, "", width, line->cells[i]);
    }
    fputc('\n', out);
}

static struct line line_at(const struct results *results, size_t i)
{
    struct summary summary =
        results_summary(results, i / results->transports, i % results->transports);

    return summary.trips.count > 0 ? trip_line(&summary) : rate_line(&summary);
}

void table_write(FILE *out, const struct results *results)
{
    bool are_trips = results_are_round_trips(results);
    size_t lines = results->sizes * results->transports;
    int widths[COLUMNS] = {0};
    struct line headings[2];
    struct line line;

    bool are_peers = results->options->peers > 0;
    memcpy(headings,
           are_trips   ? trip_headings
           : are_peers ? peers_headings
                       : rate_headings,
           sizeof headings);
    for (size_t i = 0; i < 2 && results->runs[0].flows < 2 && !are_trips && !are_peers; i++)
        headings[i].cells[COLUMNS - 1][0] = '\0';
    for (size_t i = 0; i < 2; i++)
        widen(widths, &headings[i]);
    for (size_t i = 0; i < lines; i++) {
        line = line_at(results, i);
        widen(widths, &line);
    }
    for (size_t i = 0; i < 2; i++)
        write_line(out, widths, &headings[i]);
    for (size_t i = 0; i < lines; i++) {
        line = line_at(results, i);
        write_line(out, widths, &line);
    }
}

enum { NAME_WIDTH = 26, FIGURE_WIDTH = 12 };

static void write_figure(double value)
{
    char text[QUANTITY_ROOM];

    quantity_figure(text, value);
    printf("  %*s", FIGURE_WIDTH, text);
}

static void both(const char *name, uint64_t sender, uint64_t receiver, const char *text)
{
    printf("  %-*s  %*llu  %*llu  %s\n", NAME_WIDTH, name, FIGURE_WIDTH, (unsigned long long)sender,
           FIGURE_WIDTH, (unsigned long long)receiver, text);
}

static void one(const char *name, double value, const char *text)
{
    printf("  %-*s", NAME_WIDTH, name);
    write_figure(value);
    printf("  %*s  %s\n", FIGURE_WIDTH, "", text);
}

/* Counts of zero at both ends are passed over. */
static void write_stats(const struct run *run)
{
    printf("  %-*s  %*s  %*s\n", NAME_WIDTH, "", FIGURE_WIDTH, "sender", FIGURE_WIDTH, "receiver");
    for (unsigned i = 0; i < COUNTS; i++) {
        uint64_t sender = run->sender.counts.value[i];
        uint64_t receiver = run->receiver.counts.value[i];

        if (sender != 0 || receiver != 0)
            both(counts_name((enum count)i), sender, receiver, counts_text((enum count)i));
    }
    one("system_calls_per_gb", run_system_calls_per_gb(run), "both ends, on the channel");
    one("acknowledgements_per_burst", run_acknowledgements_per_burst(run), "receiver's");
}

enum { BAR = 40 }; /* characters of the most frequent */

static void write_histogram(const struct run *run)
{
    struct histogram_part part = {0};
    uint64_t most = 1;

    while (histogram_next(run->histogram, &part))
        most = part.count > most ? part.count : most;
    printf("  %10s %10s %10s\n", "from us", "to us", "trips");
    for (part = (struct histogram_part){0}; histogram_next(run->histogram, &part);) {
        printf("  %10.1f %10.1f %10llu  ", (double)part.from / 1e3, (double)part.to / 1e3,
               (unsigned long long)part.count);
        for (uint64_t i = 0; i < (part.count * BAR + most - 1) / most; i++)
            putchar('#');
        putchar('\n');
    }
}

void details_write(const struct options *options, const struct run *run, size_t repeat)
{
    bool has_stats = options->wants_stats && run->receiver.counts.is_known;
    bool has_histogram = options->wants_histogram && run->histogram != NULL;
    char size[QUANTITY_ROOM];

    if (!options_have_output(options) || (!has_stats && !has_histogram))
        return;
    progress_clear();
    quantity_bytes(size, run->size);
    printf("%s, messages of %s, measurement %zu\n", run->transport, size, repeat + 1);
    if (has_stats)
        write_stats(run);
    if (has_histogram)
        write_histogram(run);
    printf("\n");
}
