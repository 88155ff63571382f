/* How large units are, by what becomes of them. */
#include "core/path/unit_size.h"

#include "core/wire/datagram.h"

#include "../../support/random.h"
#include "../../support/suite.h"

#include <signal.h>
#include <stdbool.h>

enum { MOST = 9120 }; /* halves: 4560, 2272, 1120 after rounding down to grains */

static struct unit_size u;

static void setup(void)
{
    unit_size_init(&u, MOST, true);
}

static void lose(uint32_t data, uint32_t units)
{
    for (uint32_t i = 0; i < units; i++)
        unit_size_on_lost(&u, data);
    unit_size_check(&u);
}

FIXTURE(setup, NULL)

TEST(lost__more_than_arrive_halves)
{
    lose(MOST, UNIT_SIZE_EXCESS - 1);
    ck_assert_uint_eq(u.data, MOST);
    lose(MOST, 1);
    ck_assert_uint_eq(u.data, 4544);
}

/* What is lost whole would be as a smaller unit, too. */
TEST(lost__whole_says_nothing)
{
    unit_size_init(&u, MOST, false);
    lose(MOST, 1000);
    unit_size_on_silence(&u, MOST);
    ck_assert_uint_eq(u.data, MOST);
}

TEST(lost__as_many_as_arrive_is_borne)
{
    for (int i = 0; i < 1000; i++) {
        lose(MOST, 1);
        unit_size_on_arrived(&u, MOST, 1);
    }
    ck_assert_uint_eq(u.data, MOST);
}

TEST(lost__not_below_the_least)
{
    for (int i = 0; i < 10; i++)
        lose(u.data, UNIT_SIZE_EXCESS);
    ck_assert_uint_eq(u.data, 1120);
}

TEST(lost__of_another_size_says_nothing)
{
    lose(MOST, UNIT_SIZE_EXCESS);
    lose(2272, 100);
    ck_assert_uint_eq(u.data, 4544);
    lose(2273, UNIT_SIZE_EXCESS);
    ck_assert_uint_eq(u.data, 2272);
}

TEST(silence__weighs_more)
{
    for (int i = 0; i < UNIT_SIZE_EXCESS / UNIT_SIZE_SILENT; i++)
        unit_size_on_silence(&u, MOST);
    ck_assert_uint_eq(u.data, 4544);
}

TEST(arrived__long_enough_doubles)
{
    lose(MOST, UNIT_SIZE_EXCESS);
    unit_size_on_arrived(&u, 4544, 2 * UNIT_SIZE_PATIENCE - 1);
    ck_assert_uint_eq(u.data, 4544);
    unit_size_on_arrived(&u, 4544, 1);
    ck_assert_uint_eq(u.data, MOST);
}

TEST(arrived__one_in_sixteen_lost_never_doubles)
{
    lose(MOST, UNIT_SIZE_EXCESS);
    for (int i = 0; i < 10000; i++) {
        lose(4544, 1);
        unit_size_on_arrived(&u, 4544, UNIT_SIZE_RARE);
    }
    ck_assert_uint_eq(u.data, 4544);
}

TEST(arrived__waits_longer_after_each_mistake)
{
    for (uint32_t wait = 2 * UNIT_SIZE_PATIENCE; wait <= UNIT_SIZE_PATIENCE_MOST; wait *= 2) {
        uint32_t units = 0;
        lose(MOST, UNIT_SIZE_EXCESS);
        for (; u.data < MOST; units++)
            unit_size_on_arrived(&u, u.data, 1);
        ck_assert_uint_eq(units, wait);
    }
    lose(MOST, UNIT_SIZE_EXCESS);
    ck_assert_uint_eq(u.patience, UNIT_SIZE_PATIENCE_MOST);
}

TEST(arrived__at_the_most_forgets_the_mistakes)
{
    for (int i = 0; i < 5; i++) {
        lose(MOST, UNIT_SIZE_EXCESS);
        unit_size_on_arrived(&u, u.data, u.patience);
    }
    ck_assert_uint_eq(u.patience, 32 * UNIT_SIZE_PATIENCE);
    unit_size_on_arrived(&u, MOST, u.patience);
    ck_assert_uint_eq(u.patience, UNIT_SIZE_PATIENCE);
}

TEST(limit__keeps_the_share)
{
    lose(MOST, UNIT_SIZE_EXCESS);
    unit_size_limit(&u, 8000);
    ck_assert_uint_eq(u.data, 4000);
}

TEST(limit__not_below_the_least)
{
    lose(MOST, UNIT_SIZE_EXCESS);
    unit_size_limit(&u, 1440);
    ck_assert_uint_eq(u.data, 1440);
    unit_size_limit(&u, 64);
    ck_assert_uint_eq(u.data, 64);
    unit_size_check(&u);
}

/* Where a unit has a chance for each of its cells, it ends where most of them arrive. */
TEST(random__of_cells_ends_where_most_arrive)
{
    uint64_t seed = 9180;
    uint32_t arrived = 0, sent = 0;
    for (int i = 0; i<20000; i++, sent += i> 1000) {
        bool is_lost = false;
        for (uint32_t cell = 0; cell < u.data / 48 + 1; cell++)
            is_lost |= random_below(&seed, 100) == 0;
        if (is_lost)
            unit_size_on_lost(&u, u.data);
        else
            unit_size_on_arrived(&u, u.data, 1);
        arrived += i > 1000 && !is_lost;
        unit_size_check(&u);
    }
    ck_assert_uint_gt(arrived, sent / 2);
}

TEST(check__fires, .signal = SIGABRT)
{
    u.data = MOST + GRAIN;
    unit_size_check(&u);
}

TEST(arrived__of_another_size_says_nothing)
{
    lose(MOST, UNIT_SIZE_EXCESS);
    unit_size_on_arrived(&u, 4544 / 2, 10 * UNIT_SIZE_PATIENCE_MOST);
    unit_size_check(&u);
    ck_assert_uint_eq(u.data, 4544);
}

/* After two mistakes it doubles twice, with the same patience. */
TEST(arrived__doubles_again)
{
    uint32_t units[2] = {0};
    for (int i = 0; i < 2; i++)
        lose(u.data, UNIT_SIZE_EXCESS);
    for (int i = 0; i < 2; i++)
        for (uint32_t data = u.data; u.data == data; units[i]++)
            unit_size_on_arrived(&u, u.data, 1);
    ck_assert_uint_eq(u.data, MOST);
    ck_assert_uint_eq(units[0], units[1]);
}
