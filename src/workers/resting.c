#include "resting.h"

/* A deadline that the alarm has to ring for, or would have had to if it was not foreseen. */
static void note_wanted(struct resting *r, const void *whose, instant at, instant now)
{
    duration change = now - r->wanted - r->period;

    r->is_steady = whose == r->whose && change < r->lead && -change < r->lead;
    r->period += r->is_steady ? change / 4 : change;
    r->whose = whose;
    r->wanted = now;
    r->lead = at - now;
}

bool resting_on_due(struct resting *r, const void *whose, instant at, instant now)
{
    bool is_earlier = at < r->at;

    if (r->at == RESTING_AWAKE)
        return false;
    if (is_earlier || at - r->at < r->lead)
        note_wanted(r, whose, at, now);
    if (is_earlier)
        r->at = at;
    return is_earlier;
}

/* When the alarm is wanted next, if deadlines come at a steady pace; else NEVER. */
static instant foresee(const struct resting *r, instant now)
{
    instant next = r->wanted + r->period + r->lead / 2;

    return r->is_steady && next > now ? next : NEVER;
}

bool resting_on_later(struct resting *r, instant at, instant now)
{
    if (r->at == RESTING_AWAKE || r->at >= at || now - r->put_off < RESTING_PUT_OFF)
        return false;
    instant next = instant_earlier(at, foresee(r, now));
    if (next <= r->at)
        return false;
    r->put_off = now;
    r->at = next;
    return true;
}
