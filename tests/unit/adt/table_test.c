#include "core/adt/table.h"

#include "../../support/suite.h"
#include "../../support/tables.h"

#include <signal.h>

enum { SMALL = 2, LARGE = 16 };

static uint64_t near[SMALL];
static uint64_t far[LARGE];
static struct table table;

static void setup(void)
{
    table = TABLE_FROM(near, SMALL, far, LARGE);
}

FIXTURE(setup, NULL)

static uint64_t *at(uint64_t *ring, uint64_t n)
{
    return &ring[n & (table.size - 1)];
}

static void expect(uint64_t *ring, uint64_t first, uint64_t last)
{
    for (uint64_t n = first; n < last; n++)
        ck_assert_uint_eq(*at(ring, n), n);
}

/* Full each time, from any number on. */
TEST(table_grow__keeps_a_ring, .rows = 2 * LARGE)
{
    uint64_t first = (uint64_t)_i, last = first;
    uint64_t *ring = near;
    for (; last < first + LARGE; last++) {
        if (last - first == table.size)
            ring = table_grow(&table, first, last);
        *at(ring, last) = last;
        expect(ring, first, last + 1);
    }
    ck_assert_uint_eq(table.size, LARGE);
    ck_assert_ptr_eq(ring, far);
}

TEST(table_grow__leaves_what_is_over, .rows = LARGE)
{
    uint64_t first = (uint64_t)_i;
    *at(near, first) = first;
    uint64_t *ring = table_grow(&table, first, first + 1);
    expect(ring, first, first + 1);
    ring = table_grow(&table, first, first + 1);
    expect(ring, first, first + 1);
    ck_assert(!table_is_near(&table));
}

/* Sizes that are no powers of two are fine for an array. */
TEST(table_grow__keeps_an_array)
{
    table = TABLE_FROM(near, SMALL, far, 5);
    uint64_t *array = near;
    for (uint32_t n = 0; n < 5; n++) {
        if (n == table.size)
            array = table_grow(&table, 0, n);
        array[n] = n;
    }
    ck_assert_uint_eq(table.size, 5);
    for (uint32_t n = 0; n < 5; n++)
        ck_assert_uint_eq(array[n], n);
}

TEST(table_grow__not_beyond_the_largest, .signal = SIGABRT)
{
    table = TABLE_OF(near);
    table_grow(&table, 0, SMALL);
}

TEST(table_shrink__if_there_is_room, .rows = LARGE)
{
    uint64_t first = (uint64_t)_i;
    uint64_t *ring = table_grow(&table, first, first);
    for (uint64_t n = first; n < first + SMALL + 1; n++)
        *at(ring, n) = n;
    ck_assert_ptr_eq(table_shrink(&table, first, first + SMALL + 1), far);
    expect(ring, first, first + SMALL + 1);
    ring = table_shrink(&table, first + 1, first + 1 + SMALL);
    ck_assert_ptr_eq(ring, near);
    ck_assert(table_is_near(&table));
    expect(ring, first + 1, first + 1 + SMALL);
    ck_assert_ptr_eq(table_shrink(&table, first + 1, first + 1 + SMALL), near);
    ck_assert(table_is_near(&table));
}

TEST(table_is_for_ring__truth_table)
{
    static const struct {
        uint32_t small, large;
        bool is_for_ring;
    } row[] = {{0, 0, false}, {1, 1, true},  {1, 8, true},
               {3, 8, false}, {2, 6, false}, {3, 3, false}};
    for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
        table = TABLE_FROM(near, row[i].small, far, row[i].large);
        ck_assert_int_eq(table_is_for_ring(&table), row[i].is_for_ring);
    }
}
