/* What messages still miss (missing.h): after each call I1 to I3 hold, a message misses exactly
 * what it should, and the nodes of other messages are as they were. Before the call the state is
 * any that is within the bound and keeps the invariants. The proof follows one byte, x, which may
 * be any byte of the message.
 *
 * CBMC goes each way through the proof by itself, so it knows at each place which nodes the chain,
 * others and the free list have. They lie in this order in the table. The code compares no places,
 * so they may lie in any other order, too.
 *
 * bound: messages below 16 bytes; a table of 1 or 3 nodes, 2 of a chain, 1 of others, 1 free
 * sources: core/adt/missing.c core/adt/table.c
 * smaller: core/adt/missing.h MISSING_LINKS 2
 * flags: -D memcpy=move_node --paths lifo --unwindset each.0:5
 * unwind: 4
 * cases: -D SIZE=1 -D LINKS=0
 * cases: -D SIZE=1 -D LINKS=1
 * cases: -D SIZE=3 -D LINKS=0
 * cases: -D SIZE=3 -D LINKS=1
 * cases: -D SIZE=3 -D LINKS=2
 */
#include "proof.h"

#include "core/adt/missing.h"

enum { SMALL = 1, LARGE = 3, BITS = 4 };

static struct missing_node near[SMALL], far[LARGE];
static struct missing_pool pool;
static struct missing chain;

/* The nodes of other messages: how many, where, and with what in them; and those that are only
 * counted. */
static uint32_t others, others_counted;
static int32_t other[LARGE];
static struct missing_node other_node[LARGE];

/* memcpy. The tables copy nothing else. */
void *move_node(void *to, const void *from, size_t bytes)
{
    SHOW(bytes == sizeof(struct missing_node));
    *(struct missing_node *)to = *(const struct missing_node *)from;
    return to;
}

/* A byte of a message, or its size. */
static uint64_t any_place(void)
{
    return any_bits(BITS);
}

/* Any number from 0 to `most`, each in a way of its own through the proof. */
static uint32_t each(uint32_t most)
{
    uint32_t n = 0;

    while (n < most && nondet_bool())
        n++;
    return n;
}

static bool is_within(struct interval range, uint64_t x)
{
    return range.first <= x && x < range.last;
}

static bool is_untouched(void)
{
    return chain.first == MISSING_NONE && chain.bytes > 0;
}

static bool has(uint64_t x)
{
    bool is_there = is_untouched() & (x < chain.bytes);

    for (int32_t at = chain.first; at != MISSING_NONE; at = pool.node[at].next)
        is_there |= is_within(pool.node[at].range, x);
    return is_there;
}

/* I1 to I3, and the table lies where its size says. */
static void show_invariants(void)
{
    uint32_t links = 0, owners[LARGE] = {0};
    bool has_hint = chain.hint == MISSING_NONE;
    uint64_t bytes = 0;

    SHOW(pool.table.size == SMALL || pool.table.size == LARGE);
    SHOW(pool.node == (pool.table.size == SMALL ? near : far));
    SHOW(pool.capacity == LARGE && pool.fresh <= pool.table.size);
    for (int32_t at = chain.first; at != MISSING_NONE; at = pool.node[at].next) {
        const struct missing_node *node = &pool.node[at];
        SHOW(node->range.first < node->range.last);
        SHOW(node->next == MISSING_NONE || node->range.last < pool.node[node->next].range.first);
        bytes += node->range.last - node->range.first;
        has_hint |= at == chain.hint;
        owners[at]++;
        links++;
    }
    SHOW(chain.links == links && links <= MISSING_LINKS);
    SHOW(has_hint);
    SHOW(is_untouched() | (chain.bytes == bytes));
    for (int32_t at = pool.free; at != MISSING_NONE; at = pool.node[at].next)
        owners[at]++;
    for (uint32_t i = 0; i < others; i++) {
        const struct missing_node *node = &pool.node[other[i]];
        owners[other[i]]++;
        SHOW(node->range.first == other_node[i].range.first);
        SHOW(node->range.last == other_node[i].range.last && node->next == other_node[i].next);
    }
    for (uint32_t i = 0; i < LARGE; i++)
        SHOW(owners[i] == (i < pool.fresh));
    SHOW(pool.used == links + is_untouched() + others + others_counted && pool.used <= LARGE);
}

static struct missing_node any_node(int32_t next)
{
    return (struct missing_node){{any_place(), any_place()}, next};
}

