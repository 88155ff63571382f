/* What comes in another order than it was sent, or twice, or changed, or otherwise than foretold.
 */
#include "../scenario.h"

#include <inttypes.h>

/* A stream of a few megabytes over a link that is not too fast to be filled. */
static struct setup stream(uint64_t seed)
{
    struct setup setup = setup_plain(seed);
    setup.out.bytes_per_second = 10000000;
    setup.out.delay = setup.back.delay = 5 * MILLISECOND;
    setup.sizes = SIZES_FIXED;
    setup.size = 300000;
    setup.submits.outstanding = setup.posts.outstanding = 4;
    setup.check_every = 16;
    setup.reading = (enum reading)(seed % 3);
    return setup;
}

/* ---- reorder: parameter datagrams overtake one in fifty. Where congestion control is on, what
 * was taken for lost costs half a window each time; the goodput is expected without. */

enum { RENO = 1 << 16 };

static struct setup reorder(uint64_t seed, uint32_t parameter)
{
    struct setup setup = stream(seed);
    setup.sender.congestion = (parameter & RENO) != 0 ? CONGESTION_RENO : CONGESTION_NONE;
    parameter &= RENO - 1;
    setup.out.reorder_permille = 20;
    setup.out.reorder_by = setup.back.reorder_by = parameter;
    setup.back.reorder_permille = parameter < 10 ? 20 : 0; /* so many do not come back */
    return setup;
}

static struct setup in_order(const struct setup *setup)
{
    struct setup ordered = *setup;
    ordered.out.reorder_permille = ordered.back.reorder_permille = 0;
    ordered.out.jitter = ordered.back.jitter = 0;
    return ordered;
}

static bool is_nearly_as_fast(struct world *w, uint32_t parameter)
{
    (void)parameter;
    struct setup ordered = in_order(&w->setup);
    instant finish = scenario_finish(&ordered).last_end;
    return scene_expect(
        &w->scene, world_last_end(w) * 8 <= finish * 10, "%.3f ms, in order %.3f ms",
        (double)world_last_end(w) / (double)MILLISECOND, (double)finish / (double)MILLISECOND);
}

/* But for probes, of two units each: what is overtaken at the very end waits for something that
 * does. And one in a thousand, by its time: who is overtaken by what left with the first
 * acknowledgement, a round trip later, looks old beside it. */
static bool is_unrepeated(struct world *w, uint32_t parameter)
{
    const struct sender_counters *counters = sender_counters(w->sender.core);
    uint64_t most = 2 * counters->probes + counters->units / 1000;
    scene_expect(&w->scene, counters->repeated <= most, "%" PRIu64 " units repeated, of %" PRIu64,
                 counters->repeated, counters->units);
    return is_nearly_as_fast(w, parameter);
}

/* ---- for half a second some come parameter transmissions late, or 20 ms; then order is kept, and
 * of each message one unit is lost. What was learnt of the first time must not slow down the
 * second. */

enum { UNITS_OF_EACH = 40, MESSAGES_AT_A_TIME = 4, MESSAGES = 400, MESSAGES_JUDGED = 100 };

static struct setup reorder_then_loss(uint64_t seed, uint32_t parameter)
{
    struct setup setup = stream(seed);
    setup.sender.congestion = CONGESTION_NONE;
    setup.out.bytes_per_second = 0;
    setup.size = (uint64_t)UNITS_OF_EACH * 1440;
    setup.submits.messages = setup.posts.messages = MESSAGES;
    setup.submits.outstanding = MESSAGES_AT_A_TIME;
    setup.out.reorder_permille = 100;
    setup.out.reorder_by = parameter;
    setup.out.reorder_until = setup.out.lose_from = SECOND / 2;
    setup.out.lose_every = UNITS_OF_EACH;
    return setup;
}

/* One round trip for all units, one for the repeat, and an eighth where time has to tell. */
static bool is_quick_again(struct world *w, uint32_t parameter)
{
    (void)parameter;
    const struct entry *entry = &w->sender.user.entry[MESSAGES - 1];
    duration taken = entry->ended - (entry - MESSAGES_JUDGED)->ended;
    duration each = taken * MESSAGES_AT_A_TIME / MESSAGES_JUDGED;
    duration round_trip = w->setup.out.delay + w->setup.back.delay;
    const struct sender_counters *s = sender_counters(w->sender.core);
    scene_expect(&w->scene, s->spurious > 0, "nothing was late");
    return scene_expect(&w->scene, each * 4 <= round_trip * 9, "%.2f round trips for each",
                        (double)each / (double)round_trip);
}

