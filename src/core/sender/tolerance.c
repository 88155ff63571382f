#include "tolerance.h"

#include "core/check.h"

void tolerance_init(struct tolerance *t)
{
    *t = (struct tolerance){.units = TOLERANCE_UNITS, .recovery = INT64_MIN};
}

void tolerance_on_lost(struct tolerance *t, instant now, instant sent)
{
    if (sent < t->recovery)
        return;
    t->recovery = now;
    if (++t->recoveries < TOLERANCE_RECOVERIES)
        return;
    t->recoveries = 0;
    t->units = TOLERANCE_UNITS;
    t->time = 0;
}

void tolerance_on_spurious(struct tolerance *t, uint64_t units, duration time)
{
    t->recoveries = 0;
    if (units > t->units)
        t->units = units;
    if (time > t->time)
        t->time = time;
}

/* A unit that the initial tolerance would have given up shows that the wider one is still needed.
 */
void tolerance_on_overtaken(struct tolerance *t, uint64_t units)
{
    if (units >= TOLERANCE_UNITS)
        t->recoveries = 0;
}

void tolerance_check(const struct tolerance *t)
{
    CHECK(t->units >= TOLERANCE_UNITS);
    CHECK(t->time >= 0);
    CHECK(t->recoveries < TOLERANCE_RECOVERIES);
}
