/* Paths that users have: goodput, repeats and queues over each, in virtual time. The parameter is
 * the path and the congestion control. */
#include "../scenario.h"

#include <inttypes.h>

#define MBIT UINT64_C(125000) /* bytes a second */

enum { KIND = 1 << 8, MESSAGE = 1 << 20 };

/* The clock has run for a while when the first message is sent, as clocks have. */
static const instant START = 10 * SECOND;

struct path {
    uint64_t rate;      /* of the bottleneck, bytes a second */
    uint64_t rate_back; /* 0: no limit */
    duration round_trip;
    uint32_t queue; /* bytes */
    uint32_t loss_permille;
    uint32_t reorder_permille;
    uint32_t messages;               /* of 1 MiB */
    uint32_t floor_bbr, floor_cubic; /* goodput in permille of the rate */
    duration late;                   /* threads at both ends wake so late, at most */
    bool is_link; /* as zcrp-bench and zcrp-link have it: both ways lose, behind the rate, and a
                     message that does not count has gone before */
};

enum {
    CLEAN,
    LOSSY,
    FAST,
    BAD,
    SPACE,
    DEEP,
    REORDER,
    SHALLOW,
    LATE,
    LINK_CLEAN,
    LINK_LOSSY,
    LINK_FAST,
    LINK_BAD,
    LINK_SPACE,
    LINK_LATE,
};

static const struct path paths[] = {
    [CLEAN] = {100 * MBIT, 0, 20 * MILLISECOND, 250000, 0, 0, 50, 900, 900, 0, false},
    [LOSSY] = {100 * MBIT, 0, 40 * MILLISECOND, 500000, 10, 0, 50, 850, 0, 0, false},
    [FAST] = {1000 * MBIT, 0, 10 * MILLISECOND, 1250000, 1, 0, 200, 900, 0, 0, false},
    [BAD] = {20 * MBIT, 0, 100 * MILLISECOND, 250000, 50, 0, 30, 750, 0, 0, false},
    [SPACE] = {250 * MBIT, 3 * MBIT, 600 * MILLISECOND, 20000000, 0, 0, 100, 370, 280, 0, false},
    [DEEP] = {20 * MBIT, 0, 40 * MILLISECOND, 4000000, 0, 0, 30, 900, 900, 0, false},
    [REORDER] = {100 * MBIT, 0, 20 * MILLISECOND, 250000, 0, 50, 50, 900, 900, 0, false},
    [SHALLOW] = {100 * MBIT, 0, 40 * MILLISECOND, 50000, 0, 0, 50, 800, 700, 0, false},
    [LATE] = {100 * MBIT, 0, 20 * MILLISECOND, 625000, 0, 0, 150, 900, 900, MILLISECOND, false},
    [LINK_CLEAN] = {100 * MBIT, 0, 20 * MILLISECOND, 625000, 0, 0, 50, 950, 0, 0, true},
    [LINK_LOSSY] = {100 * MBIT, 0, 40 * MILLISECOND, 625000, 10, 0, 80, 935, 0, 0, true},
    [LINK_FAST] = {1000 * MBIT, 0, 10 * MILLISECOND, 6250000, 1, 0, 300, 940, 0, 0, true},
    [LINK_BAD] = {20 * MBIT, 0, 100 * MILLISECOND, 125000, 50, 0, 24, 800, 0, 0, true},
    [LINK_SPACE] = {250 * MBIT, 3 * MBIT, 600 * MILLISECOND, 1562500, 0, 0, 96, 620, 0, 0, true},
    [LINK_LATE] = {250 * MBIT, 3 * MBIT, 600 * MILLISECOND, 1562500, 0, 0, 96, 560, 0, MILLISECOND,
                   true},
};

static struct setup path(uint64_t seed, uint32_t parameter)
{
    const struct path *p = &paths[parameter % KIND];
    struct setup setup = setup_plain(seed);
    setup.sender.congestion = (enum congestion_kind)(parameter / KIND);
    setup.out = (struct conditions){.bytes_per_second = p->rate,
                                    .queue_bytes = p->queue,
                                    .delay = p->round_trip / 2,
                                    .loss_permille = p->loss_permille,
                                    .reorder_permille = p->reorder_permille,
                                    .reorder_by = 3};
    setup.back = (struct conditions){.bytes_per_second = p->rate_back,
                                     .queue_bytes = p->rate_back != 0 ? 64000 : 0,
                                     .delay = p->round_trip / 2,
                                     .jitter = p->late};
    setup.out.loses_behind = setup.submits.opens_alone = setup.posts.opens_alone = p->is_link;
    setup.back.loss_permille = p->is_link ? p->loss_permille : 0;
    setup.flight = setup.hold = p->late;
    setup.size = MESSAGE;
    setup.submits.messages = setup.posts.messages = p->messages + p->is_link;
    setup.submits.start = setup.posts.start = START;
    setup.submits.outstanding = setup.posts.outstanding = 64;
    setup.sender.messages = setup.receiver.messages = 64;
    setup.sender.transit_units = 1 << 15;
    setup.sender.window_bytes = 32 << 20;
    setup.sender.burst_units = 64;
    setup.receiver.capacity = 4 << 20;
    setup.receiver.intervals = 1024;
    setup.receiver.holes = 4096;
    setup.check_every = 4096;
    setup.limit = 600 * SECOND;
    return setup;
}

