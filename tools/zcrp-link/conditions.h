/* What one direction of the link does to packets. All of it may be combined. */
#ifndef LINK_CONDITIONS_H
#define LINK_CONDITIONS_H

#include <stdint.h>

#include "core/instant.h"

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

#endif
