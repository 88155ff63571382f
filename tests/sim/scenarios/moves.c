/* The sending host comes to another address in the middle: what was under way is lost, and both
 * ends begin anew on another path. Nothing is lost for good, and it goes on at once. */
#include "../scenario.h"

#include <inttypes.h>

/* Behind what a run takes that does not move: congestion control begins anew. */
#define LATER_MOST (2 * SECOND)

static const duration DELAY = 10 * MILLISECOND;

enum { LOSS_10 = 10, LOSS_50 = 50 }; /* permille */

/* The parameter: permille of loss, and bits. */
enum {
    KEYS = 1 << 8,
    BBR = 1 << 9,
    NARROW = 1 << 10, /* the other path carries less, */
    FAR = 1 << 11,    /* and takes longer */
    SMALL = 1 << 12,  /* messages, each of a unit or of some */
    AWAY = 1 << 13,   /* there is no path for three seconds */
    LOSS = KEYS - 1,
};

static struct setup moved(uint64_t seed, uint32_t parameter)
{
    struct setup setup = setup_plain(seed);
    setup.sender.congestion = (parameter & BBR) != 0 ? CONGESTION_BBR : CONGESTION_CUBIC;
    setup.out.delay = setup.back.delay = DELAY;
    setup.out.bytes_per_second = 12500000;
    setup.out.queue_bytes = 500000;
    setup.out.loss_permille = setup.back.loss_permille = parameter & LOSS;
    setup.size = 1 << 18;
    setup.submits.messages = setup.posts.messages = 40;
    if ((parameter & SMALL) != 0) {
        setup.sizes = SIZES_EDGES;
        setup.submits.messages = setup.posts.messages = 200;
        setup.submits.pause = 5 * MILLISECOND;
    }
    setup.flights = 1 + seed % 2;
    setup.flight = 3 * MILLISECOND;
    setup.move = (struct move){.at = 100 * MILLISECOND + (instant)(seed % 97) * 4 * MILLISECOND,
                               .gap = (parameter & AWAY) != 0 ? 3 * SECOND : 3 * DELAY,
                               .out = setup.out,
                               .back = setup.back};
    if ((parameter & NARROW) != 0)
        setup.move.out.mtu = 1300;
    if ((parameter & FAR) != 0)
        setup.move.out.delay = setup.move.back.delay = 5 * DELAY;
    setup_patience(&setup, 20 * SECOND);
    setup.check_every = 64;
    setup.limit = 100 * SECOND;
    if ((parameter & KEYS) != 0)
        setup_keys(&setup, 12);
    return setup;
}

static bool goes_on(struct world *w, uint32_t parameter)
{
    struct setup stays = moved(w->setup.seed, parameter);
    instant last = world_last_end(w);
    stays.move.at = NEVER;
    instant expected = scenario_finish(&stays).last_end + w->setup.move.gap + LATER_MOST;
    return scene_expect(&w->scene, last <= expected,
                        "all is over after %" PRId64 " ms, not %" PRId64, last / MILLISECOND,
                        expected / MILLISECOND);
}

const struct scenario scenarios_of_moves[] = {
    {"moves", moved, goes_on, 0, 100, 0, 0},
    {"moves, keys", moved, goes_on, KEYS, 100, 0, 0},
    {"moves, BBR, keys", moved, goes_on, KEYS | BBR, 100, 0, 0},
    {"moves, 1 % lost", moved, goes_on, LOSS_10 | BBR | KEYS, 100, 0, 0},
    {"moves, 5 % lost", moved, NULL, LOSS_50 | KEYS, 20, 0, 0},
    {"moves to a narrow path", moved, NULL, NARROW | KEYS, 20, 0, 0},
    {"moves to a far path", moved, NULL, FAR | BBR | KEYS, 20, 0, 0},
    {"moves, small messages", moved, goes_on, SMALL | BBR | KEYS, 20, 0, 0},
    {"moves behind three seconds", moved, goes_on, AWAY | BBR | KEYS, 20, 0, 0},
    {.name = NULL},
};
