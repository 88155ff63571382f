/* The order of moves: nothing is written where the source of another move still waits.
 *
 *     source   ....[ a ]..[ b ]....[ c ]....      a waits for b: b lies where a goes
 *     target   ...........[ a ]....[ b ].[ c ]    b waits for c: c goes first, then b, then a
 *
 * Whom a move waits for is found by address in the moves sorted by source, and done before it. If
 * that one waits in turn for the first, there is a cycle: its source goes to bounce and is not in
 * the way any more. A move's target can lie on many sources, so one stash may not be enough to go
 * on, but no source is stashed twice and all of them together are at most what was received: bounce
 * is as large as that.
 *
 * Looked at and not taken: a fixed order, forwards or backwards, with a stash for whatever it would
 * overwrite. It copies a whole run twice where a burst has runs of both directions, or messages
 * that do not lie in memory in the order of their numbers. */
#include "check.h"
#include "landing.h"

#include <string.h>

/* Sources and targets are in many objects, so their addresses are compared as numbers. */
static uintptr_t address(const uint8_t *p)
{
    return (uintptr_t)p;
}

/* Shell's sort with Ciura's gaps: few steps if the moves are nearly in order, as they mostly are,
 * and some thousands for any LANDING_MOVES. */
static void sort_by_source(struct landing_move *move, uint32_t count)
{
    static const uint32_t gaps[] = {301, 132, 57, 23, 10, 4, 1};
    for (size_t g = 0; g < sizeof gaps / sizeof gaps[0]; g++) {
        uint32_t gap = gaps[g];
        for (uint32_t i = gap; i < count; i++) {
            struct landing_move moved = move[i];
            uint32_t at = i;
            for (; at >= gap && address(moved.from) < address(move[at - gap].from); at -= gap)
                move[at] = move[at - gap];
            move[at] = moved;
        }
    }
}

/* Index of the first move whose source ends behind `place`. */
static uint32_t find_source(const struct landing *l, uintptr_t place)
{
    uint32_t low = 0;
    uint32_t high = l->moves;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (address(l->move[middle].from) + l->move[middle].length > place)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static bool is_at_risk(const struct landing_move *m)
{
    return m->state != MOVE_DONE && !m->stash;
}

/* A move whose source lies in the target of `m`, or NULL. Once it is not at risk it never is again,
 * so m->look only ascends, and all calls together look at no more than two times the moves. */
static struct landing_move *next_in_the_way(struct landing *l, struct landing_move *m)
{
    for (; m->look < l->moves; m->look++) {
        struct landing_move *other = &l->move[m->look];
        if (address(other->from) >= address(m->to) + m->length)
            return NULL;
        if (other != m && is_at_risk(other))
            return other;
    }
    return NULL;
}

static void stash(struct landing *l, struct landing_move *m)
{
    CHECK(m->length <= l->max_openings * LANDING_DATAGRAM - l->bounced);
    m->stash = memcpy(l->bounce + l->bounced, m->from, m->length);
    l->bounced += m->length;
}

static void carry_out(struct landing_move *m)
{
    if (m->stash)
        memcpy(m->to, m->stash, m->length);
    else
        memmove(m->to, m->from, m->length); /* the two may overlap: only other moves wait */
    m->state = MOVE_DONE;
}

/* Makes `m` wait on top of those that wait already. */
static struct landing_move *wait_with(struct landing *l, struct landing_move *m)
{
    m->state = MOVE_WAITS;
    m->look = find_source(l, address(m->to));
    return m;
}

/* Does one move and, before it, all that it waits for. */
static void settle_one(struct landing *l, struct landing_move *m)
{
    struct landing_move *waiting[LANDING_MOVES]; /* each for the one above it */
    uint32_t depth = 0;
    waiting[depth++] = wait_with(l, m);
    while (depth > 0) {
        struct landing_move *top = waiting[depth - 1];
        struct landing_move *other = next_in_the_way(l, top);
        if (!other) {
            carry_out(top);
            depth--;
        } else if (other->state == MOVE_WAITS) {
            stash(l, other);
        } else {
            waiting[depth++] = wait_with(l, other);
        }
    }
    l->bounced = 0; /* what was stashed was waiting, and is done */
}

void landing_settle(struct landing *l)
{
    sort_by_source(l->move, l->moves);
    for (uint32_t i = 1; i < l->moves; i++)
        CHECK(address(l->move[i - 1].from) + l->move[i - 1].length <= address(l->move[i].from));
    for (uint32_t i = 0; i < l->moves; i++) {
        if (l->move[i].state != MOVE_DONE)
            settle_one(l, &l->move[i]);
    }
    l->moves = 0;
}
