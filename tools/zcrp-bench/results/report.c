#include "zcrp-bench/results/report.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/complain.h"
#include "common/quantity.h"

/* ---- progress ---- */

static bool is_seen;

void progress_show(const char *format, ...)
{
    va_list arguments;

    if (!is_seen)
        return;
    fputs("\r\033[K", stderr);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fflush(stderr);
}

void progress_clear(void)
{
    if (is_seen)
        fputs("\r\033[K", stderr);
}

/* ---- the table ---- */

enum { CELL = 40, GAP = 2 };

/* Which tables a column belongs to. */
enum {
    RATES = 1,
    FLOWS = 2, /* rates, of several flows */
    PEERS_RATES = 4,
    TRIPS = 8,
    ALL_RATES = RATES | FLOWS | PEERS_RATES,
    ALL = ALL_RATES | TRIPS,
};

static void figure(char cell[CELL], bool is_known, double value)
{
    if (is_known)
        quantity_figure(cell, value);
    else
        snprintf(cell, CELL, "-");
}

static void write_transport(char cell[CELL], const struct summary *summary)
{
    snprintf(cell, CELL, "%s", summary->first->transport);
}

static void write_channel(char cell[CELL], const struct summary *summary)
{
    snprintf(cell, CELL, "%s", summary->first->channel);
}

static void write_size(char cell[CELL], const struct summary *summary)
{
    quantity_bytes(cell, summary->first->size);
}

/* How far the repeats lie apart. */
static void write_spread(char cell[CELL], const struct summary *summary)
{
    char least[QUANTITY_ROOM];
    char most[QUANTITY_ROOM];

    quantity_figure(least, summary->least);
    quantity_figure(most, summary->most);
    snprintf(cell, CELL, "%.16s..%.16s", least, most);
}

/* Cut, not rounded: 100 % is said of all units only. */
static void write_place(char cell[CELL], const struct summary *summary)
{
    double share = summary->figure[FIGURE_IN_PLACE];
    double tenths = (double)(long)(share * 1000);

    if (summary->first->receiver.counts.is_known)
        snprintf(cell, CELL, share < 1 ? "%.1f %%" : "%.0f %%", tenths / 10);
    else
        snprintf(cell, CELL, "-");
}

static void write_units(char cell[CELL], const struct summary *summary)
{
    if (!summary->first->receiver.counts.is_known)
        snprintf(cell, CELL, "-");
    else if (summary->figure[FIGURE_LOST] > 0)
        snprintf(cell, CELL, "%.0f lost", summary->figure[FIGURE_LOST]);
    else
        snprintf(cell, CELL, "%.0f", summary->figure[FIGURE_REPEATED]);
}

static void write_threads(char cell[CELL], const struct summary *summary)
{
    snprintf(cell, CELL, "%.0f, %.0f", summary->figure[FIGURE_SENDER_THREADS],
             summary->figure[FIGURE_RECEIVER_THREADS]);
}

static void write_kib(char cell[CELL], const struct summary *summary)
{
    snprintf(cell, CELL, "%.0f, %.0f", summary->figure[FIGURE_SENDER_KIB],
             summary->figure[FIGURE_RECEIVER_KIB]);
}

static void write_ratio(char cell[CELL], const struct summary *summary)
{
    figure(cell, summary->has_ratio, summary->ratio_to_tcp);
}

static void write_fairness(char cell[CELL], const struct summary *summary)
{
    snprintf(cell, CELL, "%.3f", summary->figure[FIGURE_FAIRNESS]);
}

static const struct column {
    const char *headings[2];
    unsigned tables;
    void (*write)(char cell[CELL], const struct summary *summary); /* NULL: the figure */
    enum figure figure;
} columns[] = {
    {{"", "transport"}, ALL, .write = write_transport},
    {{"", "channel"}, ALL, .write = write_channel},
    {{"", "size"}, ALL, .write = write_size},
    {{"round trip, us:", "least"}, TRIPS, .figure = FIGURE_TRIP_LEAST},
    {{"", "median"}, TRIPS, .figure = FIGURE_TRIP_MEDIAN},
    {{"", "90 %"}, TRIPS, .figure = FIGURE_TRIP_P90},
    {{"", "99 %"}, TRIPS, .figure = FIGURE_TRIP_P99},
    {{"", "99.9 %"}, TRIPS, .figure = FIGURE_TRIP_P999},
    {{"", "most"}, TRIPS, .figure = FIGURE_TRIP_MOST},
    {{"median,", "least..most"}, TRIPS, .write = write_spread},
    {{"", "Gbit/s"}, ALL_RATES, .figure = FIGURE_GBIT_PER_S},
    {{"Gbit/s,", "least..most"}, ALL_RATES, .write = write_spread},
    {{"", "messages/s"}, ALL_RATES, .figure = FIGURE_MESSAGES},
    {{"CPU s/GB", "sender"}, ALL_RATES, .figure = FIGURE_SENDER_CPU},
    {{"CPU s/GB", "receiver"}, ALL_RATES, .figure = FIGURE_RECEIVER_CPU},
    {{"in", "place"}, RATES | FLOWS, .write = write_place},
    {{"units", "repeated"}, RATES | FLOWS, .write = write_units},
    {{"library's", "threads"}, PEERS_RATES, .write = write_threads},
    {{"KiB", "a peer"}, PEERS_RATES, .write = write_kib},
    {{"ratio", "to TCP"}, ALL, .write = write_ratio},
    {{"Jain's", "index"}, FLOWS | PEERS_RATES, .write = write_fairness},
};

enum { COLUMNS = sizeof columns / sizeof *columns, NAMES = 2, HEADINGS = 2 };

struct line {
    char cells[COLUMNS][CELL]; /* empty where the column is of other tables */
};

