/* Everything at once: links, users, threads and tables of all kinds, drawn from the seed. */
#include "../scenario.h"

#include "../chance.h"

static struct conditions any_conditions(uint64_t *random)
{
    struct conditions c = {.delay = (duration)chance_below(random, 20) * MILLISECOND};
    if (chance_one_in(random, 2))
        c.loss_permille = (uint32_t)chance_below(random, 200);
    if (chance_one_in(random, 3))
        c.jitter = (duration)chance_below(random, 20) * MILLISECOND;
    if (chance_one_in(random, 3))
        c.bytes_per_second = 500000 + chance_below(random, 50000000);
    if (c.bytes_per_second != 0)
        c.queue_bytes = 70000 + (uint32_t)chance_below(random, 200000);
    if (chance_one_in(random, 3))
        c.reorder_permille = (uint32_t)chance_below(random, 200);
    c.reorder_by = 1 + (uint32_t)chance_below(random, 40);
    if (chance_one_in(random, 3))
        c.duplicate_permille = (uint32_t)chance_below(random, 200);
    if (chance_one_in(random, 4))
        c.replay_permille = (uint32_t)chance_below(random, 100);
    if (chance_one_in(random, 4))
        c.forge_permille = (uint32_t)chance_below(random, 300);
    if (chance_one_in(random, 4))
        c.corrupt_permille = (uint32_t)chance_below(random, 50);
    return c;
}

static void any_habits(uint64_t *random, struct habits *habits)
{
    habits->outstanding = 1 + (uint32_t)chance_below(random, 24);
    habits->start = (duration)chance_below(random, 50) * MILLISECOND;
    habits->pause = chance_one_in(random, 2) ? (duration)chance_below(random, 10) * MILLISECOND : 0;
    habits->cancel_one_in = chance_one_in(random, 4) ? 4 : 0;
    habits->cancel_after = 50 * MILLISECOND;
}

static void any_cores(uint64_t *random, struct setup *setup)
{
    static const uint32_t unit_bytes[] = {64, 576, 1472, 1472, 9000, 65535};
    setup->sender.unit_bytes = unit_bytes[chance_below(random, 6)];
    setup->receiver.unit_bytes = unit_bytes[chance_below(random, 6)];
    setup->sender.is_cut = setup->seed % 2 == 0;
    setup->sender.burst_bytes = setup->seed % 3 == 0 ? 4 * 65535 : 65535;
    setup->sender.call_bytes = 65535;
    setup->sender.burst_units = 1 + (uint32_t)chance_below(random, BURST_UNITS);
    setup->sender.messages = 1u << chance_below(random, 6);
    setup->receiver.messages = 1u << chance_below(random, 6);
    setup->sender.transit_units = 4u << chance_below(random, 8);
    setup->sender.congestion = chance_one_in(random, 3) ? CONGESTION_NONE : CONGESTION_RENO;
    setup->receiver.holes = 8 + (uint32_t)chance_below(random, 200);
    setup->receiver.intervals = 1 + (uint32_t)chance_below(random, 100);
    setup->receiver.capacity = 70000 + (uint32_t)chance_below(random, 400000);
    if (setup->sender.congestion == CONGESTION_NONE)
        setup->sender.window_bytes = 70000 + chance_below(random, 400000);
}

static void any_threads(uint64_t *random, struct setup *setup)
{
    setup->reading = (enum reading)chance_below(random, 3);
    setup->flights = 1 + (uint32_t)chance_below(random, 2);
    setup->flight = chance_one_in(random, 2) ? (duration)chance_below(random, 30) * MILLISECOND : 0;
    setup->hold = chance_one_in(random, 2) ? (duration)chance_below(random, 3) * MILLISECOND : 0;
    setup->refuse_permille = chance_one_in(random, 3) ? 100 : 0;
    setup->lie_permille = chance_one_in(random, 4) ? 300 : 0;
    if (chance_one_in(random, 4)) {
        setup->limit_at = (instant)chance_below(random, 300) * MILLISECOND;
        setup->limit_bytes = 64 + (uint32_t)chance_below(random, 2000);
    }
}

static struct setup everything(uint64_t seed, uint32_t parameter)
{
    uint64_t random = chance_of(seed, 77);
    struct setup setup = setup_plain(seed);
    setup.sizes = chance_one_in(&random, 4) ? SIZES_LARGE : SIZES_EDGES;
    setup.submits.messages = setup.posts.messages = 5 + (uint32_t)chance_below(&random, 40);
    setup.out = any_conditions(&random);
    setup.back = any_conditions(&random);
    any_habits(&random, &setup.submits);
    any_habits(&random, &setup.posts);
    any_cores(&random, &setup);
    any_threads(&random, &setup);
    setup.smaller_one_in = chance_one_in(&random, 3) ? 5 : 0;
    setup.larger_one_in = chance_one_in(&random, 2) ? 3 : 0;
    setup.check_every = 1 + (uint32_t)chance_below(&random, 7);
    setup.sender.first_message = setup.receiver.first_message = parameter;
    setup.sender.first_seq = setup.receiver.first_seq = parameter;
    setup.expect_one_in = chance_one_in(&random, 3) ? 2 : 0;
    setup_patience(&setup, 60 * SECOND);
    setup.limit = 1000 * SECOND;
    return setup;
}

