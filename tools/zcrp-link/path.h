/* One direction of the link, in virtual time: what happens to packets, and when they come out.
 *
 *                       full?             lost? flipped? doubled? held back?
 *      path_enter --> [ queue, rate ] --> [ loss, corruption, copies, reorder ] --\
 *                                                                                 |
 *      path_take  <---------------------- [ delay, jitter ] <---------------------/
 *
 * So what is lost has taken its time of the rate, as on a wire. What happens to the n-th packet
 * that is not dropped by the queue depends on the seed alone, for each kind of mishap by itself. */
#ifndef LINK_PATH_H
#define LINK_PATH_H

#include <stdint.h>

#include "bottleneck.h"
#include "conditions.h"
#include "held.h"
#include "loss.h"
#include "packets.h"
#include "schedule.h"

struct path_counts {
    uint64_t entered, entered_bytes;
    uint64_t dropped; /* the queue was full */
    uint64_t lost, corrupted, duplicated;
    uint64_t reordered; /* held back */
    uint64_t left, left_bytes;
    duration queued, queued_most; /* in the queue and being sent, summed and at most */
    duration late, late_most;     /* taken after they were due, summed and at most */
};

struct path {
    struct conditions conditions;
    struct path_counts counts;
    struct packets *packets; /* the caller's */
    struct bottleneck bottleneck;
    struct loss loss;
    struct held held;
    struct schedule schedule;
    uint64_t random_corrupt, random_duplicate, random_reorder, random_jitter;
};

/* Packets come from `packets`, which outlives the path and has room for an MTU. 0, or -1 if there
 * is no memory. */
int path_init(struct path *path, const struct conditions *conditions, struct packets *packets,
              uint64_t seed);

/* Puts packets under way back. */
void path_fini(struct path *path);

/* A packet enters, and is the path's. `now` does not go back, here and below. */
void path_enter(struct path *path, instant now, struct packet *packet);

/* When the next packet comes out; NEVER if none is under way. */
instant path_next_at(const struct path *path);

/* A packet that has come out by now, for the caller to put back; NULL if there is none. */
struct packet *path_take(struct path *path, instant now);

#endif
