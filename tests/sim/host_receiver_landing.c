/* The receiving thread and the kernel beneath it: a plan, what is scattered into it, and a look at
 * every byte that could have been touched. */
#include "host_receiver.h"

#include "../support/scatter.h"
#include "chance.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { RUN_DATAGRAMS = 128, OPENINGS = 8, CHECK_PLAN_EVERY = 16, SCAN_BYTES = 1 << 15 };

/* Units of this session that were not taken, and may be so later. */
static uint64_t refusals(const struct host_receiver *h)
{
    const struct receiver_counters *c = receiver_counters(h->core);
    return c->drop_session + c->drop_unposted + c->drop_beyond + c->drop_no_room +
           c->drop_malformed + c->drop_short + c->drop_type;
}

/* ---- the plan */

static struct entry *owner_of(struct host_receiver *h, const uint8_t *at, size_t length)
{
    for (uint32_t i = h->user.oldest; i < h->user.begun; i++) {
        struct entry *entry = &h->user.entry[i];
        if (!entry->is_over && shadow_meets(&entry->shadow, at, length))
            return entry;
    }
    return NULL;
}

static bool is_within(const struct iovec *piece, const void *memory, size_t size)
{
    uintptr_t first = (uintptr_t)memory;
    uintptr_t at = (uintptr_t)piece->iov_base;
    return at >= first && at + piece->iov_len <= first + size;
}

/* The plan may offer nothing but its own scratch, and what is missing of posted messages. */
static void expect_plan_is_safe(struct host_receiver *h)
{
    const struct landing *l = &h->landing;
    for (uint32_t i = 0; i < l->first[l->openings]; i++) {
        const struct iovec *piece = &l->iov[i];
        if (is_within(piece, l->trailer, sizeof(l->trailer)) ||
            is_within(piece, h->landing_memory, landing_memory(l->max_openings)))
            continue;
        const struct entry *entry = owner_of(h, piece->iov_base, piece->iov_len);
        if (!scene_expect(h->scene, entry != NULL, "a plan offers memory that is no posted buffer"))
            return;
        scene_expect(h->scene, shadow_misses(&entry->shadow, piece->iov_base, piece->iov_len),
                     "a plan offers bytes of message %" PRIu32 " that have arrived", entry->index);
    }
}

void host_receiver_plan(struct host_receiver *h)
{
    uint64_t *random = &h->scene->random;
    bool is_idle_look = chance_one_in(random, 50);
    if (h->is_plan_out || (h->socket_first == h->socket_last && !is_idle_look))
        return;
    bool is_single = h->scene->setup->reading == READING_SINGLE;
    uint32_t openings = h->scene->setup->reading == READING_RUNS ? 1 : OPENINGS;
    uint32_t pairs = is_single ? 1 : 1 + (uint32_t)chance_below(random, LANDING_UNITS);
    receiver_plan(h->core, &h->landing, openings, pairs);
    if (h->steps % CHECK_PLAN_EVERY == 0)
        landing_check(&h->landing);
    h->is_plan_out = true;
    h->lands = h->scene->now + scene_some(h->scene, h->scene->setup->hold);
}

/* ---- the kernel */

/* How many datagrams from `at` on go into one opening: all of one size and one mark, the last may
 * be shorter. */
static uint32_t run_length(struct host_receiver *h, uint64_t at)
{
    const struct parcel *first = &h->socket[at % LANDED_MOST];
    uint32_t segment = first->size;
    uint32_t bytes = segment;
    uint32_t count = 1;
    if (h->scene->setup->reading == READING_SINGLE || !receiver_wants_joined(h->core))
        return 1;
    while (at + count < h->socket_last && count < RUN_DATAGRAMS &&
           !chance_one_in(&h->scene->random, 64)) {
        const struct parcel *next = &h->socket[(at + count) % LANDED_MOST];
        uint32_t size = next->size;
        if (size == 0 || size > segment || bytes + size >= LANDING_DATAGRAM ||
            next->is_marked != first->is_marked)
            break;
        bytes += size;
        count++;
        if (size < segment)
            break;
    }
    return count;
}

