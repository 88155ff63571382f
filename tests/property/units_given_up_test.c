/* units_given_up against a plain array of all that was ever given up. */
#include "../support/counter_starts.h"
#include "../support/random.h"
#include "../support/suite.h"
#include "core/sender/units_given_up.h"

enum { ROUNDS = 100, OPERATIONS = 1000, CAPACITY_MOST = 64, APART_MOST = 4, JUMP = 8 };

struct model {
    struct unit_given_up unit[OPERATIONS];
    bool is_known[OPERATIONS]; /* not forgotten, or removed */
    uint32_t count, known;
    uint64_t start, next; /* numbers */
};

static struct model m;

/* The index of this number, as long as it is known; else the count. */
static uint32_t model_find(uint64_t seq)
{
    uint32_t i = 0;
    while (i < m.count && !(m.is_known[i] && m.unit[i].seq == seq))
        i++;
    return i;
}

static void model_forget_lowest(void)
{
    uint32_t lowest = m.count;
    for (uint32_t i = 0; i < m.count; i++)
        if (m.is_known[i] && (lowest == m.count || m.unit[i].seq < m.unit[lowest].seq))
            lowest = i;
    m.is_known[lowest] = false;
    m.known--;
}

/* Any number up to the next, and at times a little above. */
static uint64_t any_number(uint64_t *random)
{
    return m.start + random_below(random, m.next - m.start + 2);
}

static struct unit_part any_part(uint64_t *random)
{
    return (struct unit_part){.message = random_below(random, 2),
                              .offset = 32 * random_below(random, 3),
                              .length = 32 * (uint32_t)random_below(random, 4),
                              .is_void = random_chance(random, 10)};
}

/* Mostly the next number; a clock that jumped back leaves some out for later. */
static void step_put(struct units_given_up *g, uint64_t *random)
{
    uint64_t seq = m.next + random_below(random, APART_MOST);
    if (random_chance(random, 20) && m.next - m.start > JUMP)
        seq = m.next - 1 - random_below(random, JUMP);
    if (model_find(seq) < m.count)
        return;
    uint64_t was = any_number(random);
    struct unit_given_up unit = {
        .seq = seq, .predecessor = was < seq ? was : UNIT_NEVER_SENT, .part = any_part(random)};
    units_given_up_put(g, &unit);
    if (m.known == g->capacity)
        model_forget_lowest();
    m.is_known[m.count] = true;
    m.unit[m.count++] = unit;
    m.known++;
    m.next = seq >= m.next ? seq + 1 : m.next;
}

static void step_arrive(struct units_given_up *g, uint64_t *random)
{
    uint64_t seq = any_number(random);
    uint64_t last = seq + random_below(random, 20);
    for (uint64_t n = seq; n < last; n++) {
        uint32_t i = model_find(n);
        if (i == m.count || m.unit[i].arrived != 0)
            continue;
        m.unit[i].arrived = 1;
        const struct unit_given_up *unit = units_given_up_arrive(g, &seq, last);
        ck_assert_ptr_nonnull(unit);
        ck_assert_uint_eq(unit->seq, n);
    }
    ck_assert_ptr_null(units_given_up_arrive(g, &seq, last));
}

static bool model_has_brought(uint64_t was, const struct unit_part *part)
{
    for (uint32_t i = model_find(was); i < m.count; i = model_find(m.unit[i].predecessor)) {
        const struct unit_part *all = &m.unit[i].part;
        if (m.unit[i].arrived != 0 && all->message == part->message &&
            all->is_void == part->is_void && part->offset >= all->offset &&
            part->offset + part->length <= all->offset + all->length)
            return true;
    }
    return false;
}

static void step_ask(const struct units_given_up *g, uint64_t *random)
{
    uint64_t was = any_number(random);
    struct unit_part part = any_part(random);
    uint32_t looks = UINT32_MAX;
    ck_assert_int_eq(units_given_up_has_brought(g, was, &part, &looks),
                     model_has_brought(was, &part));
}

static void step_remove(struct units_given_up *g)
{
    units_given_up_settle(g);
    for (uint32_t i = 0; i < m.count; i++) {
        m.known -= m.is_known[i] && m.unit[i].arrived != 0;
        m.is_known[i] &= m.unit[i].arrived == 0;
    }
}

static void step(struct units_given_up *g, uint64_t *random)
{
    uint64_t kind = random_below(random, 100);
    if (kind < 40)
        step_put(g, random);
    else if (kind < 60)
        step_arrive(g, random);
    else if (kind < 97)
        step_ask(g, random);
    else
        step_remove(g);
    units_given_up_check(g);
    ck_assert_uint_eq(g->count, m.known);
}

TEST(units_given_up__like_an_array, .is_random = true)
{
    uint64_t random = suite_seed(_i);
    for (int round = 0; round < ROUNDS; round++) {
        struct unit_given_up memory[CAPACITY_MOST];
        struct units_given_up g;
        m.start = m.next = counter_start(round % COUNTER_STARTS);
        m.count = m.known = 0;
        units_given_up_init(&g, memory, 1U << random_below(&random, 7));
        for (int i = 0; i < OPERATIONS; i++)
            step(&g, &random);
    }
}
