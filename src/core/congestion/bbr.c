/* BBR: facts in, window and rate out. */
#include "bbr_state.h"
#include "core/check.h"
#include "pacing.h"

struct gains {
    uint32_t rate;   /* percent of the path's */
    uint32_t window; /* percent of what fills the path */
};

static const struct gains gains[] = {
    [BBR_STARTUP] = {277, 200},  [BBR_DRAIN] = {50, 200},   [BBR_DOWN] = {80, 200},
    [BBR_CRUISE] = {100, 200},   [BBR_REFILL] = {100, 200}, [BBR_UP] = {125, 225},
    [BBR_PROBE_RTT] = {100, 50},
};

#define HELD_MOST (5 * MILLISECOND) /* an acknowledgement, by the receiver */

enum {
    MARGIN_PERCENT = 1,   /* below what is believed, so that a queue drains */
    QUANTA = 3,           /* bursts: one leaves, one is acknowledged, one is on its way */
    BURST_MOST = 1 << 16, /* bytes */
    HELD_PART = 8,        /* of the round trip */
    TRAIN_GAIN = 2,       /* a train's rate over the one that trains came back at */
    TRAIN_GROWTH = 7,     /* bytes of window for each one acknowledged: eightfold a round trip */
};

static const duration INITIAL_ROUND_TRIP = MILLISECOND;
static const duration TRAIN = 16 * MILLISECOND; /* and so is the queue that it builds */

void bbr_init(struct bbr *b, uint64_t unit, uint64_t window, uint64_t seed)
{
    *b = (struct bbr){
        .phase = BBR_STARTUP,
        .unit = unit,
        .random = seed,
        .window = greater(window, BBR_UNITS_LEAST * unit),
        .rate_low = BBR_UNKNOWN,
        .inflight_high = BBR_UNKNOWN,
        .inflight_low = BBR_UNKNOWN,
        .undo_high = BBR_UNKNOWN,
        .up_step = BBR_UNKNOWN,
        .squeezed = BBR_UNKNOWN,
        .lowest = NEVER,
        .probe_lowest = NEVER,
        .rtt_done = NEVER,
    };
    b->rate = b->window * (uint64_t)(SECOND / INITIAL_ROUND_TRIP);
}

void bbr_set_unit(struct bbr *b, uint64_t unit)
{
    b->unit = unit;
    b->window = greater(b->window, bbr_least(b));
    b->inflight_high = greater(b->inflight_high, bbr_least(b));
    b->inflight_low = greater(b->inflight_low, bbr_least(b));
}

/* What is believed came back; of what was sent chance took a part, and the path had carried that,
 * too. So without a queue there is room for it. */
static uint64_t with_margin(const struct bbr *b, uint64_t rate)
{
    if (b->phase == BBR_CRUISE && b->rate_low == BBR_UNKNOWN && bbr_is_near(b))
        return rate + rate / 1000 * b->lost_permille;
    return rate / 100 * (100 - MARGIN_PERCENT);
}

/* Until startup is over the rate only grows; without a measurement it follows the window. What a
 * train has shown is kept to, but for the next train. */
static void set_rate(struct bbr *b, const struct congestion_ack *ack)
{
    uint64_t known = bbr_rate(b);
    uint64_t rate = with_margin(b, known * gains[b->phase].rate / 100);
    if (b->proven > known) {
        bool is_train = ack->now - b->round_at < TRAIN;
        b->rate = b->proven * (is_train ? TRAIN_GAIN : 1);
        return;
    }
    if (known == 0 && ack->smoothed > 0)
        rate = b->window * (uint64_t)SECOND / (uint64_t)ack->smoothed * gains[b->phase].rate / 100;
    if (known == 0 || b->is_full || rate > b->rate)
        b->rate = rate > 0 ? rate : b->rate;
}

static uint64_t bytes_in(uint64_t rate, duration time)
{
    return rate * (uint64_t)(time / MICROSECOND) / (uint64_t)(SECOND / MICROSECOND);
}

/* How long a receiver holds an acknowledgement back: receiver_timer.c has the same rule. */
static duration held_time(const struct bbr *b)
{
    duration part = b->lowest == NEVER ? 0 : b->lowest / HELD_PART;
    return part < MILLISECOND ? MILLISECOND : part < HELD_MOST ? part : HELD_MOST;
}

/* What threads and bursts add to what fills the path. */
static uint64_t budget(const struct bbr *b)
{
    uint64_t rate = bbr_rate(b);
    uint64_t burst = lesser(bytes_in(rate, pacing_burst_time(b->lowest)), BURST_MOST);
    return QUANTA * greater(burst, 2 * b->unit) + bytes_in(rate, held_time(b));
}

static uint64_t target(const struct bbr *b)
{
    uint64_t product = bbr_product(b, bbr_path(b), gains[b->phase].window);
    if (product == BBR_UNKNOWN)
        return BBR_UNKNOWN;
    return product + budget(b) + greater(b->lumps.extra[0], b->lumps.extra[1]);
}

/* What the bounds let. */
static uint64_t cap(const struct bbr *b)
{
    uint64_t most = BBR_UNKNOWN;
    if (b->phase == BBR_PROBE_RTT)
        most = lesser(bbr_headroom(b), bbr_product(b, bbr_rate(b), gains[b->phase].window));
    else if (b->phase == BBR_CRUISE)
        most = bbr_headroom(b);
    else if (b->phase >= BBR_DOWN)
        most = b->inflight_high;
    return greater(lesser(most, b->inflight_low), bbr_least(b));
}

static void set_window(struct bbr *b, const struct congestion_ack *ack)
{
    uint64_t most = target(b);
    if (b->is_full)
        b->window = lesser(b->window + ack->bytes, most);
    else if (ack->was_limited && b->window < most)
        b->window += ack->bytes * (b->proven > bbr_rate(b) ? TRAIN_GROWTH : 1);
    b->window = greater(lesser(b->window, cap(b)), bbr_least(b));
}

void bbr_on_begin(struct bbr *b)
{
    b->has_rested = true;
}

void bbr_on_acknowledged(struct bbr *b, const struct congestion_ack *ack)
{
    bbr_model_on_acknowledged(b, ack);
    bool is_stale = bbr_model_on_round_trip(b, ack);
    bbr_phase_on_acknowledged(b, ack, is_stale);
    bbr_model_end(b, ack);
    set_rate(b, ack);
    set_window(b, ack);
}

void bbr_on_lost(struct bbr *b, const struct congestion_loss *loss)
{
    b->lost += loss->bytes;
    if (b->is_sampling)
        b->undo_high = b->inflight_high;
    bbr_phase_on_lost(b, loss);
}

void bbr_on_marked(struct bbr *b)
{
    b->is_marked = true;
}

void bbr_on_spurious(struct bbr *b)
{
    bbr_forget_low(b);
    if (b->inflight_high != BBR_UNKNOWN && b->undo_high > b->inflight_high)
        b->inflight_high = b->undo_high;
}

void bbr_on_persistent(struct bbr *b)
{
    b->undo_window = b->window;
    b->window = bbr_least(b);
}

void bbr_on_not_persistent(struct bbr *b)
{
    b->window = greater(b->window, b->undo_window);
}

uint64_t bbr_path(const struct bbr *b)
{
    return greater(bbr_rate(b), b->proven);
}

void bbr_check(const struct bbr *b)
{
    CHECK(b->window >= bbr_least(b));
    CHECK(b->inflight_high >= bbr_least(b));
    CHECK(b->inflight_low >= bbr_least(b));
}
