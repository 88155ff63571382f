#include "core/adt/arena.h"

#include "../../support/suite.h"

TEST(arena_take__counts_without_memory)
{
    struct arena arena = {.memory = NULL};
    ck_assert_ptr_null(arena_take(&arena, 1, 1));
    ck_assert_uint_eq(arena.used, ARENA_ALIGNMENT);
    ck_assert_ptr_null(arena_take(&arena, 3, ARENA_ALIGNMENT));
    ck_assert_uint_eq(arena.used, 4 * ARENA_ALIGNMENT);
    ck_assert_ptr_null(arena_take(&arena, 0, 8));
    ck_assert_uint_eq(arena.used, 4 * ARENA_ALIGNMENT);
}

TEST(arena_take__gives_what_it_counts)
{
    static const size_t size[] = {1, 63, 64, 65, 0, 7, 128};
    static uint8_t memory[1024];
    struct arena counting = {.memory = NULL};
    struct arena arena = {.memory = memory};
    for (size_t i = 0; i < sizeof size / sizeof size[0]; i++) {
        size_t before = counting.used;
        arena_take(&counting, size[i], 1);
        ck_assert_ptr_eq(arena_take(&arena, size[i], 1), memory + before);
        ck_assert_uint_eq(arena.used, counting.used);
        ck_assert_uint_ge(arena.used - before, size[i]);
        ck_assert_uint_eq(arena.used % ARENA_ALIGNMENT, 0);
    }
}

TEST(arena_round_up__to_a_power_of_two)
{
    static const struct {
        uint32_t n, power;
    } row[] = {{0, 1},
               {1, 1},
               {2, 2},
               {3, 4},
               {64, 64},
               {65, 128},
               {UINT32_C(1) << 31, UINT32_C(1) << 31}};
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++)
        ck_assert_uint_eq(arena_round_up(row[i].n), row[i].power);
}
