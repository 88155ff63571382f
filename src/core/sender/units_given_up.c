#include "units_given_up.h"

#include "core/check.h"

#include <stddef.h>

enum {
    SETTLED_SHARE = 256, /* one in so many may be settled and there, */
    CHAIN_MOST = 256,    /* and so many predecessors count */
};

void units_given_up_init(struct units_given_up *g, struct unit_given_up *memory, uint32_t capacity)
{
    CHECK(capacity > 0 && (capacity & (capacity - 1)) == 0);
    *g = (struct units_given_up){.ring = memory, .capacity = capacity, .settlings = 1};
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
    uint64_t arrived = at(g, 0)->arrived;
    g->arrived -= arrived == g->settlings;
    g->settled -= arrived != 0 && arrived != g->settlings;
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
    at(g, i)->arrived = 0;
}

const struct unit_given_up *units_given_up_arrive(struct units_given_up *g, uint64_t *seq,
                                                  uint64_t last)
{
    for (uint32_t i = search(g, *seq); i < g->count; i++) {
        struct unit_given_up *unit = at(g, i);
        if (unit->seq >= last)
            break;
        if (unit->arrived != 0)
            continue;
        unit->arrived = g->settlings;
        g->arrived++;
        *seq = unit->seq + 1;
        return unit;
    }
    return NULL;
}

const struct unit_given_up *units_given_up_find(const struct units_given_up *g, uint64_t seq)
{
    uint32_t i = search(g, seq);
    bool is_there = i < g->count && at(g, i)->seq == seq && at(g, i)->arrived == 0;
    return is_there ? at(g, i) : NULL;
}

static bool is_within(const struct unit_part *part, const struct unit_part *all)
{
    return part->message == all->message && part->is_void == all->is_void &&
           all->offset <= part->offset && part->offset + part->length <= all->offset + all->length;
}

bool units_given_up_has_brought(const struct units_given_up *g, uint64_t seq,
                                const struct unit_part *part, uint32_t *looks)
{
    for (uint32_t links = 0; *looks > 0 && links < CHAIN_MOST; links++, --*looks) {
        uint32_t i = search(g, seq);
        if (i == g->count || at(g, i)->seq != seq)
            break;
        const struct unit_given_up *unit = at(g, i);
        if (unit->arrived != 0 && is_within(part, &unit->part))
            return true;
        seq = unit->predecessor;
    }
    return false;
}

bool units_given_up_are_from(const struct units_given_up *g, uint64_t seq, uint64_t first)
{
    for (uint32_t links = 0; links < CHAIN_MOST && seq != UNIT_NEVER_SENT; links++) {
        uint32_t i = search(g, seq);
        if (seq < first || i == g->count || at(g, i)->seq != seq || at(g, i)->arrived != 0)
            return false;
        seq = at(g, i)->predecessor;
    }
    return seq == UNIT_NEVER_SENT;
}

static void remove_settled(struct units_given_up *g)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < g->count; i++)
        if (at(g, i)->arrived == 0)
            *at(g, kept++) = *at(g, i);
    g->count = kept;
    g->settled = 0;
}

void units_given_up_settle(struct units_given_up *g)
{
    g->settled += g->arrived;
    g->arrived = 0;
    g->settlings++;
    if (g->count <= (uint64_t)SETTLED_SHARE * g->settled)
        remove_settled(g);
}

void units_given_up_clear(struct units_given_up *g)
{
    g->count = 0;
    g->arrived = g->settled = 0;
}

void units_given_up_check(const struct units_given_up *g)
{
    uint32_t arrived = 0;
    uint32_t settled = 0;
    CHECK(g->count <= g->capacity);
    for (uint32_t i = 0; i < g->count; i++) {
        const struct unit_given_up *unit = at(g, i);
        CHECK(i == 0 || at(g, i - 1)->seq < unit->seq);
        CHECK(unit->predecessor < unit->seq || unit->predecessor == UNIT_NEVER_SENT);
        arrived += unit->arrived == g->settlings;
        settled += unit->arrived != 0 && unit->arrived != g->settlings;
    }
    CHECK(arrived == g->arrived);
    CHECK(settled == g->settled);
}
