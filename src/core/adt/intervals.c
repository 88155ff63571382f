#include "intervals.h"

#include "core/check.h"

#include <string.h>

void intervals_init(struct intervals *set, struct table memory)
{
    CHECK(memory.small >= 1);
    *set = (struct intervals){
        .interval = (void *)memory.near, .capacity = memory.large, .table = memory};
}

/* Index of the first interval that ends at `number` or behind it; count if there is none. */
static uint32_t search(const struct intervals *set, uint64_t number)
{
    uint32_t low = 0;
    uint32_t high = set->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (set->interval[middle].last < number)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* None ends behind the greatest number. */
uint32_t intervals_find(const struct intervals *set, uint64_t number)
{
    return number == UINT64_MAX ? set->count : search(set, number + 1);
}

static void drop_lowest(struct intervals *set, uint32_t count)
{
    set->count -= count;
    memmove(set->interval, set->interval + count, set->count * sizeof(struct interval));
}

/* Puts [number, number + 1) in front of interval `at`, which it does not touch. */
static bool insert(struct intervals *set, uint32_t at, uint64_t number)
{
    if (set->count == set->capacity) {
        set->forgotten++;
        if (at == 0)
            return false;
        drop_lowest(set, 1);
        at--;
    }
    if (set->count == set->table.size)
        set->interval = table_grow(&set->table, 0, set->count);
    struct interval *place = &set->interval[at];
    memmove(place + 1, place, (set->count - at) * sizeof(struct interval));
    *place = (struct interval){number, number + 1};
    set->count++;
    return true;
}

/* Interval `at` has just grown upwards: joins it with the next one if they touch now. */
static void join_next(struct intervals *set, uint32_t at)
{
    uint32_t next = at + 1;
    if (next == set->count || set->interval[at].last != set->interval[next].first)
        return;
    set->interval[at].last = set->interval[next].last;
    set->count--;
    memmove(&set->interval[next], &set->interval[next + 1],
            (set->count - next) * sizeof(struct interval));
}

/* Adds a number that does not simply extend the newest interval. */
static bool add_anywhere(struct intervals *set, uint64_t number)
{
    uint32_t at = search(set, number);
    if (at == set->count)
        return insert(set, at, number);
    struct interval *near = &set->interval[at];
    if (near->last == number) {
        near->last++;
        join_next(set, at);
        return true;
    }
    if (near->first <= number)
        return false;
    if (near->first == number + 1) {
        near->first = number;
        return true;
    }
    return insert(set, at, number);
}

bool intervals_add(struct intervals *set, uint64_t number)
{
    if (set->count > 0 && set->interval[set->count - 1].last == number) {
        set->interval[set->count - 1].last++;
        return true;
    }
    return add_anywhere(set, number);
}

void intervals_extend(struct intervals *set, uint64_t count)
{
    CHECK(set->count > 0);
    set->interval[set->count - 1].last += count;
}

void intervals_remove_below(struct intervals *set, uint64_t number)
{
    if (set->count == 0 || set->interval[0].first >= number)
        return;
    drop_lowest(set, intervals_find(set, number));
    if (set->count > 0 && set->interval[0].first < number)
        set->interval[0].first = number;
}

void intervals_shrink(struct intervals *set)
{
    set->interval = table_shrink(&set->table, 0, set->count);
}

void intervals_check(const struct intervals *set)
{
    CHECK(set->count <= set->table.size);
    for (uint32_t i = 0; i < set->count; i++)
        CHECK(set->interval[i].first < set->interval[i].last);
    for (uint32_t i = 1; i < set->count; i++)
        CHECK(set->interval[i - 1].last < set->interval[i].first);
}