static uint64_t fill_opening(struct host_receiver *h, uint64_t at)
{
    static uint8_t bytes[LANDING_DATAGRAM];
    uint32_t count = run_length(h, at);
    uint32_t total = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct parcel *parcel = &h->socket[(at + i) % LANDED_MOST];
        memcpy(bytes + total, parcel->bytes, parcel->size);
        total += parcel->size;
    }
    h->landing.ecn[h->landing.received] =
        h->socket[at % LANDED_MOST].is_marked ? LANDING_ECN_CONGESTED : LANDING_ECN_NONE;
    bool is_said = count > 1 || chance_one_in(&h->scene->random, 2);
    uint32_t size = h->socket[at % LANDED_MOST].size;
    if (count > 1 && h->scene->setup->joins_wrongly)
        size += GRAIN;
    scatter(&h->landing, bytes, total, is_said ? size : 0);
    return at + count;
}

static void fill(struct host_receiver *h)
{
    uint64_t at = h->socket_first;
    while (at < h->socket_last && h->landing.received < h->landing.openings)
        at = fill_opening(h, at);
    h->scattered = at - h->socket_first;
}

/* ---- what came of it */

/* The posted message that a unit of the present session is for. */
static struct entry *entry_of(struct host_receiver *h, const struct unit_trailer *t)
{
    uint32_t index = h->session_first + (t->message - h->config.first_message);
    if (t->pairing.session != h->session || index >= h->user.begun)
        return NULL;
    struct entry *entry = &h->user.entry[index];
    return entry->is_over ? NULL : entry;
}

/* A unit that was taken lies in its place, and may not move any more. */
static void look_for(struct host_receiver *h, const struct parcel *parcel, bool was_taken)
{
    struct unit_trailer t;
    if (parcel->size < TRAILER_BYTES ||
        unit_trailer_decode(parcel->bytes + parcel->size - TRAILER_BYTES, parcel->size, &t))
        return;
    struct entry *entry = entry_of(h, &t);
    uint64_t offset = (uint64_t)t.unit * GRAIN;
    if (entry == NULL || t.length == 0 || offset + t.length > entry->size)
        return;
    bool is_there = shadow_has(&entry->shadow, offset, parcel->bytes, t.length);
    if (scene_expect(h->scene, is_there || !was_taken,
                     "unit %" PRIu32 "/%" PRIu32 " is not in its place", t.message, t.unit) &&
        is_there)
        shadow_on_arrived(&entry->shadow, offset, t.length);
}

/* All buffers of this user, posted or given back, as often as their size allows. */
static void scan(struct host_receiver *h)
{
    uint64_t bytes = 1;
    for (uint32_t i = h->fini_next; i < h->user.begun; i++)
        bytes += h->user.entry[i].shadow.size;
    if (chance_below(&h->scene->random, bytes) > SCAN_BYTES)
        return;
    for (uint32_t i = h->fini_next; i < h->user.begun; i++)
        scene_expect(h->scene, shadow_is_intact(&h->user.entry[i].shadow),
                     "buffer %" PRIu32 " was touched where it may not be", i);
}

/* Where something was refused nobody can say from outside what. A duplicate is in its place, but
 * not if its message has just come to a bad end. */
static void look(struct host_receiver *h, uint64_t refused, uint64_t duplicates)
{
    bool is_clear = !h->scene->setup->is_corrupt && refusals(h) == refused;
    bool are_taken = receiver_counters(h->core)->drop_duplicate == duplicates;
    for (uint64_t i = 0; i < h->scattered; i++) {
        struct parcel *parcel = &h->socket[h->socket_first % LANDED_MOST];
        if (is_clear)
            look_for(h, parcel, are_taken);
        h->socket_bytes -= parcel->size;
        free(parcel->bytes);
        h->socket_first++;
    }
    scan(h);
}

void host_receiver_land(struct host_receiver *h)
{
    uint64_t refused = refusals(h);
    uint64_t duplicates = receiver_counters(h->core)->drop_duplicate;
    expect_plan_is_safe(h);
    if (h->scene->has_failed)
        return;
    fill(h);
    receiver_landed(h->core, h->scene->now, &h->landing);
    h->is_plan_out = false;
    look(h, refused, duplicates);
}
