/* Reductions that were for nothing, and are taken back. */
#include "congestion_rig.h"

FIXTURE(setup, NULL)

TEST(congestion_on_not_persistent__the_loss_remains)
{
    lose(10, 0);
    persist(10);
    congestion_on_not_persistent(&c);
    congestion_check(&c);
    ck_assert_uint_eq(c.window, 5 * UNIT);
    congestion_on_spurious(&c, 0);
    ck_assert_uint_eq(c.window, 10 * UNIT);
}

TEST(congestion_on_not_persistent__nothing_was_lost)
{
    persist(10);
    congestion_on_not_persistent(&c);
    ck_assert_uint_eq(c.window, 10 * UNIT);
    ck_assert_uint_eq(c.threshold, UINT64_MAX);
}

TEST(congestion_on_not_persistent__after_another_reduction)
{
    persist(10);
    acknowledge(4 * UNIT, 10);
    lose(20, 11);
    uint64_t window = c.window;
    congestion_on_not_persistent(&c);
    ck_assert_uint_eq(c.window, window);
}

TEST(congestion_on_spurious__undoes_when_all_had_arrived, .rows = 2)
{
    init(_i == 0 ? CONGESTION_RENO : CONGESTION_CUBIC, MOST);
    lose(10, 1);
    lose(10, 2);
    congestion_on_spurious(&c, 1);
    ck_assert_uint_lt(c.window, 10 * UNIT);
    congestion_on_spurious(&c, 2);
    ck_assert_uint_eq(c.window, 10 * UNIT);
    ck_assert_uint_eq(c.threshold, UINT64_MAX);
    lose(20, 3);
    ck_assert_uint_lt(c.window, 10 * UNIT);
}

/* What was lost of an earlier reduction's time says nothing about the last one. */
TEST(congestion_on_spurious__of_another_time)
{
    lose(10, 1);
    congestion_on_spurious(&c, 11);
    ck_assert_uint_eq(c.window, 5 * UNIT);
    congestion_on_spurious(&c, 1);
    congestion_on_spurious(&c, 1);
    ck_assert_uint_eq(c.window, 10 * UNIT);
}
