/* Pauses: users that do nothing for a minute, and hosts that do not run, so that to them the clock
 * jumps and every timer is late. */
#include "../scenario.h"

#include <inttypes.h>

enum { BY_SENDER = 1, BY_RECEIVER = 2, BOTH = BY_SENDER | BY_RECEIVER, INITIAL_WINDOW = 10 };

static const duration MINUTE = 60 * SECOND;

/* About four seconds of data over a path of 20 Mb/s. */
static struct setup stream(uint64_t seed, uint64_t messages)
{
    struct setup setup = setup_plain(seed);
    setup.out.bytes_per_second = 2500000;
    setup.out.queue_bytes = 100000;
    setup.out.delay = setup.back.delay = 10 * MILLISECOND;
    setup.sender.congestion =
        (enum congestion_kind)(seed % 2 == 0 ? CONGESTION_CUBIC : CONGESTION_BBR);
    setup.size = 10000000 / messages;
    setup.submits.messages = setup.posts.messages = (uint32_t)messages;
    setup.check_every = 64;
    setup.limit = 300 * SECOND;
    return setup;
}

/* ---- a user that begins nothing for a minute, six times the silence limit */

static struct setup idle(uint64_t seed, uint32_t parameter)
{
    struct setup setup = stream(seed, 100);
    struct habits *habits = parameter == BY_SENDER ? &setup.submits : &setup.posts;
    habits->idle = (struct absence){.at = SECOND, .length = MINUTE};
    return setup;
}

/* Both ends say a few times in a silence limit that they are there, and nothing else. */
static bool is_quiet(struct world *w, uint32_t parameter)
{
    (void)parameter;
    struct world *same = world_create(&w->setup, NULL);
    world_run_until(same, 2 * SECOND);
    uint64_t out = same->out.counters.sent;
    uint64_t back = same->back.counters.sent;
    world_run_until(same, MINUTE);
    out = same->out.counters.sent - out;
    back = same->back.counters.sent - back;
    world_destroy(same);
    scene_expect(&w->scene, world_last_end(w) > MINUTE, "all over before the pause");
    return scene_expect(&w->scene, out <= 130 && back <= 130,
                        "%" PRIu64 " datagrams out and %" PRIu64 " back in the pause", out, back);
}

/* ---- a host that does not run for a minute, or both */

static struct setup frozen(uint64_t seed, uint32_t parameter)
{
    struct setup setup = stream(seed, 10);
    struct absence minute = {.at = SECOND, .length = MINUTE};
    if ((parameter & BY_SENDER) != 0)
        setup.submits.frozen = minute;
    if ((parameter & BY_RECEIVER) != 0)
        setup.posts.frozen = minute;
    setup_patience(&setup, 2 * MINUTE);
    return setup;
}

/* What leaves meanwhile, and in the worst millisecond of the round trip after it. */
struct leaving {
    uint64_t meanwhile;
    uint64_t after;
};

static struct leaving count_leaving(const struct setup *setup, instant end)
{
    struct leaving leaving = {0, 0};
    struct world *w = world_create(setup, NULL);
    instant last = end + setup->out.delay + setup->back.delay;
    world_run_until(w, 2 * SECOND);
    uint64_t before = w->out.counters.sent;
    world_run_until(w, end - 1);
    leaving.meanwhile = w->out.counters.sent - before;
    for (instant at = end - 1; at < last; at += MILLISECOND) {
        before = w->out.counters.sent;
        world_run_until(w, at + MILLISECOND);
        uint64_t sent = w->out.counters.sent - before;
        leaving.after = sent > leaving.after ? sent : leaving.after;
    }
    world_destroy(w);
    return leaving;
}

/* A peer that runs on sends next to nothing, two units and a question a second, and behind the
 * pause nothing leaves in a storm. */
static bool is_no_storm(struct world *w, uint32_t parameter)
{
    instant end = SECOND + MINUTE;
    struct leaving leaving = count_leaving(&w->setup, end);
    (void)parameter;
    scene_expect(&w->scene, world_last_end(w) > end, "all over before the pause");
    scene_expect(&w->scene, leaving.meanwhile <= 190, "%" PRIu64 " datagrams in the pause",
                 leaving.meanwhile);
    return scene_expect(&w->scene, leaving.after <= INITIAL_WINDOW,
                        "%" PRIu64 " datagrams in a millisecond after the pause", leaving.after);
}

