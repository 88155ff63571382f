/* The memory of a table that is small to begin with. Most tables never hold more than a few
 * elements, so their first ones lie beside other tables' (arena.h) and share pages with them. A
 * table that needs more moves to room of its own, and doubles there.
 *
 *     near   small elements
 *     far    large elements, untouched until the table moves there
 *
 * Element n lies at n modulo the size. A ring, whose numbers go on for ever, needs sizes that are
 * powers of two; an array, whose numbers stay below the size, does not.
 *
 * I1  small <= size <= large; the table is near if and only if size is small. */
#ifndef ZCRP_CORE_TABLE_H
#define ZCRP_CORE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct table {
    uint8_t *near, *far;   /* caller's memory; far is not used if small and large are the same */
    uint32_t small, large; /* elements (c) */
    uint32_t size;         /* elements that it has room for at present */
    uint32_t bytes;        /* of one element (c) */
};

/* A table in the caller's memory that always has all its room: `count` elements. */
static inline struct table table_of(void *memory, uint32_t count, size_t bytes)
{
    return (struct table){
        .near = memory, .small = count, .large = count, .size = count, .bytes = (uint32_t)bytes};
}

/* Doubles the table, which is not at its largest (CHECKed) and has the elements [first, last).
 * Returns where it lies now. O(last - first). */
void *table_grow(struct table *t, uint64_t first, uint64_t last);

/* Moves the table back to its small beginnings, if the elements [first, last) find room there.
 * Returns where it lies now. */
void *table_shrink(struct table *t, uint64_t first, uint64_t last);

/* How many bytes of the far block, which begins at `far`, lie before the end of what the table uses
 * there; 0: it is near. */
size_t table_far_bytes(const struct table *t, const uint8_t *far);

/* Does nothing of the table lie in its far room? */
static inline bool table_is_near(const struct table *t)
{
    return t->size == t->small;
}

/* Is the size a power of two, as a ring needs it? */
static inline bool table_is_for_ring(const struct table *t)
{
    return t->small > 0 && (t->small & (t->small - 1)) == 0 && (t->large & (t->large - 1)) == 0;
}

#endif
