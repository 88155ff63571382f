/* What random calls beside a bitmap (property/missing_test.c) do not reach: ranges outside, 4 GiB,
 * where the hint stands, and what ends the program. */
#include "core/adt/missing.h"

#include "../../support/suite.h"
#include "../../support/tables.h"

#include <signal.h>

enum { CAPACITY = 4, SIZE = 1000 };

static struct missing_node memory[CAPACITY];
static struct missing_pool pool;
static struct missing chain;

static void setup(void)
{
    missing_pool_init(&pool, TABLE_OF(memory));
    ck_assert(missing_open(&pool, &chain, SIZE));
}

static bool take(uint64_t first, uint64_t last)
{
    bool is_taken = missing_remove(&pool, &chain, (struct interval){first, last});
    missing_check(&pool, &chain);
    missing_pool_check(&pool);
    return is_taken;
}

static void expect_next(uint64_t from, uint64_t first, uint64_t last)
{
    struct interval found = missing_next(&pool, &chain, from);
    ck_assert_uint_eq(found.first, first);
    ck_assert_uint_eq(found.last, last);
}

FIXTURE(setup, NULL)

TEST(missing_open__size_0_needs_no_node)
{
    struct missing empty;
    missing_pool_init(&pool, table_of(memory, 0, sizeof memory[0]));
    ck_assert(missing_open(&pool, &empty, 0));
    missing_check(&pool, &empty);
    ck_assert_uint_eq(empty.bytes, 0);
    ck_assert_uint_eq(missing_next(&pool, &empty, 0).last, 0);
}

TEST(missing_close__gives_all_back)
{
    ck_assert(take(10, 20) && take(30, 40));
    missing_close(&pool, &chain);
    missing_check(&pool, &chain);
    missing_pool_check(&pool);
    ck_assert_uint_eq(pool.used, 0);
    ck_assert_uint_eq(chain.bytes, 0);
    missing_close(&pool, &chain);
    ck_assert_uint_eq(pool.used, 0);
}

TEST(missing_next__walks)
{
    ck_assert(take(100, 200) && take(300, 400));
    expect_next(0, 0, 100);
    expect_next(99, 99, 100);
    expect_next(100, 200, 300);
    expect_next(250, 250, 300);
    expect_next(300, 400, SIZE);
    expect_next(SIZE - 1, SIZE - 1, SIZE);
    expect_next(SIZE, 0, 0);
    expect_next(UINT64_MAX, 0, 0);
}

/* A gap stays behind and what follows goes on at its end: the hint stands before the tail. */
TEST(missing_remove__in_order_behind_a_gap)
{
    ck_assert(take(0, 100) && take(200, 300));
    int32_t gap = chain.first;
    ck_assert_int_eq(chain.hint, gap);
    for (uint64_t at = 300; at < SIZE - 100; at += 100) {
        ck_assert(take(at, at + 100));
        ck_assert_int_eq(chain.hint, gap);
    }
    expect_next(0, 100, 200);
    ck_assert(take(SIZE - 100, SIZE));
    ck_assert_uint_eq(chain.bytes, 100);
    ck_assert(take(100, 200));
    ck_assert_uint_eq(pool.used, 0);
}

TEST(missing_remove__beyond_4_gib)
{
    const uint64_t far = UINT64_C(1) << 36;
    missing_close(&pool, &chain);
    ck_assert(missing_open(&pool, &chain, far));
    ck_assert(take((UINT64_C(1) << 32) - 3, (UINT64_C(1) << 32) + 3));
    expect_next((UINT64_C(1) << 32) - 4, (UINT64_C(1) << 32) - 4, (UINT64_C(1) << 32) - 3);
    expect_next((UINT64_C(1) << 32) - 3, (UINT64_C(1) << 32) + 3, far);
    ck_assert_uint_eq(chain.bytes, far - 6);
}

TEST(missing_remove__reversed, .signal = SIGABRT)
{
    (void)take(7, 6);
}

/* Each breaks one invariant; missing_check ends the process. */
TEST(missing_check__fires, .rows = 5, .signal = SIGABRT)
{
    ck_assert(take(100, 200));
    struct missing_node *node = &memory[chain.first];
    switch (_i) {
    case 0:
        node->range.last = node->range.first;
        break;
    case 1:
        node->range.last = memory[node->next].range.first;
        break;
    case 2:
        chain.bytes++;
        break;
    case 3:
        chain.links++;
        break;
    default:
        chain.hint = CAPACITY - 1; /* in no chain */
        break;
    }
    missing_check(&pool, &chain);
}

TEST(missing_open__counts_a_node_that_is_written_later)
{
    struct missing other[CAPACITY];
    for (int i = 1; i < CAPACITY; i++)
        ck_assert(missing_open(&pool, &other[i], SIZE));
    ck_assert(!missing_open(&pool, &other[0], SIZE));
    ck_assert_uint_eq(pool.fresh, 0);
    ck_assert(take(0, 10)); /* the last node is this chain's, whoever asks first */
    ck_assert(!take(20, 30));
    expect_next(0, 10, SIZE);
    ck_assert(missing_remove(&pool, &other[1], (struct interval){0, SIZE + 1}));
    ck_assert_uint_eq(other[1].bytes, 0);
    ck_assert_uint_eq(pool.fresh, 1);
    ck_assert(take(20, 30));
}

/* However much room the pool has: what comes out of order is found in a bounded time. Another chain
 * has room, and so has this one for what needs no node. */
TEST(missing_remove__a_chain_has_room_for_so_many)
{
    enum { ALL = MISSING_LINKS + 10 };
    static struct missing_node many[2 * ALL];
    struct missing other;
    missing_pool_init(&pool, TABLE_OF(many));
    ck_assert(missing_open(&pool, &chain, (uint64_t)100 * ALL));
    ck_assert(missing_open(&pool, &other, SIZE));
    for (uint64_t i = 1; i < MISSING_LINKS; i++)
        ck_assert(take(100 * i, 100 * i + 10));
    ck_assert_uint_eq(chain.links, MISSING_LINKS);
    ck_assert(!take(50, 60));
    ck_assert_uint_eq(pool.refused, 1);
    ck_assert(missing_remove(&pool, &other, (struct interval){10, 20}));
    ck_assert(take(0, 10));
    ck_assert(take(10, 100)); /* all of the first range */
    ck_assert(take(150, 160));
    ck_assert_uint_eq(chain.links, MISSING_LINKS);
    missing_close(&pool, &chain);
    ck_assert_uint_eq(pool.used, 2);
}

TEST(missing_pool_check__fires, .rows = 2, .signal = SIGABRT)
{
    ck_assert(take(100, 200));
    if (_i == 0) {
        pool.used--;
    } else {
        missing_close(&pool, &chain);
        memory[pool.free].next = pool.free;
    }
    missing_pool_check(&pool);
}
