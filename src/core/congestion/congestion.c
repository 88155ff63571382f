#include "congestion.h"
#include "core/number.h"

#include "core/check.h"

enum {
    WINDOW_INITIAL_UNITS = 10, /* RFC 6928; RFC 9002, 7.2 */
    WINDOW_LEAST_UNITS = 2,    /* RFC 9002, 7.2 */
    RATE_PERCENT = 125,        /* of a window a round trip: RFC 9002, 7.7 */
    RATE_STARTING_PERCENT = 200,
    NOT_UNDONE = INT32_MAX, /* units lost: more than will ever be found to have arrived */
};

void congestion_init(struct congestion *c, enum congestion_kind kind, uint64_t unit, uint64_t most,
                     uint64_t seed)
{
    CHECK(unit > 0);
    *c = (struct congestion){
        .kind = kind,
        .window = WINDOW_INITIAL_UNITS * unit,
        .threshold = UINT64_MAX,
        .least = WINDOW_LEAST_UNITS * unit,
        .unit = unit,
        .recovery = INT64_MIN,
        .undo = {.since = INT64_MIN},
    };
    hystart_init(&c->hystart);
    cubic_init(&c->cubic);
    bbr_init(&c->bbr, unit, c->window, seed);
    congestion_limit(c, most);
}

static bool is_by_loss(const struct congestion *c)
{
    return c->kind == CONGESTION_RENO || c->kind == CONGESTION_CUBIC;
}

static void set_window(struct congestion *c, uint64_t window)
{
    c->window = greater(lesser(window, c->most), c->least);
}

/* ---- growth */

/* Up to the threshold by what was acknowledged; what is left of it is for what follows. */
static uint64_t start_slowly(struct congestion *c, const struct congestion_ack *ack)
{
    enum hystart_verdict verdict = HYSTART_GROW;
    if (c->kind == CONGESTION_CUBIC && ack->round_trip > 0 && ack->sample.is_valid)
        verdict =
            hystart_on_round_trip(&c->hystart, ack->round_trip, ack->sample.prior, ack->delivered);
    uint64_t growth = verdict == HYSTART_GROW ? ack->recent : ack->recent / HYSTART_DIVISOR;
    if (verdict == HYSTART_STOP)
        c->threshold = c->window;
    growth = lesser(growth, c->threshold - c->window);
    set_window(c, c->window + growth);
    return c->window < c->threshold ? 0 : ack->recent - growth;
}

/* One unit for each window of bytes that was acknowledged (RFC 9002, 7.3.3). */
static void avoid_congestion(struct congestion *c, uint64_t bytes)
{
    c->credit += bytes;
    while (c->credit >= c->window) {
        c->credit -= c->window;
        set_window(c, c->window + c->unit);
    }
}

static void grow(struct congestion *c, const struct congestion_ack *ack)
{
    uint64_t bytes = c->window < c->threshold ? start_slowly(c, ack) : ack->recent;
    if (bytes == 0)
        return;
    if (c->kind == CONGESTION_RENO)
        avoid_congestion(c, bytes);
    else
        set_window(c, cubic_grow(&c->cubic, ack->now, c->window, c->unit, bytes, ack->smoothed));
}

static void set_rate(struct congestion *c, duration smoothed)
{
    uint64_t percent = c->window < c->threshold ? RATE_STARTING_PERCENT : RATE_PERCENT;
    if (smoothed > 0)
        c->rate = c->window * (uint64_t)MILLISECOND / (uint64_t)smoothed * percent / 100 *
                  (uint64_t)(SECOND / MILLISECOND);
}

static void copy_bbr(struct congestion *c)
{
    set_window(c, c->bbr.window);
    c->rate = c->bbr.rate;
}

void congestion_on_begin(struct congestion *c)
{
    if (c->kind == CONGESTION_BBR)
        bbr_on_begin(&c->bbr);
}

void congestion_on_acknowledged(struct congestion *c, const struct congestion_ack *ack)
{
    if (c->kind == CONGESTION_BBR) {
        bbr_on_acknowledged(&c->bbr, ack);
        copy_bbr(c);
    }
    if (!is_by_loss(c))
        return;
    if (ack->was_limited && ack->recent > 0)
        grow(c, ack);
    else if (!ack->was_limited)
        cubic_rest(&c->cubic, ack->now);
    set_rate(c, ack->smoothed);
}

