/* A bounded set of numbers (intervals.h): I1 to I3 hold after each call, the set has exactly the
 * numbers that it should, and its table grows and shrinks with it. The set before the call is any
 * that keeps the invariants, so this holds for any number of calls. What is in the set is shown of
 * one number, x, which is any.
 *
 * bound: any numbers; a set of up to 3 intervals, its table of 1 or 3; any number of calls
 * sources: core/adt/intervals.c core/adt/table.c
 * flags: -D memcpy=move_intervals -D memmove=move_intervals
 * unwind: 4
 */
#include "proof.h"

#include "core/adt/intervals.h"

enum { SMALL = 1, LARGE = 3 };

static struct interval near[SMALL], far[LARGE];

/* memcpy and memmove: each place of the tables gets one of few values, which CBMC finds sooner than
 * a write to any place. */
void *move_intervals(void *to, const void *from, size_t bytes)
{
    const size_t size = sizeof(struct interval), count = bytes / size;
    const size_t first = __CPROVER_POINTER_OFFSET(from) / size;
    const size_t at = __CPROVER_POINTER_OFFSET(to) / size;
    const bool is_from_near = __CPROVER_same_object(from, near);
    const bool is_to_near = __CPROVER_same_object(to, near);
    struct interval moved[LARGE];

    SHOW(is_from_near || __CPROVER_same_object(from, far));
    SHOW(is_to_near || __CPROVER_same_object(to, far));
    SHOW(bytes % size == 0 && first + count <= (is_from_near ? SMALL : LARGE));
    SHOW(count <= LARGE && at + count <= (is_to_near ? SMALL : LARGE));
    for (size_t i = 0; i < LARGE; i++)
        if (i < count)
            moved[i] = is_from_near ? near[first + i] : far[first + i];
    for (size_t i = 0; i < LARGE; i++)
        if (i >= at && i - at < count) {
            if (is_to_near)
                near[i] = moved[i - at];
            else
                far[i] = moved[i - at];
        }
    return to;
}

static bool has(const struct intervals *set, uint64_t x)
{
    bool is_there = false;

    for (uint32_t i = 0; i < LARGE; i++)
        if (i < set->count && set->interval[i].first <= x && x < set->interval[i].last)
            is_there = true;
    return is_there;
}

/* I1 to I3, and the table lies where its size says. */
static bool holds(const struct intervals *set)
{
    bool is_near = set->table.size == SMALL;
    bool is_ascending = true;

    for (uint32_t i = 0; i < LARGE; i++)
        if (i < set->count)
            is_ascending = is_ascending && set->interval[i].first < set->interval[i].last &&
                           (i == 0 || set->interval[i - 1].last < set->interval[i].first);
    return is_ascending && set->count <= set->capacity && set->count <= set->table.size &&
           set->table.size <= LARGE && set->interval == (is_near ? near : far);
}

static struct intervals any_set(uint32_t size)
{
    struct intervals set;
    struct interval *interval;

    intervals_init(&set, (struct table){.near = (uint8_t *)near,
                                        .far = (uint8_t *)far,
                                        .small = SMALL,
                                        .large = LARGE,
                                        .size = size,
                                        .bytes = sizeof *near});
    set.interval = interval = size == SMALL ? near : far;
    set.count = any_below(size + 1);
    set.forgotten = any_below(UINT32_MAX);
    for (uint32_t i = 0; i < size; i++)
        interval[i] = (struct interval){nondet_u64(), nondet_u64()};
    ASSUME(holds(&set));
    return set;
}

/* A set that is full forgets its lowest interval, or the number, if that is lower. */
static void show_add(struct intervals *set, uint64_t x)
{
    const struct intervals before = *set;
    const uint64_t number = nondet_u64();
    const uint64_t lowest = before.interval[0].first, lowest_last = before.interval[0].last;

    ASSUME(number < UINT64_MAX); /* no sequence number is that */
    const bool had_x = has(set, x), had_number = has(set, number);
    const bool is_added = intervals_add(set, number);

    if (set->forgotten == before.forgotten) {
        SHOW(is_added == !had_number);
        SHOW(has(set, x) == (had_x || x == number));
        return;
    }
    SHOW(set->forgotten == before.forgotten + 1);
    SHOW(before.count == LARGE && set->count == LARGE && !had_number);
    SHOW(is_added == (number > lowest));
    if (is_added)
        SHOW(has(set, x) == ((had_x && x >= lowest_last) || x == number));
    else
        SHOW(has(set, x) == had_x);
}

static void show_extend(struct intervals *set, uint64_t x)
{
    const bool had_x = has(set, x);
    const uint64_t count = nondet_u64();

    ASSUME(set->count > 0); /* callers look first */
    const uint64_t last = set->interval[set->count - 1].last;
    ASSUME(count <= UINT64_MAX - last); /* no sequence number is that */
    intervals_extend(set, count);
    SHOW(has(set, x) == (had_x || (x >= last && x - last < count)));
}

static void show_remove_below(struct intervals *set, uint64_t x)
{
    const bool had_x = has(set, x);
    const uint64_t number = nondet_u64();

    intervals_remove_below(set, number);
    SHOW(has(set, x) == (had_x && x >= number));
}

static void show_find(const struct intervals *set)
{
    const uint64_t number = nondet_u64();
    const uint32_t at = intervals_find(set, number);

    SHOW(at <= set->count);
    SHOW(at == set->count || set->interval[at].last > number);
    SHOW(at == 0 || set->interval[at - 1].last <= number);
}

static void show_shrink(struct intervals *set, uint64_t x)
{
    const bool had_x = has(set, x);

    intervals_shrink(set);
    SHOW(has(set, x) == had_x);
    SHOW(set->count > SMALL || set->table.size == SMALL);
}

static void show(uint32_t size)
{
    struct intervals set = any_set(size);
    const uint64_t x = nondet_u64();

    switch (nondet_u8()) {
    case 0:
        show_add(&set, x);
        break;
    case 1:
        show_extend(&set, x);
        break;
    case 2:
        show_remove_below(&set, x);
        break;
    case 3:
        show_find(&set);
        break;
    default:
        show_shrink(&set, x);
    }
    SHOW(holds(&set));
    intervals_check(&set);
    REACHED();
}

/* Of each size that the table can have. */
int main(void)
{
    if (nondet_bool())
        show(SMALL);
    else
        show(LARGE);
}
