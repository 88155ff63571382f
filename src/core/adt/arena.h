/* Carves the caller's memory into arrays. The core allocates nothing: it says how many bytes it
 * wants, by carving out of nothing, and is given them, in two blocks:
 *
 *     near   [struct][table 8][table 32][table 16]      packed; nearly all of it is in use
 *     far    [............... 1024][.............................................. 32768]
 *
 * Far is room that tables grow into (table.h). Until then nobody touches it, so where the system
 * gives memory at the first touch it costs nothing. */
#ifndef ZCRP_CORE_ARENA_H
#define ZCRP_CORE_ARENA_H

#include "table.h"

enum { ARENA_ALIGNMENT = 64 };

/* How many bytes a block has, or is to have: multiples of ARENA_ALIGNMENT. */
struct arena_bytes {
    size_t near, far;
};

struct arena {
    uint8_t *near, *far; /* NULL: only count */
    struct arena_bytes used;
};

static inline void *arena_cut(uint8_t *block, size_t *used, size_t bytes)
{
    void *at = block == NULL ? NULL : block + *used;
    *used += (bytes + ARENA_ALIGNMENT - 1) / ARENA_ALIGNMENT * ARENA_ALIGNMENT;
    return at;
}

/* `count` elements of `size` bytes in the near block, at a cache line's start (as far as the block
 * is); NULL while only counting. */
static inline void *arena_take(struct arena *arena, size_t count, size_t size)
{
    return arena_cut(arena->near, &arena->used.near, count * size);
}

/* The same in the far block. */
static inline void *arena_reserve(struct arena *arena, size_t count, size_t size)
{
    return arena_cut(arena->far, &arena->used.far, count * size);
}

/* A table that begins with `small` elements of `bytes` bytes, and may grow to `large`: powers of
 * two.
 */
static inline struct table arena_table(struct arena *arena, uint32_t small, uint32_t large,
                                       size_t bytes)
{
    struct table table = table_of(NULL, small < large ? small : large, bytes);
    table.near = arena_take(arena, table.small, bytes);
    if (table.small < large)
        table.far = arena_reserve(arena, large, bytes);
    table.large = large;
    return table;
}

static inline uint32_t arena_round_up(uint32_t n)
{
    uint32_t power = 1;
    while (power < n)
        power *= 2;
    return power;
}

#endif
