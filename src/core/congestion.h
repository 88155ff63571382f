/* Congestion control, behind an interface: facts go in, a window comes out. `none` is for a link
 * that is nobody else's; `reno` is slow start, then one unit a round trip, halved on loss
 * (RFC 5681, RFC 9002, 7), enough to be harmless, and the first of its kind here. */
#ifndef ZCRP_CORE_CONGESTION_H
#define ZCRP_CORE_CONGESTION_H

#include "instant.h"

#include <stdbool.h>
#include <stdint.h>

enum congestion_kind { CONGESTION_RENO, CONGESTION_NONE };

struct congestion {
    enum congestion_kind kind;
    uint64_t window;    /* bytes that may be in transit */
    uint64_t threshold; /* slow start below */
    uint64_t least;     /* window never falls below: two units */
    uint64_t most;      /* nor rises above; never below `least` */
    uint64_t unit;      /* bytes of a full unit with its trailer */
    uint64_t credit;    /* bytes acknowledged towards the next unit of growth */
    instant recovery;   /* units sent before tell only of the window before the last reduction */
};

/* `unit` bytes a full unit, `most` bytes the largest window (raised to least if smaller). */
void congestion_init(struct congestion *c, enum congestion_kind kind, uint64_t unit, uint64_t most);

/* `units` units of `bytes` each that were sent at `sent` are acknowledged. `was_limited`: the
 * window, not the application, held the sender back; otherwise it does not grow (RFC 9002, 7.8).
 * Nor does it for what was sent before the last reduction (RFC 9002, 7.3.2). */
void congestion_on_acknowledged(struct congestion *c, uint32_t units, uint64_t bytes, instant sent,
                                bool was_limited);

/* A unit sent at `sent` is lost. One reduction a round trip (RFC 9002, 7.3.2): what was sent before
 * the last one is ignored. */
void congestion_on_lost(struct congestion *c, instant now, instant sent);

/* Two probe timeouts in a row without an answer: down to `least` (RFC 9002, 7.6). May be said
 * again as the silence goes on; the threshold is halved only the first time. */
void congestion_on_persistent(struct congestion *c, instant now);

/* The largest window is now `most` bytes; the current one is cut if it has to be. */
void congestion_limit(struct congestion *c, uint64_t most);

/* CHECKs least <= window <= most, and window == most for `none`. */
void congestion_check(const struct congestion *c);

#endif
