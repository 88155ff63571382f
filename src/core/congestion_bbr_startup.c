/* How BBR comes to know what the path carries. On a long path trains tell it before a queue does:
 * each round begins with a few milliseconds at twice the rate that is known to come through.
 *
 *     they come back as densely as they left:  the path carries that, so the window opens faster
 *     less densely:                            the rate they come back at is the path's
 *
 * Either is known a round trip after, whatever fills the rest of the round; and no more than the
 * train's few milliseconds ever wait in a queue. */
#include "congestion_bbr_state.h"

enum {
    FULL_ROUNDS = 3,  /* that bring no more, and a queue: the path is full, */
    BLIND_ROUNDS = 8, /* or without one, which may be a late thread's doing */
    LOSS_UNITS = 8,   /* may be chance; of more */
    LOSS_PARTS = 50,  /* one part of the window in so many is too much, with a queue, */
    BLIND_PARTS = 5,  /* or without */
    SQUEEZED = 75,    /* percent of the rate that a train was sent at: it comes back slower */
};

static void end_startup(struct bbr *b, const struct congestion_ack *ack)
{
    b->is_full = true;
    b->proven = 0;
    bbr_enter(b, ack, BBR_DRAIN);
}

static bool has_stopped_growing(struct bbr *b, const struct congestion_ack *ack)
{
    if (!b->is_round_start || ack->sample.is_limited || ack->sample.rate == 0)
        return false;
    if (bbr_rate_high(b) >= b->full_rate + b->full_rate / 4) {
        b->full_rate = bbr_rate_high(b);
        b->full_rounds = 0;
        return false;
    }
    return ++b->full_rounds >= (bbr_has_queue(b) ? FULL_ROUNDS : BLIND_ROUNDS);
}

/* Within the round: of a window that is too large the loss is known long before its end. */
static bool is_lossy(const struct bbr *b)
{
    if (b->lost <= LOSS_UNITS * b->unit)
        return false;
    return b->lost > b->window / BLIND_PARTS ||
           (b->lost > b->window / LOSS_PARTS && bbr_has_queue(b));
}

/* True if two pieces in a row have told what the path carries. */
static bool is_squeezed(struct bbr *b, const struct congestion_ack *ack)
{
    struct bbr_density d;
    if (b->lowest == NEVER || b->lowest < BBR_LONG ||
        !bbr_train_on_acknowledged(&b->train, ack, b->unit, &d))
        return false;
    uint64_t carried = bbr_lesser(d.sent, d.back);
    if (d.back >= d.sent / 100 * SQUEEZED) {
        b->proven = bbr_greater(b->proven, carried);
        b->squeezed = BBR_UNKNOWN;
        return false;
    }
    bool is_second = b->squeezed != BBR_UNKNOWN;
    b->squeezed = bbr_lesser(b->squeezed, carried);
    return is_second;
}

/* The window may hold at once what is paced anyway. */
static void fill(struct bbr *b)
{
    b->rate_high[1] = bbr_greater(b->rate_high[1], b->squeezed);
    b->window = bbr_greater(b->window, bbr_product(b, bbr_rate(b), 100));
}

void bbr_startup_on_acknowledged(struct bbr *b, const struct congestion_ack *ack)
{
    if (b->is_round_start)
        b->round_at = ack->now;
    if (is_squeezed(b, ack)) {
        fill(b);
        end_startup(b, ack);
    } else if (has_stopped_growing(b, ack)) {
        end_startup(b, ack);
    } else if (is_lossy(b) || b->is_marked) {
        b->inflight_high = bbr_greater(
            bbr_greater(bbr_product(b, bbr_rate_high(b), 100), b->inflight_latest), bbr_least(b));
        end_startup(b, ack);
    }
}
