/* A path of known rate and round trip, as BBR sees it. */
#ifndef ZCRP_TESTS_UNIT_CONGESTION_BBR_RIG_H
#define ZCRP_TESTS_UNIT_CONGESTION_BBR_RIG_H

#include "../../support/suite.h"
#include "core/congestion/congestion.h"

enum { UNIT = 1000, RATE = 1000000 }; /* a unit a millisecond */

#define TRIP (100 * MILLISECOND) /* so 100 units fill the path */

static struct bbr b;
static instant now;
static uint64_t delivered, lost;
static duration queueing; /* added to the round trip */

static inline void setup(void)
{
    bbr_init(&b, UNIT, 10 * UNIT, 1);
    now = 0;
    delivered = lost = 0;
    queueing = 0;
}

/* Bytes that the window and the pace let into transit. */
static inline uint64_t paced(void)
{
    uint64_t bytes = b.rate / 1000 * (uint64_t)((TRIP + queueing) / MILLISECOND);
    return bytes < b.window ? bytes : b.window;
}

/* A round trip in which the path carries at most `rate`, told by ten acknowledgements. */
static inline void run_round(uint64_t rate)
{
    uint64_t prior = delivered;
    uint64_t sent = paced();
    uint64_t most = rate / 1000 * (uint64_t)((TRIP + queueing) / MILLISECOND);
    uint64_t carried = sent < most ? sent : most;
    for (int i = 0; i < 10; i++) {
        now += (TRIP + queueing) / 10;
        delivered += carried / 10;
        struct congestion_ack ack = {
            .now = now,
            .bytes = carried / 10,
            .in_transit = sent,
            .delivered = delivered,
            .round_trip = TRIP + queueing,
            .smoothed = TRIP + queueing,
            .was_limited = true,
            .sample = {.rate = carried * 1000 / (uint64_t)((TRIP + queueing) / MILLISECOND),
                       .bytes = carried,
                       .lost = lost,
                       .prior = prior,
                       .in_transit = sent,
                       .is_valid = true},
        };
        bbr_on_acknowledged(&b, &ack);
        bbr_check(&b);
    }
    lost = 0;
}

/* `units` of what is in transit are lost. */
static inline void lose(uint32_t units)
{
    for (uint32_t i = 0; i < units; i++) {
        lost += UNIT;
        struct congestion_loss loss = {
            .now = now,
            .sent = now - TRIP,
            .bytes = UNIT,
            .sample = {.lost = lost, .prior = delivered, .in_transit = b.window, .is_valid = true}};
        bbr_on_lost(&b, &loss);
        bbr_check(&b);
    }
}

static inline void run_until(enum bbr_phase phase)
{
    for (int i = 0; i < 200 && b.phase != phase; i++)
        run_round(RATE);
    ck_assert_int_eq(b.phase, phase);
}

#endif
