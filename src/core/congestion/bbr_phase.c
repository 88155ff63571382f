/* What BBR does to find out about the path. */
#include "bbr_state.h"
#include "core/adt/random.h"

enum {
    RENO_ROUNDS_MOST = 63, /* a probe for more is no rarer than reno's growth by as much */
    UP_ROUNDS_MOST = 30,
    WAIT_TRIPS = 4,   /* or more, between two */
    UP_LEAST = 4,     /* round trips of a probe for more, */
    UP_MOST = 8,      /* and where the path does not fill */
    UP_PERCENT = 125, /* in transit: the probe for more has filled the path */
    BETA_PARTS = 10,
    BETA = 7,
};

static const duration WAIT_LEAST = 600 * MILLISECOND;
static const duration WAIT_SPREAD = 300 * MILLISECOND;
static const duration PROBE_RTT_TIME = 200 * MILLISECOND;
static const duration PROBE_RTT_LEAST = MILLISECOND; /* round trips below are not looked for */

void bbr_enter(struct bbr *b, const struct congestion_ack *ack, enum bbr_phase phase)
{
    b->phase = phase;
    b->phase_at = ack->now;
}

static void begin_round(struct bbr *b, const struct congestion_ack *ack)
{
    b->round_end = ack->delivered;
}

static void forget_round(struct bbr *b)
{
    b->lost = 0;
    b->delivered = 0;
    b->rate_latest = 0;
    b->inflight_latest = 0;
    b->is_marked = false;
}

/* ---- the cycle */

static void enter_down(struct bbr *b, const struct congestion_ack *ack)
{
    forget_round(b);
    b->up_step = BBR_UNKNOWN;
    b->rounds = (uint32_t)(random_next(&b->random) % 2);
    b->wait = WAIT_LEAST + (duration)(random_next(&b->random) % (uint64_t)WAIT_SPREAD);
    if (b->lowest != NEVER && b->wait < WAIT_TRIPS * b->lowest)
        b->wait = WAIT_TRIPS * b->lowest;
    b->cycle_at = ack->now;
    b->feedback = BBR_FEEDBACK_STOPS;
    begin_round(b, ack);
    bbr_enter(b, ack, BBR_DOWN);
}

static void enter_refill(struct bbr *b, const struct congestion_ack *ack)
{
    bbr_forget_low(b);
    b->up_rounds = 0;
    b->up_bytes = 0;
    b->feedback = BBR_FEEDBACK_NONE;
    begin_round(b, ack);
    bbr_enter(b, ack, BBR_REFILL);
}

/* The bound rises by a unit in the first round, by two in the next, by four ... */
static void raise_slope(struct bbr *b)
{
    uint64_t growth = b->unit << b->up_rounds;
    if (b->up_rounds < UP_ROUNDS_MOST)
        b->up_rounds++;
    b->up_step = greater(b->window / (growth / b->unit), b->unit);
}

static void enter_up(struct bbr *b, const struct congestion_ack *ack)
{
    b->is_sampling = true;
    b->feedback = BBR_FEEDBACK_STARTS;
    begin_round(b, ack);
    raise_slope(b);
    bbr_enter(b, ack, BBR_UP);
}

static bool is_time_to_probe(const struct bbr *b, instant now)
{
    uint64_t reno = bbr_product(b, bbr_rate(b), 100) / b->unit;
    return now > b->cycle_at + b->wait || b->rounds >= lesser(reno, RENO_ROUNDS_MOST);
}

/* The path is full, or the sender has had time enough to fill it. */
static bool is_up_done(const struct bbr *b, const struct congestion_ack *ack)
{
    duration passed = ack->now - b->phase_at;
    bool is_full = ack->in_transit >= bbr_product(b, bbr_rate_high(b), UP_PERCENT);
    return (is_full && passed > UP_LEAST * b->lowest) || passed > UP_MOST * b->latest;
}

static void run_cycle(struct bbr *b, const struct congestion_ack *ack)
{
    if (b->phase == BBR_UP) {
        if (is_up_done(b, ack))
            enter_down(b, ack);
    } else if (b->phase == BBR_REFILL) {
        if (b->is_round_start)
            enter_up(b, ack);
    } else if (is_time_to_probe(b, ack->now)) {
        if (b->phase == BBR_DOWN)
            bbr_forget_rate(b); /* the queue is others': only what it carried of late counts */
        enter_refill(b, ack);
    } else if (b->phase == BBR_DOWN && ack->in_transit <= lesser(bbr_headroom(b), bbr_full(b))) {
        bbr_enter(b, ack, BBR_CRUISE);
    } else if (b->phase == BBR_CRUISE && ack->in_transit > bbr_queued(b)) {
        bbr_enter(b, ack, BBR_DOWN);
    }
}

/* ---- what the path holds */

static void probe_upward(struct bbr *b, const struct congestion_ack *ack)
{
    if (!ack->was_limited || b->window < b->inflight_high)
        return;
    b->up_bytes += ack->bytes;
    if (b->up_bytes >= b->up_step) {
        uint64_t steps = b->up_bytes / b->up_step;
        b->up_bytes -= steps * b->up_step;
        b->inflight_high += steps * b->unit;
    }
    if (b->is_round_start)
        raise_slope(b);
}

