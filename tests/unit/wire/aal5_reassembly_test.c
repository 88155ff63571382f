#include "core/wire/aal5.h"

#include "../../support/suite.h"
#include <signal.h>

static struct aal5_reassembly r;
static instant now;

static void setup(void)
{
    aal5_reassembly_init(&r);
    now = 5 * SECOND;
}

static struct aal5_step take(uint16_t number, bool is_end, uint32_t bytes)
{
    struct aal5_head head = {.label = 16, .number = number, .is_end = is_end};
    struct aal5_step step = aal5_reassembly_take(&r, now, &head, bytes);

    aal5_reassembly_check(&r);
    return step;
}

static void expect(struct aal5_step step, uint32_t offset, bool is_whole)
{
    ck_assert(step.is_taken);
    ck_assert_uint_eq(step.offset, offset);
    ck_assert_int_eq(step.is_whole, is_whole);
}

FIXTURE(setup, NULL)

TEST(aal5_reassembly_take__one_piece)
{
    expect(take(1, true, 48), 0, true);
    expect(take(2, true, 9216), 0, true);
    expect(take(9, true, 48), 0, true); /* nothing was under way: no PDU was given up */
    ck_assert_uint_eq(r.gaps, 0);
}

TEST(aal5_reassembly_take__several_pieces)
{
    expect(take(65534, false, 1440), 0, false);
    expect(take(65535, false, 1440), 1440, false);
    expect(take(1, true, 96), 2880, true);
    expect(take(2, true, 48), 0, true);
    ck_assert_uint_eq(r.gaps, 0);
}

TEST(aal5_reassembly_take__gap)
{
    take(1, false, 1440);
    expect(take(3, false, 1440), 0, false);
    ck_assert_uint_eq(r.gaps, 1);
    expect(take(4, true, 1440), 1440, true);
}

TEST(aal5_reassembly_take__end_is_missing)
{
    take(1, false, 1440);
    expect(take(3, true, 480), 0, true); /* the next PDU, wholly in one piece */
    ck_assert_uint_eq(r.gaps, 1);
}

TEST(aal5_reassembly_take__not_numbered)
{
    expect(take(0, false, 48), 0, false);
    expect(take(0, false, 48), 48, false);
    expect(take(7, true, 48), 96, true);
    ck_assert_uint_eq(r.gaps, 0);
}

TEST(aal5_reassembly_take__most_cells)
{
    take(1, false, AAL5_PDU_MOST - 48);
    expect(take(2, true, 48), AAL5_PDU_MOST - 48, true);
    ck_assert_uint_eq(r.overlong, 0);
}

TEST(aal5_reassembly_take__too_many_cells)
{
    take(1, false, AAL5_PDU_MOST);
    ck_assert(!take(2, false, 48).is_taken);
    ck_assert(!take(3, false, 48).is_taken);
    ck_assert(!take(4, true, 48).is_taken);
    ck_assert_uint_eq(r.overlong, 1);
    expect(take(5, true, 48), 0, true);
    ck_assert(!take(6, true, AAL5_PDU_MOST + 48).is_taken);
    expect(take(7, true, 48), 0, true);
}

/* What is skipped ends at a gap, too: its end may be what is missing. */
TEST(aal5_reassembly_take__skips_to_a_gap)
{
    take(1, false, AAL5_PDU_MOST);
    take(2, false, 48);
    expect(take(4, true, 48), 0, true);
    ck_assert_uint_eq(r.gaps, 0);
}

TEST(aal5_reassembly_take__odd_pieces)
{
    take(1, false, 48);
    ck_assert(!take(2, false, 47).is_taken);
    ck_assert(!take(3, true, 48).is_taken);
    ck_assert(!take(4, true, 0).is_taken);
    ck_assert_uint_eq(r.odd, 2);
    expect(take(5, true, 48), 0, true);
}

TEST(aal5_reassembly_take__no_progress)
{
    take(1, false, 48);
    now += AAL5_PATIENCE;
    expect(take(2, false, 48), 48, false);
    now += AAL5_PATIENCE + 1;
    expect(take(3, true, 48), 0, true);
    ck_assert_uint_eq(r.stalled, 1);
    ck_assert_uint_eq(r.gaps, 0);
}

TEST(aal5_reassembly_check__I1_cells, .signal = SIGABRT)
{
    r.bytes = 47;
    aal5_reassembly_check(&r);
}

TEST(aal5_reassembly_check__I1_most, .signal = SIGABRT)
{
    r.bytes = AAL5_PDU_MOST + 48;
    aal5_reassembly_check(&r);
}
