/* What makes the size fall, what casts doubt on it, and when more is looked for. */
#include "path_mtu_rig.h"

/* ---- while all is well */

START_TEST(init__believes_and_probes_nothing)
{
    expect(PATH_MTU_COMPLETE, MOST);
    ck_assert(!path_mtu_wants_more(&p, now + 2 * PATH_MTU_RAISE));
    ck_assert(!path_mtu_wants_less(&p));
    ck_assert_int_eq(path_mtu_deadline(&p), NEVER);
}
END_TEST

START_TEST(small_path__is_left_alone)
{
    path_mtu_init(&p, PATH_MTU_BASE_BYTES);
    time_out(10);
    path_mtu_on_lost(&p, now, now, PATH_MTU_BASE_BYTES);
    expect(PATH_MTU_COMPLETE, PATH_MTU_BASE_BYTES);
}
END_TEST

/* ---- is it a hole? */

START_TEST(on_timeout__the_second_asks)
{
    time_out(1);
    ck_assert(!path_mtu_wants_less(&p));
    time_out(1);
    ck_assert(path_mtu_wants_less(&p));
    expect(PATH_MTU_BASE, MOST);
}
END_TEST

START_TEST(on_timeout__of_small_ones_says_nothing)
{
    for (int i = 0; i < 10; i++)
        path_mtu_on_timeout(&p, now += SECOND, PATH_MTU_BASE_BYTES);
    expect(PATH_MTU_COMPLETE, MOST);
}
END_TEST

START_TEST(on_lost__many_at_once_are_one_round)
{
    for (int i = 0; i < 10; i++)
        path_mtu_on_lost(&p, now, now - SECOND, MOST);
    expect(PATH_MTU_COMPLETE, MOST);
}
END_TEST

START_TEST(on_lost__their_repeats_are_another)
{
    path_mtu_on_lost(&p, now, now - SECOND, MOST);
    path_mtu_on_lost(&p, now + SECOND, now, MOST);
    expect(PATH_MTU_BASE, MOST);
}
END_TEST

START_TEST(on_arrived__a_large_one_ends_the_rounds)
{
    time_out(1);
    path_mtu_on_arrived(&p, MOST);
    time_out(1);
    expect(PATH_MTU_COMPLETE, MOST);
}
END_TEST

START_TEST(on_arrived__a_small_one_does_not)
{
    time_out(1);
    path_mtu_on_arrived(&p, MOST - 1);
    time_out(1);
    expect(PATH_MTU_BASE, MOST);
}
END_TEST

START_TEST(on_arrived__a_large_one_ends_the_doubt)
{
    uint32_t number;
    time_out(2);
    path_mtu_probe(&p, now, mark, &number);
    path_mtu_on_arrived(&p, MOST);
    expect(PATH_MTU_COMPLETE, MOST);
    path_mtu_on_answer(&p, now, number, PATH_MTU_BASE_BYTES);
    expect(PATH_MTU_COMPLETE, MOST);
}
END_TEST

START_TEST(doubt__one_probe_a_round)
{
    uint32_t number;
    time_out(2);
    path_mtu_probe(&p, now, mark, &number);
    ck_assert(!path_mtu_wants_less(&p));
    path_mtu_forget_probe(&p); /* it did not leave */
    ck_assert(path_mtu_wants_less(&p));
    path_mtu_probe(&p, now, mark, &number);
    path_mtu_expire(&p, now, mark);
    ck_assert(!path_mtu_wants_less(&p));
    time_out(1);
    ck_assert(path_mtu_wants_less(&p));
}
END_TEST

START_TEST(doubt__no_path_changes_nothing)
{
    time_out(100);
    expect(PATH_MTU_ERROR, MOST);
    path_mtu_on_arrived(&p, MOST);
    expect(PATH_MTU_COMPLETE, MOST);
}
END_TEST

START_TEST(doubt__below_the_base)
{
    time_out(5);
    expect(PATH_MTU_ERROR, MOST);
    ck_assert_uint_eq(probe(800), PATH_MTU_LEAST);
    expect(PATH_MTU_SEARCH, PATH_MTU_LEAST);
    probe_all(800);
    ck_assert_uint_gt(p.bytes, 700);
    ck_assert_uint_le(p.bytes, 800);
}
END_TEST

/* ---- refused, and raised again */

START_TEST(on_refused__falls_without_a_probe)
{
    path_mtu_on_refused(&p, now, 1472);
    expect(PATH_MTU_COMPLETE, 1472);
    ck_assert(!path_mtu_wants_more(&p, now + PATH_MTU_RAISE - 1));
    ck_assert(path_mtu_wants_more(&p, now + PATH_MTU_RAISE));
}
END_TEST

START_TEST(on_refused__any_size)
{
    path_mtu_on_refused(&p, now, MOST + 1);
    expect(PATH_MTU_COMPLETE, MOST);
    path_mtu_on_refused(&p, now, 64);
    expect(PATH_MTU_COMPLETE, 64);
}
END_TEST

START_TEST(on_refused__the_probe)
{
    uint32_t number;
    fall(1472);
    ck_assert_uint_eq(path_mtu_probe(&p, now, mark, &number), MOST);
    path_mtu_on_refused(&p, now, 1472);
    ck_assert_uint_eq(path_mtu_probe(&p, now, mark, &number), 1472);
    path_mtu_on_answer(&p, now, number, 1472);
    expect(PATH_MTU_COMPLETE, 1472);
}
END_TEST

START_TEST(on_refused__in_doubt)
{
    time_out(2);
    path_mtu_on_refused(&p, now, 1472);
    expect(PATH_MTU_BASE, 1472);
    path_mtu_on_arrived(&p, MOST);
    expect(PATH_MTU_SEARCH, 1472);
}
END_TEST

START_TEST(raise__finds_more_ten_minutes_later)
{
    fall(1248);
    probe_all(1248);
    expect(PATH_MTU_COMPLETE, 1248);
    now += PATH_MTU_RAISE;
    ck_assert_int_gt(probe_all(1472), 0);
    expect(PATH_MTU_COMPLETE, 1472);
    now += PATH_MTU_RAISE;
    ck_assert_int_eq(probe_all(MOST), 1);
    expect(PATH_MTU_COMPLETE, MOST);
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("core");
    tcase_add_checked_fixture(tcase, setup, NULL);
    tcase_add_test(tcase, init__believes_and_probes_nothing);
    tcase_add_test(tcase, small_path__is_left_alone);
    tcase_add_test(tcase, on_timeout__the_second_asks);
    tcase_add_test(tcase, on_timeout__of_small_ones_says_nothing);
    tcase_add_test(tcase, on_lost__many_at_once_are_one_round);
    tcase_add_test(tcase, on_lost__their_repeats_are_another);
    tcase_add_test(tcase, on_arrived__a_large_one_ends_the_rounds);
    tcase_add_test(tcase, on_arrived__a_small_one_does_not);
    tcase_add_test(tcase, on_arrived__a_large_one_ends_the_doubt);
    tcase_add_test(tcase, doubt__one_probe_a_round);
    tcase_add_test(tcase, doubt__no_path_changes_nothing);
    tcase_add_test(tcase, doubt__below_the_base);
    tcase_add_test(tcase, on_refused__falls_without_a_probe);
    tcase_add_test(tcase, on_refused__any_size);
    tcase_add_test(tcase, on_refused__the_probe);
    tcase_add_test(tcase, on_refused__in_doubt);
    tcase_add_test(tcase, raise__finds_more_ten_minutes_later);
    return suite_run("path_mtu", tcase);
}
