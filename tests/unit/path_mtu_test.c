/* Path MTU discovery in virtual time: what is lost, arrives and is answered, and the size by it. */
#include "core/path_mtu.h"

#include "../support/suite.h"

enum { MOST = 8960, STEPS_MOST = 100 };

static struct path_mtu p;
static instant now;
static uint64_t mark; /* the newest that passed */

static void setup(void)
{
    now = SECOND;
    mark = 0;
    path_mtu_init(&p, MOST);
}

static void expect(enum path_mtu_state state, uint32_t bytes)
{
    path_mtu_check(&p);
    ck_assert_int_eq(p.state, state);
    ck_assert_uint_eq(p.bytes, bytes);
}

/* Nothing of what was sent came back, `times` times. */
static void time_out(int times)
{
    for (; times > 0; times--)
        path_mtu_on_timeout(&p, now += SECOND, p.bytes);
}

/* The next probe leaves on a path that carries `path` bytes: answered, or not in time. Returns its
 * bytes. */
static uint32_t probe(uint32_t path)
{
    uint32_t number;
    uint32_t bytes = path_mtu_probe(&p, now + MILLISECOND, mark, &number);
    ck_assert_int_eq(path_mtu_deadline(&p), now + MILLISECOND);
    now += MILLISECOND;
    if (bytes <= path)
        path_mtu_on_answer(&p, now, number, bytes);
    else
        path_mtu_expire(&p, now, ++mark);
    path_mtu_check(&p);
    return bytes;
}

/* Probes until nothing is wanted; returns how many. */
static int probe_all(uint32_t path)
{
    int probes = 0;
    for (; path_mtu_wants_more(&p, now); probes++) {
        ck_assert_int_lt(probes, STEPS_MOST);
        probe(path);
    }
    return probes;
}

/* Falls as a path does that carries only `path` bytes from now on. */
static void fall(uint32_t path)
{
    time_out(2);
    ck_assert(path_mtu_wants_less(&p));
    ck_assert_uint_eq(probe(path), PATH_MTU_BASE_BYTES);
    expect(PATH_MTU_SEARCH, PATH_MTU_BASE_BYTES);
}

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

/* ---- the climb */

START_TEST(search__what_it_was_comes_first)
{
    fall(MOST);
    ck_assert_uint_eq(probe(MOST), MOST);
    expect(PATH_MTU_COMPLETE, MOST);
}
END_TEST

START_TEST(search__and_only_once)
{
    fall(1472);
    ck_assert_uint_eq(probe(1472), MOST);
    ck_assert_uint_eq(probe(1472), 1216);
    ck_assert_uint_eq(probe(1472), 1248);
    ck_assert_uint_eq(probe(1472), 1440);
    ck_assert_uint_eq(probe(1472), 1472);
    for (int i = 0; i < PATH_MTU_PROBES; i++)
        ck_assert_uint_eq(probe(1472), 4320);
    ck_assert_uint_lt(probe(1472), 4320);
}
END_TEST

/* Whatever the path carries, the search gets close, with few probes. */
START_TEST(search__any_path)
{
    uint32_t path = PATH_MTU_BASE_BYTES + (uint32_t)_i * 97;
    fall(path);
    int probes = probe_all(path);
    ck_assert_uint_le(p.bytes, path);
    ck_assert_uint_ge(p.bytes + p.bytes / 8 + 32, path);
    ck_assert_int_le(probes, 30);
    expect(PATH_MTU_COMPLETE, p.bytes);
}
END_TEST

START_TEST(search__while_nothing_passes_no_size_is_given_up)
{
    fall(1472);
    for (int i = 0; i < 10; i++) {
        uint32_t number;
        ck_assert_uint_eq(path_mtu_probe(&p, now, mark, &number), MOST);
        path_mtu_expire(&p, now, mark);
        ck_assert(!path_mtu_wants_more(&p, now));
    }
    path_mtu_on_arrived(&p, PATH_MTU_LEAST);
    ck_assert(path_mtu_wants_more(&p, now));
}
END_TEST

