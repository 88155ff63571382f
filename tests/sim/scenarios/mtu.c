/* The path's MTU, which changes while messages are under way, and nobody says so. */
#include "../scenario.h"

#include <inttypes.h>

/* Bytes of datagrams in whole grains, on paths of MTU 1280, 1500, 9000. */
enum { SMALL = 1248, ETHERNET = 1472, JUMBO = 8960 };

enum {
    SHRINKS,      /* 9000, 1280, 1500 */
    SHRINKS_BUSY, /* the same without a pause, and with loss */
    HOLE,         /* what the interface said was never true */
    TINY,         /* below the base */
    OUTAGE,       /* no path at all for a while, and then the same */
};

struct course {
    struct mtu_from mtus[LINK_MTUS];
    duration pause; /* between messages, at most */
    uint32_t messages;
    uint32_t loss_permille;
    uint32_t timeouts;    /* at most */
    uint32_t falls;       /* exactly */
    uint32_t least, most; /* bytes that the path is found to carry, in the end */
};

static const struct course courses[] = {
    [SHRINKS] = {{{5 * SECOND, SMALL}, {100 * SECOND, ETHERNET}},
                 5 * SECOND,
                 600,
                 0,
                 3,
                 1,
                 ETHERNET,
                 ETHERNET},
    [SHRINKS_BUSY] = {{{SECOND, SMALL}, {3 * SECOND, ETHERNET}}, 0, 200, 2, 3, 1, SMALL, ETHERNET},
    [HOLE] = {{{0, ETHERNET}}, 0, 20, 0, 3, 1, ETHERNET, ETHERNET},
    [TINY] = {{{0, 800}}, 0, 20, 0, 6, 1, 704, 800},
    [OUTAGE] = {{{0}}, 0, 40, 0, UINT32_MAX, 0, JUMBO, JUMBO},
};

static struct setup course(uint64_t seed, uint32_t parameter)
{
    const struct course *c = &courses[parameter];
    struct setup setup = setup_plain(seed);
    setup.sender.unit_bytes = setup.receiver.unit_bytes = JUMBO;
    setup.size = 300000;
    setup.submits.messages = setup.posts.messages = c->messages;
    setup.submits.pause = c->pause;
    setup.out.bytes_per_second = 12500000;
    setup.out.loss_permille = c->loss_permille;
    setup.check_every = 64;
    setup.limit = 7200 * SECOND;
    for (int i = 0; i < LINK_MTUS; i++)
        setup.out.mtus[i] = c->mtus[i];
    if (parameter == OUTAGE) {
        setup.out.outage = setup.back.outage = SECOND;
        setup.out.outage_every = setup.back.outage_every = 1700 * MILLISECOND;
    }
    return setup;
}

static bool is_found(struct world *w, uint32_t parameter)
{
    const struct course *expected = &courses[parameter];
    const struct sender_counters *c = sender_counters(w->sender.core);
    uint64_t bytes = sender_gauges(w->sender.core).path;
    scene_expect(&w->scene, c->probes <= expected->timeouts, "%" PRIu64 " timeouts", c->probes);
    scene_expect(&w->scene, c->path_falls == expected->falls, "%" PRIu64 " falls", c->path_falls);
    scene_expect(&w->scene, expected->least <= bytes && bytes <= expected->most,
                 "a path of %" PRIu64 " bytes in the end", bytes);
    return !w->scene.has_failed;
}

/* Large units are under way, and many are lost, when the interface takes no more than a ninth of
 * them; and then all is lost for a while. The receiver has room for few gaps, and refuses most of
 * what is not the beginning of one. */
static struct setup parts(uint64_t seed, uint32_t parameter)
{
    struct setup setup = setup_plain(seed);
    (void)parameter;
    setup.out.delay = setup.back.delay = 10 * MILLISECOND;
    setup.out.jitter = 10 * MILLISECOND;
    setup.out.loss_permille = 100;
    setup.size = 140000;
    setup.limit_at = 42 * MILLISECOND;
    setup.out.mtus[0] = (struct mtu_from){60 * MILLISECOND, GRAIN};
    setup.out.mtus[1] = (struct mtu_from){SECOND, JUMBO};
    setup.limit_bytes = 158;
    setup.sender.congestion = CONGESTION_NONE;
    setup.sender.window_bytes = 150000;
    setup.receiver.messages = 4;
    setup.receiver.holes = 8;
    setup.limit = 1000 * SECOND;
    return setup;
}

const struct scenario scenarios_of_mtu[] = {
    {"mtu 9000, 1280, 1500", course, is_found, SHRINKS, 2, 0, 0},
    {"mtu 9000, 1280, 1500, busy", course, is_found, SHRINKS_BUSY, 10, 0, 0},
    {"mtu 1500 taken for 9000", course, is_found, HOLE, 10, 0, 0},
    {"mtu below the base", course, is_found, TINY, 10, 0, 0},
    {"mtu as it was, behind an outage", course, is_found, OUTAGE, 10, 0, 0},
    {"mtu a ninth of it, and few gaps", parts, NULL, 0, 10, 0, 0},
    {.name = NULL},
};
