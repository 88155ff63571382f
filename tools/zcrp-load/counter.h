/* Processes that do nothing but count, each a number of its own in memory shared with whoever
 * started them. One count is one pass of a loop that reads a 64-bit number from the level-one
 * cache, adds one and writes it back: no system call, no other memory, nothing shared with another
 * counter.
 *
 * The one who started them reads the numbers while they run, which costs the counters one missed
 * cache line a reading. They end with it, however it ends. */
#ifndef LOAD_COUNTER_H
#define LOAD_COUNTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { COUNTERS_MAX = 1024, CORES_MAX = 256 };

struct counters {
    struct number *numbers; /* one for each process, in shared memory */
    size_t count;           /* of processes that run; no more than COUNTERS_MAX */
    int64_t start_ns;       /* of the monotonic clock: when the first of them was started */
    int pids[COUNTERS_MAX];
    uint64_t counts[COUNTERS_MAX]; /* as last read */
};

/* Starts `count` processes; with cores the n-th runs on core n modulo `core_count`, without (0)
 * wherever the system likes. 0, or -1 with a complaint; then none is left. */
int counters_start(struct counters *counters, size_t count, const int *cores, size_t core_count);

/* Reads what each has counted since they were started; returns the sum. Neither ever falls. */
uint64_t counters_read(struct counters *counters);

/* Nanoseconds since they were started. */
int64_t counters_age_ns(const struct counters *counters);

/* True if all of them still run. */
bool counters_are_alive(const struct counters *counters);

/* Ends them; their numbers stay until the process ends. */
void counters_stop(struct counters *counters);

#endif
