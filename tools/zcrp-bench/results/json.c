#include <inttypes.h>
#include <math.h>

#include "zcrp-bench/results/report.h"

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

static void end_of_run(FILE *out, const char *key, double cpu_s, double cpu_s_per_gb,
                       const struct allocations *allocations, const struct counts *counts)
{
    bool are_counted = allocations->calls != ALLOCATIONS_UNKNOWN;

    fprintf(out, ", \"%s\": {\"cpu_s\": %.9g", key, cpu_s);
    number(out, "cpu_s_per_gb", true, cpu_s_per_gb);
    count(out, "allocations", are_counted, allocations->calls);
    count(out, "peak_bytes", are_counted, allocations->peak_bytes);
    write_counts(out, counts);
    fputc('}', out);
}

static void write_trips(FILE *out, const struct round_trips *trips)
{
    if (trips->count == 0) {
        fputs(", \"round_trip_us\": null", out);
        return;
    }
    fprintf(out, ", \"round_trip_us\": {\"min\": %.9g, \"median\": %.9g, \"p99\": %.9g}",
            trips->least_us, trips->median_us, trips->p99_us);
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
    const struct counts *in = &run->receiver_counts;
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
    end_of_run(out, "sender", run->sender_cpu_s, run_sender_cpu_s_per_gb(run),
               &run->sender_allocations, &run->sender_counts);
    end_of_run(out, "receiver", run->receiver_cpu_s, run_receiver_cpu_s_per_gb(run),
               &run->receiver_allocations, in);
    count(out, "units", is_known, in->value[COUNT_units]);
    count(out, "repeated_units", is_known, run->sender_counts.value[COUNT_units_repeated]);
    count(out, "in_place_units", is_known, in->value[COUNT_units_in_place]);
    count(out, "moved_bytes", is_known, in->value[COUNT_bytes_moved]);
    count(out, "lost_units", is_known, in->value[COUNT_units_lost]);
    number(out, "system_calls_per_gb", is_known, run_system_calls_per_gb(run));
    number(out, "acknowledgements_per_burst", is_known, run_acknowledgements_per_burst(run));
    write_trips(out, &run->trips);
    fputc('}', out);
}

static void write_summary(FILE *out, const struct summary *summary)
{
    begin(out, summary->transport, summary->channel, summary->size);
    number(out, "gbit_per_s", true, summary->gbit_per_s);
    number(out, "msg_per_s", true, summary->messages_per_s);
    number(out, "cpu_s_per_gb", true, summary->cpu_s_per_gb);
    number(out, "sender_cpu_s_per_gb", true, summary->sender_cpu_s_per_gb);
    number(out, "receiver_cpu_s_per_gb", true, summary->receiver_cpu_s_per_gb);
    number(out, "in_place", summary->has_counts, summary->in_place);
    number(out, "ratio_to_tcp", summary->has_ratio, summary->ratio_to_tcp);
    write_trips(out, &summary->trips);
    fputc('}', out);
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
