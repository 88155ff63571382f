/* What is lost: at random, by mask, by turns, one at a time, and for a while. */
#include "../scenario.h"

#include <inttypes.h>

enum { BOTH_WAYS = 1 << 16, MASKS = 42 };

/* ---- at random: parameter in permille, and perhaps BOTH_WAYS */

static struct setup random_loss(uint64_t seed, uint32_t parameter)
{
    struct setup setup = setup_plain(seed);
    setup.out.loss_permille = parameter & (BOTH_WAYS - 1);
    setup.back.loss_permille = (parameter & BOTH_WAYS) != 0 ? setup.out.loss_permille : 0;
    setup.sizes = SIZES_EDGES;
    setup.submits.pause = setup.posts.pause = 5 * MILLISECOND;
    setup.reading = (enum reading)(seed % 3);
    setup.hold = 100 * MICROSECOND;
    setup.flight = 100 * MICROSECOND;
    setup_patience(&setup, 600 * SECOND);
    setup.limit = 3600 * SECOND;
    return setup;
}

/* ---- every mask of up to three losses among the first datagrams, both ways */

static uint64_t few_bits(uint64_t index)
{
    for (uint64_t mask = 0;; mask++) /* MASKS of 6 bits have no more than 3 */
        if (__builtin_popcountll(mask) <= 3 && index-- == 0)
            return mask;
}

static struct setup masks(uint64_t seed, uint32_t parameter)
{
    (void)parameter;
    struct setup setup = setup_plain(seed);
    setup.out.lost_mask = few_bits(seed % MASKS);
    setup.back.lost_mask = few_bits(seed / MASKS);
    setup.submits.messages = setup.posts.messages = 3;
    setup.size = 4000;
    setup.limit = 5 * SECOND;
    return setup;
}

/* ---- every second unit, for long */

static struct setup every_second(uint64_t seed, uint32_t parameter)
{
    struct setup setup = setup_plain(seed);
    setup.out.lose_every = 2;
    setup.size = 1000000;
    setup.submits.messages = setup.posts.messages = parameter;
    setup.receiver.intervals = 32;
    setup.check_every = 512;
    setup.limit = 3000 * SECOND;
    return setup;
}

/* What is kept for a stream does not grow with it. */
static bool is_flat(struct world *w, uint32_t parameter)
{
    (void)parameter;
    uint64_t most = w->out.counters.largest_queue;
    return scene_expect(&w->scene, most <= w->setup.sender.transit_units,
                        "%" PRIu64 " datagrams under way", most);
}

/* ---- how much lands in place although some is lost; parameter in permille */

static struct setup lands(uint64_t seed, uint32_t parameter)
{
    struct setup setup = setup_plain(seed);
    setup.out.loss_permille = parameter;
    setup.out.bytes_per_second = 20000000;
    setup.out.queue_bytes = 1000000;
    setup.size = 4 << 20;
    setup.submits.messages = setup.posts.messages = 2;
    setup.reading = READING_SINGLE;
    setup.hold = 500 * MICROSECOND; /* so several datagrams wait for each plan */
    setup.check_every = 64;
    return setup;
}

/* A loss displaces one unit behind it, and its repeat lands where another was expected. */
static bool is_in_place(struct world *w, uint32_t parameter)
{
    const struct receiver_counters *r = receiver_counters(w->receiver.core);
    uint64_t least = r->units - 5 * r->units * parameter / 1000;
    return scene_expect(&w->scene, r->in_place >= least,
                        "%" PRIu64 " of %" PRIu64 " units in place", r->in_place, r->units);
}

/* ---- each single datagram of a short story: parameter 0 out, 1 back */

static struct setup one_message(uint64_t seed)
{
    struct setup setup = setup_plain(seed);
    setup.submits.messages = setup.posts.messages = 1;
    setup.size = 10 * (uint64_t)1440;
    return setup;
}