static unsigned table_of(const struct results *results)
{
    if (results_are_round_trips(results))
        return TRIPS;
    if (results->options->peers > 0)
        return PEERS_RATES;
    return results->runs[0].flows > 1 ? FLOWS : RATES;
}

/* A heading, or what is below. */
static struct line line_at(const struct results *results, size_t i, unsigned table)
{
    size_t which = i < HEADINGS ? 0 : i - HEADINGS;
    struct summary summary =
        results_summary(results, which / results->transports, which % results->transports);
    struct line line = {0};

    for (size_t n = 0; n < COLUMNS; n++) {
        if ((columns[n].tables & table) == 0)
            continue;
        if (i < HEADINGS)
            snprintf(line.cells[n], CELL, "%s", columns[n].headings[i]);
        else if (columns[n].write != NULL)
            columns[n].write(line.cells[n], &summary);
        else
            figure(line.cells[n], true, summary.figure[columns[n].figure]);
    }
    return line;
}

/* The results for people: a line for each size and transport, below headings. Names to the left,
 * numbers to the right. */
static void write_table(const struct results *results)
{
    size_t lines = HEADINGS + results->sizes * results->transports;
    unsigned table = table_of(results);
    int widths[COLUMNS] = {0};

    for (size_t i = 0; i < lines; i++) {
        struct line line = line_at(results, i, table);

        for (size_t n = 0; n < COLUMNS; n++) {
            int width = (int)strlen(line.cells[n]);
            widths[n] = width > widths[n] ? width : widths[n];
        }
    }
    for (size_t i = 0; i < lines; i++) {
        struct line line = line_at(results, i, table);

        for (size_t n = 0; n < COLUMNS; n++) {
            if (widths[n] > 0)
                printf("%*s%*s", n > 0 ? GAP : 0, "", n < NAMES ? -widths[n] : widths[n],
                       line.cells[n]);
        }
        putchar('\n');
    }
}

/* ---- details ---- */

enum { NAME_WIDTH = 26, FIGURE_WIDTH = 12 };

static void both(const char *name, uint64_t sender, uint64_t receiver, const char *text)
{
    printf("  %-*s  %*llu  %*llu  %s\n", NAME_WIDTH, name, FIGURE_WIDTH, (unsigned long long)sender,
           FIGURE_WIDTH, (unsigned long long)receiver, text);
}

static void one(const struct run *run, enum figure which, const char *meaning)
{
    char text[QUANTITY_ROOM];

    quantity_figure(text, run_figure(run, which));
    printf("  %-*s  %*s  %*s  %s\n", NAME_WIDTH, figure_key(which), FIGURE_WIDTH, text,
           FIGURE_WIDTH, "", meaning);
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
    one(run, FIGURE_SYSTEM_CALLS, "both ends, on the channel");
    one(run, FIGURE_ACKNOWLEDGEMENTS, "receiver's");
}

void details_write(const struct options *options, const struct run *run, size_t repeat)
{
    char size[QUANTITY_ROOM];

    if (!options->wants_stats || !options_have_output(options) || !run->receiver.counts.is_known)
        return;
    progress_clear();
    quantity_bytes(size, run->size);
    printf("%s, messages of %s, measurement %zu\n", run->transport, size, repeat + 1);
    write_stats(run);
    printf("\n");
}

/* ---- the report ---- */

/* 0 with *file NULL if there is no path. */
static int open_file(FILE **file, const char *path)
{
    *file = NULL;
    if (path == NULL)
        return 0;
    *file = strcmp(path, "-") == 0 ? stdout : fopen(path, "we");
    return *file != NULL ? 0 : complain("cannot write '%s': %s", path, strerror(errno));
}

static void close_file(FILE *file)
{
    if (file != NULL && file != stdout)
        fclose(file);
}

/* What verification came to, over all measurements. */
static enum verdict worst_verdict(const struct results *results)
{
    enum verdict worst = VERDICT_NONE;

    for (size_t i = 0; i < results_count(results); i++) {
        if (results->runs[i].verdict > worst)
            worst = results->runs[i].verdict;
    }
    return worst;
}

static void write_conditions(const struct options *options, const struct results *results)
{
    static const char *const texts[VERDICTS] = {
        [VERDICT_NONE] = "",
        [VERDICT_SAME] = "; every byte verified, and the time that takes counted",
        [VERDICT_DIFFERENT] = "; SOMETHING ARRIVED WRONG",
    };
    char memory[QUANTITY_ROOM];

    quantity_bytes(memory, options->memory_bytes);
    printf("\nMedians of %llu; memory: %s; GB: 10^9 bytes%s.\n",
           (unsigned long long)options->repeat, memory, texts[worst_verdict(results)]);
}

static int write_all(FILE *json, const struct results *results)
{
    const struct options *options = results->options;
    int status = 0;

    if (json != NULL)
        json_write(json, results);
    if (options_have_output(options)) {
        write_table(results);
        write_conditions(options, results);
    }
    if (json != NULL && (fflush(json) != 0 || ferror(json)))
        status = complain("cannot write '%s': %s", options->json, strerror(errno));
    if (fflush(stdout) != 0)
        status = complain("cannot write to standard output: %s", strerror(errno));
    return status;
}

int report_on(const struct options *options, int (*measure)(const struct results *results))
{
    struct results results;
    FILE *json;
    int status = -1;

    if (results_init(&results, options) < 0)
        return -1;
    is_seen = !options->is_quiet && isatty(STDERR_FILENO);
    if (open_file(&json, options->json) == 0) {
        status = measure(&results);
        if (status == 0)
            status = write_all(json, &results);
        if (status == 0 && worst_verdict(&results) == VERDICT_DIFFERENT)
            status = -1;
        close_file(json);
    }
    results_fini(&results);
    return status;
}
