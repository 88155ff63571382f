#include "pacing.h"

enum {
    BURST_UNITS_LEAST = 2,
    BURST_FREE = 1 << 13, /* bytes; from here on a short path is fast */
};

void pacing_init(struct pacing *p, instant now)
{
    *p = (struct pacing){.burst = UINT64_MAX, .due = now};
}

void pacing_set(struct pacing *p, uint64_t rate, uint64_t unit, duration lowest)
{
    uint64_t least = BURST_UNITS_LEAST * unit;
    uint64_t burst = rate / (uint64_t)(SECOND / PACING_BURST_TIME);
    bool is_free = rate == 0 || (burst >= BURST_FREE && lowest < PACING_BURST_TIME);
    p->rate = is_free ? 0 : rate;
    p->burst = is_free ? UINT64_MAX : burst > least ? burst : least;
    p->waits = p->waits && !is_free;
}

bool pacing_allows(struct pacing *p, instant now)
{
    p->waits = p->rate != 0 && p->due > now + PACING_AHEAD;
    return !p->waits;
}

void pacing_on_sent(struct pacing *p, instant now, uint64_t bytes)
{
    if (p->rate == 0)
        return;
    if (p->due < now - PACING_LATE)
        p->due = now - PACING_LATE;
    p->due += (duration)(bytes * (uint64_t)SECOND / p->rate);
}

void pacing_expire(struct pacing *p, instant now)
{
    if (p->due <= now)
        p->waits = false;
}
