#include "../../support/suite.h"
#include "entity/workspace.h"

static struct openings openings;
static struct landing landing;

/* So many receives of a call bring datagrams of this size each; 0: one each. */
static void receive(uint32_t received, uint32_t segment)
{
    landing.received = received;
    for (uint32_t i = 0; i < received; i++)
        landing.segment[i] = segment;
    openings_learn(&openings, &landing);
}

static void expect(uint32_t recent_bytes, uint32_t count, uint32_t units)
{
    struct openings_choice choice = openings_choose(&openings, recent_bytes);

    ck_assert_uint_eq(choice.openings, count);
    ck_assert_uint_eq(choice.units, units);
}

static void expect_bursts(void)
{
    expect(64, 1, LANDING_UNITS);
}

static void expect_singles(void)
{
    expect(64, LANDING_OPENINGS, 1);
}

TEST(choose__without_gro_each_comes_by_itself)
{
    openings_init(&openings, false);
    expect(0, LANDING_OPENINGS, 1);
    expect(65000, LANDING_OPENINGS, 1);
}

TEST(choose__by_size)
{
    openings_init(&openings, true);
    expect(0, 1, LANDING_UNITS);
    expect(LANDING_DATAGRAM / 2, 1, LANDING_UNITS);
    expect(LANDING_DATAGRAM / 2 + 1, OPENINGS_LARGE, LANDING_UNITS);
}

TEST(learn__many_alone)
{
    openings_init(&openings, true);
    for (int i = 0; i < OPENINGS_ALONE; i++) {
        expect_bursts();
        receive(1, 0);
    }
    expect_singles();
    receive(LANDING_OPENINGS, 0);
    expect_singles();
    expect(LANDING_DATAGRAM - 100, OPENINGS_LARGE, LANDING_UNITS);
}

TEST(learn__nothing_changes_nothing)
{
    openings_init(&openings, true);
    receive(LANDING_OPENINGS, 0);
    for (int i = 0; i < 2 * OPENINGS_ALONE; i++)
        receive(0, 0);
    expect_bursts();
}

/* A joined burst now and then changes nothing, wherever in the call; several in a row do. */
TEST(learn__joined_ones_begin_anew)
{
    for (uint32_t at = 0; at < LANDING_OPENINGS; at++) {
        openings_init(&openings, true);
        for (int i = 0; i < 2 * OPENINGS_ALONE; i++)
            receive(1, 0);
        receive(LANDING_OPENINGS, 0);
        landing.segment[at] = 96;
        openings_learn(&openings, &landing);
        expect_singles();
        for (int i = 1; i < OPENINGS_ALONE / 2 / OPENINGS_JOINED; i++)
            receive(1, 96);
        expect_singles();
        receive(1, 96);
        receive(1, 96);
        expect_bursts();
    }
}

TEST(learn__never_wraps)
{
    openings_init(&openings, true);
    for (int i = 0; i < 1000 * OPENINGS_ALONE; i++)
        receive(LANDING_OPENINGS, 0);
    ck_assert_uint_eq(openings.alone, OPENINGS_ALONE);
}
