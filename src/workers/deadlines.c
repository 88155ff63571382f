#include "deadlines.h"

#include "core/check.h"

#include <stdlib.h>
#include <string.h>

bool deadlines_reserve(struct deadlines *d, uint32_t items)
{
    uint32_t room = d->room > 0 ? d->room : 16;

    if (items <= d->room)
        return true;
    while (room < items)
        room *= 2;
    struct deadline **heap = malloc(room * sizeof(*heap)), **old = d->heap;
    if (heap == NULL)
        return false;
    if (d->count > 0)
        memcpy(heap, old, d->count * sizeof(*heap));
    d->heap = heap;
    d->room = room;
    free(old); /* last: a child of that moment has a heap */
    return true;
}

void deadlines_fini(struct deadlines *d)
{
    for (uint32_t i = 0; i < d->count; i++)
        d->heap[i]->place = 0;
    free(d->heap);
    *d = (struct deadlines){.heap = NULL};
}

static void put(struct deadlines *d, uint32_t i, struct deadline *item)
{
    d->heap[i] = item;
    item->place = i + 1;
}

static void rise(struct deadlines *d, uint32_t i, struct deadline *item)
{
    while (i > 0 && item->at < d->heap[(i - 1) / 2]->at) {
        put(d, i, d->heap[(i - 1) / 2]);
        i = (i - 1) / 2;
    }
    put(d, i, item);
}

static void sink(struct deadlines *d, uint32_t i, struct deadline *item)
{
    for (uint32_t child = 2 * i + 1; child < d->count; child = 2 * i + 1) {
        if (child + 1 < d->count && d->heap[child + 1]->at < d->heap[child]->at)
            child++;
        if (item->at <= d->heap[child]->at)
            break;
        put(d, i, d->heap[child]);
        i = child;
    }
    put(d, i, item);
}

/* The item belongs at `i` or somewhere above or below it. */
static void place(struct deadlines *d, uint32_t i, struct deadline *item)
{
    if (i > 0 && item->at < d->heap[(i - 1) / 2]->at)
        rise(d, i, item);
    else
        sink(d, i, item);
}

void deadlines_set(struct deadlines *d, struct deadline *item, instant at)
{
    item->at = at;
    if (item->place == 0) {
        CHECK(d->count < d->room);
        d->count++;
        rise(d, d->count - 1, item);
    } else {
        place(d, item->place - 1, item);
    }
}

void deadlines_remove(struct deadlines *d, struct deadline *item)
{
    if (item->place == 0)
        return;
    uint32_t i = item->place - 1;
    struct deadline *last = d->heap[--d->count];
    item->place = 0;
    if (last != item)
        place(d, i, last);
}

struct deadline *deadlines_first(const struct deadlines *d)
{
    return d->count > 0 ? d->heap[0] : NULL;
}

void deadlines_check(const struct deadlines *d)
{
    CHECK(d->count <= d->room);
    for (uint32_t i = 0; i < d->count; i++) {
        CHECK(i == 0 || d->heap[(i - 1) / 2]->at <= d->heap[i]->at);
        CHECK(d->heap[i]->place == i + 1);
    }
}