/* What came back without too much loss fits. */
static void raise_high(struct bbr *b, const struct congestion_ack *ack)
{
    const struct delivery_sample *sample = &ack->sample;
    if (b->inflight_high == BBR_UNKNOWN || bbr_is_too_much(b, sample->lost, sample->in_transit))
        return;
    if (sample->in_transit > b->inflight_high)
        b->inflight_high = sample->in_transit;
    if (b->phase == BBR_UP)
        probe_upward(b, ack);
}

static void follow_feedback(struct bbr *b, const struct congestion_ack *ack)
{
    if (!b->is_round_start || b->phase == BBR_PROBE_RTT)
        return;
    if (b->feedback == BBR_FEEDBACK_STARTS) {
        b->feedback = BBR_FEEDBACK_COMES;
    } else if (b->feedback == BBR_FEEDBACK_STOPS) {
        b->feedback = BBR_FEEDBACK_NONE;
        b->is_sampling = false;
        if (!ack->sample.is_limited)
            bbr_forget_rate(b);
    }
}

void bbr_phase_on_lost(struct bbr *b, const struct congestion_loss *loss)
{
    const struct delivery_sample *sample = &loss->sample;
    bool is_full = sample->is_valid && bbr_is_too_much(b, sample->lost, sample->in_transit);
    struct congestion_ack at = {.now = loss->now, .delivered = sample->prior + sample->bytes};
    if (!b->is_sampling || !is_full)
        return;
    b->is_sampling = false;
    if (!sample->is_limited) {
        uint64_t target = lesser(bbr_product(b, bbr_rate(b), 100), b->window);
        b->inflight_high =
            greater(greater(sample->in_transit, bbr_least(b)), target / BETA_PARTS * BETA);
    }
    if (b->phase == BBR_UP)
        enter_down(b, &at);
}

/* ---- the lowest round trip */

static void enter_probe_rtt(struct bbr *b, const struct congestion_ack *ack)
{
    b->feedback = BBR_FEEDBACK_NONE;
    b->is_sampling = false;
    b->rtt_done = NEVER;
    begin_round(b, ack);
    bbr_enter(b, ack, BBR_PROBE_RTT);
}

/* With a probe for more: what the path carries is seen anew. What it carried lately counts until
 * then. */
static void leave_probe_rtt(struct bbr *b, const struct congestion_ack *ack)
{
    b->probe_lowest_at = b->probed_at = ack->now;
    bbr_forget_low(b);
    if (!b->is_full) {
        bbr_enter(b, ack, BBR_STARTUP);
        return;
    }
    enter_down(b, ack);
    bbr_forget_rate(b);
    enter_refill(b, ack);
}

static void run_probe_rtt(struct bbr *b, const struct congestion_ack *ack)
{
    uint64_t target = greater(bbr_product(b, bbr_rate(b), 50), bbr_least(b));
    if (b->rtt_done == NEVER) {
        if (ack->in_transit > target)
            return;
        b->rtt_done = ack->now + PROBE_RTT_TIME;
        b->rtt_round = false;
        begin_round(b, ack);
        return;
    }
    b->rtt_round |= b->is_round_start;
    if (b->rtt_round && ack->now >= b->rtt_done)
        leave_probe_rtt(b, ack);
}

void bbr_phase_on_acknowledged(struct bbr *b, const struct congestion_ack *ack, bool is_stale)
{
    if (b->phase == BBR_STARTUP)
        bbr_startup_on_acknowledged(b, ack);
    if (b->phase == BBR_DRAIN && ack->in_transit <= bbr_full(b))
        enter_down(b, ack);
    if (b->is_full) {
        follow_feedback(b, ack);
        raise_high(b, ack);
        if (b->phase != BBR_DRAIN && b->phase != BBR_PROBE_RTT)
            run_cycle(b, ack);
    }
    if (b->phase == BBR_PROBE_RTT)
        run_probe_rtt(b, ack);
    else if (is_stale && b->lowest >= PROBE_RTT_LEAST && b->lowest != NEVER)
        enter_probe_rtt(b, ack);
}

/* ---- bbr startup ---- */

/* How BBR comes to know what the path carries. On a long path trains tell it before a queue does:
 * each round begins with a few milliseconds at twice the rate that is known to come through.
 *
 *     they come back as densely as they left:  the path carries that, so the window opens faster
 *     less densely:                            the rate they come back at is the path's
 *
 * Either is known a round trip after, whatever fills the rest of the round; and no more than the
 * train's few milliseconds ever wait in a queue. */

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
    uint64_t carried = lesser(d.sent, d.back);
    if (d.back >= d.sent / 100 * SQUEEZED) {
        b->proven = greater(b->proven, carried);
        b->squeezed = BBR_UNKNOWN;
        return false;
    }
    bool is_second = b->squeezed != BBR_UNKNOWN;
    b->squeezed = lesser(b->squeezed, carried);
    return is_second;
}

/* The window may hold at once what is paced anyway. */
static void fill(struct bbr *b)
{
    b->rate_high[1] = greater(b->rate_high[1], b->squeezed);
    b->window = greater(b->window, bbr_product(b, bbr_rate(b), 100));
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
    } else if (is_lossy(b) || (b->is_marked && !ack->sample.is_limited)) {
        b->inflight_high = greater(
            greater(bbr_product(b, bbr_rate_high(b), 100), b->inflight_latest), bbr_least(b));
        end_startup(b, ack);
    }
}
