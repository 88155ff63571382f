#include "gather.h"

#include "core/check.h"

enum {
    RESERVE = 2, /* naps: so much has to be on its way, lest one outlasts the message */
    PARTS = 16,  /* what a nap brought is believed a little less each time that it forbids one */
};

void gather_init(struct gather *g)
{
    *g = (struct gather){.nap = GATHER_LEAST};
}

void gather_came(struct gather *g, uint32_t arrivals, uint64_t bytes)
{
    g->bytes += bytes;
    g->came += arrivals;
    g->calls++;
}

static void learn(struct gather *g)
{
    g->usual = g->bytes;
    if (g->calls > GATHER_MANY && g->nap / 2 >= GATHER_LEAST) {
        g->nap /= 2;
    } else if (g->came < GATHER_FEW && 2 * g->nap <= GATHER_MOST) {
        g->nap *= 2;
    } else if (g->came < GATHER_FEW) {
        g->nap = GATHER_LEAST;
        g->polls = GATHER_POLLS;
    }
}

duration gather_rest(struct gather *g, uint64_t expected)
{
    if (g->has_napped)
        learn(g);
    g->has_napped = g->polls == 0 && expected > RESERVE * g->usual;
    if (expected > 0 && g->polls > 0)
        g->polls--;
    else if (expected > 0 && !g->has_napped)
        g->usual -= g->usual / PARTS;
    g->bytes = 0;
    g->came = 0;
    g->calls = 0;
    return g->has_napped ? g->nap : 0;
}

void gather_check(const struct gather *g)
{
    CHECK(g->nap >= GATHER_LEAST);
    CHECK(g->nap <= GATHER_MOST);
}
