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

/* What a run comes to: X(name, key in JSON, its value by the functions of results.c). JSON, the
 * table and --stats take their figures from here. */
#define RUN_FIGURES(X)                                                                             \
    X(SECONDS, "seconds", run->seconds)                                                            \
    X(GBIT_PER_S, "gbit_per_s", 8 * gigabytes(run) / run->seconds)                                 \
    X(MESSAGES, "msg_per_s", (double)run->count / run->seconds)                                    \
    X(CPU, "cpu_s_per_gb", cpu_s_per_gb(run, &run->sender) + cpu_s_per_gb(run, &run->receiver))    \
    X(SENDER_CPU, "sender_cpu_s_per_gb", cpu_s_per_gb(run, &run->sender))                          \
    X(RECEIVER_CPU, "receiver_cpu_s_per_gb", cpu_s_per_gb(run, &run->receiver))                    \
    X(IN_PLACE, "in_place", share(&run->receiver, COUNT_units_in_place, COUNT_units))              \
    X(REPEATED, "repeated_units", (double)run->sender.counts.value[COUNT_units_repeated])          \
    X(LOST, "lost_units", (double)run->receiver.counts.value[COUNT_units_lost])                    \
    X(SYSTEM_CALLS, "system_calls_per_gb", system_calls(run) / gigabytes(run))                     \
    X(ACKNOWLEDGEMENTS, "acknowledgements_per_burst",                                              \
      share(&run->receiver, COUNT_acknowledgements, COUNT_bursts))                                 \
    X(FAIRNESS, "fairness", run->fairness)                                                         \
    X(TRIP_LEAST, "min", trip_us(run, 0))                                                          \
    X(TRIP_MEDIAN, "median", trip_us(run, 0.5))                                                    \
    X(TRIP_P90, "p90", trip_us(run, 0.9))                                                          \
    X(TRIP_P99, "p99", trip_us(run, 0.99))                                                         \
    X(TRIP_P999, "p99_9", trip_us(run, 0.999))                                                     \
    X(TRIP_MOST, "max", trip_us(run, 1))                                                           \
    X(SENDER_THREADS, "sender_threads", (double)run->sender.threads)                               \
    X(RECEIVER_THREADS, "receiver_threads", (double)run->receiver.threads)                         \
    X(SENDER_KIB, "sender_kib", (double)run->sender.peer_bytes / 1024)                             \
    X(RECEIVER_KIB, "receiver_kib", (double)run->receiver.peer_bytes / 1024)

enum figure {
#define FIGURE_INDEX(name, key, value) FIGURE_##name,
    RUN_FIGURES(FIGURE_INDEX)
#undef FIGURE_INDEX
        FIGURES
};

double run_figure(const struct run *run, enum figure which);

const char *figure_key(enum figure which);

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

/* What the repeats of one size and transport come to. */
struct summary {
    const struct run *first;
    double figure[FIGURES]; /* medians */
    double least, most;     /* of the repeats: Gbit/s, or the median round trip in us */
    bool has_ratio;
    double ratio_to_tcp; /* median of the ratios of each measurement to TCP's of the same turn: of
                            speed; of ping, of how many medians of ZCRP's fit into TCP's */
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
