#include "landing.h"

#include "core/check.h"
#include "core/number.h"

#include <string.h>

enum {
    LOOK_AHEAD = 65536, /* bytes */
    PAGE = 4096,        /* bytes that can all be written if one can: no page is smaller */
};

size_t landing_memory(uint32_t openings)
{
    return (size_t)openings * (LANDING_SPILL + LANDING_DATAGRAM);
}

void landing_init(struct landing *l, uint8_t *memory, uint32_t openings)
{
    CHECK(openings >= 1);
    CHECK(openings <= LANDING_OPENINGS);
    l->is_near = l->cannot_fault = l->is_present = false;
    l->is_writable = NULL;
    l->slot_pieces = LANDING_SLOT_PIECES;
    l->max_openings = openings;
    l->spill = memory;
    l->bounce = memory + (size_t)openings * LANDING_SPILL;
    landing_begin(l);
}

void landing_begin(struct landing *l)
{
    l->plan.of = NULL;
    l->first[0] = 0;
    l->openings = 0;
    l->received = 0;
    l->is_spoilt = false;
    l->units = 0;
    l->pairs = 0;
    l->pieces = 0;
    l->spilled = 0;
    l->bounced = 0;
    l->moves = 0;
    l->writable.iov_len = 0;
}

static void add_piece(struct landing *l, uint8_t *base, uint32_t length)
{
    l->iov[l->pieces++] = (struct iovec){.iov_base = base, .iov_len = length};
}

/* The rest of the spill of the opening that is being planned. */
static uint8_t *spill_rest(const struct landing *l)
{
    return l->spill + (size_t)l->openings * LANDING_SPILL + l->spilled;
}

bool landing_offer(struct landing *l, uint8_t *slot, uint32_t length)
{
    if (l->pairs == LANDING_UNITS || l->openings == l->max_openings)
        return false;
    l->pairs++;
    if (!slot) {
        if (length > LANDING_SPILL - l->spilled) {
            l->pairs--;
            return false;
        }
        slot = spill_rest(l);
        l->spilled += length;
    }
    if (length > 0)
        add_piece(l, slot, length);
    add_piece(l, l->trailer[l->units++], TRAILER_BYTES);
    return true;
}

bool landing_offer_pieces(struct landing *l, const struct iovec *piece, uint32_t pieces)
{
    uint32_t pairs = (pieces + 2) / 2;
    CHECK(pieces >= 1 && pieces <= LANDING_SLOT_PIECES);
    if (pairs > LANDING_UNITS - l->pairs || l->openings == l->max_openings)
        return false;
    for (uint32_t i = 0; i < pieces; i++)
        l->iov[l->pieces++] = piece[i];
    add_piece(l, l->trailer[l->units++], TRAILER_BYTES);
    l->pairs += pairs;
    return true;
}

uint32_t landing_offer_row(struct landing *l, uint8_t *slot, uint32_t length, uint32_t count)
{
    uint32_t room = landing_room(l);
    uint32_t pairs = count < room ? count : room;
    CHECK(length > 0);
    for (uint32_t i = 0; i < pairs; i++)
        landing_write(l, i, slot + (size_t)i * length, length);
    landing_add(l, pairs);
    return pairs;
}

bool landing_seal(struct landing *l)
{
    if (l->openings == l->max_openings)
        return false;
    add_piece(l, spill_rest(l), LANDING_SPILL - l->spilled);
    l->first[++l->openings] = (uint16_t)l->pieces;
    l->spilled = 0;
    return true;
}

/* The byte the walk stands on. */
static const uint8_t *walk_byte(const struct landing *l, const struct landing_walk *walk)
{
    return (const uint8_t *)l->iov[walk->piece].iov_base + walk->within;
}

/* At most `most` bytes, from there to the end of the piece. */
static uint32_t walk_run(const struct landing *l, const struct landing_walk *walk, uint32_t most)
{
    size_t left = l->iov[walk->piece].iov_len - walk->within;
    return left < most ? (uint32_t)left : most;
}