START_TEST(search__one_probe_at_a_time)
{
    uint32_t number;
    fall(1472);
    ck_assert(path_mtu_wants_more(&p, now));
    path_mtu_probe(&p, now, mark, &number);
    ck_assert(!path_mtu_wants_more(&p, now));
    path_mtu_forget_probe(&p);
    ck_assert(path_mtu_wants_more(&p, now));
}
END_TEST

START_TEST(search__a_hole_in_its_midst)
{
    fall(4320);
    probe(4320);
    for (int i = 0; i < 4; i++)
        probe(4320);
    expect(PATH_MTU_SEARCH, 1472);
    fall(1248);
    probe_all(1248);
    expect(PATH_MTU_COMPLETE, 1248);
}
END_TEST

/* ---- answers */

START_TEST(on_answer__late)
{
    uint32_t number;
    fall(MOST);
    path_mtu_probe(&p, now, mark, &number);
    path_mtu_expire(&p, now, ++mark);
    path_mtu_on_answer(&p, now, number, MOST);
    expect(PATH_MTU_COMPLETE, MOST);
}
END_TEST

/* All answers were late, as from a busy peer, and the search was over before the first came. */
START_TEST(on_answer__later_than_the_search)
{
    fall(1248);
    uint32_t first = p.first;
    probe_all(PATH_MTU_BASE_BYTES);
    expect(PATH_MTU_COMPLETE, PATH_MTU_BASE_BYTES);
    path_mtu_on_answer(&p, now, first, PATH_MTU_BASE_BYTES);
    expect(PATH_MTU_COMPLETE, PATH_MTU_BASE_BYTES);
    path_mtu_on_answer(&p, now, first + 1, 1216);
    expect(PATH_MTU_SEARCH, 1216);
    probe_all(1472);
    expect(PATH_MTU_COMPLETE, 1472);
}
END_TEST

START_TEST(on_answer__of_another_search)
{
    fall(1472);
    uint32_t first = p.first;
    path_mtu_on_answer(&p, now, first - 1, 4320);
    path_mtu_on_answer(&p, now, p.number, 4320);
    expect(PATH_MTU_SEARCH, PATH_MTU_BASE_BYTES);
}
END_TEST

START_TEST(on_answer__larger_than_any)
{
    uint32_t number;
    fall(1472);
    path_mtu_probe(&p, now, mark, &number);
    path_mtu_on_answer(&p, now, number, MOST + 1);
    path_mtu_on_answer(&p, now, number, UINT32_MAX);
    expect(PATH_MTU_SEARCH, PATH_MTU_BASE_BYTES);
}
END_TEST

START_TEST(on_answer__of_nothing)
{
    uint32_t number;
    time_out(2);
    path_mtu_probe(&p, now, mark, &number);
    path_mtu_on_answer(&p, now, number, 0);
    expect(PATH_MTU_SEARCH, PATH_MTU_LEAST);
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
    tcase_add_test(tcase, search__what_it_was_comes_first);
    tcase_add_test(tcase, search__and_only_once);
    tcase_add_loop_test(tcase, search__any_path, 0, 80);
    tcase_add_test(tcase, search__while_nothing_passes_no_size_is_given_up);
    tcase_add_test(tcase, search__one_probe_at_a_time);
    tcase_add_test(tcase, search__a_hole_in_its_midst);
    tcase_add_test(tcase, on_answer__late);
    tcase_add_test(tcase, on_answer__later_than_the_search);
    tcase_add_test(tcase, on_answer__of_another_search);
    tcase_add_test(tcase, on_answer__larger_than_any);
    tcase_add_test(tcase, on_answer__of_nothing);
    tcase_add_test(tcase, on_refused__falls_without_a_probe);
    tcase_add_test(tcase, on_refused__any_size);
    tcase_add_test(tcase, on_refused__the_probe);
    tcase_add_test(tcase, on_refused__in_doubt);
    tcase_add_test(tcase, raise__finds_more_ten_minutes_later);
    return suite_run("path_mtu", tcase);
}
