/* Path MTU discovery in virtual time: what is lost, arrives and is answered, and the size by it. */
#include "../../support/suite.h"
#include "core/path/path_mtu.h"

enum { MOST = 8960, STEPS_MOST = 100 };

static struct path_mtu p;
static instant now;
static uint64_t mark; /* the newest that passed */

static void setup(void)
{
    now = SECOND;
    mark = 0;
    path_mtu_init(&p, MOST, MOST, now);
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

FIXTURE(setup, NULL)

/* What it was once, what interfaces usually carry, the most three times, and halves of the rest. */
TEST(search__every_size)
{
    static const uint32_t expected[] = {60000, 1248,  1440,  1472,  4320,  8928,
                                        8960,  9152,  16352, 32736, 60000, 60000,
                                        60000, 46368, 53184, 53184, 53184, 49760};
    path_mtu_init(&p, 60000, 60000, now);
    fall(50000);
    for (int i = 0; i < ROWS(expected); i++) {
        ck_assert(path_mtu_wants_more(&p, now));
        ck_assert_uint_eq(probe(50000), expected[i]);
    }
    expect(PATH_MTU_COMPLETE, 49760);
}

/* ---- while all is well */

TEST(init__believes_and_probes_nothing)
{
    expect(PATH_MTU_COMPLETE, MOST);
    ck_assert(!path_mtu_wants_more(&p, now + 2 * PATH_MTU_RAISE));
    ck_assert(!path_mtu_wants_less(&p));
    ck_assert_int_eq(path_mtu_deadline(&p), NEVER);
}

TEST(small_path__is_left_alone)
{
    path_mtu_init(&p, PATH_MTU_BASE_BYTES, PATH_MTU_BASE_BYTES, now);
    time_out(10);
    path_mtu_on_lost(&p, now, now, PATH_MTU_BASE_BYTES);
    expect(PATH_MTU_COMPLETE, PATH_MTU_BASE_BYTES);
}

/* ---- is it a hole? */

TEST(on_timeout__the_second_asks)
{
    time_out(1);
    ck_assert(!path_mtu_wants_less(&p));
    time_out(1);
    ck_assert(path_mtu_wants_less(&p));
    expect(PATH_MTU_BASE, MOST);
}

TEST(on_timeout__of_small_ones_says_nothing)
{
    for (int i = 0; i < 10; i++)
        path_mtu_on_timeout(&p, now += SECOND, PATH_MTU_BASE_BYTES);
    expect(PATH_MTU_COMPLETE, MOST);
}

TEST(on_lost__many_at_once_are_one_round)
{
    for (int i = 0; i < 10; i++)
        path_mtu_on_lost(&p, now, now - SECOND, MOST);
    expect(PATH_MTU_COMPLETE, MOST);
}

TEST(on_lost__their_repeats_are_another)
{
    path_mtu_on_lost(&p, now, now - SECOND, MOST);
    path_mtu_on_lost(&p, now + SECOND, now, MOST);
    expect(PATH_MTU_BASE, MOST);
}

TEST(on_arrived__a_large_one_ends_the_rounds)
{
    time_out(1);
    path_mtu_on_arrived(&p, MOST);
    time_out(1);
    expect(PATH_MTU_COMPLETE, MOST);
}

TEST(on_arrived__a_small_one_does_not)
{
    time_out(1);
    path_mtu_on_arrived(&p, MOST - 1);
    time_out(1);
    expect(PATH_MTU_BASE, MOST);
}

TEST(on_arrived__a_large_one_ends_the_doubt)
{
    uint32_t number;
    time_out(2);
    path_mtu_probe(&p, now, mark, &number);
    path_mtu_on_arrived(&p, MOST);
    expect(PATH_MTU_COMPLETE, MOST);
    path_mtu_on_answer(&p, now, number, PATH_MTU_BASE_BYTES);
    expect(PATH_MTU_COMPLETE, MOST);
}

TEST(doubt__one_probe_a_round)
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

TEST(doubt__no_path_changes_nothing)
{
    time_out(100);
    expect(PATH_MTU_ERROR, MOST);
    path_mtu_on_arrived(&p, MOST);
    expect(PATH_MTU_COMPLETE, MOST);
}

TEST(doubt__below_the_base)
{
    time_out(5);
    expect(PATH_MTU_ERROR, MOST);
    ck_assert_uint_eq(probe(800), PATH_MTU_LEAST);
    expect(PATH_MTU_SEARCH, PATH_MTU_LEAST);
    probe_all(800);
    ck_assert_uint_gt(p.bytes, 700);
    ck_assert_uint_le(p.bytes, 800);
}

/* ---- hints */

/* A router, or somebody who pretends to be one, says that large datagrams do not pass. */
TEST(on_hint__alone_changes_nothing)
{
    path_mtu_on_hint(&p, now);
    ck_assert(path_mtu_wants_less(&p));
    expect(PATH_MTU_BASE, MOST);
    ck_assert_uint_eq(probe(MOST), PATH_MTU_BASE_BYTES); /* small ones pass, of course */
    expect(PATH_MTU_BASE, MOST);
    ck_assert(!path_mtu_wants_less(&p));
    ck_assert_int_eq(path_mtu_deadline(&p), NEVER);
    path_mtu_on_arrived(&p, PATH_MTU_BASE_BYTES); /* of course, too */
    expect(PATH_MTU_BASE, MOST);
    path_mtu_on_arrived(&p, MOST);
    expect(PATH_MTU_COMPLETE, MOST);
    time_out(2);
    expect(PATH_MTU_BASE, MOST); /* and that small ones passed then says nothing now */
}

/* Something had been lost before: that is another matter. */
TEST(on_hint__after_a_loss)
{
    time_out(1);
    path_mtu_on_hint(&p, now);
    path_mtu_on_arrived(&p, 4320);
    expect(PATH_MTU_COMPLETE, MOST);
}

TEST(on_hint__and_large_ones_are_lost)
{
    path_mtu_on_hint(&p, now);
    probe(1472);
    path_mtu_on_lost(&p, now, now - MILLISECOND, MOST);
    expect(PATH_MTU_SEARCH, PATH_MTU_BASE_BYTES);
    probe_all(1472);
    expect(PATH_MTU_COMPLETE, 1472);
}

TEST(on_hint__and_nothing_comes_back)
{
    path_mtu_on_hint(&p, now);
    probe(1472);
    time_out(1);
    expect(PATH_MTU_SEARCH, PATH_MTU_BASE_BYTES);
}

/* The loss comes first. */
TEST(on_hint__probe_answered_late)
{
    path_mtu_on_hint(&p, now);
    path_mtu_on_lost(&p, now, now - MILLISECOND, MOST);
    expect(PATH_MTU_BASE, MOST);
    probe(1472);
    expect(PATH_MTU_SEARCH, PATH_MTU_BASE_BYTES);
}

TEST(on_hint__once_a_second)
{
    path_mtu_on_hint(&p, now);
    path_mtu_on_arrived(&p, MOST);
    path_mtu_on_hint(&p, now + PATH_MTU_HINTS - 1);
    expect(PATH_MTU_COMPLETE, MOST);
    path_mtu_on_hint(&p, now + PATH_MTU_HINTS);
    expect(PATH_MTU_BASE, MOST);
}

TEST(on_hint__of_small_ones)
{
    path_mtu_init(&p, PATH_MTU_BASE_BYTES, PATH_MTU_BASE_BYTES, now);
    path_mtu_on_hint(&p, now);
    expect(PATH_MTU_COMPLETE, PATH_MTU_BASE_BYTES);
}

/* Small datagrams get lost, and no large one is on its way. */
TEST(on_hint__and_small_ones_are_lost)
{
    path_mtu_on_hint(&p, now);
    probe(1472);
    path_mtu_on_timeout(&p, now += SECOND, PATH_MTU_BASE_BYTES);
    expect(PATH_MTU_BASE, MOST);
    path_mtu_on_arrived(&p, MOST);
    expect(PATH_MTU_COMPLETE, MOST);
}

/* A router answers each probe that is too large for it, some late, and probes are rare. */
TEST(on_hint__of_a_probe_ends_no_search)
{
    fall(1400);
    for (int i = 0; path_mtu_wants_more(&p, now); i++) {
        uint32_t number;
        ck_assert_int_lt(i, STEPS_MOST);
        path_mtu_on_hint(&p, now); /* of the one before */
        uint32_t bytes = path_mtu_probe(&p, now += SECOND, mark, &number);
        if (bytes > 1400) {
            path_mtu_on_hint(&p, now);
            path_mtu_expire(&p, now, ++mark);
        } else {
            path_mtu_on_answer(&p, now, number, bytes);
        }
        path_mtu_on_arrived(&p, p.bytes);
    }
    expect(PATH_MTU_COMPLETE, 1344);
}

/* ---- refused by this machine, and raised again */

TEST(on_refused__falls_and_looks_for_more)
{
    path_mtu_on_refused(&p, now, MOST, 64);
    expect(PATH_MTU_COMPLETE, 8928); /* what lies between is not worth a probe */
    path_mtu_on_refused(&p, now, 8928, 64);
    expect(PATH_MTU_SEARCH, 4320);
    path_mtu_on_refused(&p, now, 4320, 64);
    expect(PATH_MTU_SEARCH, 1472);
    probe_all(4000);
    ck_assert_uint_gt(p.bytes, 3600);
    expect(PATH_MTU_COMPLETE, p.bytes);
    ck_assert(!path_mtu_wants_more(&p, now + PATH_MTU_RAISE - 2 * MILLISECOND));
    ck_assert(path_mtu_wants_more(&p, now + PATH_MTU_RAISE));
}

TEST(on_refused__down_to_the_least)
{
    for (uint32_t refused = MOST; refused > 64; refused = p.bytes)
        path_mtu_on_refused(&p, now, refused, 64);
    ck_assert_uint_eq(p.bytes, 64);
    path_mtu_check(&p);
}

/* What is larger than what is sent only says that it need not be tried. */
TEST(on_refused__the_probe)
{
    uint32_t number;
    fall(1472);
    ck_assert_uint_eq(path_mtu_probe(&p, now, mark, &number), MOST);
    path_mtu_on_refused(&p, now, MOST, 64);
    expect(PATH_MTU_SEARCH, PATH_MTU_BASE_BYTES);
    probe_all(1472);
    expect(PATH_MTU_COMPLETE, 1472);
}

TEST(on_refused__in_doubt)
{
    time_out(2);
    path_mtu_on_refused(&p, now, MOST, 64);
    expect(PATH_MTU_COMPLETE, 8928);
}

/* The system had been told that the path was narrow, maybe by a liar. */
TEST(init__below_the_interface)
{
    path_mtu_init(&p, PATH_MTU_BASE_BYTES, MOST, now);
    expect(PATH_MTU_COMPLETE, PATH_MTU_BASE_BYTES);
    ck_assert(path_mtu_wants_more(&p, now));
    ck_assert_uint_eq(probe(MOST), MOST);
    expect(PATH_MTU_COMPLETE, MOST);
}

TEST(raise__finds_more_ten_minutes_later)
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

/* ---- the climb */

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

TEST(on_answer__later_than_the_search_of_the_most)
{
    fall(MOST);
    uint32_t first = p.first;
    probe_all(PATH_MTU_BASE_BYTES);
    path_mtu_on_answer(&p, now, first + 1, 1248);
    probe_all(MOST);
    expect(PATH_MTU_COMPLETE, MOST);
}

/* The network copies an answer: the next probe stays out, and what it has lost stays lost. */
TEST(on_answer__twice)
{
    uint32_t number;
    fall(1472);
    for (int i = 0; i < 4; i++)
        probe(1472);
    expect(PATH_MTU_SEARCH, 1472);
    for (int i = 0; i < PATH_MTU_PROBES; i++) {
        ck_assert_uint_eq(path_mtu_probe(&p, now + MILLISECOND, mark, &number), 4320);
        path_mtu_on_answer(&p, now, number - 1 - (uint32_t)i, 1472);
        ck_assert_int_eq(path_mtu_deadline(&p), now + MILLISECOND);
        path_mtu_expire(&p, now += MILLISECOND, ++mark);
        path_mtu_on_answer(&p, now, number - 1 - (uint32_t)i, 1472);
    }
    ck_assert_uint_lt(probe(1472), 4320);
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

/* ---- how often, and in which order ---- */

/* Probes of the same size that are lost, one after the other. */
static int tries_of(uint32_t bytes, uint32_t path)
{
    int tries = 0;
    uint32_t number;
    for (; tries < STEPS_MOST && path_mtu_wants_more(&p, now); tries++) {
        struct path_mtu before = p;
        if (path_mtu_probe(&before, now, mark, &number) != bytes)
            return tries;
        ck_assert_uint_eq(probe(path), bytes);
    }
    return tries;
}

/* Each but the aim is tried three times, whatever was tried before it. */
TEST(search__each_size_three_times)
{
    fall(PATH_MTU_BASE_BYTES);
    ck_assert_int_eq(tries_of(MOST, PATH_MTU_BASE_BYTES), 1);
    ck_assert_int_eq(tries_of(1248, PATH_MTU_BASE_BYTES), PATH_MTU_PROBES);
}

TEST(search__three_times_behind_one_that_passed_late)
{
    fall(1248);
    ck_assert_uint_eq(probe(1248), MOST);
    for (int i = 0; i < PATH_MTU_PROBES; i++)
        ck_assert_uint_eq(probe(i + 1 < PATH_MTU_PROBES ? PATH_MTU_BASE_BYTES : 1248), 1248);
    expect(PATH_MTU_SEARCH, 1248);
    ck_assert_int_eq(tries_of(1440, 1248), PATH_MTU_PROBES);
}

/* What is refused meanwhile is larger, and so the search begins anew below it. */
TEST(search__three_times_behind_a_refusal)
{
    fall(1472);
    for (int i = 0; i < 4 + PATH_MTU_PROBES - 1; i++)
        probe(1472);
    path_mtu_on_refused(&p, now, MOST, 64);
    ck_assert_int_eq(tries_of(4320, 1472), PATH_MTU_PROBES);
}

/* The refusal of a larger one says nothing of what passed before the fall. */
TEST(search__what_it_was_comes_first_behind_a_refusal)
{
    path_mtu_init(&p, 4320, MOST, now);
    fall(4320);
    path_mtu_on_refused(&p, now, MOST, 64);
    ck_assert_uint_eq(probe(4320), 4320);
    expect(PATH_MTU_SEARCH, 4320);
}

/* From below the base it goes to the base first. */
TEST(search__the_base_first)
{
    time_out(5);
    ck_assert_uint_eq(probe(PATH_MTU_BASE_BYTES), PATH_MTU_LEAST);
    ck_assert_uint_eq(probe(PATH_MTU_BASE_BYTES), MOST);
    ck_assert_uint_eq(probe(PATH_MTU_BASE_BYTES), PATH_MTU_BASE_BYTES);
    expect(PATH_MTU_SEARCH, PATH_MTU_BASE_BYTES);
}

/* What was found too large is not tried again because something arrives. */
TEST(search__goes_on_behind_a_round)
{
    fall(1472);
    while (p.failed > 4320)
        probe(1472);
    time_out(1);
    path_mtu_on_arrived(&p, 1472);
    path_mtu_check(&p);
    ck_assert_int_eq(p.state, PATH_MTU_SEARCH);
    ck_assert_uint_lt(probe(1472), 4320);
}

/* Behind a fall, and behind a refusal, it takes two rounds to doubt again. */
TEST(on_timeout__the_second_asks_again, .rows = 2)
{
    if (_i == 0) {
        fall(1472);
        probe_all(1472);
    } else {
        time_out(1);
        path_mtu_on_refused(&p, now, MOST, 64);
    }
    uint32_t bytes = p.bytes;
    time_out(1);
    expect(PATH_MTU_COMPLETE, bytes);
    time_out(1);
    expect(PATH_MTU_BASE, bytes);
}

/* The smallest of those that were lost shows that large ones pass, in whatever order. */
TEST(on_arrived__as_large_as_the_smallest_lost, .rows = 2)
{
    path_mtu_on_lost(&p, now, now - SECOND, _i == 0 ? MOST : 4320);
    path_mtu_on_lost(&p, now + SECOND, now, _i == 0 ? 4320 : MOST);
    expect(PATH_MTU_BASE, MOST);
    path_mtu_on_arrived(&p, 4320 - 1);
    expect(PATH_MTU_BASE, MOST);
    path_mtu_on_arrived(&p, 4320);
    expect(PATH_MTU_COMPLETE, MOST);
}

/* A usual size below the least is too small. */
TEST(on_refused__not_below_the_least)
{
    enum { LEAST = 1312 };
    path_mtu_init(&p, 1440, 1440, now);
    path_mtu_on_refused(&p, now, 1440, LEAST);
    ck_assert_uint_eq(p.bytes, LEAST);
    path_mtu_check(&p);
}
