/* All measurements of a run, and what they come to. */
#ifndef BENCH_RESULTS_H
#define BENCH_RESULTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "zcrp-bench/job/record.h"
#include "zcrp-bench/transports/transport.h"

/* Of ping: percentiles, by the share of the round trips that took no longer. X(field, key in JSON)
 */
#define ROUND_TRIPS(X)                                                                             \
    X(least_us, "min")                                                                             \
    X(median_us, "median")                                                                         \
    X(p90_us, "p90")                                                                               \
    X(p99_us, "p99")                                                                               \
    X(p999_us, "p99_9")                                                                            \
    X(most_us, "max")

struct round_trips {
    uint64_t count; /* 0: no ping */
#define ROUND_TRIP_FIELD(field, key) double field;
    ROUND_TRIPS(ROUND_TRIP_FIELD)
#undef ROUND_TRIP_FIELD
};

/* What --peers finds out about the two processes beside the rest; all 0 without it. */
#define PEERS_FIGURES(X)                                                                           \
    X(sender_threads)                                                                              \
    X(receiver_threads)                                                                            \
    X(sender_kib)                                                                                  \
    X(receiver_kib)

struct peers_figures {
#define PEERS_FIGURE_FIELD(field) double field;
    PEERS_FIGURES(PEERS_FIGURE_FIELD) /* threads beside the program's; KiB resident for each peer */
#undef PEERS_FIGURE_FIELD
};

/* What one end did. */
struct run_end {
    double cpu_s;
    struct counts counts;
    struct allocations allocations;
};

/* One measurement. */
struct run {
    const char *transport;
    char channel[TRANSPORT_CHANNEL_ROOM];
    uint64_t size;
    uint64_t count;
    uint64_t bytes;
    uint64_t depth; /* messages under way at once, at most, of each flow */
    double seconds; /* at the receiving end: from before the first receive to after the last wait */
    struct run_end sender, receiver;
    enum verdict verdict;
    struct round_trips trips;
    struct histogram *histogram; /* of the trips; NULL: no ping */
    uint64_t flows;              /* at once, that all this is the sum of */
    double fairness;             /* Jain's index of their rates, 1 / flows .. 1 */
    struct peers_figures peers;
};

double run_gbit_per_s(const struct run *run);
double run_messages_per_s(const struct run *run);
double run_sender_cpu_s_per_gb(const struct run *run);
double run_receiver_cpu_s_per_gb(const struct run *run);

/* Share of the units that landed where they belong, 0 .. 1. */
double run_in_place(const struct run *run);

/* System calls on the channel for each GB, of both ends. */
double run_system_calls_per_gb(const struct run *run);

/* Acknowledgements for each burst that arrived. */
double run_acknowledgements_per_burst(const struct run *run);

/* Measurements in the order they were made: for each size, `repeats` times each transport in turn.
 */
struct results {
    size_t sizes;
    size_t repeats;
    size_t transports;
    uint64_t seed;                 /* of what was lost on purpose; 0: none was given */
    const struct options *options; /* what was measured, for the report */
    struct run *runs;
    double *values; /* room for one figure of each repeat */
};

/* Medians over the repeats of one size and transport. */
struct summary {
    const char *transport;
    const char *channel;
    uint64_t size;
    double gbit_per_s;
    double least, most; /* of the repeats: Gbit/s, or the median round trip in us */
    double messages_per_s;
    double sender_cpu_s_per_gb;
    double receiver_cpu_s_per_gb;
    double cpu_s_per_gb; /* both ends */
    double in_place;     /* share of the units */
    double repeated;     /* units */
    double lost;         /* units, for good: only udp-limit loses any */
    uint64_t flows;
    double fairness;
    struct peers_figures peers; /* medians */
    bool has_counts;            /* in_place, repeated and lost are known */
    bool has_peers;
    bool has_ratio;
    double ratio_to_tcp; /* median of the ratios of each measurement to TCP's of the same turn: of
                            speed; of ping, of how many medians of ZCRP's fit into TCP's */
    struct round_trips trips; /* medians */
};

/* 0, or -1 with a complaint. */
int results_init(struct results *results, size_t sizes, size_t repeats, size_t transports);

void results_fini(struct results *results);

/* Gives back what a run points to. Fine for a run of zeros. */
void run_fini(struct run *run);

struct run *results_run(const struct results *results, size_t size, size_t repeat,
                        size_t transport);

/* Whether round trips were measured. */
bool results_are_round_trips(const struct results *results);

size_t results_count(const struct results *results);

struct summary results_summary(const struct results *results, size_t size, size_t transport);

/* The median of `count` > 0 values; of an even number the mean of the middle two. Sorts them. */
double statistics_median(double *values, size_t count);

#endif
