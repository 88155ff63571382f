#include "lending.h"

enum {
    ROUND_BYTES = 8 << 20,
    ROUNDS = 16,
    MARGIN = 32, /* a smaller share has to be faster by one part in so many */
};

static void begin_round(struct lending *l, instant now, uint64_t in_transit)
{
    l->since = now;
    l->skip = in_transit;
    l->bytes = 0;
}

void lending_init(struct lending *l)
{
    *l = (struct lending){.share = LENDING_PARTS, .best = LENDING_PARTS, .step = -1, .rounds = 1};
}

bool lending_take(struct lending *l, instant now, instant heard)
{
    int share = l->pauses ? LENDING_PARTS : l->share;
    return (int)(l->units++ % LENDING_PARTS) < share && now - heard < LENDING_STALE;
}

void lending_on_lent(struct lending *l, instant now)
{
    l->kept = now + LENDING_KEPT;
}

static void note_rate(struct lending *l, duration taken)
{
    uint64_t *rate = &l->rate[l->share];
    uint64_t now = l->bytes * (uint64_t)MILLISECOND / (uint64_t)taken;
    *rate = *rate == 0 ? now : (*rate + now) / 2;
}

static bool is_improvement(const struct lending *l)
{
    uint64_t tried = l->rate[l->share];
    uint64_t best = l->rate[l->best];
    return l->share < l->best ? tried > best + best / MARGIN : tried >= best - best / MARGIN;
}

/* One step from the best; to the other side where there is none. */
static void step_aside(struct lending *l)
{
    if (l->best + l->step < 0 || l->best + l->step > LENDING_PARTS)
        l->step = -l->step;
    l->share = l->best + l->step;
}

/* What the next round does. A step that helps is followed by another to the same side. */
static void choose(struct lending *l)
{
    bool was_trial = l->share != l->best;
    if (was_trial && is_improvement(l)) {
        l->best = l->share;
        l->rounds = 1;
    } else if (was_trial) {
        l->share = l->best;
        l->step = -l->step;
        l->rounds = ROUNDS;
    } else if (--l->rounds == 0) {
        l->rounds = 1;
        step_aside(l);
    }
}

void lending_on_acknowledged(struct lending *l, instant now, uint64_t bytes, uint64_t in_transit)
{
    if (in_transit == 0) {
        l->pauses = true;
        begin_round(l, now, 0);
        return;
    }
    if (l->skip > 0) {
        l->skip -= bytes < l->skip ? bytes : l->skip;
        l->since = now;
        return;
    }
    l->bytes += bytes;
    if (l->bytes < ROUND_BYTES || now <= l->since)
        return;
    if (!l->pauses) {
        note_rate(l, now - l->since);
        choose(l);
    }
    l->pauses = false;
    begin_round(l, now, in_transit);
}
