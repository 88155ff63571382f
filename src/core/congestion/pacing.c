#include "pacing.h"

enum {
    BURST_UNITS_LEAST = 2,
    BURST_FREE = 1 << 13, /* bytes; from here on a short path is fast */
};

void pacing_init(struct pacing *p, instant now)
{
    *p = (struct pacing){.burst = UINT64_MAX, .due = now};
}

duration pacing_burst_time(duration lowest)
{
    duration part = lowest / PACING_BURST_PART;

    if (part < PACING_BURST_TIME || lowest == NEVER)
        return PACING_BURST_TIME;
    return part < PACING_BURST_MOST ? part : PACING_BURST_MOST;
}

void pacing_set(struct pacing *p, uint64_t rate, uint64_t unit, duration lowest, duration most)
{
    uint64_t least = BURST_UNITS_LEAST * unit;
    duration time = pacing_burst_time(lowest);
    uint64_t burst = rate * (uint64_t)(time < most ? time : most) / (uint64_t)SECOND;
    bool is_free = rate == 0 || (burst >= BURST_FREE && lowest < PACING_BURST_TIME);
    p->rate = is_free ? 0 : rate;
    p->burst = is_free ? UINT64_MAX : burst > least ? burst : least;
    p->waits = p->waits && !is_free;
}

/* What could have left since it was due is made up for, but not after a pause: then there was
 * nothing to send. */
static void wake(struct pacing *p, instant now)
{
    duration late = now - p->due;
    if (p->waits)
        p->late = late > 0 && late <= PACING_OVERSLEPT ? late : 0;
    else if (late > PACING_LATE + p->late + PACING_OVERSLEPT)
        p->late = 0;
    p->waits = false;
}

bool pacing_allows(struct pacing *p, instant now)
{
    if (p->rate != 0 && p->due > now + PACING_AHEAD)
        p->waits = true;
    else
        wake(p, now);
    return !p->waits;
}

void pacing_on_sent(struct pacing *p, instant now, uint64_t bytes)
{
    if (p->rate == 0)
        return;
    instant earliest = now - PACING_LATE - p->late;
    duration time = (duration)(bytes * (uint64_t)SECOND / p->rate);
    p->due = (p->due > earliest ? p->due : earliest) + time;
    p->late -= time < p->late ? time : p->late;
}

void pacing_expire(struct pacing *p, instant now)
{
    if (p->due <= now)
        wake(p, now);
}
