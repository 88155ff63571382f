#include "../../support/suite.h"
#include "workers/workspace.h"

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
    struct openings_choice choice = openings_choose(&openings, recent_bytes, 0);

    ck_assert_uint_eq(choice.openings, count);
    ck_assert_uint_eq(choice.units, units);
}

static void expect_bursts(void)
{
    expect(1000, 1, LANDING_UNITS);
}

static void expect_singles(void)
{
    expect(1000, LANDING_OPENINGS, 1);
}

/* Small units are planned as far as they are likely to come. */
TEST(choose__small_units_as_many_as_are_likely)
{
    openings_init(&openings, true);
    expect(64, 1, LANDING_UNITS); /* nothing is known */
    landing.bytes[0] = 5 * 100 - 20;
    receive(1, 100);
    expect(64, 1, 5 * OPENINGS_SPARE);
    expect(OPENINGS_SMALL + 1, 1, LANDING_UNITS);
    landing.bytes[0] = 50 * 100;
    receive(1, 100);
    expect(64, 1, LANDING_UNITS);
    for (int i = 0; i < 100; i++)
        receive(1, 0);
    expect(64, 1, OPENINGS_SPARE);
}

TEST(choose__small_units_alone_as_many_as_are_likely)
{
    openings_init(&openings, false);
    receive(3, 0);
    expect(64, 3 * OPENINGS_SPARE, 1);
    receive(0, 0);
    expect(64, 3 * OPENINGS_SPARE, 1);
    receive(1, 0);
    expect(64, 2 * OPENINGS_SPARE, 1);
    receive(LANDING_OPENINGS, 0);
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

/* A call brings one joined burst of so many datagrams, the last shorter by `less` bytes. */
static void receive_joined(uint32_t datagrams, uint32_t less)
{
    landing.bytes[0] = datagrams * 1472 - less;
    receive(1, 1472);
    landing.bytes[0] = 0;
}

static void expect_amid(uint64_t rest, uint32_t count, uint32_t units)
{
    struct openings_choice choice = openings_choose(&openings, 1440, rest);

    ck_assert_uint_eq(choice.openings, count);
    ck_assert_uint_eq(choice.units, units);
}

TEST(learn__bursts_of_one_length)
{
    openings_init(&openings, true);
    for (int i = 0; i < OPENINGS_WHOLE; i++) {
        expect_amid(1 << 20, 1, LANDING_UNITS);
        receive_joined(44, 0);
        receive_joined(33, 8);
    }
    expect_amid(1 << 20, 3, 44);
    expect_amid(44 * 1472 * 2, 2, 44);
    expect_amid(44 * 1472 + 1, 2, 44);
    expect_amid(44 * 1472, 1, LANDING_UNITS);
    expect_amid(0, 1, LANDING_UNITS);
    receive_joined(33, 0);
    expect_amid(1 << 20, 1, LANDING_UNITS);
}

TEST(learn__bursts_of_any_length)
{
    openings_init(&openings, true);
    for (uint32_t i = 0; i < 1000; i++) {
        receive_joined(2 + i * 7 % 40, 0);
        expect_amid(1 << 20, 1, LANDING_UNITS);
    }
}

/* A neighbour says any number. */
TEST(learn__bursts_of_lies)
{
    openings_init(&openings, true);
    landing.bytes[0] = LANDING_DATAGRAM;
    for (uint32_t i = 0; i < 2 * OPENINGS_WHOLE; i++) {
        receive(1, 1);
        expect_amid(1 << 20, 1, LANDING_UNITS);
    }
    landing.bytes[0] = 0;
}

TEST(learn__never_wraps)
{
    openings_init(&openings, true);
    for (int i = 0; i < 1000 * OPENINGS_ALONE; i++)
        receive(LANDING_OPENINGS, 0);
    ck_assert_uint_eq(openings.alone, OPENINGS_ALONE);
}
