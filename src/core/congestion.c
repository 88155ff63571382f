#include "congestion.h"

#include "check.h"

enum {
    WINDOW_INITIAL_UNITS = 10, /* RFC 6928; RFC 9002, 7.2 */
    WINDOW_LEAST_UNITS = 2,    /* RFC 9002, 7.2 */
};

static uint64_t lesser(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t greater(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

void congestion_init(struct congestion *c, enum congestion_kind kind, uint64_t unit, uint64_t most)
{
    CHECK(unit > 0);
    *c = (struct congestion){
        .kind = kind,
        .window = WINDOW_INITIAL_UNITS * unit,
        .threshold = UINT64_MAX,
        .least = WINDOW_LEAST_UNITS * unit,
        .unit = unit,
        .recovery = INT64_MIN,
    };
    congestion_limit(c, most);
}

static void grow(struct congestion *c, uint64_t bytes)
{
    c->window += lesser(bytes, c->most - c->window);
}

/* One unit for each window of bytes that was acknowledged (RFC 9002, 7.3.3). */
static void avoid_congestion(struct congestion *c, uint64_t bytes)
{
    c->credit += bytes;
    while (c->credit >= c->window) {
        c->credit -= c->window;
        grow(c, c->unit);
    }
}

void congestion_on_acknowledged(struct congestion *c, uint32_t units, uint64_t bytes, instant sent,
                                bool was_limited)
{
    if (c->kind == CONGESTION_NONE || !was_limited || sent < c->recovery)
        return;
    for (uint32_t i = 0; i < units; i++) { /* one by one, so that slow start ends in time */
        if (c->window < c->threshold)
            grow(c, bytes);
        else
            avoid_congestion(c, bytes);
    }
}

/* Half the window is where congestion begins; what is sent from `now` on shows if that is true. */
static void lower_threshold(struct congestion *c, instant now)
{
    c->threshold = greater(c->window / 2, c->least);
    c->credit = 0;
    c->recovery = now;
}

void congestion_on_lost(struct congestion *c, instant now, instant sent)
{
    if (c->kind == CONGESTION_NONE || sent < c->recovery)
        return;
    lower_threshold(c, now);
    c->window = c->threshold;
}

void congestion_on_persistent(struct congestion *c, instant now)
{
    if (c->kind == CONGESTION_NONE)
        return;
    c->recovery = now;
    if (c->window == c->least)
        return; /* the same silence goes on: the threshold is held (RFC 5681, 3.1) */
    lower_threshold(c, now);
    c->window = c->least;
}

void congestion_limit(struct congestion *c, uint64_t most)
{
    c->most = greater(most, c->least);
    c->window = c->kind == CONGESTION_NONE ? c->most : lesser(c->window, c->most);
}

void congestion_check(const struct congestion *c)
{
    CHECK(c->least <= c->window);
    CHECK(c->window <= c->most);
    if (c->kind == CONGESTION_NONE)
        CHECK(c->window == c->most);
}