static struct setup single(uint64_t seed, uint32_t parameter)
{
    struct setup setup = one_message(1);
    struct conditions *way = parameter == 0 ? &setup.out : &setup.back;
    way->lost_mask = UINT64_C(1) << seed;
    return setup;
}

/* A hello or a request is repeated after 20 ms, and the first probe goes out by the round trip that
 * the pairing took. */
static bool is_hardly_late(struct world *w, uint32_t parameter)
{
    (void)parameter;
    struct setup clean = one_message(1);
    duration late = w->scene.now - scenario_finish(&clean).closed;
    duration round_trip = w->setup.out.delay + w->setup.back.delay;
    return scene_expect(&w->scene, late <= 40 * MILLISECOND + round_trip, "%.3f ms late",
                        (double)late / (double)MILLISECOND);
}

/* ---- outages: parameter s without a path in every parameter + 2 s. The end must not fall into
 * one: a receiver that closes gives up after five seconds. */

static struct setup outages(uint64_t seed, uint32_t parameter)
{
    struct setup setup = setup_plain(seed);
    setup.out.outage = setup.back.outage = parameter * SECOND;
    setup.out.outage_every = setup.back.outage_every = (parameter + 2) * SECOND;
    setup.out.bytes_per_second = 1000000;
    setup.out.queue_bytes = 100000;
    setup.size = 900000;
    setup_patience(&setup, 30 * SECOND);
    setup.check_every = 16;
    setup.limit = 600 * SECOND;
    return setup;
}

/* What was in transit when the path went is as old as that when it is back. */
static bool is_noticed(struct world *w, uint32_t parameter)
{
    const struct sender_counters *s = sender_counters(w->sender.core);
    (void)parameter;
    return scene_expect(&w->scene, s->persistent > 0, "no persistent congestion");
}

const struct scenario scenarios_of_loss[] = {
    {"loss 1.6 % out", random_loss, NULL, 16, 50, 0, 0},
    {"loss 2.5 % out", random_loss, NULL, 25, 50, 0, 0},
    {"loss 5 % out", random_loss, NULL, 50, 50, 0, 0},
    {"loss 10 % out", random_loss, NULL, 100, 50, 0, 0},
    {"loss 25 % out", random_loss, NULL, 250, 50, 0, 0},
    {"loss 50 % out", random_loss, NULL, 500, 50, 0, 0},
    {"loss 75 % out", random_loss, NULL, 750, 50, 0, 0},
    {"loss 1.6 % both ways", random_loss, NULL, 16 | BOTH_WAYS, 50, 0, 0},
    {"loss 2.5 % both ways", random_loss, NULL, 25 | BOTH_WAYS, 50, 0, 0},
    {"loss 5 % both ways", random_loss, NULL, 50 | BOTH_WAYS, 50, 0, 0},
    {"loss 10 % both ways", random_loss, NULL, 100 | BOTH_WAYS, 50, 0, 0},
    {"loss 25 % both ways", random_loss, NULL, 250 | BOTH_WAYS, 50, 0, 0},
    {"loss 50 % both ways", random_loss, NULL, 500 | BOTH_WAYS, 50, 0, 0},
    {"loss 75 % both ways", random_loss, NULL, 750 | BOTH_WAYS, 50, 0, 17},
    {"every mask of 3 in 6, both ways", masks, NULL, 0, 0, MASKS *MASKS, 0},
    {"every second unit, 100 MB", every_second, is_flat, 100, 0, 1, 0},
    {"in place, loss 1 %", lands, is_in_place, 10, 5, 0, 0},
    {"in place, no loss", lands, is_in_place, 0, 5, 0, 0},
    {"each datagram out", single, is_hardly_late, 0, 0, 24, 0},
    {"each datagram back", single, is_hardly_late, 1, 0, 24, 0},
    {"no path for 5 s in 7", outages, is_noticed, 5, 0, 2, 0},
    {"no path for 20 s in 22", outages, is_noticed, 20, 0, 2, 0},
    {.name = NULL},
};
