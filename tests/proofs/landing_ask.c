/* What a landing is asked to move, to memory in one piece (landing.h): each byte is in place
 * already, or exactly one move brings it to its place. What was asked for before stays, and a
 * caller that is refused leaves nothing behind. No memory is taken to be writable of which
 * is_writable has not said so. The proof follows one byte, which may be any.
 *
 * bound: datagrams in up to 3 pieces of memory, up to 15 bytes of data; any writable memory
 * sources: core/receiver/landing.c
 * smaller: core/receiver/landing.h LANDING_UNITS 1
 * smaller: core/receiver/landing.h LANDING_OPENINGS 1
 * smaller: core/receiver/landing.h LANDING_MOVES 4
 * smaller: core/receiver/landing.h LANDING_DATAGRAM 48
 * flags: --drop-unused-functions --unwindset walk_step.0:4,landing_move.0:4
 * unwind: 6
 * cases: -D SHOW_IT=show_may_write
 * cases: -D SHOW_IT=show_move
 */
#include "proof.h"

#include "core/receiver/landing.h"

enum {
    PIECES = 3, /* of memory that the datagram lies in: the last is spill */
    ASKED = 2,  /* moves before the call */
    BITS = 4,   /* of a number of bytes, or of a place */
    OWN = LANDING_SPILL + LANDING_DATAGRAM,
};

static struct landing l;
static uint8_t *memory, *own;   /* the user's; spill and bounce */
static uint32_t data;           /* bytes of it */
static uint32_t bounced;        /* before the call */
static struct landing_move old; /* the first of ASKED moves */

/* ---- a datagram as it landed ---- */

static struct segment any_segment(void)
{
    struct segment s = {.start = {.piece = any_below(PIECES), .within = any_bits(2)}};
    uint32_t room = 0;

    for (uint32_t i = 0; i < PIECES; i++) {
        const uint32_t spilled = any_bits(2);
        const bool is_spill = i + 1 == PIECES;
        l.iov[i].iov_base = is_spill ? own + spilled : memory + any_bits(BITS);
        l.iov[i].iov_len = is_spill ? LANDING_SPILL - spilled : 1 + any_bits(2);
        room += i >= s.start.piece ? (uint32_t)l.iov[i].iov_len : 0;
    }
    data = any_bits(BITS);
    s.bytes = data + TRAILER_BYTES;
    s.data = (const uint8_t *)l.iov[s.start.piece].iov_base + s.start.within;
    s.is_contiguous = data <= l.iov[s.start.piece].iov_len - s.start.within;
    ASSUME(s.start.within < l.iov[s.start.piece].iov_len);
    ASSUME(s.start.within + s.bytes < room); /* I3 */
    return s;
}

/* Where byte k of the data has landed. */
static const uint8_t *byte_at(const struct segment *s, uint32_t k)
{
    const uint8_t *at = NULL;
    uint32_t first = 0;
    const uint32_t place = s->start.within + k;

    for (uint32_t i = 0; i < PIECES; i++) {
        const uint32_t length = i >= s->start.piece ? (uint32_t)l.iov[i].iov_len : 0;
        const bool is_here = (place >= first) & (place < first + length);
        at = is_here ? (const uint8_t *)l.iov[i].iov_base + (place - first) : at;
        first += length;
    }
    return at;
}

static void any_moves(void)
{
    l.moves = ASKED;
    bounced = l.bounced = any_below(LANDING_DATAGRAM + 1);
    old = (struct landing_move){
        .to = memory + any_bits(BITS), .from = memory + any_bits(BITS), .length = 1 + any_bits(2)};
    l.move[0] = old;
}

static bool has_changed(void)
{
    const struct landing_move *m = &l.move[0];

    return ((m->to != old.to) | (m->from != old.from) | (m->length != old.length) |
            (m->pieces != NULL) | (m->state != MOVE_ASKED));
}

/* ---- to one place ---- */

