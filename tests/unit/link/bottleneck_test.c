#include "zcrp-link/path.h"

#include "../../support/suite.h"

#define LONG (1000 * SECOND)

TEST(bottleneck_enter__no_rate_no_time)
{
    struct bottleneck b;
    instant leaves = 0;
    bottleneck_init(&b, 0, 0);
    for (int i = 0; i < 1000; i++)
        ck_assert(bottleneck_enter(&b, 5, 65535, &leaves));
    ck_assert_int_eq(leaves, 5);
}

TEST(bottleneck_enter__sends_one_after_the_other)
{
    struct bottleneck b;
    instant leaves;
    bottleneck_init(&b, 8000000, LONG); /* a byte each us */
    ck_assert(bottleneck_enter(&b, 1000, 1500, &leaves));
    ck_assert_int_eq(leaves, 1000 + 1500 * MICROSECOND);
    ck_assert(bottleneck_enter(&b, 2000, 500, &leaves));
    ck_assert_int_eq(leaves, 1000 + 2000 * MICROSECOND);
    ck_assert(bottleneck_enter(&b, SECOND, 500, &leaves));
    ck_assert_int_eq(leaves, SECOND + 500 * MICROSECOND);
}

/* What does not come out even in ns is not lost: after many packets, their time has passed. */
TEST(bottleneck_enter__the_rate_is_exact, .rows = 4)
{
    static const uint64_t rates[] = {155000000, 1000000007, 9999999967, 999983};
    struct bottleneck b;
    instant leaves = 0;
    uint64_t bits = 0;
    bottleneck_init(&b, rates[_i], LONG);
    for (uint32_t size = 40; bits < rates[_i] / 16; size = size % 1500 + 40) {
        ck_assert(bottleneck_enter(&b, 0, size, &leaves));
        bits += size * UINT64_C(8);
    }
    instant exact = (instant)((double)bits * 1e9 / (double)rates[_i]);
    ck_assert_int_le(exact - leaves, 1);
    ck_assert_int_le(leaves - exact, 1);
}

/* The queue takes what leaves within the limit; and always a packet that need not wait. */
TEST(bottleneck_enter__drops_what_would_wait_longer)
{
    struct bottleneck b;
    instant leaves;
    bottleneck_init(&b, 8000000, 3 * MILLISECOND);
    for (int i = 1; i <= 3; i++) {
        ck_assert(bottleneck_enter(&b, 0, 1000, &leaves));
        ck_assert_int_eq(leaves, i * MILLISECOND);
    }
    ck_assert(!bottleneck_enter(&b, 0, 1, &leaves));
    ck_assert(!bottleneck_enter(&b, MILLISECOND, 1001, &leaves));
    ck_assert(bottleneck_enter(&b, MILLISECOND, 1000, &leaves));
    ck_assert_int_eq(leaves, 4 * MILLISECOND);
    ck_assert(bottleneck_enter(&b, 4 * MILLISECOND, 9000, &leaves));
    ck_assert_int_eq(leaves, 13 * MILLISECOND);
}

/* Whoever looks late finds everything due that came before: no time of the rate is lost. */
TEST(bottleneck_enter__late_looks_cost_nothing)
{
    struct bottleneck prompt, late;
    instant a = 0, b = 0;
    bottleneck_init(&prompt, 100000000, LONG);
    bottleneck_init(&late, 100000000, LONG);
    for (int i = 0; i < 1000; i++) {
        ck_assert(bottleneck_enter(&prompt, i * 100 * MICROSECOND, 1500, &a));
        ck_assert(bottleneck_enter(&late, (i + 9) / 10 * MILLISECOND, 1500, &b));
    }
    ck_assert_int_eq(a, 1000 * 120 * MICROSECOND);
    ck_assert_int_le(b - a, MILLISECOND);
}
