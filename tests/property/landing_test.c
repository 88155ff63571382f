/* Random plans, bursts and moves against a model that copies everything out before it copies
 * anything in, and that knows of each byte where it landed. Some slots, and some targets, are
 * several regions of memory. */
#include "../support/random.h"
#include "../support/scatter.h"
#include "../support/suite.h"
#include "core/receiver/landing.h"

#include "../support/asserts.h"
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 2000, USER_BYTES = 96 * 1024, OPENINGS_MAX = 6, REGIONS = 512 };

/* A part of the user's memory. */
struct region {
    uint32_t first;
    uint32_t length;
};

/* Where a byte landed. */
struct spot {
    const uint8_t *byte;
    uint32_t piece;
};

static uint64_t state;
static struct landing landing;
static uint8_t user[USER_BYTES];
static uint8_t expected[USER_BYTES];
static uint8_t arrived[OPENINGS_MAX][LANDING_DATAGRAM];
static struct spot spots[LANDING_DATAGRAM];
static struct region slots[LANDING_UNITS];
static uint32_t together[LANDING_UNITS + 1]; /* how many regions are one slot, at its first one */
static struct pieces *tables[LANDING_MOVES];
static uint32_t table_count;
static struct region targets[REGIONS];
static uint32_t slot_count, target_count, target_next, unit_most;

/* Below `n`, which is not 0. */
static uint32_t below(uint32_t n)
{
    return (uint32_t)random_below(&state, n);
}

static bool one_in(uint32_t n)
{
    return below(n) == 0;
}

static uint32_t least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

static void shuffle(struct region *region, uint32_t count)
{
    for (uint32_t i = count; i > 1; i--) {
        uint32_t other = below(i);
        struct region swapped = region[i - 1];
        region[i - 1] = region[other];
        region[other] = swapped;
    }
}

/* Cuts the user's memory, with or without gaps, into regions of one length or of many. */
static uint32_t cut(struct region *region, uint32_t most)
{
    bool has_gaps = one_in(3);
    bool is_uniform = !one_in(3);
    uint32_t length = 1 + below(unit_most);
    uint32_t count = 0;
    for (uint32_t at = below(unit_most); count < most; at += region[count++].length) {
        at += has_gaps ? below(unit_most) : 0;
        uint32_t wanted = is_uniform && !one_in(50) ? length : 1 + below(unit_most);
        if (at + wanted > USER_BYTES)
            break;
        region[count] = (struct region){at, wanted};
    }
    if (one_in(3))
        shuffle(region, count);
    return count;
}

/* Offers the next regions as one slot: how many; 0: there is no room. */
static uint32_t offer(uint32_t next, uint32_t until)
{
    struct iovec piece[LANDING_SLOT_PIECES];
    uint32_t count = one_in(4) ? 1 + below(least(LANDING_SLOT_PIECES, until - next)) : 1;
    for (uint32_t i = 0; i < count; i++)
        piece[i] = (struct iovec){user + slots[next + i].first, slots[next + i].length};
    together[next] = count;
    bool is_offered = count > 1 ? landing_offer_pieces(&landing, piece, count)
                                : landing_offer(&landing, piece[0].iov_base, slots[next].length);
    return is_offered ? count : 0;
}

static void plan(void)
{
    uint32_t openings = 1 + below(landing.max_openings);
    uint32_t next = 0;
    landing_begin(&landing);
    for (uint32_t d = 0; d < openings; d++) {
        uint32_t until = d + 1 == openings ? slot_count : next + below(slot_count - next + 1);
        while (next < until) {
            if (one_in(20))
                landing_offer(&landing, NULL, below(unit_most + 1));
            if (one_in(50))
                landing_offer(&landing, user, 0);
            uint32_t offered = offer(next, until);
            if (offered == 0)
                break;
            next += offered;
        }
        ck_assert(landing_seal(&landing));
        landing_check(&landing);
    }
    slot_count = next;
}

/* Where the segments go: to the slots, or to places that have nothing to do with them. */
static void choose_targets(void)
{
    target_next = 0;
    if (slot_count == 0 || one_in(3)) {
        target_count = cut(targets, REGIONS);
        return;
    }
    target_count = 0;
    uint32_t losses = one_in(2) ? 0 : 2 + below(slot_count);
    for (uint32_t i = 0; i < slot_count; i++) {
        if (losses == 0 || !one_in(losses))
            targets[target_count++] = slots[i];
    }
    for (uint32_t swaps = below(4); swaps > 1 && target_count > 4; swaps--)
        shuffle(targets + below(target_count - 3), 4);
    if (one_in(2))
        shuffle(targets, target_count);
}

