#include "link.h"

#include "chance.h"
#include "core/wire/datagram.h"

#include <stdlib.h>
#include <string.h>

/* A datagram held back is let go after so long even if nothing overtakes it. */
static const duration HELD_MOST = 20 * MILLISECOND;

void link_init(struct link *link, const struct conditions *conditions, uint64_t *random,
               link_deliver deliver, void *to)
{
    *link =
        (struct link){.conditions = *conditions, .random = random, .deliver = deliver, .to = to};
    link->bottleneck = &link->bottleneck_free;
    if (!aal5_fault_is_none(&conditions->cells))
        link->circuit = circuit_create(&conditions->cells);
}

void link_fini(struct link *link)
{
    for (size_t i = 0; i < link->count; i++)
        free(link->heap[i]);
    for (size_t i = 0; i < LINK_RECORDS; i++)
        free(link->record[i]);
    free(link->held);
    free(link->heap);
    free(link->circuit);
}

void link_lose_all(struct link *link)
{
    link->counters.lost += link->count;
    for (size_t i = 0; i < link->count; i++)
        free(link->heap[i]);
    free(link->held);
    link->held = NULL;
    link->count = 0;
    *link->bottleneck = 0;
}

/* ---- the heap of datagrams under way */

static bool is_before(const struct datagram *a, const struct datagram *b)
{
    return a->due != b->due ? a->due < b->due : a->order < b->order;
}

static void swap(struct link *link, size_t i, size_t j)
{
    struct datagram *other = link->heap[i];
    link->heap[i] = link->heap[j];
    link->heap[j] = other;
}

static void heap_put(struct link *link, struct datagram *datagram)
{
    if (link->count == link->room) {
        link->room = link->room == 0 ? 64 : 2 * link->room;
        link->heap = realloc(link->heap, link->room * sizeof(*link->heap));
    }
    size_t i = link->count++;
    link->heap[i] = datagram;
    for (; i > 0 && is_before(link->heap[i], link->heap[(i - 1) / 2]); i = (i - 1) / 2)
        swap(link, i, (i - 1) / 2);
    if (link->count > link->counters.largest_queue)
        link->counters.largest_queue = link->count;
}

static struct datagram *heap_take(struct link *link)
{
    struct datagram *first = link->heap[0];
    link->heap[0] = link->heap[--link->count];
    for (size_t i = 0;;) {
        size_t child = 2 * i + 1;
        if (child >= link->count)
            return first;
        if (child + 1 < link->count && is_before(link->heap[child + 1], link->heap[child]))
            child++;
        if (is_before(link->heap[i], link->heap[child]))
            return first;
        swap(link, i, child);
        i = child;
    }
}

/* ---- what happens to a datagram */

static struct datagram *copy_of(const uint8_t *bytes, uint32_t size)
{
    struct datagram *copy = malloc(sizeof(*copy) + size);
    copy->size = size;
    copy->is_marked = copy->is_refusal = false;
    if (size > 0)
        memcpy(copy->bytes, bytes, size);
    return copy;
}

bool link_is_up(const struct link *link, instant now)
{
    const struct conditions *c = &link->conditions;
    return c->outage_every == 0 || now % c->outage_every >= c->outage;
}

/* Bytes that wait before the bottleneck. */
static uint64_t queued(const struct link *link, instant now)
{
    if (*link->bottleneck <= now)
        return 0;
    return (uint64_t)(*link->bottleneck - now) * link->conditions.bytes_per_second /
           (uint64_t)SECOND;
}

static uint32_t mtu_at(const struct conditions *c, instant now)
{
    uint32_t mtu = c->mtu;
    for (int i = 0; i < LINK_MTUS; i++)
        if (c->mtus[i].bytes != 0 && c->mtus[i].at <= now)
            mtu = c->mtus[i].bytes;
    return mtu;
}

