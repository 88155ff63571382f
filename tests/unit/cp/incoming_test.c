#include "zcrp-cp/ends/incoming.h"

#include "../../support/random.h"
#include "../../support/suite.h"

#include <string.h>

enum { SIZE = 4096, OPERATIONS = 50000, EXTENTS_TRIED = 1 << 23 };

static struct ranges ranges;

static void expect(bool taken, struct range part, uint64_t start, uint64_t end)
{
    ck_assert(taken);
    ck_assert_uint_eq(part.start, start);
    ck_assert_uint_eq(part.end, end);
}

TEST(ranges__is_empty_at_first)
{
    struct range part;

    ck_assert_uint_eq(ranges.count, 0);
    ck_assert(!ranges_take(&ranges, 8, &part));
    ck_assert_int_eq(ranges_add(&ranges, 5, 5), 0);
    ck_assert_uint_eq(ranges.count, 0);
    ranges_fini(&ranges);
}

TEST(ranges_take__aligned_parts)
{
    struct range part;

    ck_assert_int_eq(ranges_add(&ranges, 3, 20), 0);
    expect(ranges_take(&ranges, 8, &part), part, 3, 8);
    expect(ranges_take(&ranges, 8, &part), part, 8, 16);
    expect(ranges_take(&ranges, 8, &part), part, 16, 20);
    ck_assert(!ranges_take(&ranges, 8, &part));
    ranges_fini(&ranges);
}

TEST(ranges_add__joins_neighbours)
{
    struct range part;

    ck_assert_int_eq(ranges_add(&ranges, 0, 4), 0);
    ck_assert_int_eq(ranges_add(&ranges, 4, 8), 0);
    ck_assert_int_eq(ranges_add(&ranges, 10, 12), 0);
    expect(ranges_take(&ranges, 100, &part), part, 0, 8);
    expect(ranges_take(&ranges, 100, &part), part, 10, 12);
    ck_assert_uint_eq(ranges.count, 0);
    ranges_fini(&ranges);
}

/* The file fails by itself: an honest source may have such a one, and others behind it. */
TEST(incoming_add_extent__too_many)
{
    static struct wanted wanted = {.entry.size = EXTENTS_TRIED};
    static struct incoming incoming = {.wanted = &wanted, .needs_extents = true};
    uint64_t at = 0;

    for (; at < EXTENTS_TRIED && incoming.error[0] == '\0'; at++)
        ck_assert(incoming_add_extent(&incoming, at, 1));
    ck_assert_str_eq(incoming.error, "it has too many holes");
    ck_assert(incoming_add_extent(&incoming, at, 1));
    ck_assert(!incoming_add_extent(&incoming, 0, 1)); /* a lie is still one */
    ranges_fini(&incoming.to_fetch);
}

/* Against an array of what is to be fetched: all of it comes once, and nothing else. */
TEST(ranges__random, .is_random = true)
{
    static bool wanted[SIZE];
    uint64_t random = suite_seed(_i), count = 0;

    memset(wanted, 0, sizeof(wanted));
    for (int i = 0; i < OPERATIONS; i++) {
        uint64_t start = random_below(&random, SIZE), end = start + random_below(&random, 20);
        struct range part;
        bool is_free = end <= SIZE;

        for (uint64_t at = start; is_free && at < end; at++)
            is_free = !wanted[at];
        if (is_free && random_chance(&random, 50)) {
            ck_assert_int_eq(ranges_add(&ranges, start, end), 0);
            memset(wanted + start, true, end - start);
            count += end - start;
        } else if (ranges_take(&ranges, 1 + random_below(&random, 30), &part)) {
            for (uint64_t at = part.start; at < part.end; at++) {
                ck_assert(wanted[at]);
                wanted[at] = false;
                count--;
            }
        } else {
            ck_assert_uint_eq(count, 0);
        }
        ranges_check(&ranges);
    }
    ranges_fini(&ranges);
}