/* Mostly as many units as there are slots in the opening, of the size that they are for. */
static void receive(uint32_t d)
{
    uint32_t planned = TRAILER_BYTES;
    for (uint32_t i = landing.first[d]; i + 1 < landing.first[d + 1]; i++) {
        planned += (uint32_t)landing.iov[i].iov_len;
        if (landing.iov[i + 1].iov_len == TRAILER_BYTES)
            break;
    }
    uint32_t slots_here = (landing.first[d + 1] - landing.first[d]) / 2u;
    uint32_t segment = one_in(4) || planned > 9100 ? 1 + below(2 * unit_most) : planned;
    uint32_t count = segment * (one_in(4) ? 1 + below(60) : slots_here + below(2));
    if (one_in(4))
        count -= below(least(segment, count) + 1);
    count = one_in(30) ? 0 : least(count, LANDING_DATAGRAM - 1);
    random_fill(&state, arrived[d], count);
    scatter(&landing, arrived[d], count, one_in(8) ? 0 : segment);
}

static void locate(uint32_t d)
{
    uint32_t at = 0;
    for (uint32_t i = landing.first[d]; i < landing.first[d + 1]; i++) {
        const uint8_t *base = landing.iov[i].iov_base;
        for (size_t b = 0; b < landing.iov[i].iov_len && at < landing.bytes[d]; b++)
            spots[at++] = (struct spot){base + b, i};
    }
}

/* Do `data` bytes from this spot on fill whole pieces that are no scratch, and lies the trailer
 * behind them in scratch? */
static bool is_as_planned(const struct spot *spot, uint32_t data)
{
    const struct iovec *first = &landing.iov[spot->piece],
                       *scratch = &landing.iov[spot[data].piece];
    if (!landing_is_scratch(&landing, scratch) || spot[data].byte != scratch->iov_base)
        return false;
    for (const struct iovec *piece = first; piece < scratch; piece++)
        if (landing_is_scratch(&landing, piece))
            return false;
    return spot->byte == first->iov_base;
}

static void check_segment(const struct segment *s, uint32_t d, uint32_t at)
{
    uint32_t size = landing.segment[d];
    uint32_t left = landing.bytes[d] - at;
    ck_assert_uint_eq(s->start.opening, d);
    ck_assert_uint_eq(s->bytes, size == 0 ? left : least(size, left));
    ck_assert_ptr_eq(s->data, spots[at].byte);

    uint32_t tail = least(s->bytes, TRAILER_BYTES);
    uint8_t right[TRAILER_BYTES] = {0};
    memcpy(right + TRAILER_BYTES - tail, arrived[d] + at + s->bytes - tail, tail);
    ck_assert_mem_eq(s->tail, right, TRAILER_BYTES);

    uint32_t data = s->bytes - tail;
    bool is_contiguous = data == 0 || spots[at].piece == spots[at + data - 1].piece;
    ck_assert_int_eq(s->is_contiguous, is_contiguous);
    bool is_in_slot = data == 0 || !landing_is_scratch(&landing, &landing.iov[spots[at].piece]);
    if (tail == TRAILER_BYTES && is_in_slot) /* what begins in scratch is moved in any case */
        ck_assert_int_eq(s->is_as_planned, is_as_planned(&spots[at], data));
}

/* Asks for one part of a segment that starts at `at`; the model does it at once. */
static void move_part(const struct segment *s, uint32_t at, uint32_t from, struct region to)
{
    const struct spot *spot = &spots[at + from];
    uint8_t *place = user + to.first;
    uint32_t bytes = 0;
    uint32_t moves = 0;
    for (uint32_t i = 0; i < to.length; i++) {
        bool is_moved = spot[i].byte != place + i;
        bytes += is_moved;
        moves += is_moved && (i == 0 || spot[i].piece != spot[i - 1].piece);
    }
    bool is_refused = landing.moves + moves > LANDING_MOVES;
    uint32_t moves_before = landing.moves;
    uint32_t got = landing_move(&landing, s, from, to.length, place);
    ck_assert_uint_eq(got, is_refused ? UINT32_MAX : bytes);
    ck_assert_uint_eq(landing.moves, moves_before + (is_refused ? 0 : moves));
    if (!is_refused)
        memcpy(expected + to.first, arrived[s->start.opening] + at + from, to.length);
}

/* A table of the next targets, as many as `bytes` reach. */
static const struct pieces *take_pieces(uint32_t bytes)
{
    struct iovec piece[REGIONS];
    uint32_t wanted = one_in(2) ? together[least(target_next, LANDING_UNITS)] : 2 + below(40);
    uint32_t count = 0;
    for (; count < wanted && target_next < target_count && bytes > 0; target_next++) {
        struct region to = targets[target_next];
        to.length = least(to.length, bytes);
        piece[count++] = (struct iovec){user + to.first, to.length};
        bytes -= to.length;
    }
    return tables[table_count++] = pieces_init(malloc(pieces_room(count)), piece, count);
}

