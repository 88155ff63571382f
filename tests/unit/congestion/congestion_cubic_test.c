#include "core/congestion/cubic.h"

#include "../../support/suite.h"

enum { UNIT = 1500 };

static struct cubic c;

static void setup(void)
{
    cubic_init(&c);
}

FIXTURE(setup, NULL)

TEST(cubic_reduce__seven_tenths)
{
    ck_assert_uint_eq(cubic_reduce(&c, 1000 * UNIT), 700 * UNIT);
    ck_assert_uint_eq(c.most, 1000 * UNIT);
    ck_assert_int_eq(c.epoch, NEVER);
}

/* A flow that is losing its share lets go of more (RFC 9438, 4.7). */
TEST(cubic_reduce__converges_faster_below_the_last_window)
{
    cubic_reduce(&c, 1000 * UNIT);
    cubic_reduce(&c, 800 * UNIT);
    ck_assert_uint_eq(c.most, 680 * UNIT);
    cubic_reduce(&c, 900 * UNIT);
    ck_assert_uint_eq(c.most, 900 * UNIT);
}

/* From 700 of 1000 units the curve takes (300 / 0.4)^(1/3) = 9.086 s to be back. */
TEST(cubic_grow__is_back_after_k)
{
    uint64_t window = cubic_reduce(&c, 1000 * UNIT);
    cubic_grow(&c, 0, window, UNIT, 1, 0);
    ck_assert_int_eq(c.k / MILLISECOND, 9085);
    for (instant now = 0; now <= c.k; now += 100 * MILLISECOND)
        window = cubic_grow(&c, now, window, UNIT, window, 100 * MILLISECOND);
    ck_assert_uint_ge(window, 999 * UNIT);
    ck_assert_uint_le(window, 1001 * UNIT);
}

/* 3.2 units below where the curve is flat it takes (3.2 / 0.4)^(1/3) = 2 s to be there: the root of
 * a cube is exact. */
TEST(cubic_grow__exact_k)
{
    c.most = 20 * UNIT;
    cubic_grow(&c, 0, 20 * UNIT - 32 * UNIT / 10, UNIT, 1, 0);
    ck_assert_int_eq(c.k, 2 * SECOND);
}

/* 2 s behind K it is 0.4 x 2^3 = 3.2 units above, so a window grows slowly where it was. */
TEST(cubic_grow__flat_at_the_last_window)
{
    cubic_reduce(&c, 1000 * UNIT);
    cubic_grow(&c, 0, 700 * UNIT, UNIT, 1, 0);
    c.friendly = 0;
    uint64_t window = cubic_grow(&c, c.k + 2 * SECOND, 1000 * UNIT, UNIT, 1000 * UNIT, 0);
    ck_assert_uint_ge(window, 1003 * UNIT);
    ck_assert_uint_le(window, 1004 * UNIT);
}

TEST(cubic_grow__no_more_than_half_a_window)
{
    cubic_reduce(&c, 1000 * UNIT);
    cubic_grow(&c, 0, 700 * UNIT, UNIT, 1, 0);
    c.friendly = 0;
    uint64_t window = cubic_grow(&c, 1000 * SECOND, 1000 * UNIT, UNIT, 1000 * UNIT, 0);
    ck_assert_uint_eq(window, 1500 * UNIT);
}

/* Small windows on short paths: reno would be faster, so it is taken (4.3). */
TEST(cubic_grow__as_reno_on_short_paths)
{
    uint64_t window = cubic_reduce(&c, 10 * UNIT);
    for (int round = 0; round < 17; round++) /* 6 of 9/17 unit up to the last window, 11 of one */
        window = cubic_grow(&c, round * MILLISECOND, window, UNIT, window, MILLISECOND);
    ck_assert_uint_ge(window, 20 * UNIT);
    ck_assert_uint_le(window, 22 * UNIT);
}

TEST(cubic_rest__does_not_count)
{
    cubic_reduce(&c, 1000 * UNIT);
    cubic_grow(&c, 0, 700 * UNIT, UNIT, 1, 0);
    cubic_rest(&c, SECOND);
    cubic_rest(&c, 2 * SECOND);
    cubic_grow(&c, 11 * SECOND, 700 * UNIT, UNIT, 1, 0);
    ck_assert_int_eq(c.epoch, 10 * SECOND);
}

/* Nothing overflows at the ends of what there is. */
TEST(cubic_grow__extremes)
{
    static const uint64_t windows[] = {2, 1 << 20, UINT64_C(1) << 40};
    static const uint64_t units[] = {64, 1472, 65539};
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            uint64_t window = windows[i] * (i == 0 ? units[j] : 1);
            cubic_init(&c);
            uint64_t reduced = cubic_reduce(&c, window);
            uint64_t grown = cubic_grow(&c, 0, reduced, units[j], window, 10 * SECOND);
            ck_assert_uint_ge(grown, reduced);
            ck_assert_uint_le(grown, reduced + reduced / 2 + units[j] * 2);
            ck_assert_int_ge(c.k, 0);
        }
}