static instant due(struct link *link, instant now, uint32_t size)
{
    const struct conditions *c = &link->conditions;
    instant leaves = now;
    if (c->bytes_per_second != 0) {
        leaves = *link->bottleneck > now ? *link->bottleneck : now;
        link->counters.waited += leaves - now;
        leaves += (duration)(size * (uint64_t)SECOND / c->bytes_per_second);
        *link->bottleneck = leaves;
    }
    return leaves + c->delay + (duration)chance_below(link->random, (uint64_t)c->jitter + 1);
}

static bool has_room(const struct link *link, instant now, uint32_t size)
{
    const struct conditions *c = &link->conditions;
    return c->bytes_per_second == 0 || c->queue_bytes == 0 ||
           queued(link, now) + size <= c->queue_bytes;
}

static bool is_lost(struct link *link, instant now, uint64_t index, uint32_t size)
{
    const struct conditions *c = &link->conditions;
    if (index < 64 && (c->lost_mask >> index & 1) != 0)
        return true;
    if (c->lose_every != 0 && now >= c->lose_from && index % c->lose_every == c->lose_every - 1)
        return true;
    if (mtu_at(c, now) != 0 && size > mtu_at(c, now))
        return true;
    if (!link_is_up(link, now))
        return true;
    if (!chance_permille(link->random, c->loss_permille))
        return !has_room(link, now, size);
    if (c->loses_behind && has_room(link, now, size))
        (void)due(link, now, size);
    return true;
}

static void put(struct link *link, struct datagram *datagram, instant at)
{
    datagram->due = at;
    datagram->order = link->orders++;
    heap_put(link, datagram);
}

