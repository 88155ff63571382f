#include "missing.h"

#include "core/check.h"

/* A place in a chain: the link that starts or follows there, and the node before it. */
struct place {
    int32_t before; /* MISSING_NONE at the head of the chain */
    int32_t at;     /* MISSING_NONE at its end */
};

void missing_pool_init(struct missing_pool *pool, struct table nodes)
{
    CHECK(nodes.large <= INT32_MAX);
    *pool = (struct missing_pool){
        .node = (void *)nodes.near, .free = MISSING_NONE, .capacity = nodes.large, .table = nodes};
}

/* Counts one node more as used; false, counted, when there is none. */
static bool count_node(struct missing_pool *pool)
{
    if (pool->used == pool->capacity) {
        pool->refused++;
        return false;
    }
    pool->used++;
    return true;
}

/* Writes a node that was counted: so there is one. */
static int32_t write_node(struct missing_pool *pool, struct interval range, int32_t next)
{
    int32_t taken = pool->free;
    if (taken != MISSING_NONE) {
        pool->free = pool->node[taken].next;
    } else {
        CHECK(pool->fresh < pool->capacity);
        if (pool->fresh == pool->table.size)
            pool->node = table_grow(&pool->table, 0, pool->fresh);
        taken = (int32_t)pool->fresh++;
    }
    pool->node[taken] = (struct missing_node){.range = range, .next = next};
    return taken;
}

static void put_node(struct missing_pool *pool, int32_t node)
{
    pool->node[node].next = pool->free;
    pool->free = node;
    pool->used--;
}

bool missing_open(struct missing_pool *pool, struct missing *chain, uint64_t size)
{
    chain->first = chain->hint = MISSING_NONE; /* of a literal GCC may make a loop */
    chain->bytes = size;
    chain->links = 0;
    if (size == 0 || count_node(pool))
        return true;
    chain->bytes = 0;
    return false;
}

/* Does it miss all of its bytes, with a node that is only counted? */
static bool is_untouched(const struct missing *chain)
{
    return chain->first == MISSING_NONE && chain->bytes > 0;
}

void missing_close(struct missing_pool *pool, struct missing *chain)
{
    int32_t at = chain->first;
    if (is_untouched(chain)) {
        pool->used--;
        chain->bytes = 0;
        return;
    }
    while (at != MISSING_NONE) {
        int32_t next = pool->node[at].next;
        put_node(pool, at);
        at = next;
    }
    *chain = (struct missing){.first = MISSING_NONE, .hint = MISSING_NONE};
}

/* The link behind node `before`; the head of the chain behind none. */
static int32_t link_behind(const struct missing_pool *pool, const struct missing *chain,
                           int32_t before)
{
    return before == MISSING_NONE ? chain->first : pool->node[before].next;
}

/* The place of the first link that ends behind `from`. Starts at the hint, unless that is too far.
 */
static struct place find(const struct missing_pool *pool, const struct missing *chain,
                         uint64_t from)
{
    int32_t before = chain->hint;
    if (before != MISSING_NONE && pool->node[before].range.last > from)
        before = MISSING_NONE;
    int32_t at = link_behind(pool, chain, before);
    while (at != MISSING_NONE && pool->node[at].range.last <= from) {
        before = at;
        at = pool->node[at].next;
    }
    return (struct place){before, at};
}

struct interval missing_next(const struct missing_pool *pool, const struct missing *chain,
                             uint64_t from)
{
    int32_t at = chain->first;
    if (is_untouched(chain) && from < chain->bytes)
        return (struct interval){from, chain->bytes};
    if (at == MISSING_NONE)
        return (struct interval){0, 0};
    if (pool->node[at].range.last <= from)
        at = find(pool, chain, from).at;
    if (at == MISSING_NONE)
        return (struct interval){0, 0};
    struct interval range = pool->node[at].range;
    if (range.first < from)
        range.first = from;
    return range;
}

/* Takes the link at the place out of the chain. The place moves to the next link. */
static void unlink_node(struct missing_pool *pool, struct missing *chain, struct place *place)
{
    int32_t next = pool->node[place->at].next;
    if (place->before == MISSING_NONE)
        chain->first = next;
    else
        pool->node[place->before].next = next;
    put_node(pool, place->at);
    place->at = next;
    chain->links--;
}

