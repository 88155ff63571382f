#include "refusals.h"

/* With 20 of them it takes four seconds at least, and five round trips, until a peer counts as
 * gone. Where a path loses a fifth of what it carries each way, a peer that is there answers none
 * of them once in 10^7 times. */
static const duration INTERVAL = 200 * MILLISECOND;

enum {
    INTERVALS = 4,       /* in a round trip, of a long path */
    QUESTIONS = 20,      /* that a peer which is there would have answered */
    LEAST_OF_PAIRED = 4, /* refusals, */
    LEAST = 3,           /* or of a peer that was never heard of */
};

static duration interval(duration round_trip)
{
    duration part = round_trip / INTERVALS;
    return part > INTERVAL ? part : INTERVAL;
}

instant refusals_ask_at(const struct refusals *r, instant heard, duration round_trip)
{
    return r->is_doubted ? instant_later(heard, r->asked) + interval(round_trip) : NEVER;
}

bool refusals_mean_nobody(const struct refusals *r, duration refused)
{
    return r->count >= LEAST && r->last - r->first >= refused;
}

bool refusals_mean_gone(const struct refusals *r, instant heard, duration silent)
{
    return r->questions >= QUESTIONS && r->count >= LEAST_OF_PAIRED && r->last - heard >= silent;
}

/* A question that was refused counts once nothing was found behind it. True if one does. */
static bool settle(struct refusals *r)
{
    if (!r->has_asked || !r->is_refused || !r->has_listened)
        return false;
    r->has_asked = r->is_refused = r->has_listened = false;
    r->first = r->count++ == 0 ? r->refused : r->first;
    r->last = r->refused;
    return true;
}

void refusals_on_asked(struct refusals *r, instant now, duration round_trip)
{
    r->has_asked = true;
    r->has_listened = false;
    if (r->questions > 0 && now - r->asked < interval(round_trip))
        return;
    r->questions++;
    r->asked = now;
}

void refusals_on_refused(struct refusals *r, instant now)
{
    r->is_doubted = true;
    if (!r->has_asked)
        return;
    r->is_refused = true;
    r->refused = now;
    (void)settle(r);
}

bool refusals_on_listened(struct refusals *r)
{
    r->has_listened = true;
    return settle(r);
}

void refusals_on_heard(struct refusals *r)
{
    *r = (struct refusals){.asked = 0};
}
