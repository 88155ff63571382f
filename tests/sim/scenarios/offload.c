/* A sending kernel that cuts bursts wrongly, and says nothing: they are lost, or their datagrams
 * are too short. And the same paths with a kernel that does it right. */
#include "../scenario.h"

#include <inttypes.h>

#define FOUND_MOST (2 * SECOND) /* where there is loss, too */
#define FOUND_SOON (SECOND / 2) /* or five round trips */
#define AGAIN_MOST (60 * SECOND)

static const duration ROUND_TRIP = 20 * MILLISECOND;
static const duration LONG_ROUND_TRIP = 200 * MILLISECOND;
static const instant MENDED = 30 * SECOND;

enum { LOSS_10 = 10, LOSS_50 = 50, LOSS_100 = 100 }; /* permille */

/* The parameter: permille of loss, and bits. */
enum {
    LOSES = 1 << 8,
    SHORTENS = 1 << 9,
    KEYS = 1 << 10,
    LONG = 1 << 11,
    MENDS = 1 << 12, /* behind a while the kernel does it right */
    QUEUE = 1 << 13, /* short, and full */
    OUTAGES = 1 << 14,
    SMALL = 1 << 15, /* messages, each of a unit or of some */
    CUBIC = 1 << 16,
    JOINS = 1 << 17,
    LOSS = LOSES - 1,
};

static struct setup kernel(uint64_t seed, uint32_t parameter)
{
    struct setup setup = setup_plain(seed);
    duration round_trip = (parameter & LONG) != 0 ? LONG_ROUND_TRIP : ROUND_TRIP;
    setup.sender.congestion = (parameter & CUBIC) != 0 ? CONGESTION_CUBIC : CONGESTION_BBR;
    setup.out.delay = setup.back.delay = round_trip / 2;
    setup.out.bytes_per_second = 12500000;
    setup.out.queue_bytes = (parameter & QUEUE) != 0 ? 30000 : 500000;
    setup.out.loss_permille = setup.back.loss_permille = parameter & LOSS;
    setup.size = 1 << 18;
    setup.submits.messages = setup.posts.messages = 40;
    if ((parameter & SMALL) != 0) {
        setup.sizes = SIZES_EDGES;
        setup.submits.messages = setup.posts.messages = 400;
        setup.submits.pause = 20 * MILLISECOND;
    }
    if ((parameter & MENDS) != 0) {
        setup.submits.pause = 3 * SECOND;
        setup.submits.messages = setup.posts.messages = 80;
    }
    if ((parameter & OUTAGES) != 0) {
        setup.out.outage = setup.back.outage = 300 * MILLISECOND;
        setup.out.outage_every = setup.back.outage_every = 700 * MILLISECOND;
    }
    setup.cutting = (parameter & LOSES) != 0      ? CUTTING_LOSES
                    : (parameter & SHORTENS) != 0 ? CUTTING_SHORTENS
                                                  : CUTTING_WORKS;
    setup.cutting_until = (parameter & MENDS) != 0 ? MENDED : NEVER;
    setup.joins_wrongly = (parameter & JOINS) != 0;
    if ((parameter & JOINS) != 0)
        setup.out.bytes_per_second = 0;          /* so that more arrive at a time */
    setup.may_fail = (parameter & OUTAGES) != 0; /* when the last word is lost */
    setup.check_every = 64;
    setup.limit = 600 * SECOND;
    if ((parameter & KEYS) != 0)
        setup_keys(&setup, 12);
    return setup;
}

/* It is found when datagrams leave singly: in doubt, which is confirmed. */
static bool is_found(struct world *w, uint32_t parameter)
{
    const struct host_sender *h = &w->sender;
    duration most = (parameter & LOSS) != 0 ? FOUND_MOST : FOUND_SOON;
    if ((parameter & LONG) != 0) /* the first probe timeout takes five, where hellos are repeated */
        most = 7 * LONG_ROUND_TRIP;
    duration found = h->single_at - h->first_unit_at;
    scene_expect(&w->scene, h->offload_failed_at != 0, "not found");
    scene_expect(&w->scene, found <= most, "found after %" PRId64 " ms", found / MILLISECOND);
    if ((parameter & MENDS) == 0)
        return !w->scene.has_failed;
    duration again = h->cut_again_at - MENDED;
    scene_expect(&w->scene, h->cut_again_at != 0 && again <= AGAIN_MOST,
                 "used again after %" PRId64 " ms", again / MILLISECOND);
    return !w->scene.has_failed;
}