/* The same with keys. Nothing but the tag finds flipped bits. A key is for more numbers than can be
 * lost in a row: who missed a whole epoch opens nothing any more. */
static struct setup everything_sealed(uint64_t seed, uint32_t parameter)
{
    struct setup setup = everything(seed, parameter);
    setup_keys(&setup, 12 + (uint32_t)(seed % 4));
    setup.out.is_undetected = setup.back.is_undetected = true;
    return setup;
}

/* The seed with which parts of large units filled the sender's table of repeats, and nothing that
 * was in transit arrived. */
static struct setup everything_in_parts(uint64_t seed, uint32_t parameter)
{
    (void)seed;
    return everything_sealed(200007, parameter);
}

/* Beside a memory that both ends share, which comes and goes: small messages cross it as a whole.
 */
static struct setup everything_in_memory(uint64_t seed, uint32_t parameter)
{
    struct setup setup = everything(seed, parameter);
    setup.has_memory = true;
    return setup;
}

static struct setup everything_sealed_in_memory(uint64_t seed, uint32_t parameter)
{
    struct setup setup = everything_sealed(seed, parameter);
    setup.has_memory = true;
    return setup;
}

/* A half of all messages and buffers lie in several pieces of memory. */
static struct setup everything_in_pieces(uint64_t seed, uint32_t parameter)
{
    struct setup setup = seed % 2 == 0 ? everything_in_memory(seed, parameter)
                                       : everything_sealed_in_memory(seed, parameter);
    setup.cut_one_in = 2;
    return setup;
}

/* ---- small messages of one size, many at a time: they leave, land and are acknowledged in rows */

static struct setup everything_small(uint64_t seed, uint32_t parameter)
{
    uint64_t random = chance_of(seed, 79);
    struct setup setup = everything(seed, parameter);
    setup.sizes = SIZES_FIXED;
    setup.size = 1 + chance_below(&random, chance_one_in(&random, 2) ? 40 : 600);
    setup.submits.messages = setup.posts.messages = 100 + (uint32_t)chance_below(&random, 300);
    setup.submits.outstanding = 1 + (uint32_t)chance_below(&random, 80);
    setup.posts.outstanding = 1 + (uint32_t)chance_below(&random, 80);
    setup.sender.messages = setup.receiver.messages = 4u << chance_below(&random, 6);
    setup.submits.pause = setup.posts.pause = chance_one_in(&random, 2) ? MILLISECOND / 10 : 0;
    setup.submits.cancel_one_in = chance_one_in(&random, 4) ? 20 : 0;
    setup.posts.cancel_one_in = chance_one_in(&random, 4) ? 20 : 0;
    setup.smaller_one_in = chance_one_in(&random, 3) ? 30 : 0;
    setup.larger_one_in = chance_one_in(&random, 3) ? 1 + (uint32_t)chance_below(&random, 30) : 0;
    setup.expect_one_in = chance_one_in(&random, 4) ? 30 : 0;
    return setup;
}

/* Those in pieces break the rows off. */
static struct setup everything_small_in_pieces(uint64_t seed, uint32_t parameter)
{
    struct setup setup = everything_small(seed, parameter);
    setup.cut_one_in = 8;
    return setup;
}

const struct scenario scenarios_of_everything[] = {
    {"everything", everything, NULL, 0, 100, 0, 0},
    {"everything, from 2^16 - 3", everything, NULL, (1u << 16) - 3, 50, 0, 0},
    {"everything, from 2^31 - 3", everything, NULL, (1u << 31) - 3, 50, 0, 0},
    {"everything, from 2^32 - 3", everything, NULL, UINT32_MAX - 2, 50, 0, 0},
    {"everything, with keys", everything_sealed, NULL, 0, 100, 0, 0},
    {"everything, with keys, from 2^32 - 3", everything_sealed, NULL, UINT32_MAX - 2, 50, 0, 0},
    {"everything, in parts", everything_in_parts, NULL, 0, 0, 1, 0},
    {"everything, and memory", everything_in_memory, NULL, 0, 100, 0, 0},
    {"everything, and memory, from 2^32 - 3", everything_in_memory, NULL, UINT32_MAX - 2, 50, 0, 0},
    {"everything, and memory, with keys", everything_sealed_in_memory, NULL, 0, 50, 0, 0},
    {"everything, in pieces", everything_in_pieces, NULL, 0, 100, 0, 0},
    {"everything, small, in pieces", everything_small_in_pieces, NULL, 0, 100, 0, 0},
    {"everything, small", everything_small, NULL, 0, 100, 0, 0},
    {"everything, small, from 2^32 - 30", everything_small, NULL, UINT32_MAX - 29, 100, 0, 0},
    {.name = NULL},
};
