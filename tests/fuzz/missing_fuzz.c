/* What messages miss, as a script over two chains of one small pool, against bitmaps. */
#include "script.h"

#include "../support/tables.h"
#include "core/adt/missing.h"
#include "core/check.h"

#include <string.h>

enum { SPAN = 256, NODES_FEW = 2, NODES_MOST = 8, CHAINS = 2 };

struct chain {
    struct missing missing;
    bool is_missing[SPAN];
};

struct model {
    struct missing_node few[NODES_FEW];
    struct missing_node memory[NODES_MOST];
    struct missing_pool pool;
    struct chain chain[CHAINS];
};

static void compare(const struct model *m, const struct chain *chain)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < SPAN; i++) {
        bool is_missing = missing_covers(&m->pool, &chain->missing, (struct interval){i, i + 1});
        CHECK(is_missing == chain->is_missing[i]);
        bytes += is_missing;
    }
    CHECK(bytes == chain->missing.bytes);
}

/* The next range is where the bitmap has it. */
static void look(const struct model *m, const struct chain *chain, uint32_t from)
{
    uint32_t first = from;
    while (first < SPAN && !chain->is_missing[first])
        first++;
    uint32_t last = first;
    while (last < SPAN && chain->is_missing[last])
        last++;
    struct interval next = missing_next(&m->pool, &chain->missing, from);
    CHECK(next.first == (first == SPAN ? 0 : first));
    CHECK(next.last == (first == SPAN ? 0 : last));
}

static void open_again(struct model *m, struct chain *chain, uint32_t size)
{
    missing_close(&m->pool, &chain->missing);
    bool is_open = missing_open(&m->pool, &chain->missing, size);
    memset(chain->is_missing, false, SPAN);
    if (is_open)
        memset(chain->is_missing, true, size);
}

static void take_out(struct model *m, struct chain *chain, uint32_t first, uint32_t count)
{
    uint32_t last = first + count < SPAN ? first + count : SPAN;
    uint64_t refused = m->pool.refused;
    if (missing_remove(&m->pool, &chain->missing, (struct interval){first, last}))
        memset(chain->is_missing + first, false, last - first);
    else
        CHECK(m->pool.refused == refused + 1);
}

static void step(struct model *m, struct script *s)
{
    uint32_t call = script_below(s, 16);
    struct chain *chain = &m->chain[call % CHAINS];
    uint32_t at = script_u8(s);
    if (call < 2)
        open_again(m, chain, at);
    else if (call < 4)
        look(m, chain, at);
    else
        take_out(m, chain, at, script_u8(s));
}

int LLVMFuzzerTestOneInput(const uint8_t *in, size_t size)
{
    struct script s = script_of(in, size);
    struct model m = {.memory = {{.next = 0}}};
    uint32_t capacity = 1 + script_below(&s, NODES_MOST);
    missing_pool_init(&m.pool, TABLE_FROM(m.few, NODES_FEW, m.memory, capacity));
    for (int i = 0; i < CHAINS; i++)
        m.chain[i].missing = (struct missing){.first = MISSING_NONE, .hint = MISSING_NONE};
    while (!script_is_over(&s)) {
        step(&m, &s);
        missing_pool_check(&m.pool);
        for (int i = 0; i < CHAINS; i++) {
            missing_check(&m.pool, &m.chain[i].missing);
            compare(&m, &m.chain[i]);
        }
    }
    return 0;
}
