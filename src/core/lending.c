#include "lending.h"

enum {
    ROUND_BYTES = 8 << 20,
    ROUNDS = 32,
    MARGIN = 16, /* copying has to be faster by one part in so many */
};

static void begin_round(struct lending *l, instant now, uint64_t in_transit)
{
    l->since = now;
    l->skip = in_transit;
    l->bytes = 0;
}

void lending_init(struct lending *l)
{
    *l = (struct lending){.is_on = true, .is_better = true, .rounds = 1};
}

static void note_rate(struct lending *l, duration taken)
{
    uint64_t *rate = &l->rate[l->is_on];
    uint64_t now = l->bytes * (uint64_t)MILLISECOND / (uint64_t)taken;
    *rate = *rate == 0 ? now : (*rate + now) / 2;
}

/* What the next round does. */
static void choose(struct lending *l)
{
    bool was_trial = l->is_on != l->is_better;
    if (was_trial) {
        l->is_better = l->rate[0] <= l->rate[1] + l->rate[1] / MARGIN;
        l->is_on = l->is_better;
        l->rounds = ROUNDS;
    } else if (--l->rounds == 0) {
        l->is_on = !l->is_better;
    }
}

void lending_on_acknowledged(struct lending *l, instant now, uint64_t bytes, uint64_t in_transit)
{
    if (in_transit == 0) {
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
    note_rate(l, now - l->since);
    choose(l);
    begin_round(l, now, in_transit);
}
