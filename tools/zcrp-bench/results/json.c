#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "zcrp-bench/results/report.h"
#include "zcrp.h"

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

void json_write(FILE *out, const struct results *results)
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
