/* All measurements of a run, and what they come to. */
#ifndef BENCH_RESULTS_H
#define BENCH_RESULTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "zcrp-bench/job/record.h"
#include "zcrp-bench/transports/transport.h"

/* How often which duration occurred, to within 1.6 %, in constant memory: buckets of equal width
 * between one power of two and the next.
 *
 *      0 1 2 ... 63 | 64 65 ... 127 | 128 130 ... 254 | 256 260 ... 508 | ...
 *       64 of 1 ns  |   64 of 1 ns  |     64 of 2 ns  |    64 of 4 ns   */
enum {
    HISTOGRAM_PART = 64,
    HISTOGRAM_POWERS = 36,
    HISTOGRAM_BUCKETS = HISTOGRAM_PART * HISTOGRAM_POWERS
};

/* Of zeros at first. */
struct histogram {
    uint64_t count;
    uint64_t least; /* exact, as `most` */
    uint64_t most;
    uint64_t bucket[HISTOGRAM_BUCKETS];
};

/* Longer ones than fit, over half an hour, count as the longest that does. */
void histogram_add(struct histogram *histogram, uint64_t ns);

/* A part of the durations: eight make a power of two, which is enough to print. */
struct histogram_part {
    unsigned bucket; /* behind it; 0: none yet */
    uint64_t from, to, count;
};

/* Moves *part on, from one of zeros, to the next in which durations occurred, shortest first: those
 * from `from` on and below `to`. False if there are no more. */
bool histogram_next(const struct histogram *histogram, struct histogram_part *part);

/* One measurement. */
struct run {
    const char *transport;
    char channel[TRANSPORT_CHANNEL_ROOM];
    uint64_t size;
    uint64_t count;
    uint64_t bytes;
    uint64_t depth; /* messages under way at once, at most, of each flow */
    double seconds; /* at the receiving end: from before the first receive to after the last wait */
    struct record sender, receiver;
    enum verdict verdict;
    struct histogram *histogram; /* of round trips; NULL: no ping */
    uint64_t flows;              /* at once, that all this is the sum of */
    double fairness;             /* Jain's index of their rates, 1 / flows .. 1 */
};

/* Where a figure is shown. */
enum {
    IN_RUN = 1,     /* in the JSON: of each run, */
    IN_SUMMARY = 2, /* of each summary, */
    IN_TRIPS = 4,   /* among the round trips of either */
    RATES = 8,      /* in the table: of rates, */
    FLOWS = 16,     /* of several flows' rates, */
    PEERS_RATES = 32,
    TRIPS = 64, /* of round trips */
    ALL_RATES = RATES | FLOWS | PEERS_RATES,
    ALL = ALL_RATES | TRIPS,
};

/* How the table shows it. */
enum form { HIDDEN, BYTES, FIGURE, INDEX, SHARE, UNITS, SPREAD /* with the next one */, PAIR };

/* What runs come to: X(name, key in the JSON, where it is shown, two lines of heading, form, value
 * of a run by the functions of results.c; NAN: not known). LEAST, MOST and RATIO are summaries'.
 * The JSON, the table and --stats take all from here. */
