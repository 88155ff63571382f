/* Several flows through one bottleneck: what each gets of it. Each flow is a world of its own; only
 * the bottleneck, and so its queue, is common to all. */
#include "../scenario.h"

#include <inttypes.h>

enum { FLOWS_MOST = 8, MANY = 100000 };

static const instant WARM = 10 * SECOND;
static const instant END = 40 * SECOND;

struct street {
    const char *what;
    uint64_t rate;  /* bytes a second */
    uint32_t queue; /* bytes */
    duration round_trip;
    uint32_t flows;
    enum congestion_kind first, others;
    uint32_t
        least_permille;     /* of Jain's index, or of the first flow's share to the others' mean, */
    uint32_t most_permille; /* which then may be so much at most; 0: Jain's index */
};

static const struct street streets[] = {
    {"two", 2500000, 100000, 40 * MILLISECOND, 2, CONGESTION_BBR, CONGESTION_BBR, 900, 0},
    {"eight", 12500000, 500000, 40 * MILLISECOND, 8, CONGESTION_BBR, CONGESTION_BBR, 900, 0},
    {"two cubics", 2500000, 100000, 40 * MILLISECOND, 2, CONGESTION_CUBIC, CONGESTION_CUBIC, 900,
     0},
    {"beside cubic", 1250000, 50000, 40 * MILLISECOND, 2, CONGESTION_BBR, CONGESTION_CUBIC, 500,
     2000},
    {"beside cubic, deep", 1250000, 100000, 40 * MILLISECOND, 2, CONGESTION_BBR, CONGESTION_CUBIC,
     500, 2000},
    {"four, far", 2500000, 300000, 120 * MILLISECOND, 4, CONGESTION_BBR, CONGESTION_BBR, 900, 0},
};

/* One flow; what it does alone is not looked at. */
static struct setup flow(uint64_t seed, uint32_t parameter)
{
    const struct street *street = &streets[parameter];
    struct setup setup = setup_plain(seed);
    setup.out.bytes_per_second = street->rate;
    setup.out.queue_bytes = street->queue;
    setup.out.delay = setup.back.delay = street->round_trip / 2;
    setup.sender.congestion = street->first;
    setup.sender.transit_units = 4096;
    setup.sender.window_bytes = setup.receiver.capacity = 4 << 20;
    setup.check_every = 4096;
    return setup;
}

static struct world *join(const struct setup *alone, uint32_t i, const struct street *street,
                          struct world *first)
{
    struct setup setup = *alone;
    setup.seed += i;
    setup.size = 200000;
    setup.submits.messages = setup.posts.messages = MANY;
    setup.submits.outstanding = setup.posts.outstanding = 16;
    setup.submits.start = i * 100 * MILLISECOND;
    setup.sender.congestion = i == 0 ? street->first : street->others;
    struct world *world = world_create(&setup, NULL);
    if (i > 0)
        world->out.bottleneck = &first->out.bottleneck_free;
    return world;
}

/* The flows side by side, in the order of time. */
static void run_until(struct world *flow[], uint32_t flows, instant until)
{
    for (;;) {
        struct world *next = flow[0];
        for (uint32_t i = 1; i < flows; i++)
            if (world_next_at(flow[i]) < world_next_at(next))
                next = flow[i];
        instant now = world_next_at(next);
        if (now > until || next->scene.has_failed)
            return;
        world_step(next, now);
    }
}

static uint64_t units_of(const struct world *world)
{
    return receiver_counters(world->receiver.core)->units;
}

/* Units that each flow got between WARM and END. */
static void race(struct world *flow[], uint32_t flows, uint64_t got[])
{
    run_until(flow, flows, WARM);
    for (uint32_t i = 0; i < flows; i++)
        got[i] = units_of(flow[i]);
    run_until(flow, flows, END);
    for (uint32_t i = 0; i < flows; i++)
        got[i] = units_of(flow[i]) - got[i];
}

/* (sum)^2 / (n x sum of squares): 1000 if all got the same, 1000 / n if one got all. */
static uint64_t jain_permille(const uint64_t got[], uint32_t flows)
{
    uint64_t sum = 0;
    uint64_t squares = 0;
    for (uint32_t i = 0; i < flows; i++) {
        sum += got[i];
        squares += got[i] * got[i];
    }
    return squares == 0 ? 0 : sum * sum * 1000 / (flows * squares);
}

static uint64_t share_permille(const uint64_t got[], uint32_t flows)
{
    uint64_t others = 0;
    for (uint32_t i = 1; i < flows; i++)
        others += got[i];
    return others == 0 ? UINT32_MAX : got[0] * 1000 * (flows - 1) / others;
}

static bool is_fair(struct world *w, uint32_t parameter)
{
    const struct street *street = &streets[parameter];
    struct world *flow[FLOWS_MOST];
    uint64_t got[FLOWS_MOST];
    for (uint32_t i = 0; i < street->flows; i++)
        flow[i] = join(&w->setup, i, street, flow[0]);
    race(flow, street->flows, got);
    for (uint32_t i = 0; i < street->flows; i++)
        world_destroy(flow[i]);
    bool is_jain = street->most_permille == 0;
    uint64_t figure =
        is_jain ? jain_permille(got, street->flows) : share_permille(got, street->flows);
    return scene_expect(
        &w->scene, figure >= street->least_permille && (is_jain || figure <= street->most_permille),
        "%s: %" PRIu64 " permille", street->what, figure);
}

const struct scenario scenarios_of_shared[] = {
    {"shared by two", flow, is_fair, 0, 0, 3, 0},
    {"shared by eight", flow, is_fair, 1, 0, 3, 0},
    {"shared by two, cubic", flow, is_fair, 2, 0, 3, 0},
    {"shared with cubic", flow, is_fair, 3, 0, 3, 0},
    {"shared with cubic, deep", flow, is_fair, 4, 0, 3, 0},
    {"shared by four, far", flow, is_fair, 5, 0, 3, 0},
    {.name = NULL},
};
