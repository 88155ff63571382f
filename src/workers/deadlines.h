/* Deadlines, earliest first: a binary heap of items that live elsewhere and know their place.
 *
 *              [1] 5 ms                 item->place = 1, 2, 3, ...; 0: not in the heap
 *            /          \
 *       [2] 9 ms      [3] 7 ms
 *
 * I1  no item is earlier than its parent.
 * I2  item number i has place i + 1.
 *
 * Pure, but for the memory of the heap itself; of one thread at a time. */
#ifndef ZCRP_WORKERS_DEADLINES_H
#define ZCRP_WORKERS_DEADLINES_H

#include "core/instant.h"

#include <stdbool.h>
#include <stdint.h>

struct deadline {
    instant at;
    uint32_t place;
};

struct deadlines {
    struct deadline **heap;
    uint32_t count;
    uint32_t room;
};

/* Makes room for `items` in all. False if there is no memory; then nothing has changed. */
__attribute__((warn_unused_result)) bool deadlines_reserve(struct deadlines *d, uint32_t items);

/* Frees the heap's memory. The items in it are forgotten. */
void deadlines_fini(struct deadlines *d);

/* Adds the item, or moves it if it is in the heap. There has to be room (CHECKed). O(log n). */
void deadlines_set(struct deadlines *d, struct deadline *item, instant at);

/* Takes the item out, if it is in the heap. O(log n). */
void deadlines_remove(struct deadlines *d, struct deadline *item);

/* The earliest item; NULL if there is none. O(1). */
struct deadline *deadlines_first(const struct deadlines *d);

/* CHECKs the invariants. O(n); for tests. */
void deadlines_check(const struct deadlines *d);

#endif
