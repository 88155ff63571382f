#include "units_given_up.h"

#include "core/check.h"

#include <stddef.h>

void units_given_up_init(struct units_given_up *g, struct unit_given_up *memory, uint32_t capacity)
{
    CHECK(capacity > 0 && (capacity & (capacity - 1)) == 0);
    *g = (struct units_given_up){.ring = memory, .capacity = capacity};
}

static struct unit_given_up *at(const struct units_given_up *g, uint32_t i)
{
    return &g->ring[(g->first + i) & (g->capacity - 1)];
}

/* Index of the first whose number is not below `seq`; count if there is none. */
static uint32_t search(const struct units_given_up *g, uint64_t seq)
{
    uint32_t low = 0;
    uint32_t high = g->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (at(g, middle)->seq < seq)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void forget_oldest(struct units_given_up *g)
{
    g->arrived -= at(g, 0)->has_arrived;
    g->first++;
    g->count--;
}

void units_given_up_put(struct units_given_up *g, const struct unit_given_up *unit)
{
    if (g->count == g->capacity)
        forget_oldest(g);
    uint32_t i = g->count++;
    for (; i > 0 && at(g, i - 1)->seq > unit->seq; i--)
        *at(g, i) = *at(g, i - 1);
    *at(g, i) = *unit;
    at(g, i)->has_arrived = false;
}

const struct unit_given_up *units_given_up_arrive(struct units_given_up *g, uint64_t *seq,
                                                  uint64_t last)
{
    for (uint32_t i = search(g, *seq); i < g->count; i++) {
        struct unit_given_up *unit = at(g, i);
        if (unit->seq >= last)
            break;
        if (unit->has_arrived)
            continue;
        unit->has_arrived = true;
        g->arrived++;
        *seq = unit->seq + 1;
        return unit;
    }
    return NULL;
}

const struct unit_given_up *units_given_up_find(const struct units_given_up *g, uint64_t seq)
{
    uint32_t i = search(g, seq);
    bool is_there = i < g->count && at(g, i)->seq == seq && !at(g, i)->has_arrived;
    return is_there ? at(g, i) : NULL;
}

static bool is_within(const struct unit_part *part, const struct unit_part *all)
{
    return part->message == all->message && part->is_void == all->is_void &&
           all->offset <= part->offset && part->offset + part->length <= all->offset + all->length;
}

bool units_given_up_has_brought(const struct units_given_up *g, uint64_t seq,
                                const struct unit_part *part)
{
    for (uint32_t i = search(g, seq); i < g->count; i = search(g, seq)) {
        const struct unit_given_up *unit = at(g, i);
        if (unit->seq != seq)
            break;
        if (unit->has_arrived && is_within(part, &unit->part))
            return true;
        seq = unit->predecessor;
    }
    return false;
}

void units_given_up_remove_arrived(struct units_given_up *g)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < g->count; i++)
        if (!at(g, i)->has_arrived)
            *at(g, kept++) = *at(g, i);
    g->count = kept;
    g->arrived = 0;
}

void units_given_up_clear(struct units_given_up *g)
{
    g->count = 0;
    g->arrived = 0;
}

void units_given_up_check(const struct units_given_up *g)
{
    uint32_t arrived = 0;
    CHECK(g->count <= g->capacity);
    for (uint32_t i = 0; i < g->count; i++) {
        const struct unit_given_up *unit = at(g, i);
        CHECK(i == 0 || at(g, i - 1)->seq < unit->seq);
        CHECK(unit->predecessor < unit->seq || unit->predecessor == UNIT_NEVER_SENT);
        arrived += unit->has_arrived;
    }
    CHECK(arrived == g->arrived);
}