/* Goes `n` bytes on, never behind what arrived. There always is a byte to stand on, see I3. */
static void walk_step(const struct landing *l, struct landing_walk *walk, uint32_t n)
{
    size_t within = (size_t)walk->within + n;
    while (within >= l->iov[walk->piece].iov_len)
        within -= l->iov[walk->piece++].iov_len;
    walk->within = (uint32_t)within;
    walk->at += n;
}

/* Leaves openings that have nothing more; false if that was the last. */
static bool walk_opening(const struct landing *l, struct landing_walk *walk)
{
    while (walk->opening < l->received && walk->at >= l->bytes[walk->opening]) {
        walk->opening++;
        walk->at = 0;
        walk->piece = l->first[walk->opening];
        walk->within = 0;
    }
    return walk->opening < l->received;
}

/* Copies the `n` bytes that come next to the end of `tail`, behind zeros. */
static void walk_tail(const struct landing *l, struct landing_walk *walk,
                      uint8_t tail[TRAILER_BYTES], uint32_t n)
{
    uint32_t run = walk_run(l, walk, n);
    if (run == TRAILER_BYTES) {
        memcpy(tail, walk_byte(l, walk), TRAILER_BYTES);
        walk_step(l, walk, TRAILER_BYTES);
        return;
    }
    memset(tail, 0, TRAILER_BYTES - n);
    for (; n > 0; n -= run) {
        run = walk_run(l, walk, n);
        memcpy(tail + TRAILER_BYTES - n, walk_byte(l, walk), run);
        walk_step(l, walk, run);
    }
}

static uint32_t data_bytes(uint32_t segment_bytes)
{
    return segment_bytes > TRAILER_BYTES ? segment_bytes - TRAILER_BYTES : 0;
}

/* The next segment, if it is one of a burst and came as planned: its data lies in one piece and its
 * trailer in the next, as they were offered. That is nearly always so. */
static bool next_as_planned(const struct landing *l, struct landing_walk *walk,
                            struct segment *segment)
{
    uint32_t size = l->segment[walk->opening];
    const struct iovec *piece = landing_pair(l, walk, size);
    if (piece == NULL)
        return false;
    segment->bytes = size;
    memcpy(segment->tail, piece[1].iov_base, TRAILER_BYTES);
    segment->data = piece[0].iov_base;
    segment->is_contiguous = true;
    segment->is_as_planned = true;
    segment->ecn = l->ecn[walk->opening];
    segment->start = *walk;
    landing_skip_pairs(walk, size, 1);
    return true;
}

/* Would so many bytes of data fill a slot of several pieces, and a trailer its scratch? */
__attribute__((cold)) static bool fills_pieces(const struct landing *l, const struct iovec *piece,
                                               uint32_t data)
{
    for (; data > 0 && piece->iov_len <= data && !landing_is_scratch(l, piece); piece++)
        data -= (uint32_t)piece->iov_len;
    return data == 0 && landing_is_scratch(l, piece);
}

/* Would so many bytes of data, and a trailer behind them, fill a slot and its scratch? Without data
 * only the scratch. */
static bool fills_slot(const struct landing *l, const struct landing_walk *walk, uint32_t data)
{
    const struct iovec *piece = &l->iov[walk->piece];
    if (walk->within != 0)
        return false;
    if (data == 0 || piece[0].iov_len == data)
        return landing_is_scratch(l, &piece[data > 0]);
    return piece[0].iov_len < data && fills_pieces(l, piece, data);
}

