#include "core/path/offload_path.h"

#include "../../support/suite.h"

static struct offload_path p;
static instant now;
static uint64_t next; /* sequence number */

static void setup(void)
{
    offload_path_init(&p, true);
    now = SECOND;
    next = 100;
}

FIXTURE(setup, NULL)

static void arrive(uint64_t first, uint32_t units, bool is_cut)
{
    offload_path_on_arrived(&p, first + units - 1, units, is_cut);
    offload_path_check(&p);
}

/* So many leave; the first's number. */
static uint64_t leave(enum offload_path_burst how, uint32_t units)
{
    if (how == OFFLOAD_BURST_TEST)
        offload_path_on_test(&p, now, next, units);
    else
        offload_path_on_other(&p);
    next += units;
    return next - units;
}

/* A row that leaves singly and arrives. */
static void single(uint32_t units)
{
    arrive(leave(OFFLOAD_BURST_SINGLY, units), units, false);
}

/* All of these are lost; has cutting failed? */
static bool lose(uint64_t first, uint32_t units)
{
    bool has_failed = false;
    for (uint32_t i = 0; i < units; i++)
        has_failed |= offload_path_on_lost(&p, now, first + i);
    offload_path_check(&p);
    return has_failed;
}

/* A test between two datagrams that arrive; it does not. */
static bool fail_test(uint32_t units)
{
    single(1);
    uint64_t first = leave(OFFLOAD_BURST_TEST, units);
    single(1);
    return lose(first, units);
}

static void doubt(void)
{
    ck_assert(!lose(leave(OFFLOAD_BURST_CUT, OFFLOAD_PATH_LOST), OFFLOAD_PATH_LOST));
}

/* The same behind many that arrived. */
static void lose_all_that_counts(void)
{
    uint32_t units = OFFLOAD_PATH_CREDIT + OFFLOAD_PATH_LOST;
    ck_assert(!lose(leave(OFFLOAD_BURST_CUT, units), units));
    ck_assert_int_eq(p.state, OFFLOAD_PATH_DOUBTED);
}

static void expect(enum offload_path_state state, enum offload_path_burst how)
{
    ck_assert_int_eq(p.state, state);
    ck_assert_int_eq(offload_path_next(&p, now), how);
}

static void fail_both_tests(void)
{
    doubt();
    ck_assert(!fail_test(OFFLOAD_PATH_FEW));
    ck_assert(fail_test(OFFLOAD_PATH_FEW));
    expect(OFFLOAD_PATH_FAILED, OFFLOAD_BURST_SINGLY);
}

TEST(offload_path__nothing_of_cut_bursts_arrives)
{
    expect(OFFLOAD_PATH_WORKS, OFFLOAD_BURST_CUT);
    fail_both_tests();
}

TEST(offload_path__in_doubt_tests_take_turns)
{
    ck_assert(!lose(leave(OFFLOAD_BURST_CUT, 10), OFFLOAD_PATH_LOST - 1));
    expect(OFFLOAD_PATH_WORKS, OFFLOAD_BURST_CUT);
    ck_assert(!lose(next, 1));
    expect(OFFLOAD_PATH_DOUBTED, OFFLOAD_BURST_SINGLY);
    leave(OFFLOAD_BURST_SINGLY, 10);
    expect(OFFLOAD_PATH_DOUBTED, OFFLOAD_BURST_TEST);
    leave(OFFLOAD_BURST_TEST, 4);
    expect(OFFLOAD_PATH_DOUBTED, OFFLOAD_BURST_SINGLY);
    leave(OFFLOAD_BURST_SINGLY, 44);
    expect(OFFLOAD_PATH_DOUBTED, OFFLOAD_BURST_TEST);
    leave(OFFLOAD_BURST_TEST, 1); /* of which nothing is cut */
    expect(OFFLOAD_PATH_DOUBTED, OFFLOAD_BURST_TEST);
    arrive(next++, 1, true);
    expect(OFFLOAD_PATH_WORKS, OFFLOAD_BURST_CUT);
}

