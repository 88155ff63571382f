#include "zcrp-bench/results/results.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/complain.h"
#include "zcrp-bench/command/options.h"

static int compare(const void *left, const void *right)
{
    const double *a = left;
    const double *b = right;

    return (*a > *b) - (*a < *b);
}

double statistics_median(double *values, size_t count)
{
    qsort(values, count, sizeof *values, compare);
    if (count % 2 == 1)
        return values[count / 2];
    return (values[count / 2 - 1] + values[count / 2]) / 2;
}

static double gigabytes(const struct run *run)
{
    return (double)run->bytes / 1e9;
}

static double share(uint64_t part, uint64_t whole)
{
    return whole > 0 ? (double)part / (double)whole : 0;
}

double run_gbit_per_s(const struct run *run)
{
    return 8 * gigabytes(run) / run->seconds;
}

double run_messages_per_s(const struct run *run)
{
    return (double)run->count / run->seconds;
}

double run_sender_cpu_s_per_gb(const struct run *run)
{
    return run->sender.cpu_s / gigabytes(run);
}

double run_receiver_cpu_s_per_gb(const struct run *run)
{
    return run->receiver.cpu_s / gigabytes(run);
}

double run_in_place(const struct run *run)
{
    const uint64_t *counts = run->receiver.counts.value;

    return share(counts[COUNT_units_in_place], counts[COUNT_units]);
}

double run_system_calls_per_gb(const struct run *run)
{
    return (double)(run->sender.counts.value[COUNT_system_calls] +
                    run->receiver.counts.value[COUNT_system_calls]) /
           gigabytes(run);
}

double run_acknowledgements_per_burst(const struct run *run)
{
    const uint64_t *counts = run->receiver.counts.value;

    return share(counts[COUNT_acknowledgements], counts[COUNT_bursts]);
}

static double cpu_s_per_gb(const struct run *run)
{
    return run_sender_cpu_s_per_gb(run) + run_receiver_cpu_s_per_gb(run);
}

static double repeated(const struct run *run)
{
    return (double)run->sender.counts.value[COUNT_units_repeated];
}

static double lost(const struct run *run)
{
    return (double)run->receiver.counts.value[COUNT_units_lost];
}

static double fairness(const struct run *run)
{
    return run->fairness;
}

#define ROUND_TRIP_FIGURE(field, key)                                                              \
    static double field(const struct run *run)                                                     \
    {                                                                                              \
        return run->trips.field;                                                                   \
    }
ROUND_TRIPS(ROUND_TRIP_FIGURE)
#undef ROUND_TRIP_FIGURE

#define PEERS_FIGURE(field)                                                                        \
    static double field(const struct run *run)                                                     \
    {                                                                                              \
        return run->peers.field;                                                                   \
    }
PEERS_FIGURES(PEERS_FIGURE)
#undef PEERS_FIGURE

/* What ratios are made of. */
static double cost(const struct run *run)
{
    return run->trips.count > 0 ? run->trips.median_us : run->seconds / gigabytes(run);
}

int results_init(struct results *results, size_t sizes, size_t repeats, size_t transports)
{
    *results = (struct results){.sizes = sizes, .repeats = repeats, .transports = transports};
    results->runs = calloc(results_count(results), sizeof *results->runs);
    results->values = calloc(repeats, sizeof *results->values);
    if (results->runs != NULL && results->values != NULL)
        return 0;
    results_fini(results);
    return complain("no memory for results: %s", strerror(ENOMEM));
}

void run_fini(struct run *run)
{
    free(run->histogram);
    run->histogram = NULL;
}

void results_fini(struct results *results)
{
    for (size_t i = 0; results->runs != NULL && i < results_count(results); i++)
        run_fini(&results->runs[i]);
    free(results->runs);
    free(results->values);
    *results = (struct results){0};
}

struct run *results_run(const struct results *results, size_t size, size_t repeat, size_t transport)
{
    return &results->runs[(size * results->repeats + repeat) * results->transports + transport];
}

size_t results_count(const struct results *results)
{
    return results->sizes * results->repeats * results->transports;
}

bool results_are_round_trips(const struct results *results)
{
    return results->runs[0].trips.count > 0;
}

/* The column of a transport; results->transports if it does not take part. */
static size_t find(const struct results *results, const char *start, size_t length)
{
    size_t i = 0;

    while (i < results->transports && strncmp(results->runs[i].transport, start, length) != 0)
        i++;
    return i;
}

/* The best TCP if that takes part, else the first one. */
static size_t find_tcp(const struct results *results)
{
    size_t best = find(results, "tcp", sizeof "tcp");

    return best < results->transports ? best : find(results, "tcp:", strlen("tcp:"));
}

/* The median of a figure over the repeats. */
static double median_of(const struct results *results, size_t size, size_t transport,
                        double (*figure)(const struct run *))
{
    for (size_t i = 0; i < results->repeats; i++)
        results->values[i] = figure(results_run(results, size, i, transport));
    return statistics_median(results->values, results->repeats);
}

static double median_ratio(const struct results *results, size_t size, size_t transport, size_t tcp)
{
    for (size_t i = 0; i < results->repeats; i++) {
        results->values[i] = cost(results_run(results, size, i, tcp)) /
                             cost(results_run(results, size, i, transport));
    }
    return statistics_median(results->values, results->repeats);
}

/* The least and the most of the repeats. median_of leaves the values sorted. */
static void set_spread(const struct results *results, size_t size, size_t transport,
                       struct summary *summary)
{
    bool are_trips = results_are_round_trips(results);

    (void)median_of(results, size, transport, are_trips ? median_us : run_gbit_per_s);
    summary->least = results->values[0];
    summary->most = results->values[results->repeats - 1];
}

struct summary results_summary(const struct results *results, size_t size, size_t transport)
{
    const struct run *first = results_run(results, size, 0, transport);
    size_t tcp = find_tcp(results);
    struct summary summary = {
        .transport = first->transport,
        .channel = first->channel,
        .size = first->size,
        .flows = first->flows,
        .has_counts = first->receiver.counts.is_known,
        .has_peers = results->options != NULL && results->options->peers > 0,
        .has_ratio = tcp < results->transports,
    };

    summary.gbit_per_s = median_of(results, size, transport, run_gbit_per_s);
    summary.messages_per_s = median_of(results, size, transport, run_messages_per_s);
    summary.sender_cpu_s_per_gb = median_of(results, size, transport, run_sender_cpu_s_per_gb);
    summary.receiver_cpu_s_per_gb = median_of(results, size, transport, run_receiver_cpu_s_per_gb);
    summary.cpu_s_per_gb = median_of(results, size, transport, cpu_s_per_gb);
    summary.in_place = median_of(results, size, transport, run_in_place);
    summary.repeated = median_of(results, size, transport, repeated);
    summary.lost = median_of(results, size, transport, lost);
    summary.fairness = median_of(results, size, transport, fairness);
    summary.peers = (struct peers_figures){
#define PEERS_MEDIAN(field) .field = median_of(results, size, transport, field),
        PEERS_FIGURES(PEERS_MEDIAN)
#undef PEERS_MEDIAN
    };
    summary.trips = (struct round_trips){.count = first->trips.count,
#define ROUND_TRIP_MEDIAN(field, key) .field = median_of(results, size, transport, field),
                                         ROUND_TRIPS(ROUND_TRIP_MEDIAN)
#undef ROUND_TRIP_MEDIAN
    };
    set_spread(results, size, transport, &summary);
    if (summary.has_ratio)
        summary.ratio_to_tcp = median_ratio(results, size, transport, tcp);
    return summary;
}
