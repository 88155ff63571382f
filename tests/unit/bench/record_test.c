/* What is counted between two looks, and what of it is only looked at. */
#include "../../support/suite.h"
#include "zcrp-bench/job/record.h"

static const struct zcrp_stats before = {.units = 5,
                                         .path_falls = 1,
                                         .path_bytes = 1472,
                                         .unit_bytes = 1472,
                                         .window_bytes = 900,
                                         .transit_bytes = 800,
                                         .rate_bytes_per_s = 700,
                                         .rtt_smoothed_ns = 600,
                                         .rtt_lowest_ns = 500};
static const struct zcrp_stats after = {.units = 12,
                                        .path_falls = 3,
                                        .path_bytes = 1372,
                                        .unit_bytes = 1344,
                                        .window_bytes = 90,
                                        .transit_bytes = 80,
                                        .rate_bytes_per_s = 70,
                                        .rtt_smoothed_ns = 60,
                                        .rtt_lowest_ns = 50};

TEST(counts_since__counts_are_differences)
{
    struct counts first = counts_of_stats(&before), last = counts_of_stats(&after);
    struct counts since = counts_since(&last, &first);

    ck_assert_uint_eq(since.value[COUNT_units], 7);
    ck_assert_uint_eq(since.value[COUNT_path_falls], 2);
}

TEST(counts_since__states_are_the_present)
{
    struct counts first = counts_of_stats(&before), last = counts_of_stats(&after);
    struct counts since = counts_since(&last, &first);

    ck_assert_uint_eq(since.value[COUNT_path_bytes], 1372);
    ck_assert_uint_eq(since.value[COUNT_unit_bytes], 1344);
    ck_assert_uint_eq(since.value[COUNT_window_bytes], 90);
    ck_assert_uint_eq(since.value[COUNT_transit_bytes], 80);
    ck_assert_uint_eq(since.value[COUNT_rate_bytes_per_s], 70);
    ck_assert_uint_eq(since.value[COUNT_rtt_smoothed_ns], 60);
    ck_assert_uint_eq(since.value[COUNT_rtt_lowest_ns], 50);
}

TEST(counts_add__what_flows_have_in_common_is_the_first_ones)
{
    struct counts sum = counts_of_stats(&before), other = counts_of_stats(&after);

    counts_add(&sum, &other);
    ck_assert_uint_eq(sum.value[COUNT_units], 17);
    ck_assert_uint_eq(sum.value[COUNT_window_bytes], 990);
    ck_assert_uint_eq(sum.value[COUNT_transit_bytes], 880);
    ck_assert_uint_eq(sum.value[COUNT_rate_bytes_per_s], 770);
    ck_assert_uint_eq(sum.value[COUNT_path_bytes], 1472);
    ck_assert_uint_eq(sum.value[COUNT_unit_bytes], 1472);
    ck_assert_uint_eq(sum.value[COUNT_rtt_smoothed_ns], 600);
    ck_assert_uint_eq(sum.value[COUNT_rtt_lowest_ns], 500);
}
