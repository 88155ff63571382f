/* What one direction of the link does to packets. All of it may be combined. */
#ifndef LINK_PATH_H
#define LINK_PATH_H

#include <stdbool.h>
#include <stdint.h>

#include "core/adt/random.h"
#include "core/instant.h"
#include "packets.h"

enum queue_unit { QUEUE_TIME, QUEUE_BYTES, QUEUE_PACKETS };

struct conditions {
    uint64_t rate;              /* bits a second, of whole IP packets; 0: no limit */
    enum queue_unit queue_unit; /* how much may wait for the rate: */
    double queue;               /* ns, bytes, or packets of a full MTU */
    duration delay;             /* of every packet */
    duration jitter;            /* added to it, uniformly in [0, jitter]; order is not kept */
    double loss;                /* share of the packets, 0 to 1 */
    double burst;               /* mean length of a row of losses; 0: each on its own */
    double reorder;             /* share that is held back */
    uint64_t reorder_by;        /* until so many have come after it, 1 to HELD_MOST */
    double duplicate;           /* share that comes twice */
    double corrupt;             /* share in which a bit is flipped */
};

/* A transmitter with a rate and a queue before it, in virtual time: who enters is told at once when
 * he will have left. So a caller that comes late loses nothing: what it brings in a row leaves at
 * the rate, and what is due is due.
 *
 *      enter -> [ waits, at most so long | is being sent ] -> leaves
 */

struct bottleneck {
    uint64_t rate;   /* bits a second; 0: everything leaves at once */
    duration limit;  /* from entering to having left, at most */
    instant free_at; /* all that has entered has left */
    uint64_t carry;  /* what free_at leaves out, in 1 / rate ns */
};

void bottleneck_init(struct bottleneck *b, uint64_t rate, duration limit);

/* A packet of `bytes` < 2^17 comes. False if the queue has no room for it; a packet that finds the
 * transmitter idle always has. Else *leaves is when its last bit is out; never before that of
 * the packet before it. `now` does not go back. */
bool bottleneck_enter(struct bottleneck *b, instant now, uint32_t bytes, instant *leaves);

/* Chance, from a seeded stream. */

/* A number in [0, 1). */
static inline double dice_number(uint64_t *random)
{
    return (double)(random_next(random) >> 11) * 0x1p-53;
}

/* True in a share of the cases. One number is drawn whatever the share. */
static inline bool dice(uint64_t *random, double share)
{
    return dice_number(random) < share;
}

/* Which packets are lost: each on its own, or in rows.
 *
 *              enter                     The model of Gilbert (1960): every packet of a burst is
 *      ( good ) ---> ( burst )           lost, no other. A row of losses is 1 / leave packets long
 *           <-------                     on average, and enter / (enter + leave) of all are lost.
 *              leave
 */
struct loss {
    double enter; /* chance that a packet after one that passed is lost */
    double leave; /* chance that a packet after one that was lost passes */
    bool is_in_burst;
    uint64_t random;
};

/* Loses `share` of the packets, in rows of `burst` on average; with 0 each on its own. The pair has
 * to be possible. */
void loss_init(struct loss *loss, double share, double burst, uint64_t seed);

/* Is there such a pair? Rows of one cannot lose more than every second packet. */
bool loss_is_possible(double share, double burst);

/* Is the next packet lost? */
bool loss_next(struct loss *loss);

/* One direction of the link, in virtual time: what happens to packets, and when they come out.
 *
 *                       full?             lost? flipped? doubled? held back?
 *      path_enter --> [ queue, rate ] --> [ loss, corruption, copies, reorder ] --\
 *                                                                                 |
 *      path_take  <---------------------- [ delay, jitter ] <---------------------/
 *
 * So what is lost has taken its time of the rate, as on a wire. What happens to the n-th packet
 * that is not dropped by the queue depends on the seed alone, for each kind of mishap by itself. */

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
