#include "zcrp-bench/results/report.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "common/complain.h"
#include "common/quantity.h"
#include "zcrp.h"

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

enum { CELL = 40, GAP = 2, NAMES = 2, HEADINGS = 2, CELLS = NAMES + FIGURES };

/* Cut, not rounded: 100 % is said of all units only. */
static void write_share(char cell[CELL], double share)
{
    double tenths = (double)(long)(share * 1000);

    snprintf(cell, CELL, share < 1 ? "%.1f %%" : "%.0f %%", tenths / 10);
}

/* How far the repeats lie apart. */
static void write_spread(char cell[CELL], double least, double most)
{
    char from[QUANTITY_ROOM], to[QUANTITY_ROOM];

    quantity_figure(from, least);
    quantity_figure(to, most);
    snprintf(cell, CELL, "%.16s..%.16s", from, to);
}

/* What is not known is a dash. */
static void write_cell(char cell[CELL], const double figure[FIGURES], unsigned which)
{
    double value = figure[which];

    snprintf(cell, CELL, "-");
    if (isnan(value))
        return;
    switch (columns[which].form) {
    case HIDDEN:
        break;
    case BYTES:
        quantity_bytes(cell, (uint64_t)value);
        break;
    case FIGURE:
        quantity_figure(cell, value);
        break;
    case INDEX:
        snprintf(cell, CELL, "%.3f", value);
        break;
    case SHARE:
        write_share(cell, value);
        break;
    case UNITS:
        if (figure[FIGURE_LOST] > 0)
            snprintf(cell, CELL, "%.0f lost", figure[FIGURE_LOST]);
        else
            snprintf(cell, CELL, "%.0f", value);
        break;
    case SPREAD:
        write_spread(cell, value, figure[which + 1]);
        break;
    case PAIR:
        snprintf(cell, CELL, "%.0f, %.0f", value, figure[which + 1]);
        break;
    }
}

struct line {
    char cells[CELLS][CELL]; /* empty where the column is of other tables */
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
    const char *const headings[HEADINGS][NAMES] = {{"", ""}, {"transport", "channel"}};
    const char *const names[NAMES] = {summary.first->transport, summary.first->channel};
    struct line line = {0};

    for (size_t n = 0; n < NAMES; n++)
        snprintf(line.cells[n], CELL, "%s", i < HEADINGS ? headings[i][n] : names[n]);
    for (unsigned n = 0; n < FIGURES; n++) {
        if ((columns[n].where & table) == 0)
            continue;
        if (i < HEADINGS)
            snprintf(line.cells[NAMES + n], CELL, "%s", columns[n].headings[i]);
        else
            write_cell(line.cells[NAMES + n], summary.figure, n);
    }
    return line;
}

/* The results for people: a line for each size and transport, below headings. Names to the left,
 * numbers to the right. */
