/* With keys: what is lost, doubled, damaged and not sent, and each number is sealed once and opened
 * once (sealing.h). Epochs are short, and so keys change many times. */
#include "../scenario.h"

#include "../chance.h"

#include <inttypes.h>

enum { EPOCH_BITS = 5 };

/* Some datagrams of each run come twice, whatever chance does. */
#define COME_TWICE UINT64_C(0xFFFF00)

static struct setup sealed(uint64_t seed)
{
    struct setup setup = setup_plain(seed);
    setup_keys(&setup, EPOCH_BITS);
    setup.sizes = SIZES_EDGES;
    setup.submits.messages = setup.posts.messages = 30;
    setup.submits.pause = setup.posts.pause = 2 * MILLISECOND;
    setup.out.loss_permille = setup.back.loss_permille = 30;
    setup.out.duplicate_permille = setup.back.duplicate_permille = 30;
    setup.out.duplicate_mask = COME_TWICE;
    setup_slow_kernel(&setup, seed);
    setup_patience(&setup, 60 * SECOND);
    setup.limit = 600 * SECOND;
    return setup;
}

/* Old datagrams come again: none of them is opened again. Parameter: loss in permille. */
static struct setup lossy(uint64_t seed, uint32_t parameter)
{
    struct setup setup = sealed(seed);
    setup.out.loss_permille = setup.back.loss_permille = parameter;
    setup.out.replay_permille = setup.back.replay_permille = 100;
    return setup;
}

static struct setup reordered(uint64_t seed, uint32_t parameter)
{
    struct setup setup = sealed(seed);
    setup.out.jitter = setup.back.jitter = parameter * MILLISECOND;
    setup.out.reorder_permille = setup.back.reorder_permille = 100;
    setup.out.reorder_by = setup.back.reorder_by = 20;
    return setup;
}

/* Nothing but the tag finds these flipped bits. Yet no byte is wrong. Parameter: in permille. */
static struct setup flipped(uint64_t seed, uint32_t parameter)
{
    struct setup setup = sealed(seed);
    setup.out.corrupt_permille = setup.back.corrupt_permille = parameter;
    setup.out.is_undetected = setup.back.is_undetected = true;
    setup.out.forge_permille = setup.back.forge_permille = parameter;
    return setup;
}

/* The path carries less, and later more; then the interface takes less, too. */
static struct setup narrows(uint64_t seed, uint32_t parameter)
{
    struct setup setup = sealed(seed);
    setup.sender.unit_most = 9000;
    setup.sender.unit_bytes = parameter;
    setup.out.mtus[0] = (struct mtu_from){0, 9100};
    setup.out.mtus[1] = (struct mtu_from){30 * MILLISECOND, 1280};
    setup.out.mtus[2] = (struct mtu_from){SECOND, 1500};
    setup.limit_at = 2 * SECOND;
    setup.limit_bytes = 1000;
    setup.submits.pause = setup.posts.pause = 200 * MILLISECOND;
    return setup;
}

/* The kernel takes a part of a burst, or nothing: what was sealed is burnt. */
static struct setup blocked(uint64_t seed, uint32_t parameter)
{
    struct setup setup = sealed(seed);
    setup.refuse_permille = parameter;
    return setup;
}

static struct setup cancelled(uint64_t seed, uint32_t parameter)
{
    struct setup setup = sealed(seed);
    setup.submits.cancel_one_in = setup.posts.cancel_one_in = parameter;
    setup.submits.cancel_after = setup.posts.cancel_after = 20 * MILLISECOND;
    setup.smaller_one_in = 5;
    return setup;
}

/* Both hosts restart, one after the other, and meet again with new keys. Old datagrams come again
 * all the time. */
static struct setup restarted(uint64_t seed, uint32_t parameter)
{
    struct setup setup = lossy(seed, 30);
    uint64_t random = seed;
    (void)parameter;
    setup.may_fail = true;
    setup.sizes = SIZES_LARGE;
    setup.submits.messages = setup.posts.messages = 200;
    setup.submits.restart_at = (instant)(20 + random_next(&random) % 100) * MILLISECOND;
    setup.posts.restart_at = (instant)(20 + random_next(&random) % 100) * MILLISECOND;
    setup.submits.close_at = setup.posts.close_at = 3 * SECOND;
    return setup;
}

static bool is_sealed(struct world *w, uint32_t parameter)
{
    const struct sealing *s = w->sealing;
    (void)parameter;
    scene_tell(&w->scene, "keys",
               "%zu numbers sealed, %" PRIu64 " opened, %" PRIu64 " replayed, %" PRIu64 " forged",
               s->count, s->opened, sealing_replayed(s), sealing_forged(s));
    return scene_expect(&w->scene, s->opened > w->setup.submits.messages, "nothing was opened") &&
           scene_expect(&w->scene, sealing_replayed(s) > 0, "nothing was replayed");
}

static bool is_forged(struct world *w, uint32_t parameter)
{
    return is_sealed(w, parameter) &&
           scene_expect(&w->scene, sealing_forged(w->sealing) > 0, "nothing was forged");
}

/* The second handshake's keys were of use. */
static bool is_renewed(struct world *w, uint32_t parameter)
{
    const struct sealing_handshake *second = &w->sealing->handshake[SEALING_LIVES - 1];
    return is_sealed(w, parameter) &&
           scene_expect(&w->scene, second->opens[SEALING_UNITS].keys.opened > 0,
                        "nothing was opened after the restarts");
}

const struct scenario scenarios_of_keys[] = {
    {"keys, loss 3 % and replay", lossy, is_sealed, 30, 100, 0, 0},
    {"keys, loss 25 % and replay", lossy, is_sealed, 250, 50, 0, 0},
    {"keys, reorder", reordered, is_sealed, 5, 50, 0, 0},
    {"keys, flipped bits", flipped, is_forged, 50, 100, 0, 0},
    {"keys, mtu", narrows, is_sealed, 9000, 20, 0, 0},
    {"keys, blocked sends", blocked, is_sealed, 300, 50, 0, 0},
    {"keys, cancels", cancelled, is_sealed, 3, 50, 0, 0},
    {"keys, restart of both", restarted, is_renewed, 0, 50, 0, 0},
    {.name = NULL},
};
