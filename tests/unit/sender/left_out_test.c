#include "core/sender/left_out.h"

#include "../../support/secret.h"
#include "../../support/suite.h"
#include "../../support/tables.h"

enum { FEW = 4 };

static uint64_t few[FEW];
static uint64_t kept[LEFT_OUT_KEPT];
static struct left_out l;
static struct secret secret;

static void setup(void)
{
    secret = secret_of_seed(1);
    left_out_init(&l, TABLE_FROM(few, FEW, kept, LEFT_OUT_KEPT), &secret);
}

FIXTURE(setup, NULL)

TEST(left_out__is_due_after_the_units_drawn)
{
    for (int i = 0; i < 1000; i++) {
        uint64_t units = l.units;
        ck_assert_uint_ge(units, LEFT_OUT_LEAST);
        ck_assert_uint_le(units, LEFT_OUT_MOST);
        left_out_on_sent(&l, (uint32_t)units - 1);
        ck_assert(!left_out_is_due(&l));
        left_out_on_sent(&l, i % 2 ? 1 : 100);
        ck_assert(left_out_is_due(&l));
        left_out_add(&l, (uint64_t)i * 3, &secret, UINT64_MAX);
    }
}

TEST(left_out__one_a_window)
{
    for (uint64_t i = 0; i < 1000; i++) {
        left_out_add(&l, i, &secret, 80);
        ck_assert_uint_le(l.units, 80);
        ck_assert_uint_ge(l.units, LEFT_OUT_LEAST);
    }
    left_out_add(&l, 1000, &secret, 1); /* a window of few units */
    ck_assert_uint_eq(l.units, LEFT_OUT_LEAST);
}

TEST(left_out__has)
{
    ck_assert(!left_out_has(&l, 0, UINT64_MAX));
    left_out_add(&l, 10, &secret, 80);
    left_out_add(&l, 20, &secret, 80);
    ck_assert(!left_out_has(&l, 0, 10));
    ck_assert(left_out_has(&l, 0, 11));
    ck_assert(left_out_has(&l, 10, 11));
    ck_assert(!left_out_has(&l, 11, 20));
    ck_assert(left_out_has(&l, 11, 21));
    ck_assert(!left_out_has(&l, 21, UINT64_MAX));
    ck_assert(!left_out_has(&l, 10, 10));
}

TEST(left_out__forgets_the_oldest)
{
    for (uint64_t i = 0; i < 2 * LEFT_OUT_KEPT; i++)
        left_out_add(&l, 100 * i, &secret, 80);
    left_out_check(&l);
    ck_assert(!left_out_has(&l, 0, 100 * LEFT_OUT_KEPT));
    for (uint64_t i = LEFT_OUT_KEPT; i < 2 * LEFT_OUT_KEPT; i++) {
        ck_assert(left_out_has(&l, 100 * i, 100 * i + 1));
        ck_assert(!left_out_has(&l, 100 * i + 1, 100 * i + 100));
    }
}

TEST(left_out__check_fires, .signal = SIGABRT)
{
    left_out_add(&l, 10, &secret, 80);
    left_out_add(&l, 20, &secret, 80);
    l.number[1] = 10;
    left_out_check(&l);
}
