#include "cells.h"

#include "core/check.h"
#include "platform/system.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { CELLS = 84 }; /* of a row, which has 128 KiB */

struct cell {
    _Alignas(64) uint8_t bytes[CELL_BYTES];
};

/* Rows are added, and stay. */
struct row {
    _Atomic(struct row *) next;
    _Atomic bool is_taken[CELLS];
    struct cell cell[CELLS];
};

_Static_assert(sizeof(struct row) <= 128 << 10, "as said");

static _Atomic(struct row *) first;

static struct cell *take_from(struct row *r)
{
    for (int i = 0; i < CELLS; i++)
        if (!atomic_load_explicit(&r->is_taken[i], memory_order_relaxed) &&
            !atomic_exchange(&r->is_taken[i], true))
            return &r->cell[i];
    return NULL;
}

/* Before the others: there is room. False: no memory. */
static bool add_row(void)
{
    struct row *r = memory_reserve(sizeof(*r));

    if (r == NULL)
        return false;
    struct row *next = atomic_load(&first);
    do
        atomic_store(&r->next, next);
    while (!atomic_compare_exchange_weak(&first, &next, r));
    return true;
}

void *cells_take(void)
{
    struct cell *taken = NULL;

    do
        for (struct row *r = atomic_load(&first); r != NULL && taken == NULL;
             r = atomic_load(&r->next))
            taken = take_from(r);
    while (taken == NULL && add_row());
    return taken;
}

static bool is_of(const struct row *r, const void *cell)
{
    uintptr_t at = (uintptr_t)cell, begin = (uintptr_t)r->cell;

    return at >= begin && at < begin + sizeof(r->cell);
}

/* Zero as it was: a page of cells that were never taken is not touched. */
void cells_give(void *cell)
{
    struct row *r = atomic_load(&first);

    while (r != NULL && !is_of(r, cell))
        r = atomic_load(&r->next);
    CHECK(r != NULL);
    memset(cell, 0, CELL_BYTES);
    bool was_taken = atomic_exchange(&r->is_taken[(struct cell *)cell - r->cell], false);
    CHECK(was_taken);
}