static void corrupt(struct link *link, struct datagram *datagram)
{
    uint64_t flips = 1 + chance_below(link->random, 3);
    for (uint64_t i = 0; i < flips && datagram->size > 0; i++) {
        uint64_t bit = chance_below(link->random, datagram->size * UINT64_C(8));
        datagram->bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
}

/* Keeps some of what passes, old and new, for replay. */
static void record(struct link *link, const uint8_t *bytes, uint32_t size)
{
    uint64_t place = link->recorded++;
    if (place >= LINK_RECORDS) {
        place = chance_below(link->random, 8 * LINK_RECORDS);
        if (place >= LINK_RECORDS)
            return;
        free(link->record[place]);
    }
    link->record[place] = copy_of(bytes, size);
}

static void replay(struct link *link, instant now)
{
    uint64_t there = link->recorded < LINK_RECORDS ? link->recorded : LINK_RECORDS;
    const struct datagram *old = link->record[chance_below(link->random, there)];
    link->counters.replayed++;
    put(link, copy_of(old->bytes, old->size), due(link, now, old->size));
}

/* What a stranger sends is of the right form, and of another pairing: a bit at least of the tag is
 * wrong, or of the session where that settles it. The rest of the trailer may be anything. */
static void forge(struct link *link, instant now, const struct datagram *datagram)
{
    if (datagram->size < TRAILER_BYTES ||
        !chance_permille(link->random, link->conditions.forge_permille))
        return;
    struct datagram *forged = copy_of(datagram->bytes, datagram->size);
    uint8_t *trailer = forged->bytes + forged->size - TRAILER_BYTES;
    uint8_t *tag = trailer + TAIL_AT + 4;
    enum datagram_type type = datagram_type(trailer[TRAILER_BYTES - 1]);
    bool is_within = type != DATAGRAM_HELLO && type != DATAGRAM_REQUEST && type != DATAGRAM_COOKIE;
    uint8_t *wrong = is_within && chance_one_in(link->random, 2) ? tag - 4 : tag;
    wrong[chance_below(link->random, 4)] ^= (uint8_t)(1u << chance_below(link->random, 8));
    if (chance_one_in(link->random, 2))
        trailer[chance_below(link->random, TAIL_AT)] = (uint8_t)chance_below(link->random, 256);
    link->counters.forged++;
    put(link, forged,
        now + (duration)chance_below(link->random, 2 * (uint64_t)link->conditions.delay));
}

static void flood(struct link *link, instant now, const struct datagram *datagram)
{
    const struct conditions *c = &link->conditions;
    if (datagram->size == 0 ||
        (c->flood_types >> datagram_type(datagram->bytes[datagram->size - 1]) & 1) == 0)
        return;
    for (uint32_t i = 1; i <= c->flood_copies; i++)
        put(link, copy_of(datagram->bytes, datagram->size), now + c->delay + i * c->flood_every);
    link->counters.flooded += c->flood_copies;
    link->counters.flooded_bytes += (uint64_t)c->flood_copies * datagram->size;
}

/* Lets the datagram held back go when enough others have overtaken it. */
static void let_go(struct link *link, instant at)
{
    if (link->held == NULL || --link->held_for > 0)
        return;
    put(link, link->held, at);
    link->held = NULL;
}

static bool is_held(struct link *link, instant now)
{
    const struct conditions *c = &link->conditions;
    return link->held == NULL && (c->reorder_until == 0 || now < c->reorder_until) &&
           chance_permille(link->random, c->reorder_permille);
}

static void forward(struct link *link, instant now, struct datagram *datagram)
{
    const struct conditions *c = &link->conditions;
    instant at = due(link, now, datagram->size);
    if (is_held(link, now)) {
        link->counters.held++;
        link->held = datagram;
        link->held_for = c->reorder_by;
        datagram->due = at + HELD_MOST;
        datagram->order = link->orders++;
        return;
    }
    put(link, datagram, at);
    let_go(link, at);
}

void link_send(struct link *link, instant now, const uint8_t *bytes, uint32_t size)
{
    const struct conditions *c = &link->conditions;
    uint64_t index = link->counters.sent++;
    bool is_gone = is_lost(link, now, index, size);
    bool is_bad = chance_permille(link->random, c->corrupt_permille);
    link->counters.bytes += size;
    link->counters.corrupted += is_bad;
    is_gone = is_gone || (is_bad && !c->is_undetected);
    bool is_marked = false;
    if (link->circuit != NULL && !is_gone)
        is_gone = !circuit_pass(link->circuit, bytes, size, &is_marked);
    if (link->witness != NULL)
        link->witness(link->witness_of, bytes, size, is_gone);
    if (c->replay_permille != 0)
        record(link, bytes, size);
    if (chance_permille(link->random, c->replay_permille))
        replay(link, now);
    if (is_gone) {
        link->counters.lost++;
        return;
    }
    struct datagram *datagram = copy_of(bytes, size);
    datagram->is_marked = is_marked;
    if (is_bad)
        corrupt(link, datagram);
    bool is_chosen = index < 64 && (c->duplicate_mask >> index & 1) != 0;
    if (chance_permille(link->random, c->duplicate_permille) || is_chosen) {
        link->counters.duplicated++;
        put(link, copy_of(datagram->bytes, size), due(link, now, size));
    }
    flood(link, now, datagram);
    forge(link, now, datagram);
    forward(link, now, datagram);
}

void link_refuse(struct link *link, instant now)
{
    if (chance_permille(link->random, link->conditions.loss_permille))
        return;
    struct datagram *refusal = copy_of(NULL, 0);
    refusal->is_refusal = true;
    put(link, refusal, due(link, now, 0));
}

instant link_next_at(const struct link *link)
{
    instant first = link->count == 0 ? NEVER : link->heap[0]->due;
    return link->held == NULL ? first : instant_earlier(first, link->held->due);
}

void link_run(struct link *link)
{
    struct datagram *datagram;
    if (link->held != NULL && (link->count == 0 || is_before(link->held, link->heap[0]))) {
        datagram = link->held;
        link->held = NULL;
    } else {
        datagram = heap_take(link);
    }
    link->counters.delivered++;
    link->deliver(link->to, datagram);
    free(datagram);
}
