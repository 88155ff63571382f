#include "hystart.h"

enum {
    SAMPLES_LEAST = 4, /* RFC 9406, 4.2 has 8: of single packets, these are of a part of a window */
    SLOW_ROUNDS = 5,
    THRESHOLD_PART = 8, /* of the round trip, but */
};
static const duration THRESHOLD_LEAST = 4 * MILLISECOND;
static const duration THRESHOLD_MOST = 16 * MILLISECOND;

void hystart_init(struct hystart *h)
{
    *h = (struct hystart){.before = NEVER, .lowest = NEVER, .baseline = NEVER};
}

static duration threshold(duration round_trip)
{
    duration part = round_trip / THRESHOLD_PART;
    if (part < THRESHOLD_LEAST)
        return THRESHOLD_LEAST;
    return part < THRESHOLD_MOST ? part : THRESHOLD_MOST;
}

static void begin_round(struct hystart *h, uint64_t delivered)
{
    h->slow_rounds += h->is_slow;
    h->round_end = delivered;
    h->before = h->lowest;
    h->lowest = NEVER;
    h->samples = 0;
}

/* Slow, or fast again? */
static void set_pace(struct hystart *h)
{
    if (h->is_slow && h->lowest < h->baseline) {
        h->is_slow = false;
        h->baseline = NEVER;
    } else if (!h->is_slow && h->before != NEVER && h->lowest >= h->before + threshold(h->before)) {
        h->is_slow = true;
        h->baseline = h->lowest;
        h->slow_rounds = 0;
    }
}

enum hystart_verdict hystart_on_round_trip(struct hystart *h, duration round_trip, uint64_t prior,
                                           uint64_t delivered)
{
    if (prior >= h->round_end)
        begin_round(h, delivered);
    if (round_trip < h->lowest)
        h->lowest = round_trip;
    if (++h->samples >= SAMPLES_LEAST)
        set_pace(h);
    if (h->is_slow && h->slow_rounds >= SLOW_ROUNDS)
        return HYSTART_STOP;
    return h->is_slow ? HYSTART_SLOW : HYSTART_GROW;
}