/* Both tests, and what is beside them, are known of by one acknowledgement; or out of order. */
TEST(offload_path__tests_of_one_flight, .rows = 2)
{
    doubt();
    uint64_t before = leave(OFFLOAD_BURST_SINGLY, 2);
    uint64_t first = leave(OFFLOAD_BURST_TEST, 4);
    uint64_t middle = leave(OFFLOAD_BURST_SINGLY, 44);
    uint64_t second = leave(OFFLOAD_BURST_TEST, 2);
    uint64_t behind = leave(OFFLOAD_BURST_SINGLY, 200);
    if (_i == 1)
        arrive(behind, 200, false);
    arrive(before, 2, false);
    arrive(middle, 44, false);
    if (_i == 0)
        arrive(behind, 200, false);
    ck_assert(!lose(first, 4));
    ck_assert(lose(second, 2));
}

/* Small ones may be chance: more of them are needed. */
TEST(offload_path__small_tests)
{
    doubt();
    ck_assert(!fail_test(2));
    ck_assert(!fail_test(2));
    ck_assert(fail_test(2));
}

/* One of it arrived; what was beside it did not; what is between is lost as a whole. */
TEST(offload_path__tests_that_say_nothing)
{
    for (int i = 0; i < 10; i++) {
        lose_all_that_counts();
        single(1);
        uint64_t first = leave(OFFLOAD_BURST_TEST, 4);
        single(1);
        ck_assert(!lose(first, 3));
        arrive(first + 3, 1, true);
    }
    lose_all_that_counts();
    for (int i = 0; i < 10; i++) {
        single(1);
        uint64_t first = leave(OFFLOAD_BURST_TEST, 4);
        leave(OFFLOAD_BURST_SINGLY, 1); /* is lost */
        single(10);
        ck_assert(!lose(first, 4));
        leave(OFFLOAD_BURST_SINGLY, 1);
        first = leave(OFFLOAD_BURST_TEST, 4);
        single(1);
        ck_assert(!lose(first, 4));
    }
    expect(OFFLOAD_PATH_DOUBTED, OFFLOAD_BURST_TEST);
}

/* Bursts that were no test say nothing, whatever arrives between them. */
TEST(offload_path__usual_bursts_are_no_test)
{
    for (int i = 0; i < 10; i++) {
        single(1);
        uint64_t first = leave(OFFLOAD_BURST_CUT, 44);
        single(1);
        ck_assert(!lose(first, 44));
    }
    expect(OFFLOAD_PATH_DOUBTED, OFFLOAD_BURST_TEST);
}

/* Much is lost at once, but much more arrived of late. */
TEST(offload_path__what_arrived_is_remembered)
{
    for (int i = 0; i < 10; i++) {
        arrive(leave(OFFLOAD_BURST_CUT, 40), 40, true);
        ck_assert(!lose(leave(OFFLOAD_BURST_CUT, 69), 69));
        expect(OFFLOAD_PATH_WORKS, OFFLOAD_BURST_CUT);
    }
    arrive(leave(OFFLOAD_BURST_CUT, 1), 1, true);
    ck_assert(!lose(leave(OFFLOAD_BURST_CUT, 16), 16));
    expect(OFFLOAD_PATH_WORKS, OFFLOAD_BURST_CUT);
    ck_assert(!lose(leave(OFFLOAD_BURST_CUT, 1), 1));
    expect(OFFLOAD_PATH_DOUBTED, OFFLOAD_BURST_SINGLY);
}

/* However much was lost before, one that arrives ends the doubt, and what tests have said. */
TEST(offload_path__one_arrives_in_doubt)
{
    for (int i = 0; i < 10; i++) {
        ck_assert(!lose(leave(OFFLOAD_BURST_CUT, 3000), 3000));
        ck_assert(!fail_test(OFFLOAD_PATH_FEW));
        expect(OFFLOAD_PATH_DOUBTED, OFFLOAD_BURST_TEST);
        arrive(leave(OFFLOAD_BURST_TEST, 4), 1, true);
        expect(OFFLOAD_PATH_WORKS, OFFLOAD_BURST_CUT);
    }
}