/* Bytes under way at a time, at most. */
static uint64_t most_waiting(const struct world *w)
{
    return w->out.counters.largest_queue * w->setup.sender.unit_bytes;
}

/* Of a datagram before the bottleneck, in the mean. */
static duration mean_wait(const struct world *w)
{
    return w->out.counters.waited / (duration)w->out.counters.sent;
}

/* How many of a thousand of the path's bytes were the messages'. */
static bool is_filled(struct world *w, uint32_t parameter)
{
    const struct path *p = &paths[parameter % KIND];
    const struct sender_counters *c = sender_counters(w->sender.core);
    bool is_bbr = parameter / KIND == CONGESTION_BBR;
    uint64_t bytes = (uint64_t)p->messages * MESSAGE;
    instant start = p->is_link ? w->receiver.user.entry[0].ended : START;
    uint64_t goodput = bytes * 1000 / (uint64_t)((world_last_end(w) - start) / MILLISECOND);
    uint64_t lost = w->out.counters.lost;
    scene_expect(&w->scene, goodput * 1000 >= (is_bbr ? p->floor_bbr : p->floor_cubic) * p->rate,
                 "%" PRIu64 " permille of the path", goodput * 1000 / p->rate);
    scene_expect(&w->scene, c->repeated * 50 <= lost * 51 + 500,
                 "%" PRIu64 " repeats of %" PRIu64 " lost", c->repeated, lost);
    if (is_bbr) /* at most two round trips of queue, where the path has room for more */
        scene_expect(&w->scene,
                     most_waiting(w) <=
                         3 * p->rate / 1000 * (uint64_t)(p->round_trip / MILLISECOND),
                     "%" PRIu64 " bytes under way", most_waiting(w));
    if (is_bbr)
        scene_expect(&w->scene, mean_wait(w) * (p->is_link ? 3 : 2) <= p->round_trip,
                     "waits %.1f ms in the mean", (double)mean_wait(w) / (double)MILLISECOND);
    scene_expect(&w->scene, w->receiver.overflows == 0, "%" PRIu64 " found the socket full",
                 w->receiver.overflows);
    return !w->scene.has_failed;
}

enum { BBR = CONGESTION_BBR * KIND, CUBIC = CONGESTION_CUBIC * KIND };

const struct scenario scenarios_of_paths[] = {
    {"path clean, bbr", path, is_filled, CLEAN + BBR, 0, 1, 0},
    {"path clean, cubic", path, is_filled, CLEAN + CUBIC, 0, 1, 0},
    {"path lossy, bbr", path, is_filled, LOSSY + BBR, 0, 1, 0},
    {"path lossy, cubic", path, is_filled, LOSSY + CUBIC, 0, 1, 0},
    {"path fast, bbr", path, is_filled, FAST + BBR, 0, 1, 0},
    {"path fast, cubic", path, is_filled, FAST + CUBIC, 0, 1, 0},
    {"path bad, bbr", path, is_filled, BAD + BBR, 0, 1, 0},
    {"path bad, cubic", path, is_filled, BAD + CUBIC, 0, 1, 0},
    {"path space, bbr", path, is_filled, SPACE + BBR, 0, 1, 0},
    {"path space, cubic", path, is_filled, SPACE + CUBIC, 0, 1, 0},
    {"path deep, bbr", path, is_filled, DEEP + BBR, 0, 1, 0},
    {"path deep, cubic", path, is_filled, DEEP + CUBIC, 0, 1, 0},
    {"path reorder, bbr", path, is_filled, REORDER + BBR, 0, 1, 0},
    {"path reorder, cubic", path, is_filled, REORDER + CUBIC, 0, 1, 0},
    {"path late, bbr", path, is_filled, LATE + BBR, 0, 1, 0},
    {"path late, cubic", path, is_filled, LATE + CUBIC, 0, 1, 0},
    {"path shallow, bbr", path, is_filled, SHALLOW + BBR, 0, 1, 0},
    {"path shallow, cubic", path, is_filled, SHALLOW + CUBIC, 0, 1, 0},
    {"path as link, clean", path, is_filled, LINK_CLEAN + BBR, 0, 2, 0},
    {"path as link, lossy", path, is_filled, LINK_LOSSY + BBR, 0, 2, 0},
    {"path as link, fast", path, is_filled, LINK_FAST + BBR, 0, 2, 0},
    {"path as link, bad", path, is_filled, LINK_BAD + BBR, 0, 2, 0},
    {"path as link, space", path, is_filled, LINK_SPACE + BBR, 0, 2, 0},
    {"path as link, space, late", path, is_filled, LINK_LATE + BBR, 0, 2, 0},
    {.name = NULL},
};
