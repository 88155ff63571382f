/* Messages and buffers that lie in several pieces of memory, a few or very many, each end's cut in
 * its own way: what is lost, reordered, foretold wrongly or damaged lands in the pieces or nowhere.
 */
#include "../scenario.h"

static struct setup in_pieces(uint64_t seed)
{
    struct setup setup = setup_plain(seed);
    setup.cut_one_in = 1 + seed % 2;
    setup.sizes = SIZES_EDGES;
    setup.submits.messages = setup.posts.messages = 30;
    setup.larger_one_in = 3;
    setup_slow_kernel(&setup, seed);
    setup_patience(&setup, 60 * SECOND);
    setup.limit = 600 * SECOND;
    return setup;
}

/* Parameter: loss in permille. */
static struct setup lossy(uint64_t seed, uint32_t parameter)
{
    struct setup setup = in_pieces(seed);
    setup.out.loss_permille = setup.back.loss_permille = parameter;
    setup.out.duplicate_permille = setup.out.replay_permille = parameter;
    setup.submits.cancel_one_in = setup.posts.cancel_one_in = seed % 5 == 0 ? 6 : 0;
    setup.submits.cancel_after = setup.posts.cancel_after = 20 * MILLISECOND;
    return setup;
}

static struct setup reordered(uint64_t seed, uint32_t parameter)
{
    struct setup setup = in_pieces(seed);
    setup.out.jitter = setup.back.jitter = MILLISECOND;
    setup.out.reorder_permille = setup.back.reorder_permille = 200;
    setup.out.reorder_by = setup.back.reorder_by = parameter;
    return setup;
}

/* What comes is not what was foretold, in permille of the units. */
static struct setup lies(uint64_t seed, uint32_t parameter)
{
    struct setup setup = in_pieces(seed);
    setup.lie_permille = parameter;
    setup.out.loss_permille = 20;
    return setup;
}

/* Nothing finds these flipped bits: no byte but those of the buffers may change. */
static struct setup undetected(uint64_t seed, uint32_t parameter)
{
    struct setup setup = in_pieces(seed);
    setup.out.corrupt_permille = setup.back.corrupt_permille = parameter;
    setup.out.is_undetected = setup.back.is_undetected = true;
    setup.is_corrupt = setup.may_fail = true;
    setup.submits.close_at = setup.posts.close_at = 2 * SECOND;
    setup_patience(&setup, 2 * SECOND);
    return setup;
}

static struct setup sealed(uint64_t seed, uint32_t parameter)
{
    struct setup setup = lossy(seed, parameter);
    setup_keys(&setup, 5);
    setup.out.corrupt_permille = parameter;
    setup.out.is_undetected = true;
    return setup;
}

/* Small ones cross shared memory as a whole. */
static struct setup in_memory(uint64_t seed, uint32_t parameter)
{
    struct setup setup = lossy(seed, parameter);
    setup.has_memory = true;
    return setup;
}

const struct scenario scenarios_of_pieces[] = {
    {"pieces, without loss", lossy, NULL, 0, 10, 0, 0},
    {"pieces, loss 3 %", lossy, NULL, 30, 50, 0, 0},
    {"pieces, loss 20 %", lossy, NULL, 200, 25, 0, 0},
    {"pieces, reorder by 5", reordered, NULL, 5, 25, 0, 0},
    {"pieces, reorder by a window", reordered, NULL, 100, 25, 0, 0},
    {"pieces, lies 50 %", lies, NULL, 500, 25, 0, 0},
    {"pieces, flipped bits 30 %, undetected", undetected, NULL, 300, 50, 0, 0},
    {"pieces, with keys", sealed, NULL, 30, 50, 0, 0},
    {"pieces, and memory", in_memory, NULL, 30, 25, 0, 0},
    {.name = NULL},
};