/* The channel took none of it, or one: it is no test. */
TEST(offload_path__a_test_that_stayed)
{
    doubt();
    single(1);
    uint64_t first = leave(OFFLOAD_BURST_TEST, 4);
    offload_path_on_unsent(&p, now, first);
    expect(OFFLOAD_PATH_DOUBTED, OFFLOAD_BURST_TEST);
    single(1);
    ck_assert(!lose(first, 4));
    ck_assert(!fail_test(4));
    ck_assert(fail_test(4));
    now += OFFLOAD_PATH_RETRY;
    first = leave(OFFLOAD_BURST_TEST, 4);
    expect(OFFLOAD_PATH_FAILED, OFFLOAD_BURST_SINGLY);
    offload_path_on_unsent(&p, now, first);
    expect(OFFLOAD_PATH_FAILED, OFFLOAD_BURST_TEST);
}

TEST(offload_path__again_behind_a_failure)
{
    fail_both_tests();
    now += OFFLOAD_PATH_RETRY - 1;
    expect(OFFLOAD_PATH_FAILED, OFFLOAD_BURST_SINGLY);
    now += 1;
    expect(OFFLOAD_PATH_FAILED, OFFLOAD_BURST_TEST);
    leave(OFFLOAD_BURST_TEST, 1); /* is none: there was no more */
    expect(OFFLOAD_PATH_FAILED, OFFLOAD_BURST_TEST);
    uint64_t first = leave(OFFLOAD_BURST_TEST, 4);
    expect(OFFLOAD_PATH_FAILED, OFFLOAD_BURST_SINGLY);
    ck_assert(!lose(first, 3));
    arrive(first + 3, 1, true);
    expect(OFFLOAD_PATH_FAILED, OFFLOAD_BURST_SINGLY);
    now += OFFLOAD_PATH_RETRY;
    first = leave(OFFLOAD_BURST_TEST, 4);
    arrive(first, 1, true); /* with the one of the last test there would be two */
    expect(OFFLOAD_PATH_FAILED, OFFLOAD_BURST_SINGLY);
    arrive(first + 1, 1, true);
    expect(OFFLOAD_PATH_WORKS, OFFLOAD_BURST_CUT);
    lose_all_that_counts();
    ck_assert(!fail_test(OFFLOAD_PATH_FEW));
    ck_assert(fail_test(OFFLOAD_PATH_FEW));
}

TEST(offload_path__late_ones_arrive_after_all)
{
    fail_both_tests();
    for (int i = 1; i < OFFLOAD_PATH_PROOFS; i++) {
        arrive(next - 5, 1, true);
        expect(OFFLOAD_PATH_FAILED, OFFLOAD_BURST_SINGLY);
    }
    arrive(next - 4, 1, true);
    expect(OFFLOAD_PATH_WORKS, OFFLOAD_BURST_CUT);
}

TEST(offload_path__nothing_is_cut_here)
{
    offload_path_init(&p, false);
    doubt();
    for (int i = 0; i < 10; i++)
        ck_assert(!fail_test(4));
    arrive(next, 1, true);
    expect(OFFLOAD_PATH_UNUSED, OFFLOAD_BURST_CUT);
}

/* One that stayed says nothing, and takes nothing back of what others have said. */
TEST(offload_path__a_test_that_stayed_beside_others)
{
    doubt();
    ck_assert(!fail_test(OFFLOAD_PATH_FEW));
    single(1);
    offload_path_on_unsent(&p, now, leave(OFFLOAD_BURST_TEST, OFFLOAD_PATH_FEW));
    ck_assert(fail_test(OFFLOAD_PATH_FEW));
}

/* However much is lost of a single test. */
TEST(offload_path__one_test_is_not_enough)
{
    doubt();
    ck_assert(!fail_test(3 * OFFLOAD_PATH_LOST));
    expect(OFFLOAD_PATH_DOUBTED, OFFLOAD_BURST_TEST);
    ck_assert(fail_test(2));
}
