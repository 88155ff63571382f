/* HyStart++ (RFC 9406): slow start ends when round trips grow, before the buffer overflows. A round
 * that is slower than the one before makes growth conservative; if it stays so for some rounds,
 * that was the end, and if round trips fall again it was noise. */
#ifndef ZCRP_CORE_CONGESTION_HYSTART_H
#define ZCRP_CORE_CONGESTION_HYSTART_H

#include "core/instant.h"

#include <stdbool.h>
#include <stdint.h>

enum hystart_verdict {
    HYSTART_GROW, /* as slow start does */
    HYSTART_SLOW, /* by HYSTART_DIVISOR less */
    HYSTART_STOP, /* slow start is over */
};

enum { HYSTART_DIVISOR = 4 };

struct hystart {
    uint64_t round_end; /* bytes delivered in all when the round ends */
    duration before;    /* lowest round trip of the round before; NEVER: none was measured */
    duration lowest;    /* and of this round */
    duration baseline;  /* of the round that was found slow */
    uint32_t samples;   /* in this round */
    uint32_t slow_rounds;
    bool is_slow;
};

void hystart_init(struct hystart *h);

/* A round trip was measured, with a unit that was sent when `prior` bytes had been delivered; now
 * it is `delivered` bytes. */
enum hystart_verdict hystart_on_round_trip(struct hystart *h, duration round_trip, uint64_t prior,
                                           uint64_t delivered);

#endif
