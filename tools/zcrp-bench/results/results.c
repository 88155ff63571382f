#include "zcrp-bench/results/results.h"

#include <errno.h>
#include <math.h>
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

/* ---- a histogram ---- */

enum { TOGETHER = HISTOGRAM_PART / 8 }; /* buckets that are shown as one */

static unsigned bucket_of(uint64_t ns)
{
    unsigned power = 0;

    while (ns >> power >= 2 * (uint64_t)HISTOGRAM_PART)
        power++;
    if (ns < HISTOGRAM_PART)
        return (unsigned)ns;
    if (power + 1 >= HISTOGRAM_POWERS)
        return HISTOGRAM_BUCKETS - 1;
    return (power + 1) * HISTOGRAM_PART + (unsigned)((ns >> power) - HISTOGRAM_PART);
}

/* The shortest duration in a bucket. */
static uint64_t start_of(unsigned bucket)
{
    unsigned power = bucket / HISTOGRAM_PART;
    uint64_t within = bucket % HISTOGRAM_PART;

    return power == 0 ? within : (within + HISTOGRAM_PART) << (power - 1);
}

static uint64_t middle_of(unsigned bucket)
{
    return (start_of(bucket) + start_of(bucket + 1)) / 2;
}

void histogram_add(struct histogram *histogram, uint64_t ns)
{
    if (histogram->count++ == 0 || ns < histogram->least)
        histogram->least = ns;
    histogram->bucket[bucket_of(ns)]++;
    if (ns > histogram->most)
        histogram->most = ns;
}

/* The middle of the bucket below or in which a share (0 .. 1) of all durations lies. There has to
 * be one. */
static uint64_t quantile(const struct histogram *histogram, double share)
{
    uint64_t before = (uint64_t)(share * (double)histogram->count);
    uint64_t seen = 0;
    unsigned bucket = 0;

    while (bucket < HISTOGRAM_BUCKETS - 1 && (seen += histogram->bucket[bucket]) <= before)
        bucket++;
    return middle_of(bucket);
}

bool histogram_next(const struct histogram *histogram, struct histogram_part *part)
{
    while (part->bucket < HISTOGRAM_BUCKETS) {
        part->from = start_of(part->bucket);
        part->count = 0;
        for (unsigned i = 0; i < TOGETHER; i++)
            part->count += histogram->bucket[part->bucket++];
        part->to = start_of(part->bucket);
        if (part->count > 0)
            return true;
    }
    return false;
}

/* ---- a run ---- */

static double gigabytes(const struct run *run)
{
    return (double)run->bytes / 1e9;
}

static double cpu_s_per_gb(const struct run *run, const struct record *end)
{
    return (double)end->watch.cpu_ns / 1e9 / gigabytes(run);
}

static double count(const struct record *end, enum count which)
{
    return end->counts.is_known ? (double)end->counts.value[which] : NAN;
}

static double share(const struct record *end, enum count part, enum count whole)
{
    return end->counts.is_known && end->counts.value[whole] == 0
               ? 0
               : count(end, part) / count(end, whole);
}

/* On the channel, of both ends. */
static double system_calls_per_gb(const struct run *run)
{
    return (count(&run->sender, COUNT_system_calls) + count(&run->receiver, COUNT_system_calls)) /
           gigabytes(run);
}

/* The time that a share of the round trips took at most. */
static double trip_us(const struct run *run, double share_of_trips)
{
    const struct histogram *trips = run->histogram;

    if (trips == NULL)
        return NAN;
    if (share_of_trips == 0)
        return (double)trips->least / 1e3;
    return (double)(share_of_trips < 1 ? quantile(trips, share_of_trips) : trips->most) / 1e3;
}

const struct column columns[FIGURES] = {
#define FIGURE_COLUMN(name, key, where, above, heading, form, value)                               \
    {key, where, {above, heading}, form},
    COLUMNS_OF(FIGURE_COLUMN)
#undef FIGURE_COLUMN
};

double run_figure(const struct run *run, enum figure which)
{
    switch (which) {
#define FIGURE_VALUE(name, key, where, above, heading, form, value)                                \
    case FIGURE_##name:                                                                            \
        return value;
        COLUMNS_OF(FIGURE_VALUE) /* NOLINT(bugprone-branch-clone): two are not a run's */
#undef FIGURE_VALUE
    case FIGURES:
        break;
    }
    return NAN;
}

/* What ratios are made of. */
static double cost(const struct run *run)
{
    return run->histogram != NULL ? trip_us(run, 0.5) : run->seconds / gigabytes(run);
}

/* ---- all runs ---- */

int results_init(struct results *results, const struct options *options)
{
    *results = (struct results){
        .sizes = options->size_count,
        .repeats = options->repeat,
        .transports = options->transport_count,
        .options = options,
    };
    results->runs = calloc(results_count(results), sizeof *results->runs);
    results->values = calloc(results->repeats, sizeof *results->values);
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
    return results->runs[0].histogram != NULL;
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

/* The median of a figure over the repeats; leaves these sorted. */
static double median_of(const struct results *results, size_t size, size_t transport,
                        enum figure which)
{
    for (size_t i = 0; i < results->repeats; i++)
        results->values[i] = run_figure(results_run(results, size, i, transport), which);
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

struct summary results_summary(const struct results *results, size_t size, size_t transport)
{
    size_t tcp = find_tcp(results);
    struct summary summary = {.first = results_run(results, size, 0, transport)};

    for (unsigned i = 0; i < FIGURES; i++)
        summary.figure[i] = median_of(results, size, transport, (enum figure)i);
    (void)median_of(results, size, transport,
                    results_are_round_trips(results) ? FIGURE_TRIP_MEDIAN : FIGURE_GBIT_PER_S);
    summary.figure[FIGURE_LEAST] = results->values[0];
    summary.figure[FIGURE_MOST] = results->values[results->repeats - 1];
    if (tcp < results->transports)
        summary.figure[FIGURE_RATIO] = median_ratio(results, size, transport, tcp);
    return summary;
}
