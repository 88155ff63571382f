/* The moves of a landing (landing.h), done all at once: each byte that is asked for gets to its
 * target, no other byte of the memory changes, and bounce has room for what cycles need. Sources
 * and targets overlap in any way that I4 and I5 allow. The proof follows one byte, x, which may be
 * any.
 *
 * CBMC goes each way through the proof by itself, so it knows at each place which move is meant.
 *
 * bound: 2 moves of 1 or 2 bytes anywhere in 8, one may be to pieces
 * sources: core/receiver/landing.c
 * smaller: core/receiver/landing.h LANDING_UNITS 1
 * smaller: core/receiver/landing.h LANDING_OPENINGS 1
 * smaller: core/receiver/landing.h LANDING_MOVES 3
 * smaller: core/receiver/landing.h LANDING_DATAGRAM 6
 * flags: --drop-unused-functions --paths lifo -D memcpy=copy_few -D memmove=copy_few
 * unwind: 11
 * cases: -D MOVES=2
 * cases: -D MOVES=2 -D TO_PIECES
 */
#include "proof.h"

#include "core/receiver/landing.h"

enum { BITS = 3, PLACES = 1 << BITS, MOST = 2, LAST = MOVES - 1, MARGIN = MOST - 1 };

/* Behind each there is a margin, which copy_few writes as it is. */
static uint8_t memory[PLACES + MARGIN], before[PLACES + MARGIN];
static uint8_t own[LANDING_SPILL + LANDING_DATAGRAM + MARGIN], spill[LANDING_SPILL];
static struct landing l;
static struct pieces table;
static uint32_t to[MOVES], from[MOVES], length[MOVES];
static bool is_spilt[MOVES]; /* its source is in spill */

/* memcpy and memmove of up to MOST bytes. */
void *copy_few(void *place, const void *source, size_t bytes)
{
    uint8_t byte[MOST], *out = place;
    const uint8_t *in = source;
    const size_t room = __CPROVER_same_object(place, own) ? sizeof own - MARGIN : PLACES;

    SHOW(bytes <= MOST && __CPROVER_POINTER_OFFSET(place) + bytes <= room);
    for (size_t i = 0; i < MOST; i++)
        byte[i] = in[i];
    for (size_t i = 0; i < MOST; i++)
        out[i] = i < bytes ? byte[i] : out[i];
    return place;
}

/* Of pieces.h, which has a proof of its own: they lie in one row here. */
void pieces_write(const struct pieces *p, uint64_t offset, const uint8_t *source, uint64_t bytes)
{
    SHOW(p == &table && offset == to[LAST]);
    copy_few(memory + to[LAST], source, bytes);
}

static void any_memory(void)
{
    for (uint32_t i = 0; i < PLACES; i++)
        memory[i] = before[i] = nondet_u8();
    for (uint32_t i = 0; i < LANDING_SPILL; i++)
        own[i] = spill[i] = nondet_u8();
}

static void any_move(uint32_t i, bool is_to_pieces)
{
    to[i] = any_bits(BITS);
    length[i] = 1 + any_bits(1);
    from[i] = any_bits(BITS);
    is_spilt[i] = is_to_pieces;
    ASSUME(to[i] + length[i] <= PLACES);
    ASSUME(from[i] + length[i] <= (is_to_pieces ? LANDING_SPILL : PLACES));
    struct landing_move *m = &l.move[l.moves++];
    *m = (struct landing_move){.from = memory + from[i], .length = length[i]};
    if (is_to_pieces) {
        m->pieces = &table;
        m->offset = to[i];
        m->from = own + from[i];
    } else {
        m->to = memory + to[i];
    }
}

static bool is_apart(const uint32_t *place, uint32_t i, uint32_t j)
{
    return (place[i] + length[i] <= place[j]) | (place[j] + length[j] <= place[i]);
}

/* What lies at x when all is done. */
static uint8_t expected(uint32_t x)
{
    uint8_t byte = before[x];

    for (uint32_t i = 0; i < MOVES; i++) {
        const bool is_its = (x >= to[i]) & (x < to[i] + length[i]);
        const uint32_t source = is_its ? from[i] + (x - to[i]) : 0;
        byte = !is_its ? byte : is_spilt[i] ? spill[source] : before[source];
    }
    return byte;
}

int main(void)
{
    uint32_t bytes = 0;

    any_memory();
    landing_init(&l, own, 1);
    for (uint32_t i = 0; i < MOVES; i++) {
#ifdef TO_PIECES
        any_move(i, i == LAST);
#else
        any_move(i, false);
#endif
        bytes += length[i];
    }
    /* I4 and I5; and no more bytes are moved than have landed. */
    for (uint32_t i = 0; i < MOVES; i++)
        for (uint32_t j = i + 1; j < MOVES; j++)
            ASSUME(is_apart(to, i, j) & ((is_spilt[i] != is_spilt[j]) | is_apart(from, i, j)));
    ASSUME(bytes <= LANDING_DATAGRAM);

    landing_move_all(&l);
    const uint32_t x = any_below(PLACES);
    SHOW(memory[x] == expected(x));
    SHOW(l.moves == 0 && l.bounced == 0);
    REACHED();
}
