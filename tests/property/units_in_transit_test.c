/* units_in_transit against a plain array of all that was ever sent. */
#include "../support/counter_starts.h"
#include "../support/property.h"
#include "../support/random.h"
#include "core/datagram.h"
#include "core/units_in_transit.h"

enum { ROUNDS = 100, OPERATIONS = 1000, CAPACITY_MOST = 64, BURST_MOST = 24 };
enum { SENT_MOST = OPERATIONS * BURST_MOST };

struct sent {
    uint32_t length;
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

static void model_put(uint32_t length)
{
    m.sent[m.count++] = (struct sent){.length = length, .is_in_transit = true};
    m.units++;
    m.bytes += length + (uint64_t)TRAILER_BYTES;
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
    for (uint64_t burst = random_below(random, BURST_MOST); burst > 0; burst--) {
        bool has_room = m.count - m.base < t->capacity;
        if (!has_room) {
            ck_assert(!units_in_transit_has_room(t));
            return;
        }
        struct transit_unit unit = {.offset = m.count,
                                    .length = (uint32_t)random_below(random, UNIT_DATA_MAX + 1)};
        ck_assert_uint_eq(units_in_transit_put(t, &unit), m.start + m.count);
        model_put(unit.length);
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
        ck_assert(seq == m.start + index && unit->offset == index);
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

static void step(struct units_in_transit *t, uint64_t *random)
{
    static const unsigned percents[] = {0, 10, 50, 100};
    if (random_chance(random, 30))
        step_put(t, random);
    else
        step_walk(t, random, percents[random_below(random, 4)]);
    compare(t);
}

START_TEST(units_in_transit__like_an_array)
{
    uint64_t random = property_seed(_i);
    for (int round = 0; round < ROUNDS; round++) {
        struct transit_unit memory[CAPACITY_MOST];
        struct units_in_transit t;
        m.start = counter_start(round % COUNTER_STARTS);
        m.count = m.base = m.units = m.bytes = 0;
        units_in_transit_init(&t, memory, 1U << random_below(&random, 7), m.start);
        for (int i = 0; i < OPERATIONS; i++)
            step(&t, &random);
    }
}
END_TEST

int main(int argc, char **argv)
{
    (void)argc;
    return property_run("units_in_transit", units_in_transit__like_an_array, argv[0]);
}
