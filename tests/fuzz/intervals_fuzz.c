/* A set of intervals as a script of additions and removals, against a bitmap. A full set forgets;
 * so a number may be missing from it, but none may be in it that was not added. */
#include "script.h"

#include "../support/counter_starts.h"
#include "../support/tables.h"
#include "core/adt/intervals.h"
#include "core/check.h"

#include <string.h>

enum { SPAN = 256, CAPACITY_FEW = 2, CAPACITY_MOST = 8 };

struct model {
    struct interval few[CAPACITY_FEW];
    struct interval memory[CAPACITY_MOST];
    struct intervals set;
    uint64_t start;
    bool has[SPAN];
};

/* The set is the bitmap as long as nothing was forgotten, and a part of it afterwards. */
static void compare(const struct model *m)
{
    for (uint32_t i = 0; i < SPAN; i++) {
        bool is_in = intervals_has(&m->set, m->start + i);
        CHECK(!is_in || m->has[i]);
        CHECK(is_in || !m->has[i] || m->set.forgotten > 0);
    }
}

static void add(struct model *m, uint32_t at)
{
    bool was_in = intervals_has(&m->set, m->start + at);
    uint64_t forgotten = m->set.forgotten;
    bool is_new = intervals_add(&m->set, m->start + at);
    CHECK(!is_new || !was_in);
    CHECK(is_new || was_in || m->set.forgotten > forgotten);
    CHECK(intervals_has(&m->set, m->start + at) == (is_new || was_in));
    m->has[at] = true;
}

static void extend(struct model *m, uint32_t count)
{
    if (m->set.count == 0)
        return;
    uint64_t top = m->set.interval[m->set.count - 1].last - m->start;
    uint64_t fits = count < SPAN - top ? count : SPAN - top;
    intervals_extend(&m->set, fits);
    memset(m->has + top, true, fits);
}

static void remove_below(struct model *m, uint32_t at)
{
    intervals_remove_below(&m->set, m->start + at);
    memset(m->has, false, at);
}

int LLVMFuzzerTestOneInput(const uint8_t *in, size_t size)
{
    struct script s = script_of(in, size);
    struct model m = {.start = counter_start((int)script_below(&s, COUNTER_STARTS))};
    uint32_t capacity = 1 + script_below(&s, CAPACITY_MOST);
    intervals_init(&m.set, TABLE_FROM(m.few, CAPACITY_FEW, m.memory, capacity));
    while (!script_is_over(&s)) {
        uint32_t call = script_below(&s, 8);
        uint32_t at = script_u8(&s);
        if (call == 0)
            remove_below(&m, at);
        else if (call == 1)
            extend(&m, at);
        else
            add(&m, at);
        intervals_check(&m.set);
        compare(&m);
    }
    return 0;
}
