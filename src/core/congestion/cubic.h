/* The curve of CUBIC (RFC 9438) in integers: windows in bytes, times in ms.
 *
 *     window            .
 *     most ....... . ' .
 *              . '      |
 *            .          K    W(t) = C (t - K)^3 + most,  C = 0.4 units / s^3
 *           +------------------> t, since the epoch began
 *
 * Where reno would grow faster, cubic grows as reno does (4.3). */
#ifndef ZCRP_CORE_CONGESTION_CUBIC_H
#define ZCRP_CORE_CONGESTION_CUBIC_H

#include "core/instant.h"

#include <stdbool.h>
#include <stdint.h>

struct cubic {
    uint64_t most;     /* window before the last reduction, or less (4.7); bytes */
    uint64_t friendly; /* what reno would have by now; bytes */
    uint64_t prior;    /* window at the last reduction; bytes */
    instant epoch;     /* when growth began; NEVER: it has not */
    instant idle;      /* since when the sender is held back by its application; NEVER: it is not */
    duration k;        /* from the epoch until the curve reaches `most` */
};

/* Nothing was lost as yet. */
void cubic_init(struct cubic *cubic);

/* A reduction from this window: the window that it leads to (4.6, 4.7). */
uint64_t cubic_reduce(struct cubic *cubic, uint64_t window);

/* `bytes` were acknowledged in congestion avoidance: the new window, never smaller. */
uint64_t cubic_grow(struct cubic *cubic, instant now, uint64_t window, uint64_t unit,
                    uint64_t bytes, duration round_trip);

/* The curve begins anew where the window is then: it was drawn for units of another size. */
void cubic_begin_anew(struct cubic *cubic);

/* The application did not use the window: that time does not count (5.8). */
void cubic_rest(struct cubic *cubic, instant now);

#endif