#define COLUMNS_OF(X)                                                                              \
    X(SIZE, "size", IN_RUN | IN_SUMMARY | ALL, "", "size", BYTES, (double)run->size)               \
    X(COUNT, "count", IN_RUN, "", "", HIDDEN, (double)run->count)                                  \
    X(BYTES, "bytes", IN_RUN, "", "", HIDDEN, (double)run->bytes)                                  \
    X(DEPTH, "depth", IN_RUN, "", "", HIDDEN, (double)run->depth)                                  \
    X(SECONDS, "seconds", IN_RUN, "", "", HIDDEN, run->seconds)                                    \
    X(TRIP_LEAST, "min", IN_TRIPS | TRIPS, "round trip, us:", "least", FIGURE, trip_us(run, 0))    \
    X(TRIP_MEDIAN, "median", IN_TRIPS | TRIPS, "", "median", FIGURE, trip_us(run, 0.5))            \
    X(TRIP_P90, "p90", IN_TRIPS | TRIPS, "", "90 %", FIGURE, trip_us(run, 0.9))                    \
    X(TRIP_P99, "p99", IN_TRIPS | TRIPS, "", "99 %", FIGURE, trip_us(run, 0.99))                   \
    X(TRIP_P999, "p99_9", IN_TRIPS | TRIPS, "", "99.9 %", FIGURE, trip_us(run, 0.999))             \
    X(TRIP_MOST, "max", IN_TRIPS | TRIPS, "", "most", FIGURE, trip_us(run, 1))                     \
    X(GBIT_PER_S, "gbit_per_s", IN_RUN | IN_SUMMARY | ALL_RATES, "", "Gbit/s", FIGURE,             \
      8 * gigabytes(run) / run->seconds)                                                           \
    X(LEAST, "least", IN_SUMMARY | ALL, "repeats,", "least..most", SPREAD, NAN)                    \
    X(MOST, "most", IN_SUMMARY, "", "", HIDDEN, NAN)                                               \
    X(MESSAGES, "msg_per_s", IN_RUN | IN_SUMMARY | ALL_RATES, "", "messages/s", FIGURE,            \
      (double)run->count / run->seconds)                                                           \
    X(CPU, "cpu_s_per_gb", IN_SUMMARY, "", "", HIDDEN,                                             \
      cpu_s_per_gb(run, &run->sender) + cpu_s_per_gb(run, &run->receiver))                         \
    X(SENDER_CPU, "sender_cpu_s_per_gb", IN_SUMMARY | ALL_RATES, "CPU s/GB", "sender", FIGURE,     \
      cpu_s_per_gb(run, &run->sender))                                                             \
    X(RECEIVER_CPU, "receiver_cpu_s_per_gb", IN_SUMMARY | ALL_RATES, "CPU s/GB", "receiver",       \
      FIGURE, cpu_s_per_gb(run, &run->receiver))                                                   \
    X(UNITS, "units", IN_RUN, "", "", HIDDEN, count(&run->receiver, COUNT_units))                  \
    X(IN_PLACE, "in_place", IN_SUMMARY | RATES | FLOWS, "in", "place", SHARE,                      \
      share(&run->receiver, COUNT_units_in_place, COUNT_units))                                    \
    X(REPEATED, "repeated_units", IN_RUN | RATES | FLOWS, "units", "repeated", UNITS,              \
      count(&run->sender, COUNT_units_repeated))                                                   \
    X(LOST, "lost_units", IN_RUN, "", "", HIDDEN, count(&run->receiver, COUNT_units_lost))         \
    X(PLACED, "in_place_units", IN_RUN, "", "", HIDDEN,                                            \
      count(&run->receiver, COUNT_units_in_place))                                                 \
    X(MOVED, "moved_bytes", IN_RUN, "", "", HIDDEN, count(&run->receiver, COUNT_bytes_moved))      \
    X(SYSTEM_CALLS, "system_calls_per_gb", IN_RUN, "", "", HIDDEN, system_calls_per_gb(run))       \
    X(ACKNOWLEDGEMENTS, "acknowledgements_per_burst", IN_RUN, "", "", HIDDEN,                      \
      share(&run->receiver, COUNT_acknowledgements, COUNT_bursts))                                 \
    X(SENDER_THREADS, "sender_threads", IN_RUN | IN_SUMMARY | PEERS_RATES, "library's", "threads", \
      PAIR, (double)run->sender.threads)                                                           \
    X(RECEIVER_THREADS, "receiver_threads", IN_RUN | IN_SUMMARY, "", "", HIDDEN,                   \
      (double)run->receiver.threads)                                                               \
    X(SENDER_KIB, "sender_kib", IN_RUN | IN_SUMMARY | PEERS_RATES, "KiB", "a peer", PAIR,          \
      (double)run->sender.peer_bytes / 1024)                                                       \
    X(RECEIVER_KIB, "receiver_kib", IN_RUN | IN_SUMMARY, "", "", HIDDEN,                           \
      (double)run->receiver.peer_bytes / 1024)                                                     \
    X(RATIO, "ratio_to_tcp", IN_SUMMARY | ALL, "ratio", "to TCP", FIGURE, NAN)                     \
    X(FLOWS, "flows", IN_RUN, "", "", HIDDEN, (double)run->flows)                                  \
    X(FAIRNESS, "fairness", IN_RUN | IN_SUMMARY | FLOWS | PEERS_RATES, "Jain's", "index", INDEX,   \
      run->fairness)

enum figure {
#define FIGURE_INDEX(name, key, where, above, heading, form, value) FIGURE_##name,
    COLUMNS_OF(FIGURE_INDEX)
#undef FIGURE_INDEX
        FIGURES
};

extern const struct column {
    const char *key;
    unsigned where;
    const char *headings[2];
    enum form form;
} columns[FIGURES];

double run_figure(const struct run *run, enum figure which);

/* Measurements in the order they were made: for each size, `repeats` times each transport in turn.
 */
struct results {
    size_t sizes;
    size_t repeats;
    size_t transports;
    const struct options *options; /* what was measured, for the report */
    struct run *runs;
    double *values; /* room for one figure of each repeat */
};

/* What the repeats of one size and transport come to: medians; LEAST and MOST of the repeats,
 * Gbit/s or the median round trip in us; and RATIO, the median of the ratios of each measurement to
 * TCP's of the same turn: of speed; of round trips, of how many medians of ZCRP's fit into TCP's.
 */
struct summary {
    const struct run *first;
    double figure[FIGURES];
};

/* 0, or -1 with a complaint. */
int results_init(struct results *results, const struct options *options);

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