bool landing_next(const struct landing *l, struct landing_walk *walk, struct segment *segment)
{
    CHECK(l->received <= l->openings);
    if (walk->opening < l->received && next_as_planned(l, walk, segment))
        return true;
    if (!walk_opening(l, walk))
        return false;
    CHECK(l->bytes[walk->opening] < LANDING_DATAGRAM);
    uint32_t left = l->bytes[walk->opening] - walk->at;
    uint32_t size = l->segment[walk->opening];
    segment->bytes = size == 0 || size > left ? left : size;
    uint32_t data = data_bytes(segment->bytes);
    segment->start = *walk;
    segment->data = walk_byte(l, walk);
    segment->is_contiguous = walk_run(l, walk, data) == data;
    segment->is_as_planned = fills_slot(l, walk, data);
    segment->ecn = l->ecn[walk->opening];
    walk_step(l, walk, data);
    walk_tail(l, walk, segment->tail, segment->bytes - data);
    return true;
}

/* Asks for one contiguous move; returns as landing_move does. */
static uint32_t ask(struct landing *l, const uint8_t *from, uint32_t length, uint8_t *to)
{
    if (from == to || length == 0)
        return 0;
    if (l->moves == LANDING_MOVES)
        return UINT32_MAX;
    l->move[l->moves++] = (struct landing_move){.to = to, .from = from, .length = length};
    return length;
}

uint32_t landing_move(struct landing *l, const struct segment *segment, uint32_t from,
                      uint32_t length, uint8_t *to)
{
    CHECK((uint64_t)from + length <= data_bytes(segment->bytes));
    if (segment->is_contiguous)
        return ask(l, segment->data + from, length, to);
    struct landing_walk walk = segment->start;
    uint32_t moves_before = l->moves;
    uint32_t moved = 0;
    walk_step(l, &walk, from);
    while (length > 0) {
        uint32_t run = walk_run(l, &walk, length);
        uint32_t asked = ask(l, walk_byte(l, &walk), run, to);
        if (asked == UINT32_MAX) {
            l->moves = moves_before;
            return UINT32_MAX;
        }
        moved += asked;
        walk_step(l, &walk, run);
        to += run;
        length -= run;
    }
    return moved;
}

/* Do these bytes of the segment lie where they belong, in several pieces? */
static bool lies_in_pieces(const struct landing *l, const struct segment *segment, uint32_t from,
                           uint32_t length, const struct pieces *pieces, uint64_t offset)
{
    struct landing_walk walk = segment->start;
    if (segment->is_contiguous)
        return false;
    walk_step(l, &walk, from);
    while (length > 0) {
        uint64_t there;
        const uint8_t *to = pieces_at(pieces, offset, &there);
        uint32_t run = (uint32_t)lesser(walk_run(l, &walk, length), there);
        if (walk_byte(l, &walk) != to)
            return false;
        walk_step(l, &walk, run);
        offset += run;
        length -= run;
    }
    return true;
}

/* Does it lie in spill or bounce? No move leads there. */
static bool is_own(const struct landing *l, const uint8_t *from)
{
    return (uintptr_t)from - (uintptr_t)l->spill < landing_memory(l->max_openings);
}

/* Copies these bytes of the segment to bounce, where there is room. */
static const uint8_t *keep(struct landing *l, const struct segment *segment, uint32_t from,
                           uint32_t length)
{
    struct landing_walk walk = segment->start;
    uint8_t *kept = l->bounce + l->bounced;
    l->bounced += length;
    if (segment->is_contiguous)
        return memcpy(kept, segment->data + from, length);
    walk_step(l, &walk, from);
    for (uint32_t done = 0, run; done < length; done += run) {
        run = walk_run(l, &walk, length - done);
        memcpy(kept + done, walk_byte(l, &walk), run);
        walk_step(l, &walk, run);
    }
    return kept;
}