/* Takes [range) out of the middle of one link, which leaves two. */
static bool split(struct missing_pool *pool, struct missing *chain, int32_t at,
                  struct interval range)
{
    struct missing_node whole = pool->node[at];
    if (chain->links == MISSING_LINKS) {
        pool->refused++;
        return false;
    }
    if (!count_node(pool))
        return false;
    chain->links++;
    int32_t rest = write_node(pool, (struct interval){range.last, whole.range.last}, whole.next);
    struct missing_node *node = &pool->node[at]; /* nodes may have moved */
    node->range.last = range.first;
    node->next = rest;
    chain->bytes -= range.last - range.first;
    chain->hint = at; /* what follows in order starts the rest */
    return true;
}

/* Takes [range) out of the links from `place` on; it lies in the middle of none. */
static void trim(struct missing_pool *pool, struct missing *chain, struct place place,
                 struct interval range)
{
    while (place.at != MISSING_NONE) {
        struct missing_node *node = &pool->node[place.at];
        if (node->range.first >= range.last)
            break;
        struct interval cut = {
            node->range.first < range.first ? range.first : node->range.first,
            node->range.last < range.last ? node->range.last : range.last,
        };
        chain->bytes -= cut.last - cut.first;
        if (cut.first > node->range.first) {
            node->range.last = cut.first;
            place.before = place.at;
            place.at = node->next;
        } else if (cut.last < node->range.last) {
            node->range.first = cut.last;
        } else {
            unlink_node(pool, chain, &place);
        }
    }
    chain->hint = place.before;
}

/* Takes out a range that does not simply start, or fill, the link behind the hint. */
static bool remove_anywhere(struct missing_pool *pool, struct missing *chain, struct interval range)
{
    CHECK(range.first <= range.last);
    if (range.first == range.last)
        return true;
    if (is_untouched(chain) && range.first == 0 && range.last >= chain->bytes) {
        missing_close(pool, chain);
        return true;
    }
    if (is_untouched(chain)) {
        chain->first = write_node(pool, (struct interval){0, chain->bytes}, MISSING_NONE);
        chain->links = 1;
    }
    struct place place = find(pool, chain, range.first);
    if (place.at == MISSING_NONE)
        return true;
    struct interval link = pool->node[place.at].range;
    if (link.first < range.first && range.last < link.last)
        return split(pool, chain, place.at, range);
    trim(pool, chain, place, range);
    return true;
}

bool missing_remove(struct missing_pool *pool, struct missing *chain, struct interval range)
{
    struct place place = {chain->hint, link_behind(pool, chain, chain->hint)};
    if (place.at == MISSING_NONE)
        return remove_anywhere(pool, chain, range);
    struct interval *link = &pool->node[place.at].range;
    if (range.first != link->first || range.first >= range.last || range.last > link->last)
        return remove_anywhere(pool, chain, range);
    chain->bytes -= range.last - range.first;
    link->first = range.last;
    if (link->first == link->last)
        unlink_node(pool, chain, &place);
    return true;
}

void missing_pool_shrink(struct missing_pool *pool)
{
    if (pool->used > 0)
        return;
    pool->free = MISSING_NONE;
    pool->fresh = 0;
    pool->node = table_shrink(&pool->table, 0, 0);
}

void missing_check(const struct missing_pool *pool, const struct missing *chain)
{
    uint64_t bytes = 0;
    uint32_t links = 0;
    bool has_hint = chain->hint == MISSING_NONE;
    for (int32_t at = chain->first; at != MISSING_NONE; at = pool->node[at].next) {
        const struct missing_node *node = &pool->node[at];
        CHECK(node->range.first < node->range.last);
        if (node->next != MISSING_NONE)
            CHECK(node->range.last < pool->node[node->next].range.first);
        bytes += node->range.last - node->range.first;
        links++;
        has_hint = has_hint || at == chain->hint;
    }
    CHECK(links == chain->links);
    CHECK(links <= MISSING_LINKS);
    CHECK(is_untouched(chain) || bytes == chain->bytes);
    CHECK(has_hint);
}

void missing_pool_check(const struct missing_pool *pool)
{
    uint32_t unused = 0;
    CHECK(pool->used <= pool->capacity);
    CHECK(pool->fresh <= pool->table.size);
    for (int32_t at = pool->free; at != MISSING_NONE; at = pool->node[at].next) {
        unused++;
        CHECK(unused <= pool->fresh);
    }
    CHECK(pool->fresh - unused <= pool->used);
}
