/* units_in_transit against a plain array of all that was ever sent. */
#include "../support/counter_starts.h"
#include "../support/random.h"
#include "../support/suite.h"
#include "../support/tables.h"
#include "core/sender/units_in_transit.h"
#include "core/wire/datagram.h"

enum { ROUNDS = 100, OPERATIONS = 1000, CAPACITY_MOST = 64, BURST_MOST = 24 };
enum { SENT_MOST = OPERATIONS * BURST_MOST };

struct sent {
    uint64_t message;
    uint64_t offset;
    uint32_t length;
    bool is_last;
    bool is_cut;
    bool is_in_transit;
};

struct model {
    struct sent sent[SENT_MOST]; /* sent[i] is number start + i */
    uint64_t start;
    uint64_t count;
    uint64_t base; /* index of the first in transit, or count */
    uint64_t units;
    uint64_t bytes;
};

static struct model m;

static void model_put(const struct transit_unit *unit, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        m.sent[m.count++] =
            (struct sent){.message = unit->message + (unit->is_last ? i : 0),
                          .offset = unit->offset + (unit->is_last ? 0 : (uint64_t)i * unit->length),
                          .length = unit->length,
                          .is_last = unit->is_last,
                          .is_cut = unit->is_cut,
                          .is_in_transit = true};
    m.units += count;
    m.bytes += count * (unit->length + (uint64_t)TRAILER_BYTES);
}

static void model_remove(uint64_t index)
{
    m.sent[index].is_in_transit = false;
    m.units--;
    m.bytes -= m.sent[index].length + (uint64_t)TRAILER_BYTES;
    while (m.base < m.count && !m.sent[m.base].is_in_transit)
        m.base++;
}

static void compare(const struct units_in_transit *t)
{
    units_in_transit_check(t);
    ck_assert(t->base == m.start + m.base && t->next == m.start + m.count);
    ck_assert(t->units == m.units && t->bytes == m.bytes);
}

static void step_put(struct units_in_transit *t, uint64_t *random)
{
    uint64_t burst = random_below(random, BURST_MOST);
    while (burst > 0) {
        uint64_t room = t->capacity - (m.count - m.base);
        ck_assert_uint_eq(units_in_transit_room(t), room);
        uint32_t count = 1 + (uint32_t)random_below(random, burst);
        if (count > room)
            return;
        bool is_whole = random_chance(random, 30);
        struct transit_unit unit = {.message = random_below(random, 3),
                                    .offset = is_whole ? 0 : m.count,
                                    .length = (uint32_t)random_below(random, UNIT_DATA_MAX + 1),
                                    .is_last = is_whole || random_chance(random, 10),
                                    .is_cut = random_chance(random, 50)};
        ck_assert_uint_eq(units_in_transit_put(t, &unit, count), m.start + m.count);
        model_put(&unit, count);
        burst -= count;
    }
}

/* Walks a random range, which may reach beyond both ends, and takes out `percent` of what is found
 * there in transit: 0 only looks, 100 is a positive interval of an acknowledgement. */
static void step_walk(struct units_in_transit *t, uint64_t *random, unsigned percent)
{
    uint64_t index = m.base > 4 ? m.base - 4 : 0;
    index += random_below(random, m.count - index + 1);
    uint64_t last = index + random_below(random, CAPACITY_MOST);
    uint64_t seq = m.start + index;
    struct transit_unit *unit;
    while ((unit = units_in_transit_find(t, &seq, m.start + last)) != NULL) {
        while (!m.sent[index].is_in_transit)
            index++;
        ck_assert(seq == m.start + index && unit->offset == m.sent[index].offset);
        if (random_chance(random, percent)) {
            units_in_transit_remove(t, seq);
            model_remove(index);
            compare(t);
        }
        seq++;
        index++;
    }
    ck_assert_uint_eq(seq, m.start + last);
    while (index < last && index < m.count && !m.sent[index].is_in_transit)
        index++;
    ck_assert(index >= last || index == m.count);
}

/* Is this the unit behind the first `behind` of the row? */
static bool is_of_row(uint64_t index, const struct transit_row *row, uint64_t behind)
{
    const struct sent *sent = &m.sent[index];
    bool is_message = sent->is_last && sent->offset == 0;
    return index < m.count && sent->is_in_transit && (is_message || !row->are_messages) &&
           sent->message == row->message + (row->are_messages ? behind : 0) &&
           sent->length == row->length && sent->is_cut == row->is_cut;
}

/* Takes a random range out, row by row. */
static void step_rows(struct units_in_transit *t, uint64_t *random)
{
    uint64_t index = m.base + random_below(random, m.count - m.base + 1);
    uint64_t last = index + random_below(random, CAPACITY_MOST);
    uint64_t seq = m.start + index;
    struct transit_row row;
    while (units_in_transit_remove_row(t, &seq, m.start + last, &row)) {
        while (!m.sent[index].is_in_transit)
            index++;
        ck_assert(row.are_messages == (m.sent[index].is_last && m.sent[index].offset == 0));
        for (uint32_t i = 0; i < row.units; i++, index++) {
            ck_assert(index < last && is_of_row(index, &row, i));
            model_remove(index);
        }
        ck_assert(index == last || !is_of_row(index, &row, row.units)); /* as long as it is */
        ck_assert_uint_eq(seq, m.start + index);
        compare(t);
    }
    ck_assert_uint_eq(seq, m.start + last);
    for (; index < last && index < m.count; index++)
        ck_assert(!m.sent[index].is_in_transit);
}

/* A burst of one datagram is not cut. */
static void step_mark(struct units_in_transit *t)
{
    if (m.count == 0 || !m.sent[m.count - 1].is_in_transit)
        return;
    units_in_transit_mark_single(t, m.start + m.count - 1);
    m.sent[m.count - 1].is_cut = false;
}

static void step(struct units_in_transit *t, uint64_t *random)
{
    static const unsigned percents[] = {0, 10, 50, 100};
    if (random_chance(random, 30))
        step_put(t, random);
    else if (random_chance(random, 10))
        step_mark(t);
    else if (random_chance(random, 20))
        step_rows(t, random);
    else
        step_walk(t, random, percents[random_below(random, 4)]);
    compare(t);
}

TEST(units_in_transit__like_an_array, .is_random = true)
{
    uint64_t random = suite_seed(_i);
    for (int round = 0; round < ROUNDS; round++) {
        struct transit_unit few[CAPACITY_MOST];
        struct transit_unit memory[CAPACITY_MOST];
        struct units_in_transit t;
        m.start = counter_start(round % COUNTER_STARTS);
        m.count = m.base = m.units = m.bytes = 0;
        uint32_t capacity = 1U << random_below(&random, 7);
        uint32_t small = 1U << random_below(&random, 7);
        units_in_transit_init(&t, TABLE_FROM(few, small, memory, capacity), m.start);
        for (int i = 0; i < OPERATIONS; i++)
            step(&t, &random);
    }
}