uint32_t landing_move_to_pieces(struct landing *l, const struct segment *segment, uint32_t from,
                                uint32_t length, const struct pieces *pieces, uint64_t offset)
{
    CHECK((uint64_t)from + length <= data_bytes(segment->bytes));
    if (lies_in_pieces(l, segment, from, length, pieces, offset))
        return 0;
    bool stays = segment->is_contiguous && is_own(l, segment->data);
    if (l->moves == LANDING_MOVES ||
        (!stays && length > l->max_openings * LANDING_DATAGRAM - l->bounced))
        return UINT32_MAX;
    l->move[l->moves++] =
        (struct landing_move){.pieces = pieces,
                              .offset = offset,
                              .from = stays ? segment->data + from : keep(l, segment, from, length),
                              .length = length};
    return length;
}

uint32_t landing_list(const struct landing *l, const struct segment *segment,
                      struct iovec pieces[LANDING_IOV])
{
    struct landing_walk walk = segment->start;
    uint32_t count = 0;
    for (uint32_t left = segment->bytes; left > 0;) {
        uint32_t run = walk_run(l, &walk, left);
        if (run > 0)
            pieces[count++] =
                (struct iovec){.iov_base = (void *)walk_byte(l, &walk), .iov_len = run};
        walk_step(l, &walk, run);
        left -= run;
    }
    return count;
}

bool landing_post(struct landing *l, const struct segment *segment)
{
    struct landing_mail *mail = l->mail;
    struct iovec piece[LANDING_IOV];

    if (mail == NULL || segment->bytes > UINT16_MAX ||
        mail->room - mail->bytes < 2 + segment->bytes)
        return false;
    mail->memory[mail->bytes++] = (uint8_t)(segment->bytes >> 8);
    mail->memory[mail->bytes++] = (uint8_t)segment->bytes;
    uint32_t count = landing_list(l, segment, piece);
    for (uint32_t i = 0; i < count; i++) {
        memcpy(mail->memory + mail->bytes, piece[i].iov_base, piece[i].iov_len);
        mail->bytes += piece[i].iov_len;
    }
    return true;
}

size_t landing_mail_next(const struct landing_mail *mail, size_t *at, const uint8_t **datagram)
{
    if (*at == mail->bytes)
        return 0;
    size_t size = (size_t)(mail->memory[*at] << 8 | mail->memory[*at + 1]);
    *datagram = mail->memory + *at + 2;
    *at += 2 + size;
    return size;
}

bool landing_may_write(struct landing *l, uint8_t *to, uint64_t bytes, uint64_t room)
{
    size_t within = (uintptr_t)to - (uintptr_t)l->writable.iov_base;
    bool is_known = within < l->writable.iov_len && bytes <= l->writable.iov_len - within;
    uint64_t ahead = greater(bytes, lesser(room, LOOK_AHEAD));

    if (l->is_writable == NULL || is_known)
        return true;
    if (!l->is_writable(to, ahead)) {
        ahead = bytes;
        if (!l->is_writable(to, ahead))
            return false;
    }
    size_t before = (uintptr_t)to % PAGE;
    l->writable = (struct iovec){to - before, (before + ahead + PAGE - 1) / PAGE * PAGE};
    return true;
}

void landing_take_back(struct landing *l, uint32_t moves)
{
    CHECK(moves <= l->moves);
    l->moves = moves;
}

/* ---- the moves ---- */

/* The order of moves: nothing is written where the source of another move still waits.
 *
 *     source   ....[ a ]..[ b ]....[ c ]....      a waits for b: b lies where a goes
 *     target   ...........[ a ]....[ b ].[ c ]    b waits for c: c goes first, then b, then a
 *
 * The move that another waits for is found by address among the moves sorted by source, and is done
 * before it. If
 * that one waits in turn for the first, there is a cycle: its source goes to bounce and is not in
 * the way any more. A move's target can lie on many sources, so one stash may not be enough to go
 * on, but no source is stashed twice and all of them together are at most what was received: bounce
 * is as large as that.
 *
 * Looked at and not taken: a fixed order, forwards or backwards, with a stash for whatever it would
 * overwrite. It copies a whole run twice where a burst has runs of both directions, or messages
 * that do not lie in memory in the order of their numbers. */

