#include "core/wire/aal5_fault.h"

#include "../../support/suite.h"
#include <string.h>

enum { CELLS = 20, SOME = 200000 };

static uint8_t pdu[CELLS * AAL5_CELL];
static struct aal5_network network;

/* Cell i is full of i + 1. */
static struct aal5_fate pass(void)
{
    for (int i = 0; i < CELLS; i++)
        memset(pdu + i * AAL5_CELL, i + 1, AAL5_CELL);
    return aal5_fault_pass(&network, pdu, CELLS);
}

static void start(struct aal5_faults faults)
{
    faults.seed = 1998;
    aal5_fault_init(&network, &faults);
}

/* Which cell lies at `place` now. */
static int cell_at(uint32_t place)
{
    for (int i = 1; i < AAL5_CELL; i++)
        ck_assert_uint_eq(pdu[place * AAL5_CELL + (uint32_t)i], pdu[place * AAL5_CELL]);
    return pdu[place * AAL5_CELL];
}

TEST(aal5_fault_is_none__each)
{
    ck_assert(aal5_fault_is_none(&(struct aal5_faults){.seed = 3, .tagged_loss = 5}));
    ck_assert(!aal5_fault_is_none(&(struct aal5_faults){.loss = 1}));
    ck_assert(!aal5_fault_is_none(&(struct aal5_faults){.tagged = 1}));
    ck_assert(!aal5_fault_is_none(&(struct aal5_faults){.swapped = 1}));
    ck_assert(!aal5_fault_is_none(&(struct aal5_faults){.merged = 1}));
    ck_assert(!aal5_fault_is_none(&(struct aal5_faults){.congested = 1}));
}

TEST(aal5_fault_is_sane__each)
{
    enum aal5_discard none = (enum aal5_discard)3;

    ck_assert(aal5_fault_is_sane(&(struct aal5_faults){.loss = AAL5_CERTAIN}));
    ck_assert(!aal5_fault_is_sane(&(struct aal5_faults){.loss = AAL5_CERTAIN + 1}));
    ck_assert(!aal5_fault_is_sane(&(struct aal5_faults){.tagged = AAL5_CERTAIN + 1}));
    ck_assert(!aal5_fault_is_sane(&(struct aal5_faults){.tagged_loss = AAL5_CERTAIN + 1}));
    ck_assert(!aal5_fault_is_sane(&(struct aal5_faults){.swapped = AAL5_CERTAIN + 1}));
    ck_assert(!aal5_fault_is_sane(&(struct aal5_faults){.merged = AAL5_CERTAIN + 1}));
    ck_assert(!aal5_fault_is_sane(&(struct aal5_faults){.congested = AAL5_CERTAIN + 1}));
    ck_assert(!aal5_fault_is_sane(&(struct aal5_faults){.discard = none}));
}

TEST(aal5_fault_pass__none)
{
    start((struct aal5_faults){0});
    struct aal5_fate fate = pass();
    ck_assert_uint_eq(fate.cells, CELLS);
    ck_assert(fate.has_end);
    ck_assert(!fate.is_congested);
    ck_assert(!fate.is_tagged);
    for (uint32_t i = 0; i < CELLS; i++)
        ck_assert_int_eq(cell_at(i), (int)i + 1);
    ck_assert_uint_eq(network.pdus_hit, 0);
}

/* What is left keeps its order, and the end is marked exactly where it is left. */
TEST(aal5_fault_pass__loss)
{
    uint64_t left = 0;

    start((struct aal5_faults){.loss = SOME});
    for (int round = 0; round < 1000; round++) {
        struct aal5_fate fate = pass();
        for (uint32_t i = 1; i < fate.cells; i++)
            ck_assert_int_lt(cell_at(i - 1), cell_at(i));
        ck_assert_int_eq(fate.has_end, fate.cells > 0 && cell_at(fate.cells - 1) == CELLS);
        left += fate.cells;
    }
    ck_assert_uint_eq(left + network.cells_lost, 1000 * CELLS);
    ck_assert_uint_gt(network.cells_lost, 1000 * CELLS / 6);
    ck_assert_uint_lt(network.cells_lost, 1000 * CELLS / 4);
}

