/* The search for the size that the path carries, once it has fallen. */
#include "path_mtu_rig.h"

/* ---- the climb */

FIXTURE(setup, NULL)

TEST(search__what_it_was_comes_first)
{
    fall(MOST);
    ck_assert_uint_eq(probe(MOST), MOST);
    expect(PATH_MTU_COMPLETE, MOST);
}

TEST(search__and_only_once)
{
    fall(1472);
    ck_assert_uint_eq(probe(1472), MOST);
    ck_assert_uint_eq(probe(1472), 1248);
    ck_assert_uint_eq(probe(1472), 1440);
    ck_assert_uint_eq(probe(1472), 1472);
    for (int i = 0; i < PATH_MTU_PROBES; i++)
        ck_assert_uint_eq(probe(1472), 4320);
    ck_assert_uint_lt(probe(1472), 4320);
}

/* Whatever the path carries, the search gets close, with few probes. */
TEST(search__any_path, .rows = 80)
{
    uint32_t path = PATH_MTU_BASE_BYTES + (uint32_t)_i * 97;
    fall(path);
    int probes = probe_all(path);
    ck_assert_uint_le(p.bytes, path);
    ck_assert_uint_ge(p.bytes + p.bytes / 8 + 32, path);
    ck_assert_int_le(probes, 30);
    expect(PATH_MTU_COMPLETE, p.bytes);
}

TEST(search__while_nothing_passes_no_size_is_given_up)
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

TEST(search__one_probe_at_a_time)
{
    uint32_t number;
    fall(1472);
    ck_assert(path_mtu_wants_more(&p, now));
    path_mtu_probe(&p, now, mark, &number);
    ck_assert(!path_mtu_wants_more(&p, now));
    path_mtu_forget_probe(&p);
    ck_assert(path_mtu_wants_more(&p, now));
}

TEST(search__a_hole_in_its_midst)
{
    fall(4320);
    probe(4320);
    for (int i = 0; i < 3; i++)
        probe(4320);
    expect(PATH_MTU_SEARCH, 1472);
    fall(1248);
    probe_all(1248);
    expect(PATH_MTU_COMPLETE, 1248);
}

/* ---- answers */

TEST(on_answer__late)
{
    uint32_t number;
    fall(MOST);
    path_mtu_probe(&p, now, mark, &number);
    path_mtu_expire(&p, now, ++mark);
    path_mtu_on_answer(&p, now, number, MOST);
    expect(PATH_MTU_COMPLETE, MOST);
}

/* All answers were late, as from a busy peer, and the search was over before the first came. */
TEST(on_answer__later_than_the_search)
{
    fall(1248);
    uint32_t first = p.first;
    probe_all(PATH_MTU_BASE_BYTES);
    expect(PATH_MTU_COMPLETE, PATH_MTU_BASE_BYTES);
    path_mtu_on_answer(&p, now, first, PATH_MTU_BASE_BYTES);
    expect(PATH_MTU_COMPLETE, PATH_MTU_BASE_BYTES);
    path_mtu_on_answer(&p, now, first + 1, 1248);
    expect(PATH_MTU_SEARCH, 1248);
    probe_all(1472);
    expect(PATH_MTU_COMPLETE, 1472);
}

TEST(on_answer__of_another_search)
{
    fall(1472);
    uint32_t first = p.first;
    path_mtu_on_answer(&p, now, first - 1, 4320);
    path_mtu_on_answer(&p, now, p.number, 4320);
    expect(PATH_MTU_SEARCH, PATH_MTU_BASE_BYTES);
}

TEST(on_answer__larger_than_any)
{
    uint32_t number;
    fall(1472);
    path_mtu_probe(&p, now, mark, &number);
    path_mtu_on_answer(&p, now, number, MOST + 1);
    path_mtu_on_answer(&p, now, number, UINT32_MAX);
    expect(PATH_MTU_SEARCH, PATH_MTU_BASE_BYTES);
}

TEST(on_answer__of_nothing)
{
    uint32_t number;
    time_out(2);
    path_mtu_probe(&p, now, mark, &number);
    path_mtu_on_answer(&p, now, number, 0);
    expect(PATH_MTU_SEARCH, PATH_MTU_LEAST);
}
