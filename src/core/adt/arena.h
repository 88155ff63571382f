/* Carves one block of the caller's memory into arrays. The core allocates nothing: it says how
 * many bytes it wants, by carving out of nothing, and is given them. */
#ifndef ZCRP_CORE_ARENA_H
#define ZCRP_CORE_ARENA_H

#include <stddef.h>
#include <stdint.h>

enum { ARENA_ALIGNMENT = 64 };

struct arena {
    uint8_t *memory; /* NULL: only count */
    size_t used;
};

/* `count` elements of `size` bytes, at a cache line's start (as far as the block is); NULL while
 * only counting. */
static inline void *arena_take(struct arena *arena, size_t count, size_t size)
{
    void *at = arena->memory == NULL ? NULL : arena->memory + arena->used;
    arena->used += (count * size + ARENA_ALIGNMENT - 1) / ARENA_ALIGNMENT * ARENA_ALIGNMENT;
    return at;
}

static inline uint32_t arena_round_up(uint32_t n)
{
    uint32_t power = 1;
    while (power < n)
        power *= 2;
    return power;
}

#endif