/* Any state. The chain's node number `hint` is the hint; 0: none is. */
static void any_state(void)
{
    const uint32_t hint = each(LINKS);
    others = each(SIZE > LINKS);
    const uint32_t taken = LINKS + others, left = SIZE - taken;
    /* A chain of the most links takes no node, so it makes no difference whether one was used. */
    const uint32_t fresh = taken + (LINKS == MISSING_LINKS ? left : each(left > 0));
    struct missing_node *node = SIZE == SMALL ? near : far;

    missing_pool_init(&pool, (struct table){.near = (uint8_t *)near,
                                            .far = (uint8_t *)far,
                                            .small = SMALL,
                                            .large = LARGE,
                                            .size = SIZE,
                                            .bytes = sizeof *near});
    chain = (struct missing){.first = MISSING_NONE, .hint = MISSING_NONE, .links = LINKS};
    pool.node = node;
    pool.fresh = fresh;
    for (uint32_t i = fresh; i-- > 0;) {
        const int32_t at = (int32_t)i;
        if (i >= taken) {
            node[at] = any_node(pool.free);
            pool.free = at;
        } else if (i >= LINKS) {
            other[i - LINKS] = at;
            other_node[i - LINKS] = node[at] = any_node((int32_t)nondet_u32());
        } else {
            node[at] = any_node(chain.first);
            const struct interval *range = &node[at].range;
            ASSUME(range->first < range->last);
            ASSUME(i + 1 == LINKS || range->last < node[chain.first].range.first);
            chain.bytes += range->last - range->first;
            chain.first = at;
            if (i + 1 == hint)
                chain.hint = at;
        }
    }
    if (LINKS == 0)
        chain.bytes = any_place();
    others_counted = any_below(LARGE);
    pool.refused = any_below(UINT32_MAX);
    pool.used = taken + is_untouched() + others_counted;
    ASSUME(pool.used <= LARGE);
}

/* It needs a node to take out what lies within one range that is missing. */
static bool splits(struct interval range)
{
    bool is_in_one = is_untouched() & (range.first > 0) & (range.last < chain.bytes);

    for (int32_t at = chain.first; at != MISSING_NONE; at = pool.node[at].next)
        is_in_one |=
            (pool.node[at].range.first < range.first) & (range.last < pool.node[at].range.last);
    return is_in_one & (range.first < range.last);
}

static void show_remove(uint64_t x)
{
    const struct interval range = {any_place(), any_place()};

    ASSUME(range.first <= range.last); /* callers have seen to that */
    const uint64_t refused = pool.refused;
    const bool is_full = pool.used == LARGE || chain.links == MISSING_LINKS;
    const bool had_x = has(x), is_refused = is_full & splits(range);
    const bool is_taken_out = !is_refused & is_within(range, x);

    SHOW(missing_remove(&pool, &chain, range) == !is_refused);
    SHOW(pool.refused == refused + is_refused);
    SHOW(has(x) == (had_x & !is_taken_out));
    show_invariants();
    REACHED();
}

static void show_next(uint64_t x)
{
    const uint64_t from = any_place();
    const struct interval range = missing_next(&pool, &chain, from);
    const bool is_one = range.first < range.last, has_x = has(x), is_x = is_within(range, x);

    SHOW(is_one || (range.first == 0 && range.last == 0));
    SHOW(!is_x || (has_x && x >= from));
    SHOW(!has_x || x < from || (is_one && x >= range.first));
    SHOW(!is_one | !has(range.last));
    show_invariants();
    REACHED();
}

static void show_open(uint64_t x)
{
    missing_close(&pool, &chain); /* it may be closed already */
    const uint64_t size = any_place(), refused = pool.refused;
    const bool is_refused = size > 0 && pool.used == LARGE;

    SHOW(missing_open(&pool, &chain, size) == !is_refused);
    SHOW(pool.refused == refused + is_refused);
    SHOW(has(x) == (!is_refused && x < size));
    show_invariants();
    REACHED();
}

static void show_close(uint64_t x)
{
    missing_close(&pool, &chain);
    SHOW(!has(x) & (chain.bytes == 0));
    show_invariants();
    REACHED();
}

static void show_shrink(uint64_t x)
{
    const bool had_x = has(x);

    missing_pool_shrink(&pool);
    SHOW(has(x) == had_x);
    SHOW(pool.used > 0 || (pool.table.size == SMALL && pool.fresh == 0));
    show_invariants();
    REACHED();
}

int main(void)
{
    const uint64_t x = any_place();

    any_state();
    switch (each(4)) {
    case 0:
        show_remove(x);
        break;
    case 1:
        show_next(x);
        break;
    case 2:
        show_open(x);
        break;
    case 3:
        show_close(x);
        break;
    default:
        show_shrink(x);
    }
}
