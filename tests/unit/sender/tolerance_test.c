#include "core/sender/tolerance.h"

#include "../../support/suite.h"

#include <signal.h>

static struct tolerance t;
static instant now;

static void setup(void)
{
    tolerance_init(&t);
    now = 0;
}

/* So many recoveries, each with two losses. */
static void recover(uint32_t recoveries)
{
    for (uint32_t i = 0; i < recoveries; i++) {
        instant sent = now;
        now += 10;
        tolerance_on_lost(&t, now, sent);
        tolerance_on_lost(&t, now, sent + 5);
        tolerance_check(&t);
    }
}

static void expect(uint64_t units, duration time)
{
    ck_assert_uint_eq(t.units, units);
    ck_assert_int_eq(t.time, time);
}

FIXTURE(setup, NULL)

TEST(tolerance_on_spurious__widens)
{
    expect(3, 0);
    tolerance_on_spurious(&t, 7, -1);
    expect(7, 0);
    tolerance_on_spurious(&t, 5, 20);
    expect(7, 20);
    tolerance_on_spurious(&t, 9, 10);
    expect(9, 20);
}

TEST(tolerance_on_lost__a_sign_between_begins_the_count_anew)
{
    tolerance_on_spurious(&t, 9, 20);
    for (int i = 0; i < 3; i++) {
        recover(TOLERANCE_RECOVERIES - 1);
        tolerance_on_spurious(&t, 4, 0);
    }
    recover(TOLERANCE_RECOVERIES - 1);
    expect(9, 20);
    recover(1);
    expect(TOLERANCE_UNITS, 0);
}

TEST(tolerance_on_overtaken__is_a_sign_if_it_is_far)
{
    tolerance_on_spurious(&t, 9, 20);
    recover(TOLERANCE_RECOVERIES - 1);
    tolerance_on_overtaken(&t, TOLERANCE_UNITS);
    recover(TOLERANCE_RECOVERIES - 1);
    expect(9, 20);
    tolerance_on_overtaken(&t, TOLERANCE_UNITS - 1);
    recover(1);
    expect(TOLERANCE_UNITS, 0);
}

/* The caller's clock may start anywhere; the first loss begins a recovery. */
TEST(tolerance_on_lost__before_the_epoch)
{
    now = -1000;
    tolerance_on_spurious(&t, 9, 20);
    recover(TOLERANCE_RECOVERIES);
    expect(TOLERANCE_UNITS, 0);
}

TEST(tolerance_check__units, .signal = SIGABRT)
{
    t.units = TOLERANCE_UNITS - 1;
    tolerance_check(&t);
}

TEST(tolerance_check__time, .signal = SIGABRT)
{
    t.time = -1;
    tolerance_check(&t);
}

TEST(tolerance_check__recoveries, .signal = SIGABRT)
{
    t.recoveries = TOLERANCE_RECOVERIES;
    tolerance_check(&t);
}
