#include "landing.h"

#include "check.h"

#include <string.h>

size_t landing_memory(uint32_t openings)
{
    return (size_t)openings * (LANDING_SPILL + LANDING_DATAGRAM);
}

void landing_init(struct landing *l, uint8_t *memory, uint32_t openings)
{
    CHECK(openings >= 1);
    CHECK(openings <= LANDING_OPENINGS);
    l->max_openings = openings;
    l->spill = memory;
    l->bounce = memory + (size_t)openings * LANDING_SPILL;
    landing_begin(l);
}

void landing_begin(struct landing *l)
{
    l->first[0] = 0;
    l->openings = 0;
    l->received = 0;
    l->is_spoilt = false;
    l->units = 0;
    l->pieces = 0;
    l->spilled = 0;
    l->bounced = 0;
    l->moves = 0;
}

static void add_piece(struct landing *l, uint8_t *base, uint32_t length)
{
    l->iov[l->pieces++] = (struct iovec){.iov_base = base, .iov_len = length};
}

/* What is left of the spill of the opening that is being planned. */
static uint8_t *spill_rest(const struct landing *l)
{
    return l->spill + (size_t)l->openings * LANDING_SPILL + l->spilled;
}

bool landing_offer(struct landing *l, uint8_t *slot, uint32_t length)
{
    if (l->units == LANDING_UNITS || l->openings == l->max_openings)
        return false;
    if (!slot) {
        if (length > LANDING_SPILL - l->spilled)
            return false;
        slot = spill_rest(l);
        l->spilled += length;
    }
    if (length > 0)
        add_piece(l, slot, length);
    add_piece(l, l->trailer[l->units++], TRAILER_BYTES);
    return true;
}

uint32_t landing_offer_row(struct landing *l, uint8_t *slot, uint32_t length, uint32_t count)
{
    uint32_t room = l->openings == l->max_openings ? 0 : LANDING_UNITS - l->units;
    uint32_t pairs = count < room ? count : room;
    CHECK(length > 0);
    for (uint32_t i = 0; i < pairs; i++) {
        add_piece(l, slot + (size_t)i * length, length);
        add_piece(l, l->trailer[l->units++], TRAILER_BYTES);
    }
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
    const struct iovec *piece = &l->iov[walk->piece];
    if (size <= TRAILER_BYTES || (uint64_t)walk->at + size > l->bytes[walk->opening] ||
        walk->within != 0 || walk->piece + 1 >= l->first[walk->opening + 1] ||
        piece[0].iov_len != size - TRAILER_BYTES || piece[1].iov_len != TRAILER_BYTES)
        return false;
    segment->bytes = size;
    memcpy(segment->tail, piece[1].iov_base, TRAILER_BYTES);
    segment->data = piece[0].iov_base;
    segment->is_contiguous = true;
    segment->is_as_planned = true;
    segment->ecn = l->ecn[walk->opening];
    segment->start = *walk;
    walk->at += size;
    walk->piece += 2;
    return true;
}

/* Would so many bytes of data, and a trailer behind them, fill a slot and its scratch? Without data
 * only the scratch. */
static bool fills_slot(const struct landing *l, const struct landing_walk *walk, uint32_t data)
{
    const struct iovec *piece = &l->iov[walk->piece];
    const uint8_t *scratch = data > 0 ? piece[1].iov_base : piece[0].iov_base;
    uintptr_t at = (uintptr_t)scratch - (uintptr_t)l->trailer;
    return walk->within == 0 && (data == 0 || piece[0].iov_len == data) && at < sizeof l->trailer;
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

void landing_take_back(struct landing *l, uint32_t moves)
{
    CHECK(moves <= l->moves);
    l->moves = moves;
}
