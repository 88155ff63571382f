#include "csv.h"

#include <inttypes.h>

static const char heading[] =
    "transport,channel,size,count,bytes,seconds,gbit_per_s,msg_per_s,verified,sender_cpu_s,"
    "sender_cpu_s_per_gb,receiver_cpu_s,receiver_cpu_s_per_gb,units,repeated_units,"
    "in_place_units,moved_bytes,lost_units,system_calls_per_gb,sender_allocations,"
    "receiver_allocations,round_trip_min_us,round_trip_median_us,round_trip_p99_us,flows,"
    "fairness\n";

static const char *const verdicts[] = {
    [VERDICT_NONE] = "",
    [VERDICT_SAME] = "true",
    [VERDICT_DIFFERENT] = "false",
};

static void write_counts(FILE *out, const struct run *run)
{
    const uint64_t *in = run->receiver_counts.value;

    if (!run->receiver_counts.is_known) {
        fputs(",,,,,,", out);
        return;
    }
    fprintf(out, ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%.9g",
            in[COUNT_units], run->sender_counts.value[COUNT_units_repeated],
            in[COUNT_units_in_place], in[COUNT_bytes_moved], in[COUNT_units_lost],
            run_system_calls_per_gb(run));
}

static void write_run(FILE *out, const struct run *run)
{
    fprintf(out, "%s,%s,%" PRIu64 ",%" PRIu64 ",%" PRIu64, run->transport, run->channel, run->size,
            run->count, run->bytes);
    fprintf(out, ",%.9g,%.9g,%.9g,%s", run->seconds, run_gbit_per_s(run), run_messages_per_s(run),
            verdicts[run->verdict]);
    fprintf(out, ",%.9g,%.9g,%.9g,%.9g", run->sender_cpu_s, run_sender_cpu_s_per_gb(run),
            run->receiver_cpu_s, run_receiver_cpu_s_per_gb(run));
    write_counts(out, run);
    fprintf(out, ",%" PRIu64 ",%" PRIu64, run->sender_allocations.calls,
            run->receiver_allocations.calls);
    if (run->trips.count > 0)
        fprintf(out, ",%.9g,%.9g,%.9g", run->trips.least_us, run->trips.median_us,
                run->trips.p99_us);
    else
        fputs(",,,", out);
    fprintf(out, ",%" PRIu64 ",%.9g\n", run->flows, run->fairness);
}

void csv_write(FILE *out, const struct results *results)
{
    fputs(heading, out);
    for (size_t i = 0; i < results_count(results); i++)
        write_run(out, &results->runs[i]);
}
