/* What an end has to show for a job over a transport: time and work, what the channel has counted,
 * and what was taken from the heap. The listening end tells it over the control connection when the
 * job is over. */
#ifndef BENCH_RECORD_H
#define BENCH_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/clock.h"
#include "zcrp-bench/job/job.h"
#include "zcrp.h"

/* A stop watch for time and for this process's work: user and system time of all its threads. */
struct watch {
    int64_t wall_ns; /* monotonic clock */
    int64_t cpu_ns;
};

/* The present readings. */
struct watch watch_read(void);

/* Sleeps until the monotonic clock says ns; not at all if it does already. */
void watch_sleep_until(int64_t ns);

/* What passed since `start`. */
struct watch watch_since(struct watch start);

/* What a channel counts at one end: the library's statistics under their own names, COUNT_units and
 * so on. ZCRP knows all of them, udp-limit a few, TCP none. */
enum count {
#define COUNT_INDEX(name, text) COUNT_##name,
    ZCRP_STATS(COUNT_INDEX)
#undef COUNT_INDEX
        COUNTS
};

struct counts {
    uint64_t is_known; /* 0 or 1 */
    uint64_t value[COUNTS];
};

/* Jain's index: 1 if all values are alike, 1 / count if one has everything; 0 of nothing. */
double fairness_index(const double *values, size_t count);

/* The library's statistics as counts. */
struct counts counts_of_stats(const struct zcrp_stats *stats);

/* What was counted since `before`; of what is not a count but a state (window, size of units,
 * round-trip times, why memory is refused) the present. */
struct counts counts_since(const struct counts *now, const struct counts *before);

/* Adds another flow's. What the path is like, its round-trip times and the size of units on it,
 * stays what `sum` has. */
void counts_add(struct counts *sum, const struct counts *counts);

/* Each count's name, and what it means. */
extern const char *const counts_names[COUNTS], *const counts_texts[COUNTS];

/* What this process takes from the heap, if somebody counts: a preloaded library that has the two
 * functions zcrp_allocations_... (tests/guard/allocations.c). */
#define ALLOCATIONS_UNKNOWN UINT64_MAX

struct allocations {
    uint64_t calls; /* since record_begin, of all threads; ALLOCATIONS_UNKNOWN: nobody counts */
    uint64_t peak_bytes; /* most in use at once since then; what was in use before is included */
};

struct transport;

/* Every field has eight bytes: the listening end tells a record as it is. */
struct record {
    struct watch watch; /* between begin: the start; after end: what passed */
    struct counts counts;
    struct allocations allocations;

    double fairness; /* Jain's index of what came by each flow or connection; 0: nothing came */

    /* With --peers, else 0. */
    uint64_t threads;    /* of the process, beside the program's one */
    uint64_t peer_bytes; /* resident memory for each connection, without the messages' */

    /* What verification came to: enum verdict, and the first difference. */
    uint64_t verdict, message, offset;
};

void record_begin(struct record *record, struct transport *transport);
void record_end(struct record *record, struct transport *transport, const struct job *job);

/* The process is about to open its connections: from now on memory is theirs. */
void record_mark(void);

/* Connecting end: hears the one that the listening end says. 0, or -1 with a complaint. */
int record_hear(struct control *control, struct record *record);

#endif