/* ---- reductions */

/* What is sent from `now` on shows whether that was enough. */
static void reduce(struct congestion *c, instant now)
{
    c->undo = (struct congestion_undo){.since = instant_later(c->recovery, c->undo.since),
                                       .window = c->window,
                                       .threshold = c->threshold,
                                       .cubic = c->cubic};
    uint64_t window =
        c->kind == CONGESTION_RENO ? c->window / 2 : cubic_reduce(&c->cubic, c->window);
    c->threshold = greater(window, c->least);
    c->credit = 0;
    c->recovery = now;
}

void congestion_on_lost(struct congestion *c, const struct congestion_loss *loss)
{
    if (c->kind == CONGESTION_BBR) {
        bbr_on_lost(&c->bbr, loss);
        copy_bbr(c);
    }
    if (!is_by_loss(c))
        return;
    if (loss->sent >= c->recovery) {
        reduce(c, loss->now);
        set_window(c, c->threshold);
    }
    c->undo.lost += loss->sent >= c->undo.since;
}

void congestion_on_marked(struct congestion *c, instant now, instant sent)
{
    if (c->kind == CONGESTION_BBR)
        bbr_on_marked(&c->bbr);
    if (!is_by_loss(c) || sent < c->recovery)
        return;
    reduce(c, now);
    set_window(c, c->threshold);
    c->undo.lost = NOT_UNDONE;
}

static void undo(struct congestion *c)
{
    set_window(c, greater(c->window, c->undo.window));
    c->threshold = greater(c->threshold, c->undo.threshold);
    c->cubic = c->undo.cubic;
    c->recovery = INT64_MIN;
    c->undo = (struct congestion_undo){.since = c->undo.since};
}

void congestion_on_spurious(struct congestion *c, instant sent)
{
    if (c->kind == CONGESTION_BBR)
        bbr_on_spurious(&c->bbr);
    if (!is_by_loss(c) || sent >= c->recovery || sent < c->undo.since || c->undo.lost == 0)
        return;
    if (++c->undo.spurious == c->undo.lost)
        undo(c);
}

void congestion_on_persistent(struct congestion *c, instant now, instant sent)
{
    if (c->kind == CONGESTION_BBR) {
        bbr_on_persistent(&c->bbr);
        copy_bbr(c);
    }
    if (!is_by_loss(c))
        return;
    if (sent >= c->recovery)
        reduce(c, now);
    c->undo.is_collapsed = true;
    c->window = c->least;
}

/* Where nothing was given up there is no loss left. */
void congestion_on_not_persistent(struct congestion *c)
{
    if (c->kind == CONGESTION_BBR) {
        bbr_on_not_persistent(&c->bbr);
        copy_bbr(c);
    }
    if (!is_by_loss(c) || !c->undo.is_collapsed)
        return;
    c->undo.is_collapsed = false;
    if (c->undo.lost == 0)
        undo(c);
    else
        set_window(c, greater(c->window, c->threshold));
}

void congestion_limit(struct congestion *c, uint64_t most)
{
    c->most = greater(most, c->least);
    c->window = c->kind == CONGESTION_NONE ? c->most : lesser(c->window, c->most);
}

void congestion_set_unit(struct congestion *c, uint64_t unit)
{
    CHECK(unit > 0);
    c->unit = unit;
    c->least = WINDOW_LEAST_UNITS * unit;
    cubic_begin_anew(&c->cubic);
    cubic_begin_anew(&c->undo.cubic);
    bbr_set_unit(&c->bbr, unit);
    congestion_limit(c, c->most);
    if (c->kind == CONGESTION_BBR)
        copy_bbr(c);
    else
        set_window(c, c->window);
}

bool congestion_is_starting(const struct congestion *c)
{
    return c->kind == CONGESTION_BBR && c->bbr.phase == BBR_STARTUP;
}

uint64_t congestion_path(const struct congestion *c)
{
    return c->kind == CONGESTION_BBR ? bbr_path(&c->bbr) : 0;
}

void congestion_check(const struct congestion *c)
{
    CHECK(c->least <= c->window);
    CHECK(c->window <= c->most);
    if (c->kind == CONGESTION_NONE)
        CHECK(c->window == c->most);
    if (c->kind == CONGESTION_BBR)
        bbr_check(&c->bbr);
}
