/* Tables of the core in arrays. */
#ifndef TESTS_SUPPORT_TABLES_H
#define TESTS_SUPPORT_TABLES_H

#include "core/adt/table.h"

/* All of the array, from the beginning on. */
#define TABLE_OF(array) table_of((array), sizeof(array) / sizeof((array)[0]), sizeof((array)[0]))

/* One that begins with the first `count` elements of `near_array`, and grows to `most` in
 * `far_array`. */
#define TABLE_FROM(near_array, count, far_array, most)                                             \
    table_from((near_array), (count), (far_array), (most), sizeof((far_array)[0]))

static inline struct table table_from(void *near, uint32_t small, void *far, uint32_t large,
                                      size_t bytes)
{
    struct table table = table_of(near, small < large ? small : large, bytes);
    table.far = far;
    table.large = large;
    return table;
}

#endif
