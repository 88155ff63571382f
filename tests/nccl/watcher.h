/* Plays the GPU of a rank, with a thread. With the protocols LL and LL128 NCCL's kernels do not
 * wait until a receive has ended: they look at its memory, and take a line as soon as it has the
 * step's flag. All lines of one step have the same one. This looks at them in any order, as a GPU's
 * threads do, and each line that has its flag must have its data. What is wrong ends the program.
 */
#ifndef ZCRP_TESTS_NCCL_WATCHER_H
#define ZCRP_TESTS_NCCL_WATCHER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

/* As NCCL's: datum and flag, twice. */
struct watcher_line {
    _Atomic uint64_t half[2];
};

struct watcher {
    struct watcher_line *memory; /* 0 at first; step n lands in part n % at_once of it */
    size_t lines;                /* of a step */
    int steps, at_once;
    _Atomic int taken; /* steps of which every line was there */
    uint8_t *is_taken; /* by line of the step */
    pthread_t thread;
};

/* The lines that the sender of a step sends. */
void watcher_fill(struct watcher_line *memory, size_t lines, int step);

/* The thread looks at steps 0 to `steps` - 1. */
void watcher_start(struct watcher *w);

/* Until it has taken the step, whose receive has ended. */
void watcher_await(struct watcher *w, int step);

void watcher_finish(struct watcher *w);

#endif