/* The same beyond the silence limit: everything fails, and once. */
static struct setup frozen_for_long(uint64_t seed, uint32_t parameter)
{
    struct setup setup = frozen(seed, parameter);
    setup_patience(&setup, 10 * SECOND);
    setup.may_fail = true;
    return setup;
}

/* ---- hosts that run only from time to time: timers are up to parameter ms late */

static struct setup stutter(uint64_t seed, uint32_t parameter)
{
    struct setup setup = stream(seed, 10);
    setup.out.loss_permille = setup.back.loss_permille = 10;
    struct absence often = {.length = parameter * MILLISECOND,
                            .every = (parameter + 1) * MILLISECOND};
    setup.submits.frozen = setup.posts.frozen = often;
    setup.posts.frozen.at = parameter * MILLISECOND / 2;
    return setup;
}

/* What is late was not lost, but for the one or other. */
static bool is_unrepeated(struct world *w, uint32_t parameter)
{
    const struct sender_counters *c = sender_counters(w->sender.core);
    (void)parameter;
    return scene_expect(&w->scene, c->repeated <= 2 * w->out.counters.lost + 2 * c->probes,
                        "%" PRIu64 " repeats of %" PRIu64 " lost", c->repeated,
                        w->out.counters.lost);
}

/* ---- threads that run for a millisecond in so many: the path is fast and short, and its rate is
 * still had. */

static const uint64_t HELD_RATE = 20000000; /* bytes a second */

static struct setup held(uint64_t seed, uint32_t parameter)
{
    struct setup setup = stream(seed, 100);
    struct absence often = {.length = (parameter - 1) * MILLISECOND,
                            .every = parameter * MILLISECOND};
    setup.out.bytes_per_second = HELD_RATE;
    setup.out.queue_bytes = 4000000;
    setup.out.delay = setup.back.delay = MILLISECOND / 10;
    setup.sender.congestion = CONGESTION_BBR;
    setup.size = 1000000;
    setup.submits.frozen = setup.posts.frozen = often;
    setup.posts.frozen.at = (duration)(seed % parameter) * MILLISECOND;
    return setup;
}

static bool is_fast(struct world *w, uint32_t parameter)
{
    uint64_t bytes = w->setup.size * w->setup.submits.messages;
    uint64_t goodput = bytes * 1000 / (uint64_t)(world_last_end(w) / MILLISECOND);
    (void)parameter;
    return scene_expect(&w->scene, goodput >= HELD_RATE / 2, "%" PRIu64 " permille of the path",
                        goodput * 1000 / HELD_RATE);
}

/* ---- an end that has 3 ms of every 100 of a processor, or that is stopped for 20 ms at random */

enum { STOPPED = 4 };

static const uint64_t STARVED_RATE = 12500000; /* bytes a second */

static struct setup starved(uint64_t seed, uint32_t parameter)
{
    struct setup setup = stream(seed, 60);
    struct absence often = {.length = 97 * MILLISECOND, .every = 100 * MILLISECOND};
    if ((parameter & STOPPED) != 0)
        often = (struct absence){
            .length = 20 * MILLISECOND, .every = 100 * MILLISECOND, .random = seed + 1};
    setup.out.bytes_per_second = STARVED_RATE;
    setup.out.queue_bytes = (parameter & STOPPED) != 0 ? 625000 : 2500000; /* 50 or 200 ms */
    setup.sender.congestion = CONGESTION_BBR;
    setup.sender.transit_units = 1 << 13;
    setup.sender.window_bytes = 16 << 20;
    setup.receiver.capacity = 4 << 20;
    setup.receiver.intervals = 1024;
    setup.receiver.holes = 4096;
    setup.size = 1 << 20;
    if ((parameter & BY_SENDER) != 0)
        setup.submits.frozen = often;
    if ((parameter & BY_RECEIVER) != 0)
        setup.posts.frozen = often;
    return setup;
}

