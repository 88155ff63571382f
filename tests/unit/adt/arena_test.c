#include "core/adt/arena.h"

#include "../../support/suite.h"

TEST(arena_take__counts_without_memory)
{
    struct arena arena = {.near = NULL};
    ck_assert_ptr_null(arena_take(&arena, 1, 1));
    ck_assert_uint_eq(arena.used.near, ARENA_ALIGNMENT);
    ck_assert_ptr_null(arena_take(&arena, 3, ARENA_ALIGNMENT));
    ck_assert_uint_eq(arena.used.near, 4 * ARENA_ALIGNMENT);
    ck_assert_ptr_null(arena_take(&arena, 0, 8));
    ck_assert_uint_eq(arena.used.near, 4 * ARENA_ALIGNMENT);
}

TEST(arena_take__gives_what_it_counts)
{
    static const size_t size[] = {1, 63, 64, 65, 0, 7, 128};
    static uint8_t memory[1024];
    struct arena counting = {.near = NULL};
    struct arena arena = {.near = memory};
    for (size_t i = 0; i < sizeof size / sizeof size[0]; i++) {
        size_t before = counting.used.near;
        arena_take(&counting, size[i], 1);
        ck_assert_ptr_eq(arena_take(&arena, size[i], 1), memory + before);
        ck_assert_uint_eq(arena.used.near, counting.used.near);
        ck_assert_uint_ge(arena.used.near - before, size[i]);
        ck_assert_uint_eq(arena.used.near % ARENA_ALIGNMENT, 0);
    }
}

TEST(arena_reserve__is_the_far_block)
{
    static uint8_t memory[128];
    struct arena arena = {.near = NULL, .far = memory};
    ck_assert_ptr_eq(arena_reserve(&arena, 1, 1), memory);
    ck_assert_ptr_eq(arena_reserve(&arena, 1, 1), memory + ARENA_ALIGNMENT);
    ck_assert_uint_eq(arena.used.far, 2 * ARENA_ALIGNMENT);
    ck_assert_uint_eq(arena.used.near, 0);
}

TEST(arena_table__reserves_what_it_may_grow_to)
{
    static uint8_t near[256], far[256];
    struct arena arena = {.near = near, .far = far};
    struct table table = arena_table(&arena, 4, 16, 16);
    ck_assert_ptr_eq(table.near, near);
    ck_assert_ptr_eq(table.far, far);
    ck_assert_uint_eq(table.size, 4);
    ck_assert_uint_eq(table.large, 16);
    ck_assert_uint_eq(arena.used.near, 64);
    ck_assert_uint_eq(arena.used.far, 256);
}

TEST(arena_table__that_has_all_its_room)
{
    static uint8_t near[256];
    struct arena arena = {.near = near};
    struct table table = arena_table(&arena, 4, 2, 32);
    ck_assert_uint_eq(table.size, 2);
    ck_assert_uint_eq(table.large, 2);
    ck_assert_uint_eq(arena.used.near, 64);
    ck_assert_uint_eq(arena.used.far, 0);
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
