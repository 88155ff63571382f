#include "common/quantity.h"

#include "../../support/suite.h"

#include <math.h>

static const struct {
    const char *text;
    uint64_t rate;
} rates[] = {
    {"1", 1},
    {"9600", 9600},
    {"64k", 64000},
    {"64K", 64000},
    {"155M", 155000000},
    {"2.5G", 2500000000ULL},
    {"1000G", 1000000000000},
    {"155.52M", 155520000},
};

TEST(dimension_rate__reads, .rows = sizeof rates / sizeof *rates)
{
    uint64_t rate = 0;
    ck_assert_int_eq(dimension_rate(rates[_i].text, &rate), 0);
    ck_assert_uint_eq(rate, rates[_i].rate);
}

static const struct {
    const char *text;
    int64_t ns;
} times[] = {
    {"0", 0},         {"0s", 0},          {"10ns", 10},       {"50us", 50000},
    {"1ms", 1000000}, {"1.5ms", 1500000}, {"2s", 2000000000}, {"1m", 60000000000},
};

TEST(dimension_time__reads, .rows = sizeof times / sizeof *times)
{
    int64_t ns = -1;
    ck_assert_int_eq(dimension_time(times[_i].text, &ns), 0);
    ck_assert_int_eq(ns, times[_i].ns);
}

TEST(dimension_share__reads)
{
    double share = -1;
    ck_assert_int_eq(dimension_share("1%", &share), 0);
    ck_assert_double_eq_tol(share, 0.01, 1e-12);
    ck_assert_int_eq(dimension_share("0.5", &share), 0);
    ck_assert_double_eq(share, 0.5);
    ck_assert_int_eq(dimension_share("100%", &share), 0);
    ck_assert_double_eq(share, 1);
    ck_assert_int_eq(dimension_share("0", &share), 0);
    ck_assert_double_eq(share, 0);
}

static const char *const nonsense[] = {"",    "x",     "-1",  "+1",  " 1", "1 ",
                                       "1e3", "1.2.3", "1MM", "nan", "."};

TEST(dimension__refuses_nonsense, .rows = sizeof nonsense / sizeof *nonsense)
{
    uint64_t rate;
    int64_t ns;
    double share;
    ck_assert_int_eq(dimension_rate(nonsense[_i], &rate), -1);
    ck_assert_int_eq(dimension_time(nonsense[_i], &ns), -1);
    ck_assert_int_eq(dimension_share(nonsense[_i], &share), -1);
}

TEST(dimension__refuses_what_is_too_much)
{
    uint64_t rate;
    int64_t ns;
    double share;
    ck_assert_int_eq(dimension_rate("0", &rate), -1);
    ck_assert_int_eq(dimension_rate("1001G", &rate), -1);
    ck_assert_int_eq(dimension_time("1", &ns), -1);
    ck_assert_int_eq(dimension_time("86401s", &ns), -1);
    ck_assert_int_eq(dimension_share("101%", &share), -1);
    ck_assert_int_eq(dimension_share("1.1", &share), -1);
}
