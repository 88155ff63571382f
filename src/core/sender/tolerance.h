/* How far a unit may be overtaken before it counts as lost: a number of transmissions, or a length
 * of time (RFC 9002, 6.1). A unit that was given up and arrives after all widens the tolerance to
 * what would have been enough. When the path keeps order again a wide tolerance only delays losses:
 * so it returns to its first value after TOLERANCE_RECOVERIES recoveries in a row without a sign of
 * reordering (RFC 8985, 6.2, step 4).
 *
 *     few --- given up too early ---> as wide as it was late
 *         <-- TOLERANCE_RECOVERIES, none of them spurious ---
 *
 * A recovery begins with the loss of a unit that was sent since the last one began: at most one a
 * round trip.
 *
 * I1  units >= TOLERANCE_UNITS, time >= 0.
 * I2  recoveries < TOLERANCE_RECOVERIES. */
#ifndef ZCRP_CORE_TOLERANCE_H
#define ZCRP_CORE_TOLERANCE_H

#include "core/instant.h"

#include <stdint.h>

enum {
    TOLERANCE_UNITS = 3, /* to begin with: RFC 9002, 6.1.1 */
    TOLERANCE_RECOVERIES = 16,
};

struct tolerance {
    uint64_t units;      /* by how much a later transmission may overtake, */
    duration time;       /* and for how long, beside the round trip */
    instant recovery;    /* when the last one began */
    uint32_t recoveries; /* since the last sign of another order */
};

void tolerance_init(struct tolerance *t);

/* A unit that was sent then is given up now. */
void tolerance_on_lost(struct tolerance *t, instant now, instant sent);

/* A transmission that was given up had only been overtaken: by this many, for this time. */
void tolerance_on_spurious(struct tolerance *t, uint64_t units, duration time);

/* A transmission that was not given up arrived, overtaken by this many. */
void tolerance_on_overtaken(struct tolerance *t, uint64_t units);

/* CHECKs I1 and I2. */
void tolerance_check(const struct tolerance *t);

#endif