/* At nine tenths of the path's rate, of which trailers take a fiftieth. Where an end sees each
 * round trip 100 ms late, the start takes a second of the six. */
static bool is_not_starved(struct world *w, uint32_t parameter)
{
    uint64_t bytes = w->setup.size * w->setup.submits.messages;
    uint64_t goodput = bytes * 1000 / (uint64_t)(world_last_end(w) / MILLISECOND);
    uint64_t least = (parameter & STOPPED) != 0 ? 900 : 750; /* permille */
    return scene_expect(&w->scene, goodput * 1000 >= STARVED_RATE * least,
                        "%" PRIu64 " permille of the path", goodput * 1000 / STARVED_RATE);
}

/* ---- a user that sends for a second of every seven: the first message behind a pause is as fast
 * as others */

static const uint64_t REST_RATE = 12500000; /* bytes a second */
static const duration REST_EVERY = 7 * SECOND;

static struct setup resting(uint64_t seed, uint32_t parameter)
{
    struct setup setup = stream(seed, 30);
    (void)parameter;
    setup.out.bytes_per_second = REST_RATE;
    setup.out.queue_bytes = 500000;
    setup.out.delay = setup.back.delay = 20 * MILLISECOND;
    setup.sender.congestion = CONGESTION_BBR;
    setup.sender.transit_units = 1 << 13;
    setup.sender.window_bytes = 16 << 20;
    setup.receiver.capacity = 4 << 20;
    setup.size = 4 << 20;
    setup.submits.outstanding = 1;
    setup.submits.idle =
        (struct absence){.at = SECOND, .length = REST_EVERY - SECOND, .every = REST_EVERY};
    return setup;
}

static bool is_brisk(struct world *w, uint32_t parameter)
{
    duration most = (duration)(w->setup.size * SECOND / REST_RATE) * 5 / 4;
    instant begun = REST_EVERY;
    (void)parameter;
    for (uint32_t i = 0; i < w->sender.user.begun; i++) {
        instant ended = w->sender.user.entry[i].ended;
        if (ended < begun)
            continue;
        scene_expect(&w->scene, ended - begun <= most,
                     "behind a pause a message takes %" PRId64 " ms",
                     (ended - begun) / MILLISECOND);
        begun += REST_EVERY;
    }
    return !w->scene.has_failed;
}

const struct scenario scenarios_of_pauses[] = {
    {"sender's user idle for 60 s", idle, is_quiet, BY_SENDER, 0, 2, 0},
    {"receiver's user idle for 60 s", idle, is_quiet, BY_RECEIVER, 0, 2, 0},
    {"sender stopped for 60 s", frozen, is_no_storm, BY_SENDER, 0, 4, 0},
    {"receiver stopped for 60 s", frozen, is_no_storm, BY_RECEIVER, 0, 4, 0},
    {"clocks jump by 60 s", frozen, is_no_storm, BOTH, 0, 4, 0},
    {"sender stopped for too long", frozen_for_long, NULL, BY_SENDER, 0, 4, 0},
    {"receiver stopped for too long", frozen_for_long, NULL, BY_RECEIVER, 0, 4, 0},
    {"clocks jump too far", frozen_for_long, NULL, BOTH, 0, 4, 0},
    {"timers 5 ms late", stutter, is_unrepeated, 5, 0, 4, 0},
    {"timers 50 ms late", stutter, is_unrepeated, 50, 0, 4, 0},
    {"threads run 1 ms in 10", held, is_fast, 10, 0, 8, 0},
    {"threads run 1 ms in 20", held, is_fast, 20, 0, 8, 0},
    {"user sends 1 s in 7", resting, is_brisk, 0, 0, 4, 0},
    {"sender runs 3 ms in 100", starved, is_not_starved, BY_SENDER, 0, 4, 0},
    {"receiver runs 3 ms in 100", starved, is_not_starved, BY_RECEIVER, 0, 4, 0},
    {"sender stopped at random", starved, is_not_starved, BY_SENDER | STOPPED, 0, 4, 0},
    {"receiver stopped at random", starved, is_not_starved, BY_RECEIVER | STOPPED, 0, 4, 0},
    {.name = NULL},
};
