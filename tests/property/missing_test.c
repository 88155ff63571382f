/* missing against one bitmap a message; the chains share a pool that is too small for all. */
#include "../support/random.h"
#include "../support/suite.h"
#include "../support/tables.h"
#include "core/adt/missing.h"

#include <string.h>

enum { ROUNDS = 100, OPERATIONS = 1000, MESSAGES = 3, SIZE_MOST = 120, CAPACITY_MOST = 24 };

struct message {
    struct missing chain;
    bool is_missing[SIZE_MOST + 2]; /* byte i at i + 1; there is none before 0, none behind size */
    uint64_t size;
};

struct world {
    struct missing_node few[CAPACITY_MOST];
    struct missing_node memory[CAPACITY_MOST];
    struct missing_pool pool;
    struct message message[MESSAGES];
    uint64_t refused;
};

static bool is_missing(const struct message *m, uint64_t byte)
{
    return m->is_missing[byte + 1];
}

static bool covers(const struct message *m, struct interval range)
{
    for (uint64_t i = range.first; i < range.last; i++)
        if (!is_missing(m, i))
            return false;
    return true;
}

/* A range that leaves missing bytes on both of its sides makes two links of one. */
static bool needs_node(const struct message *m, struct interval range)
{
    return range.first < range.last && covers(m, range) && m->is_missing[range.first] &&
           is_missing(m, range.last);
}

static struct interval next(const struct message *m, uint64_t from)
{
    while (from < m->size && !is_missing(m, from))
        from++;
    if (from >= m->size)
        return (struct interval){0, 0};
    uint64_t last = from;
    while (is_missing(m, last))
        last++;
    return (struct interval){from, last};
}

/* True if the chain has the bitmap's runs, in order, and no more. Counts its nodes. */
static bool is_alike(const struct world *w, const struct message *m, uint32_t *nodes)
{
    uint64_t from = 0;
    uint64_t bytes = 0;
    if (m->chain.first == MISSING_NONE && m->chain.bytes > 0) { /* a node that is only counted */
        ++*nodes;
        return m->chain.bytes == m->size && next(m, 0).first == 0 && next(m, 0).last == m->size;
    }
    for (int32_t at = m->chain.first; at != MISSING_NONE; at = w->pool.node[at].next) {
        struct interval range = w->pool.node[at].range;
        struct interval expected = next(m, from);
        if (range.first != expected.first || range.last != expected.last)
            return false;
        from = range.last;
        bytes += range.last - range.first;
        (*nodes)++;
    }
    return next(m, from).last == 0 && bytes == m->chain.bytes;
}

static void compare(const struct world *w)
{
    uint32_t nodes = 0;
    bool all_alike = true;
    missing_pool_check(&w->pool);
    for (int i = 0; i < MESSAGES; i++) {
        missing_check(&w->pool, &w->message[i].chain);
        all_alike = all_alike && is_alike(w, &w->message[i], &nodes);
    }
    ck_assert(all_alike);
    ck_assert(nodes == w->pool.used && w->refused == w->pool.refused);
}

/* Now what follows a gap or starts the next missing range, now anything. */
static struct interval choose(const struct message *m, uint64_t *random)
{
    uint64_t first = random_below(random, m->size + 1);
    if (random_chance(random, 60))
        first = next(m, first / (1 + random_below(random, 4))).first;
    uint64_t length = random_below(random, random_chance(random, 80) ? 8 : SIZE_MOST);
    uint64_t last = first + length < m->size ? first + length : m->size;
    return (struct interval){first, last};
}

static void step_open(struct world *w, struct message *m, uint64_t *random)
{
    bool has_node = w->pool.used < w->pool.capacity;
    uint64_t size = random_below(random, SIZE_MOST + 1);
    memset(m, 0, sizeof(*m));
    if (!missing_open(&w->pool, &m->chain, size)) {
        ck_assert(!has_node && size > 0);
        w->refused++;
        return;
    }
    ck_assert(has_node || size == 0);
    m->size = size;
    memset(&m->is_missing[1], 1, size);
}

static void step_remove(struct world *w, struct message *m, struct interval range)
{
    if (needs_node(m, range) && w->pool.used == w->pool.capacity) {
        ck_assert(!missing_remove(&w->pool, &m->chain, range));
        w->refused++;
        return;
    }
    ck_assert(missing_remove(&w->pool, &m->chain, range));
    memset(&m->is_missing[range.first + 1], 0, range.last - range.first);
}

static void step_look(const struct world *w, const struct message *m, struct interval range)
{
    struct interval found = missing_next(&w->pool, &m->chain, range.first);
    struct interval expected = next(m, range.first);
    ck_assert(found.first == expected.first && found.last == expected.last);
}

static void step(struct world *w, uint64_t *random)
{
    struct message *m = &w->message[random_below(random, MESSAGES)];
    struct interval range = choose(m, random);
    step_look(w, m, range);
    if (m->chain.bytes == 0 || random_chance(random, 1)) {
        missing_close(&w->pool, &m->chain);
        step_open(w, m, random);
    } else {
        step_remove(w, m, range);
    }
    compare(w);
}

TEST(missing__like_a_bitmap, .is_random = true)
{
    uint64_t random = suite_seed(_i);
    for (int round = 0; round < ROUNDS; round++) {
        struct world w = {.refused = 0};
        uint32_t capacity = MESSAGES - 1 + (uint32_t)random_below(&random, CAPACITY_MOST - 2);
        uint32_t small = 1 + (uint32_t)random_below(&random, capacity);
        missing_pool_init(&w.pool, TABLE_FROM(w.few, small, w.memory, capacity));
        for (int i = 0; i < MESSAGES; i++)
            ck_assert(missing_open(&w.pool, &w.message[i].chain, 0));
        for (int i = 0; i < OPERATIONS; i++)
            step(&w, &random);
    }
}
