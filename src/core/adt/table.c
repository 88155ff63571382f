#include "table.h"

#include "core/check.h"

#include <string.h>

static uint8_t *place(const struct table *t)
{
    return table_is_near(t) ? t->near : t->far;
}

/* Copies the elements [first, last) to a table of `to_size`. What has its place already stays. */
static void copy(const struct table *t, uint8_t *to, uint32_t to_size, uint64_t first,
                 uint64_t last)
{
    const uint8_t *from = place(t);
    for (uint64_t n = first; n < last; n++) {
        uint8_t *at = to + n % to_size * t->bytes;
        const uint8_t *old = from + n % t->size * t->bytes;
        if (at != old)
            memcpy(at, old, t->bytes);
    }
}

/* In the far room of a ring, what has the new bit in its number moves up by the old size. */
void *table_grow(struct table *t, uint64_t first, uint64_t last)
{
    CHECK(t->size < t->large);
    CHECK(last - first <= t->size);
    uint32_t size = t->size < t->large / 2 ? 2 * t->size : t->large;
    copy(t, t->far, size, first, last);
    t->size = size;
    return t->far;
}

void *table_shrink(struct table *t, uint64_t first, uint64_t last)
{
    if (table_is_near(t) || last - first > t->small)
        return place(t);
    copy(t, t->near, t->small, first, last);
    t->size = t->small;
    return t->near;
}

size_t table_far_bytes(const struct table *t, const uint8_t *far)
{
    return table_is_near(t) ? 0 : (size_t)(t->far - far) + (size_t)t->size * t->bytes;
}