/* Asks for a part of the segment that belongs to several regions; the model does it at once. */
static uint32_t move_to_pieces(const struct segment *s, uint32_t at, uint32_t from, uint32_t data)
{
    const struct pieces *p = take_pieces(data - from);
    const uint8_t *bytes = arrived[s->start.opening] + at + from;
    uint32_t length = (uint32_t)p->bytes, moves = landing.moves;
    bool is_moved = false;
    if (p->count < 2)
        return length;
    for (uint32_t i = 0; i < length; i++) {
        uint64_t run;
        is_moved |= spots[at + from + i].byte != pieces_at(p, i, &run);
    }
    bool is_refused = is_moved && moves == LANDING_MOVES;
    uint32_t got = landing_move_to_pieces(&landing, s, from, length, p, 0);
    ck_assert_uint_eq(got, is_refused ? UINT32_MAX : is_moved ? length : 0);
    ck_assert_uint_eq(landing.moves, moves + (is_moved && !is_refused));
    for (uint32_t i = 0; i < p->count && !is_refused; i++)
        memcpy(expected + (p->piece[i].at - user), bytes + p->piece[i].first,
               p->piece[i + 1].first - p->piece[i].first);
    return length;
}

/* Sends the segment's data to the next targets, mostly all of it to one. */
static void move_segment(const struct segment *s, uint32_t at)
{
    uint32_t data = s->bytes - least(s->bytes, TRAILER_BYTES);
    uint32_t from = one_in(10) ? below(data + 1) : 0;
    while (target_next < target_count) {
        if (together[least(target_next, LANDING_UNITS)] > 1 ? !one_in(4) : one_in(20)) {
            if (table_count < LANDING_MOVES && data > from)
                from += move_to_pieces(s, at, from, data);
            break;
        }
        struct region to = targets[target_next++];
        uint32_t skipped = one_in(10) ? below(to.length) : 0;
        to.first += skipped;
        to.length = least(to.length - skipped, data - from);
        move_part(s, at, from, to);
        from += to.length;
        if (from == data || !one_in(4))
            break;
    }
}

/* Pairs that are looked for all at once are those that are found one after the other. */
static void check_pairs(const struct landing_walk *at, uint32_t size)
{
    struct landing_walk one = *at;
    const struct iovec *pair = &landing.iov[at->piece];
    uint32_t pairs = landing_pairs(&landing, at, size), filled = 0;
    while (filled < pairs && landing_fills_pair(&landing, &pair[2 * filled], size))
        filled++;
    for (uint32_t i = 0; i < filled; i++) {
        ck_assert_ptr_eq(landing_pair(&landing, &one, size), &pair[2 * i]);
        landing_skip_pairs(&one, size, 1);
    }
    ck_assert_ptr_null(landing_pair(&landing, &one, size));
}

static void walk(void)
{
    struct landing_walk walk = {0};
    struct segment s;
    for (uint32_t d = 0; d < landing.received; d++) {
        locate(d);
        for (uint32_t at = 0; at < landing.bytes[d]; at += s.bytes) {
            check_pairs(&walk, one_in(4) ? below(unit_most) : landing.segment[d]);
            ck_assert(landing_next(&landing, &walk, &s));
            check_segment(&s, d, at);
            if (!one_in(20))
                move_segment(&s, at);
        }
    }
    ck_assert(!landing_next(&landing, &walk, &s));
}

/* Nothing but the slots may have changed yet. */
static void accept_landed(void)
{
    for (uint32_t i = 0; i < slot_count; i++)
        memcpy(expected + slots[i].first, user + slots[i].first, slots[i].length);
    ck_assert_mem_eq(user, expected, USER_BYTES);
}

static void play_round(void)
{
    static const uint32_t scales[] = {8, 64, 300, 1500, 9000};
    unit_most = scales[below(5)];
    memset(together, 0, sizeof together);
    slot_count = cut(slots, 1 + below(LANDING_UNITS));
    plan();
    choose_targets();
    for (uint32_t d = 0; d < landing.openings && !one_in(10); d++)
        receive(d);
    accept_landed();
    walk();
    if (one_in(10))
        landing_check(&landing);
    landing_move_all(&landing);
    ck_assert_mem_eq(user, expected, USER_BYTES);
    ck_assert_uint_eq(landing.moves, 0);
    while (table_count > 0)
        free(tables[--table_count]);
}

TEST(settle__any_plan_any_burst_any_moves, .is_random = true)
{
    state = suite_seed(_i);
    uint8_t *memory = malloc(landing_memory(OPENINGS_MAX));
    landing_init(&landing, memory, OPENINGS_MAX);
    random_fill(&state, user, USER_BYTES);
    memcpy(expected, user, USER_BYTES);
    for (int i = 0; i < ROUNDS; i++)
        play_round();
    free(memory);
}
