#include "common/quantity.h"

#include "../support/suite.h"

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

START_TEST(dimension_rate__reads)
{
    uint64_t rate = 0;
    ck_assert_int_eq(dimension_rate(rates[_i].text, &rate), 0);
    ck_assert_uint_eq(rate, rates[_i].rate);
}
END_TEST

static const struct {
    const char *text;
    int64_t ns;
} times[] = {
    {"0", 0},         {"0s", 0},          {"10ns", 10},       {"50us", 50000},
    {"1ms", 1000000}, {"1.5ms", 1500000}, {"2s", 2000000000}, {"1m", 60000000000},
};

START_TEST(dimension_time__reads)
{
    int64_t ns = -1;
    ck_assert_int_eq(dimension_time(times[_i].text, &ns), 0);
    ck_assert_int_eq(ns, times[_i].ns);
}
END_TEST

START_TEST(dimension_share__reads)
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
END_TEST

static const char *const nonsense[] = {"",    "x",     "-1",  "+1",  " 1", "1 ",
                                       "1e3", "1.2.3", "1MM", "nan", "."};

START_TEST(dimension__refuses_nonsense)
{
    uint64_t rate;
    int64_t ns;
    double share;
    ck_assert_int_eq(dimension_rate(nonsense[_i], &rate), -1);
    ck_assert_int_eq(dimension_time(nonsense[_i], &ns), -1);
    ck_assert_int_eq(dimension_share(nonsense[_i], &share), -1);
}
END_TEST

START_TEST(dimension__refuses_what_is_too_much)
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
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("dimension");
    tcase_add_loop_test(tcase, dimension_rate__reads, 0, sizeof rates / sizeof *rates);
    tcase_add_loop_test(tcase, dimension_time__reads, 0, sizeof times / sizeof *times);
    tcase_add_test(tcase, dimension_share__reads);
    tcase_add_loop_test(tcase, dimension__refuses_nonsense, 0, sizeof nonsense / sizeof *nonsense);
    tcase_add_test(tcase, dimension__refuses_what_is_too_much);
    return suite_run("dimension", tcase);
}