/* At 0.9 of the rate of a kernel that cuts nothing. */
static bool is_as_fast(struct world *w, uint32_t parameter)
{
    struct setup uncut = kernel(w->setup.seed, parameter & ~(uint32_t)(LOSES | SHORTENS));
    uncut.sender.is_offloaded = false;
    duration other = scenario_finish(&uncut).last_end - uncut.submits.start;
    duration taken = world_last_end(w) - w->sender.offload_failed_at;
    scene_expect(&w->scene, taken <= other * 10 / 9,
                 "%" PRId64 " ms, where it takes %" PRId64 " without offload", taken / MILLISECOND,
                 other / MILLISECOND);
    return is_found(w, parameter);
}

/* The receiving kernel joins wrongly: the receiver finds it, and all arrives in time. */
static bool is_found_by_receiver(struct world *w, uint32_t parameter)
{
    uint64_t failures = receiver_counters(w->receiver.core)->offload_failures;
    instant last = world_last_end(w);
    (void)parameter;
    scene_expect(&w->scene, failures == 1, "found %" PRIu64 " times", failures);
    return scene_expect(&w->scene, last < 10 * SECOND, "all is over after %" PRId64 " ms",
                        last / MILLISECOND);
}

const struct scenario scenarios_of_offload[] = {
    {"cut bursts are lost", kernel, is_as_fast, LOSES, 100, 0, 0},
    {"cut bursts are lost, CUBIC", kernel, is_as_fast, LOSES | CUBIC, 20, 0, 0},
    {"cut bursts are lost, keys", kernel, is_as_fast, LOSES | KEYS, 20, 0, 0},
    {"cut bursts are lost, far", kernel, is_found, LOSES | LONG, 20, 0, 0},
    {"cut bursts are lost, and 1 %", kernel, is_found, LOSES | LOSS_10, 100, 0, 0},
    {"cut bursts are lost, and 5 %", kernel, is_found, LOSES | LOSS_50, 100, 0, 0},
    {"cut bursts are shortened", kernel, is_as_fast, SHORTENS, 100, 0, 0},
    {"cut bursts are shortened, keys", kernel, is_found, SHORTENS | KEYS, 20, 0, 0},
    {"cut bursts are shortened, 5 %", kernel, is_found, SHORTENS | LOSS_50, 20, 0, 0},
    {"cut bursts are lost for a while", kernel, is_found, LOSES | MENDS, 20, 0, 0},
    {"and 5 % of all", kernel, is_found, LOSES | MENDS | LOSS_50, 20, 0, 0},
    {"joined wrongly", kernel, is_found_by_receiver, JOINS, 100, 0, 0},
    {"joined wrongly, 5 % lost", kernel, is_found_by_receiver, JOINS | LOSS_50, 20, 0, 0},
    {"cut well, 1 % lost", kernel, NULL, LOSS_10, 100, 0, 0},
    {"cut well, 5 % lost", kernel, NULL, LOSS_50, 100, 0, 0},
    {"cut well, 5 % lost, CUBIC", kernel, NULL, LOSS_50 | CUBIC, 100, 0, 0},
    {"cut well, 10 % lost, small", kernel, NULL, LOSS_100 | SMALL, 100, 0, 0},
    {"cut well, a full queue", kernel, NULL, QUEUE | CUBIC, 100, 0, 0},
    {"cut well, outages", kernel, NULL, OUTAGES, 100, 0, 0},
    {"cut well, outages, 5 %, small", kernel, NULL, OUTAGES | LOSS_50 | SMALL, 100, 0, 0},
    {.name = NULL},
};