static void write_table(const struct results *results)
{
    size_t lines = HEADINGS + results->sizes * results->transports;
    unsigned table = table_of(results);
    int widths[CELLS] = {0};

    for (size_t pass = 0; pass < 2 * lines; pass++) { /* first for the widths */
        struct line line = line_at(results, pass % lines, table);
        bool is_written = pass >= lines;

        for (size_t n = 0; n < CELLS; n++) {
            int width = (int)strlen(line.cells[n]);

            widths[n] = width > widths[n] ? width : widths[n];
            if (is_written && widths[n] > 0)
                printf("%*s%*s", n > 0 ? GAP : 0, "", n < NAMES ? -widths[n] : widths[n],
                       line.cells[n]);
        }
        if (is_written)
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
    printf("  %-*s  %*s  %*s  %s\n", NAME_WIDTH, columns[which].key, FIGURE_WIDTH, text,
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
            both(counts_names[i], sender, receiver, counts_texts[i]);
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

/* ---- JSON ---- */

enum { PROCESSOR_ROOM = 200 };

/* JSON knows no infinity, and what is not known is null. Whole numbers stay whole. */
static void number(FILE *out, const char *key, double value)
{
    if (isfinite(value))
        fprintf(out, value == floor(value) ? ", \"%s\": %.0f" : ", \"%s\": %.9g", key, value);
    else
        fprintf(out, ", \"%s\": null", key);
}

static void figures(FILE *out, const double figure[FIGURES], unsigned where)
{
    for (unsigned i = 0; i < FIGURES; i++) {
        if ((columns[i].where & where) != 0)
            number(out, columns[i].key, figure[i]);
    }
}

static void write_counts(FILE *out, const struct counts *counts)
{
    if (!counts->is_known) {
        fputs(", \"stats\": null", out);
        return;
    }
    fputs(", \"stats\": {", out);
    for (unsigned i = 0; i < COUNTS; i++)
        fprintf(out, "%s\"%s\": %" PRIu64, i > 0 ? ", " : "", counts_names[i], counts->value[i]);
    fputc('}', out);
}

static void write_end(FILE *out, const char *key, const struct record *end, double cpu_s_per_gb)
{
    const struct allocations *allocations = &end->allocations;
    bool are_counted = allocations->calls != ALLOCATIONS_UNKNOWN;

    fprintf(out, ", \"%s\": {\"cpu_s\": %.9g", key, (double)end->watch.cpu_ns / 1e9);
    number(out, "cpu_s_per_gb", cpu_s_per_gb);
    number(out, "allocations", are_counted ? (double)allocations->calls : NAN);
    number(out, "peak_bytes", are_counted ? (double)allocations->peak_bytes : NAN);
    write_counts(out, &end->counts);
    fputc('}', out);
}

/* [from, to, count] of each part; times in microseconds. */
static void write_histogram(FILE *out, const struct histogram *histogram)
{
    struct histogram_part part = {0};
    const char *between = "";

    fputs(", \"histogram\": [", out);
    for (; histogram_next(histogram, &part); between = ", ")
        fprintf(out, "%s[%.9g, %.9g, %" PRIu64 "]", between, (double)part.from / 1e3,
                (double)part.to / 1e3, part.count);
    fputc(']', out);
}

static void write_trips(FILE *out, const double figure[FIGURES], const struct run *run,
                        bool is_whole)
{
    if (run->histogram == NULL) {
        fputs(", \"round_trip_us\": null", out);
        return;
    }
    fprintf(out, ", \"round_trip_us\": {\"count\": %" PRIu64, run->histogram->count);
    figures(out, figure, IN_TRIPS);
    if (is_whole)
        write_histogram(out, run->histogram);
    fputc('}', out);
}

/* Names are the program's and the kernel's own words: nothing in them needs an escape. */
static void begin(FILE *out, const struct run *run)
{
    fprintf(out, "    {\"transport\": \"%s\", \"channel\": \"%s\"", run->transport, run->channel);
}

static void write_run(FILE *out, const struct run *run)
{
    static const char *const verdicts[VERDICTS] = {
        [VERDICT_NONE] = "null", [VERDICT_SAME] = "true", [VERDICT_DIFFERENT] = "false"};
    double figure[FIGURES];

    for (unsigned i = 0; i < FIGURES; i++)
        figure[i] = run_figure(run, (enum figure)i);
    begin(out, run);
    figures(out, figure, IN_RUN);
    fprintf(out, ", \"verified\": %s", verdicts[run->verdict]);
    write_end(out, "sender", &run->sender, figure[FIGURE_SENDER_CPU]);
    write_end(out, "receiver", &run->receiver, figure[FIGURE_RECEIVER_CPU]);
    write_trips(out, figure, run, true);
    fputc('}', out);
}

static void write_summary(FILE *out, const struct summary *summary)
{
    begin(out, summary->first);
    figures(out, summary->figure, IN_SUMMARY);
    write_trips(out, summary->figure, summary->first, false);
    fputc('}', out);
}

/* Escapes what JSON does not take as it is. */
static void write_string(FILE *out, const char *text)
{
    fputc('"', out);
    for (; *text != '\0'; text++) {
        if (*text == '"' || *text == '\\')
            fprintf(out, "\\%c", *text);
        else if ((unsigned char)*text < ' ')
            fprintf(out, "\\u%04x", (unsigned)*text);
        else
            fputc(*text, out);
    }
    fputc('"', out);
}

/* The processor's name, "" if the kernel does not tell. */
static void read_processor(char name[PROCESSOR_ROOM])
{
    FILE *file = fopen("/proc/cpuinfo", "re");
    char line[PROCESSOR_ROOM];

    name[0] = '\0';
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        if (sscanf(line, "model name : %199[^\n]", name) == 1)
            break;
    }
    if (file != NULL)
        fclose(file);
}

/* Where and when this was measured, with what, and how it was called. */
static void write_circumstances(FILE *out, char *const *command)
{
    int version = zcrp_version();
    char processor[PROCESSOR_ROOM];
    struct utsname system;
    time_t now = time(NULL);
    struct tm utc;
    char date[32] = "";

    read_processor(processor);
    if (gmtime_r(&now, &utc) != NULL)
        strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", &utc);
    fprintf(out, "  \"version\": \"%d.%d.%d\",\n", version / 10000, version / 100 % 100,
            version % 100);
    fputs("  \"kernel\": ", out);
    write_string(out, uname(&system) == 0 ? system.release : "");
    fputs(",\n  \"processor\": ", out);
    write_string(out, processor);
    fprintf(out, ",\n  \"cores\": %ld,\n  \"date\": \"%s\",\n  \"command\": [",
            sysconf(_SC_NPROCESSORS_ONLN), date);
    for (size_t i = 0; command[i] != NULL; i++) {
        fputs(i > 0 ? ", " : "", out);
        write_string(out, command[i]);
    }
    fputs("],\n", out);
}

/* The results for programs: one JSON object with every measurement and the medians. Its fields are
 * described in docs/zcrp-bench.1. Errors stay in the stream. */
static void json_write(FILE *out, const struct results *results)
{
    size_t summaries = results->sizes * results->transports;
    const struct settings *settings = &results->options->settings;

    fputs("{\n", out);
    write_circumstances(out, results->options->command);
    fprintf(out, "  \"keys\": %s,\n", settings->has_keys ? "\"psk\"" : "null");
    fputs("  \"runs\": [\n", out);
    for (size_t i = 0; i < results_count(results); i++) {
        write_run(out, &results->runs[i]);
        fputs(i + 1 < results_count(results) ? ",\n" : "\n", out);
    }
    fputs("  ],\n  \"summary\": [\n", out);
    for (size_t i = 0; i < summaries; i++) {
        struct summary summary =
            results_summary(results, i / results->transports, i % results->transports);

        write_summary(out, &summary);
        fputs(i + 1 < summaries ? ",\n" : "\n", out);
    }
    fputs("  ]\n}\n", out);
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