/* Moves that this part needs: one for each piece of memory in which some of it is not in place. */
static uint32_t moves_needed(const struct segment *s, uint32_t from, uint32_t length,
                             const uint8_t *to)
{
    const uint32_t begin = s->start.within + from, end = begin + length;
    uint32_t needed = 0, first = 0;

    for (uint32_t i = 0; i < PIECES; i++) {
        const uint32_t last = first + (i >= s->start.piece ? (uint32_t)l.iov[i].iov_len : 0);
        const uint32_t part = first > begin ? first : begin, behind = last < end ? last : end;
        const uint8_t *base = (const uint8_t *)l.iov[i].iov_base;
        needed += (part < behind) & (base + (part - first) != to + (part - begin));
        first = last;
    }
    return needed;
}

static void show_move(void)
{
    const struct segment s = any_segment();
    const uint32_t from = any_bits(BITS), length = any_bits(BITS), k = any_bits(BITS);
    const uint32_t place = any_bits(BITS);
    any_moves();
    ASSUME(from + length <= data);
    const uint32_t needed = moves_needed(&s, from, length, memory + place);
    const uint8_t *byte = byte_at(&s, from + k);
    const uint32_t got = landing_move(&l, &s, from, length, memory + place);
    const bool is_refused = ASKED + needed > LANDING_MOVES, has_old = !has_changed();
    uint32_t moved = 0, movers = 0;

    SHOW(has_old && l.bounced == bounced);
    SHOW((got == UINT32_MAX) == is_refused);
    SHOW(l.moves == ASKED + (is_refused ? 0 : needed));
    for (uint32_t j = ASKED; j < LANDING_MOVES && j < l.moves; j++) {
        const struct landing_move *m = &l.move[j];
        const uint32_t first = (uint32_t)__CPROVER_POINTER_OFFSET(m->to);
        const bool is_its = (place + k >= first) & (place + k < first + m->length);
        SHOW(m->length > 0 && m->pieces == NULL && m->stash == NULL && m->state == MOVE_ASKED);
        SHOW(__CPROVER_same_object(m->to, memory));
        SHOW(!is_its || m->from + (place + k - first) == byte);
        moved += m->length;
        movers += is_its;
    }
    SHOW(is_refused || got == moved);
    SHOW(is_refused || movers == (k < length && byte != memory + place + k));
    landing_take_back(&l, ASKED);
    SHOW(l.moves == ASKED);
}

/* ---- writable memory ---- */

enum { PAGE = 4096, ROOM = 1 << 18 };

static uint8_t *user;
static uint32_t page; /* of the byte that is followed */
static bool is_page_good;

/* Does any byte of that page lie there? */
static bool has_page(const void *at, size_t bytes)
{
    const size_t first = __CPROVER_POINTER_OFFSET(at);

    return bytes > 0 && first / PAGE <= page && page <= (first + bytes - 1) / PAGE;
}

static bool ask_any(const void *at, size_t bytes)
{
    SHOW(__CPROVER_same_object(at, user));
    return nondet_bool() && (is_page_good || !has_page(at, bytes));
}

static bool holds(void)
{
    return is_page_good || !has_page(l.writable.iov_base, l.writable.iov_len);
}

static void show_may_write(void)
{
    const uint32_t first = any_bits(17), bytes = any_bits(16), room = nondet_u32();
    user = any_bytes(ROOM);
    page = any_bits(6);
    is_page_good = nondet_bool();
    l.is_writable = nondet_bool() ? ask_any : NULL;
    l.writable = (struct iovec){.iov_base = user + PAGE * any_bits(4), .iov_len = any_bits(17)};
    ASSUME(bytes > 0 && bytes <= room); /* nobody asks for no memory, or for more than there is */
    ASSUME(holds());
    const bool may = landing_may_write(&l, user + first, bytes, room);

    SHOW(holds());
    if (l.is_writable == NULL)
        SHOW(may);
    else
        SHOW(!may || is_page_good || !has_page(user + first, bytes));
}

int main(void)
{
    memory = any_bytes(8 << BITS);
    own = any_bytes(OWN);
    landing_init(&l, own, 1);
    SHOW_IT();
    REACHED();
}
