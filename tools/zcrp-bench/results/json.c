#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "zcrp-bench/results/report.h"
#include "zcrp-bench/transports/run_keys.h"
#include "zcrp.h"

enum { PROCESSOR_ROOM = 200 };

/* JSON knows no infinity. */
static void number(FILE *out, const char *key, bool is_known, double value)
{
    if (is_known && isfinite(value))
        fprintf(out, ", \"%s\": %.9g", key, value);
    else
        fprintf(out, ", \"%s\": null", key);
}

static void count(FILE *out, const char *key, bool is_known, uint64_t value)
{
    if (is_known)
        fprintf(out, ", \"%s\": %" PRIu64, key, value);
    else
        fprintf(out, ", \"%s\": null", key);
}

/* Names are the program's and the kernel's own words: nothing in them needs an escape. */
static void begin(FILE *out, const char *transport, const char *channel, uint64_t size)
{
    fprintf(out, "    {\"transport\": \"%s\", \"channel\": \"%s\"", transport, channel);
    count(out, "size", true, size);
}

static void write_counts(FILE *out, const struct counts *counts)
{
    if (!counts->is_known) {
        fputs(", \"stats\": null", out);
        return;
    }
    fputs(", \"stats\": {", out);
    for (unsigned i = 0; i < COUNTS; i++)
        fprintf(out, "%s\"%s\": %" PRIu64, i > 0 ? ", " : "", counts_name((enum count)i),
                counts->value[i]);
    fputc('}', out);
}

static void write_end(FILE *out, const char *key, const struct run_end *end, double cpu_s_per_gb)
{
    const struct allocations *allocations = &end->allocations;
    bool are_counted = allocations->calls != ALLOCATIONS_UNKNOWN;

    fprintf(out, ", \"%s\": {\"cpu_s\": %.9g", key, end->cpu_s);
    number(out, "cpu_s_per_gb", true, cpu_s_per_gb);
    count(out, "allocations", are_counted, allocations->calls);
    count(out, "peak_bytes", are_counted, allocations->peak_bytes);
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

static void write_trips(FILE *out, const struct round_trips *trips,
                        const struct histogram *histogram)
{
    if (trips->count == 0) {
        fputs(", \"round_trip_us\": null", out);
        return;
    }
    fprintf(out, ", \"round_trip_us\": {\"count\": %" PRIu64, trips->count);
#define WRITE_TRIP(field, key) number(out, key, true, trips->field);
    ROUND_TRIPS(WRITE_TRIP)
#undef WRITE_TRIP
    if (histogram != NULL)
        write_histogram(out, histogram);
    fputc('}', out);
}

/* Only of --peers: there a process has a thread or more. */
static void write_peers(FILE *out, const struct peers_figures *figures)
{
    if (figures->sender_kib == 0 && figures->receiver_kib == 0)
        return;
#define WRITE_PEERS(field) number(out, #field, true, figures->field);
    PEERS_FIGURES(WRITE_PEERS)
#undef WRITE_PEERS
}

static const char *verdict_text(enum verdict verdict)
{
    switch (verdict) {
    case VERDICT_SAME:
        return "true";
    case VERDICT_DIFFERENT:
        return "false";
    case VERDICT_NONE:
    case VERDICTS:
        break;
    }
    return "null";
}

static void write_run(FILE *out, const struct run *run)
{
    const struct counts *in = &run->receiver.counts;
    bool is_known = in->is_known;

    begin(out, run->transport, run->channel, run->size);
    count(out, "count", true, run->count);
    count(out, "bytes", true, run->bytes);
    count(out, "depth", true, run->depth);
    number(out, "seconds", true, run->seconds);
    number(out, "gbit_per_s", true, run_gbit_per_s(run));
    number(out, "msg_per_s", true, run_messages_per_s(run));
    fprintf(out, ", \"verified\": %s", verdict_text(run->verdict));
    count(out, "flows", true, run->flows);
    number(out, "fairness", true, run->fairness);
    write_end(out, "sender", &run->sender, run_sender_cpu_s_per_gb(run));
    write_end(out, "receiver", &run->receiver, run_receiver_cpu_s_per_gb(run));
    count(out, "units", is_known, in->value[COUNT_units]);
    count(out, "repeated_units", is_known, run->sender.counts.value[COUNT_units_repeated]);
    count(out, "in_place_units", is_known, in->value[COUNT_units_in_place]);
    count(out, "moved_bytes", is_known, in->value[COUNT_bytes_moved]);
    count(out, "lost_units", is_known, in->value[COUNT_units_lost]);
    number(out, "system_calls_per_gb", is_known, run_system_calls_per_gb(run));
    number(out, "acknowledgements_per_burst", is_known, run_acknowledgements_per_burst(run));
    write_trips(out, &run->trips, run->histogram);
    write_peers(out, &run->peers);
    fputc('}', out);
}

static void write_summary(FILE *out, const struct summary *summary)
{
    begin(out, summary->transport, summary->channel, summary->size);
    number(out, "gbit_per_s", true, summary->gbit_per_s);
    number(out, "least", true, summary->least);
    number(out, "most", true, summary->most);
    number(out, "msg_per_s", true, summary->messages_per_s);
    number(out, "cpu_s_per_gb", true, summary->cpu_s_per_gb);
    number(out, "sender_cpu_s_per_gb", true, summary->sender_cpu_s_per_gb);
    number(out, "receiver_cpu_s_per_gb", true, summary->receiver_cpu_s_per_gb);
    number(out, "in_place", summary->has_counts, summary->in_place);
    number(out, "ratio_to_tcp", summary->has_ratio, summary->ratio_to_tcp);
    number(out, "fairness", true, summary->fairness);
    write_trips(out, &summary->trips, NULL);
    write_peers(out, &summary->peers);
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

static void write_keys(FILE *out, const struct settings *settings)
{
    if (settings->keys != RUN_KEYS_NONE)
        fprintf(out, "  \"keys\": \"%s\",\n", run_keys_names[settings->keys]);
    else
        fputs("  \"keys\": null,\n", out);
}

static void write_seed(FILE *out, uint64_t seed)
{
    if (seed != 0)
        fprintf(out, "  \"seed\": %" PRIu64 ",\n", seed);
    else
        fputs("  \"seed\": null,\n", out);
}

void json_write(FILE *out, const struct results *results)
{
    size_t summaries = results->sizes * results->transports;

    fputs("{\n", out);
    write_circumstances(out, results->options->command);
    write_keys(out, &results->options->settings);
    write_seed(out, results->seed);
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