/* Sources and targets are in many objects, so their addresses are compared as numbers. */
static uintptr_t address(const uint8_t *p)
{
    return (uintptr_t)p;
}

/* Shell's sort with Ciura's gaps: few steps if the moves are nearly in order, as they mostly are,
 * and some thousands for any LANDING_MOVES. */
static void sort_by_source(struct landing_move *move, uint32_t count)
{
    static const uint32_t gaps[] = {301, 132, 57, 23, 10, 4, 1};
    for (size_t g = 0; g < sizeof gaps / sizeof gaps[0]; g++) {
        uint32_t gap = gaps[g];
        for (uint32_t i = gap; i < count; i++) {
            struct landing_move moved = move[i];
            uint32_t at = i;
            for (; at >= gap && address(moved.from) < address(move[at - gap].from); at -= gap)
                move[at] = move[at - gap];
            move[at] = moved;
        }
    }
}

/* Index of the first move whose source ends behind `place`. */
static uint32_t find_source(const struct landing *l, uintptr_t place)
{
    uint32_t low = 0;
    uint32_t high = l->moves;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (address(l->move[middle].from) + l->move[middle].length > place)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static bool is_at_risk(const struct landing_move *m)
{
    return m->state != MOVE_DONE && !m->stash;
}

/* A move whose source lies in the target of `m`, or NULL. Once it is not at risk it never is again,
 * so m->obstacle only ascends, and all calls together look at no more than two times the moves. */
static struct landing_move *next_in_the_way(struct landing *l, struct landing_move *m)
{
    for (; m->obstacle < l->moves; m->obstacle++) {
        struct landing_move *other = &l->move[m->obstacle];
        if (address(other->from) >= address(m->to) + m->length)
            return NULL;
        if (other != m && is_at_risk(other))
            return other;
    }
    return NULL;
}

static void stash(struct landing *l, struct landing_move *m)
{
    CHECK(m->length <= l->max_openings * LANDING_DATAGRAM - l->bounced);
    m->stash = memcpy(l->bounce + l->bounced, m->from, m->length);
    l->bounced += m->length;
}

static void carry_out(struct landing_move *m)
{
    if (m->stash)
        memcpy(m->to, m->stash, m->length);
    else
        memmove(m->to, m->from, m->length); /* the two may overlap: only other moves wait */
    m->state = MOVE_DONE;
}

/* Makes `m` wait on top of those that wait already. */
static struct landing_move *wait_with(struct landing *l, struct landing_move *m)
{
    m->state = MOVE_WAITS;
    m->obstacle = find_source(l, address(m->to));
    return m;
}

/* Does one move and, before it, all that it waits for. */
static void move_one(struct landing *l, struct landing_move *m)
{
    struct landing_move *waiting[LANDING_MOVES]; /* each for the one above it */
    uint32_t bounced = l->bounced;
    uint32_t depth = 0;
    waiting[depth++] = wait_with(l, m);
    while (depth > 0) {
        struct landing_move *top = waiting[depth - 1];
        struct landing_move *other = next_in_the_way(l, top);
        if (!other) {
            carry_out(top);
            depth--;
        } else if (other->state == MOVE_WAITS) {
            stash(l, other);
        } else {
            waiting[depth++] = wait_with(l, other);
        }
    }
    l->bounced = bounced; /* what was stashed was waiting, and is done */
}

void landing_move_all(struct landing *l)
{
    sort_by_source(l->move, l->moves);
    for (uint32_t i = 0; i < l->moves; i++) {
        if (l->move[i].state != MOVE_DONE && l->move[i].pieces == NULL)
            move_one(l, &l->move[i]);
    }
    for (uint32_t i = 0; i < l->moves; i++) {
        const struct landing_move *m = &l->move[i];
        if (m->pieces != NULL)
            pieces_write(m->pieces, m->offset, m->from, m->length);
    }
    l->moves = 0;
    l->bounced = 0;
}
