#include "plan.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { ROOM_LEAST = 16 };

static int make_room(struct ranges *ranges)
{
    if (ranges->count < ranges->room)
        return 0;
    if (ranges->first > 0) {
        ranges->count -= ranges->first;
        memmove(ranges->row, ranges->row + ranges->first, ranges->count * sizeof(*ranges->row));
        ranges->first = 0;
        return ranges->count < ranges->room / 2 ? 0 : make_room(ranges);
    }
    size_t room = ranges->room > 0 ? 2 * ranges->room : ROOM_LEAST;
    struct range *row = realloc(ranges->row, room * sizeof(*row));
    if (row == NULL)
        return -1;
    ranges->row = row;
    ranges->room = room;
    return 0;
}

static int add(struct ranges *ranges, uint64_t start, uint64_t end)
{
    if (start >= end)
        return 0;
    if (ranges->count > ranges->first && ranges->row[ranges->count - 1].end == start) {
        ranges->row[ranges->count - 1].end = end;
        return 0;
    }
    if (make_room(ranges) < 0)
        return -1;
    ranges->row[ranges->count++] = (struct range){start, end};
    return 0;
}

static bool take(struct ranges *ranges, uint64_t most, struct range *part)
{
    if (ranges->first == ranges->count)
        return false;
    struct range *range = &ranges->row[ranges->first];
    uint64_t line = (range->start / most + 1) * most;

    *part = (struct range){range->start, range->end < line ? range->end : line};
    range->start = part->end;
    if (range->start == range->end && ++ranges->first == ranges->count)
        ranges->first = ranges->count = 0;
    return true;
}

void plan_fini(struct plan *plan)
{
    free(plan->to_compare.row);
    free(plan->to_fetch.row);
    *plan = (struct plan){0};
}

int plan_compare(struct plan *plan, uint64_t start, uint64_t end)
{
    return add(&plan->to_compare, start, end);
}

int plan_fetch(struct plan *plan, uint64_t start, uint64_t end)
{
    return add(&plan->to_fetch, start, end);
}

bool plan_take_compare(struct plan *plan, uint64_t most, struct range *part)
{
    return take(&plan->to_compare, most, part);
}

bool plan_take_fetch(struct plan *plan, uint64_t most, struct range *part)
{
    return take(&plan->to_fetch, most, part);
}

bool plan_is_empty(const struct plan *plan)
{
    return plan->to_compare.first == plan->to_compare.count &&
           plan->to_fetch.first == plan->to_fetch.count;
}

static void check_ranges(const struct ranges *ranges)
{
    assert(ranges->first <= ranges->count);
    assert(ranges->count <= ranges->room);
    for (size_t i = ranges->first; i < ranges->count; i++)
        assert(ranges->row[i].start < ranges->row[i].end); /* I1 */
}

void plan_check(const struct plan *plan)
{
    check_ranges(&plan->to_compare);
    check_ranges(&plan->to_fetch);
}
