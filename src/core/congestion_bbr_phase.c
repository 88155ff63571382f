/* What BBR does to find out about the path. */
#include "congestion_bbr_state.h"
#include "random.h"

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
    b->up_step = bbr_greater(b->window / (growth / b->unit), b->unit);
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
    return now > b->cycle_at + b->wait || b->rounds >= bbr_lesser(reno, RENO_ROUNDS_MOST);
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
    } else if (b->phase == BBR_DOWN &&
               ack->in_transit <= bbr_lesser(bbr_headroom(b), bbr_full(b))) {
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
        uint64_t target = bbr_lesser(bbr_product(b, bbr_rate(b), 100), b->window);
        b->inflight_high =
            bbr_greater(bbr_greater(sample->in_transit, bbr_least(b)), target / BETA_PARTS * BETA);
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
    uint64_t target = bbr_greater(bbr_product(b, bbr_rate(b), 50), bbr_least(b));
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