TEST(aal5_fault_pass__all_lost)
{
    start((struct aal5_faults){.loss = AAL5_CERTAIN});
    struct aal5_fate fate = pass();
    ck_assert_uint_eq(fate.cells, 0);
    ck_assert(!fate.has_end);
    ck_assert_uint_eq(network.pdus_hit, 1);
}

/* A run of first cells, and at most the last one. */
TEST(aal5_fault_pass__partial_discard)
{
    start((struct aal5_faults){.loss = SOME, .discard = AAL5_DISCARD_PARTIAL});
    for (int round = 0; round < 1000; round++) {
        struct aal5_fate fate = pass();
        uint32_t run = fate.cells - (fate.has_end ? 1 : 0);
        for (uint32_t i = 0; i < run; i++)
            ck_assert_int_eq(cell_at(i), (int)i + 1);
    }
    ck_assert_uint_gt(network.cells_lost, 1000 * CELLS / 2);
}

TEST(aal5_fault_pass__early_discard)
{
    unsigned whole = 0;

    start((struct aal5_faults){.loss = SOME / 10, .discard = AAL5_DISCARD_EARLY});
    for (int round = 0; round < 1000; round++) {
        struct aal5_fate fate = pass();
        ck_assert(fate.cells == 0 || fate.cells == CELLS);
        ck_assert_int_eq(fate.has_end, fate.cells == CELLS);
        whole += fate.cells == CELLS;
    }
    ck_assert_uint_eq(whole + network.pdus_hit, 1000);
    ck_assert_uint_gt(whole, 500);
    ck_assert_uint_lt(whole, 900);
}

/* All cells are there, the last in its place, others not. */
TEST(aal5_fault_pass__swapped)
{
    start((struct aal5_faults){.swapped = SOME});
    for (int round = 0; round < 100; round++) {
        struct aal5_fate fate = pass();
        uint32_t seen = 0;
        ck_assert_uint_eq(fate.cells, CELLS);
        ck_assert_int_eq(cell_at(CELLS - 1), CELLS);
        for (uint32_t i = 0; i < CELLS; i++)
            seen |= 1U << cell_at(i);
        ck_assert_uint_eq(seen, (1U << (CELLS + 1)) - 2);
    }
    ck_assert_uint_gt(network.cells_swapped, 200);
    ck_assert_uint_gt(network.pdus_hit, 50);
}

TEST(aal5_fault_pass__merged)
{
    start((struct aal5_faults){.merged = AAL5_CERTAIN});
    struct aal5_fate fate = pass();
    ck_assert_uint_eq(fate.cells, CELLS - 1);
    ck_assert(!fate.has_end);
    ck_assert_uint_eq(network.cells_lost, 1);
}

TEST(aal5_fault_pass__tagged_go_first)
{
    start((struct aal5_faults){.tagged = AAL5_CERTAIN / 2, .tagged_loss = AAL5_CERTAIN});
    unsigned tagged = 0;
    for (int round = 0; round < 1000; round++) {
        struct aal5_fate fate = pass();
        ck_assert_uint_eq(fate.cells, fate.is_tagged ? 0 : CELLS);
        tagged += fate.is_tagged;
    }
    ck_assert_uint_gt(tagged, 400);
    ck_assert_uint_lt(tagged, 600);
}

TEST(aal5_fault_pass__congested)
{
    start((struct aal5_faults){.congested = AAL5_CERTAIN});
    struct aal5_fate fate = pass();
    ck_assert(fate.is_congested);
    ck_assert_uint_eq(fate.cells, CELLS);
}

TEST(aal5_fault_pass__seed_repeats)
{
    uint32_t cells[100];

    for (int again = 0; again < 2; again++) {
        start((struct aal5_faults){.loss = SOME});
        for (int round = 0; round < 100; round++) {
            uint32_t left = pass().cells;
            if (again)
                ck_assert_uint_eq(left, cells[round]);
            cells[round] = left;
        }
    }
}