/* ---- jitter: at most parameter ms, on top of a delay of as much */

static struct setup jitter(uint64_t seed, uint32_t parameter)
{
    struct setup setup = stream(seed);
    setup.sender.congestion = (parameter & RENO) != 0 ? CONGESTION_RENO : CONGESTION_NONE;
    parameter &= RENO - 1;
    setup.out.delay = setup.back.delay = parameter * MILLISECOND;
    setup.out.jitter = setup.back.jitter = parameter * MILLISECOND;
    setup.limit = 600 * SECOND;
    return setup;
}

/* ---- copies, and datagrams of long ago: parameter permille */

static struct setup copies(uint64_t seed, uint32_t parameter)
{
    struct setup setup = stream(seed);
    setup.sizes = SIZES_EDGES;
    setup.submits.messages = setup.posts.messages = 40;
    setup.out.duplicate_permille = setup.back.duplicate_permille = parameter;
    setup.out.replay_permille = setup.back.replay_permille = parameter;
    setup.out.jitter = setup.back.jitter = MILLISECOND;
    setup.out.loss_permille = setup.back.loss_permille = 20;
    return setup;
}

/* ---- flipped bits: parameter permille */

static struct setup corruption(uint64_t seed, uint32_t parameter)
{
    struct setup setup = stream(seed);
    setup.sizes = SIZES_EDGES;
    setup.out.corrupt_permille = setup.back.corrupt_permille = parameter;
    return setup;
}

/* No checksum finds them: any byte may be wrong then, but none may be touched that may not be. */
static struct setup undetected(uint64_t seed, uint32_t parameter)
{
    struct setup setup = corruption(seed, parameter);
    setup.out.is_undetected = setup.back.is_undetected = true;
    setup.is_corrupt = true;
    setup.may_fail = true;
    setup.submits.close_at = setup.posts.close_at = 2 * SECOND;
    setup_patience(&setup, 2 * SECOND);
    return setup;
}

/* ---- a sender that foretells what does not come: parameter permille */

static struct setup lies(uint64_t seed, uint32_t parameter)
{
    struct setup setup = stream(seed);
    setup.sizes = SIZES_EDGES;
    setup.lie_permille = parameter;
    setup.larger_one_in = 4;
    setup.hold = 200 * MICROSECOND;
    return setup;
}

const struct scenario scenarios_of_order[] = {
    {"reorder by 1", reorder, is_unrepeated, 1, 5, 0, 0},
    {"reorder by 2", reorder, is_unrepeated, 2, 5, 0, 0},
    {"reorder by 3", reorder, is_nearly_as_fast, 3, 5, 0, 0},
    {"reorder by a window", reorder, is_nearly_as_fast, 100, 5, 0, 0},
    {"reorder by a window, reno", reorder, NULL, 100 | RENO, 5, 0, 0},
    {"reorder, then loss", reorder_then_loss, is_quick_again, 1000, 5, 0, 0},
    {"jitter 1 ms", jitter, is_nearly_as_fast, 1, 5, 0, 0},
    {"jitter 1 ms, reno", jitter, NULL, 1 | RENO, 5, 0, 0},
    {"jitter 30 ms", jitter, NULL, 30, 5, 0, 0},
    {"jitter 1 s", jitter, NULL, 1000, 5, 0, 0},
    {"copies and replay 5 %", copies, NULL, 50, 25, 0, 0},
    {"copies and replay 50 %", copies, NULL, 500, 25, 0, 0},
    {"flipped bits 2 %", corruption, NULL, 20, 25, 0, 0},
    {"flipped bits 30 %", corruption, NULL, 300, 25, 0, 0},
    {"flipped bits 2 %, undetected", undetected, NULL, 20, 100, 0, 0},
    {"flipped bits 30 %, undetected", undetected, NULL, 300, 100, 0, 0},
    {"lies 0 %", lies, NULL, 0, 10, 0, 0},
    {"lies 50 %", lies, NULL, 500, 10, 0, 0},
    {"lies 100 %", lies, NULL, 1000, 25, 0, 0},
    {.name = NULL},
};
