/* intervals against a bitmap that knows, besides, how many runs it may keep. */
#include "../support/counter_starts.h"
#include "../support/random.h"
#include "../support/suite.h"
#include "../support/tables.h"
#include "core/adt/intervals.h"

#include <string.h>

enum { ROUNDS = 100, OPERATIONS = 1000, SPAN = 256, CAPACITY_MOST = 16 };

struct model {
    bool has[SPAN + 1]; /* has[i]: start + i is in the set; the last never is */
    uint64_t start;
    uint32_t capacity;
    uint64_t forgotten;
};

static uint32_t model_runs(const struct model *m)
{
    uint32_t runs = 0;
    for (int i = 0; i < SPAN; i++)
        runs += m->has[i] && !m->has[i + 1];
    return runs;
}

static void model_forget_lowest(struct model *m)
{
    int i = 0;
    while (!m->has[i])
        i++;
    for (; m->has[i]; i++)
        m->has[i] = false;
    m->forgotten++;
}

static bool model_add(struct model *m, uint64_t at)
{
    if (m->has[at])
        return false;
    m->has[at] = true;
    if (model_runs(m) > m->capacity)
        model_forget_lowest(m);
    return m->has[at];
}

/* True if the bitmap is `value` from *i up to number `last`; *i is then there. */
static bool is_run(const struct model *m, uint64_t *i, uint64_t last, bool value)
{
    while (m->start + *i < last && m->has[*i] == value)
        (*i)++;
    return m->start + *i == last;
}

static bool is_alike(const struct intervals *set, const struct model *m)
{
    uint64_t i = 0;
    for (uint32_t k = 0; k < set->count; k++) {
        if (!is_run(m, &i, set->interval[k].first, false) ||
            !is_run(m, &i, set->interval[k].last, true))
            return false;
    }
    return is_run(m, &i, m->start + SPAN, false) && set->forgotten == m->forgotten;
}

/* The number above all others half of the time, any number otherwise. */
static uint64_t choose(const struct intervals *set, const struct model *m, uint64_t *random)
{
    if (set->count > 0 && random_chance(random, 50)) {
        uint64_t top = set->interval[set->count - 1].last - m->start;
        if (top < SPAN)
            return top;
    }
    return random_below(random, SPAN);
}

/* A few numbers behind the greatest. */
static void step_extend(struct intervals *set, struct model *m, uint64_t *random)
{
    uint64_t top = set->count == 0 ? SPAN : set->interval[set->count - 1].last - m->start;
    if (top == SPAN)
        return;
    uint64_t count = 1 + random_below(random, SPAN - top < 8 ? SPAN - top : 8);
    intervals_extend(set, count);
    memset(m->has + top, true, count);
}

static bool has(const struct intervals *set, uint64_t number)
{
    uint32_t at = intervals_find(set, number);
    return at < set->count && set->interval[at].first <= number;
}

static void step(struct intervals *set, struct model *m, uint64_t *random)
{
    uint64_t at = choose(set, m, random);
    if (random_chance(random, 3)) {
        at /= 1 + random_below(random, 8);
        intervals_remove_below(set, m->start + at);
        memset(m->has, 0, at);
    } else if (random_chance(random, 3)) {
        step_extend(set, m, random);
    } else if (random_chance(random, 20)) {
        ck_assert_int_eq(has(set, m->start + at), m->has[at]);
    } else {
        ck_assert_int_eq(intervals_add(set, m->start + at), model_add(m, at));
    }
    intervals_check(set);
    ck_assert(is_alike(set, m));
}

TEST(intervals__like_a_bitmap, .is_random = true)
{
    uint64_t random = suite_seed(_i);
    for (int round = 0; round < ROUNDS; round++) {
        struct interval few[CAPACITY_MOST];
        struct interval memory[CAPACITY_MOST];
        struct intervals set;
        struct model m = {.start = counter_start(round % COUNTER_STARTS),
                          .capacity = 1 + (uint32_t)random_below(&random, CAPACITY_MOST)};
        uint32_t small = 1 + (uint32_t)random_below(&random, m.capacity);
        intervals_init(&set, TABLE_FROM(few, small, memory, m.capacity));
        for (int i = 0; i < OPERATIONS; i++)
            step(&set, &m, &random);
    }
}
