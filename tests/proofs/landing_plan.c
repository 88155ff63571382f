/* A landing's plan (landing.h): after each call no two of its own pieces overlap, openings and the
 * list of pieces are what I2 and I3 say, and what was planned stays. The plan before the call is
 * any that is so, so this holds for any number of calls.
 *
 * bound: plans of 2 openings and 2 pairs, slots of up to 3 pieces, any sizes; any number of calls
 * sources: core/receiver/landing.c
 * smaller: core/receiver/landing.h LANDING_UNITS 2
 * smaller: core/receiver/landing.h LANDING_OPENINGS 2
 * smaller: core/receiver/landing.h LANDING_MOVES 1
 * smaller: core/receiver/landing.h LANDING_SLOT_PIECES 3
 * flags: --drop-unused-functions
 * unwind: 8
 */
#include "proof.h"

#include "core/receiver/landing.h"

static struct landing l, before;
static uint8_t user[4 * LANDING_DATAGRAM], own[2 * 2 * LANDING_DATAGRAM];

/* Each piece is the user's, or the next scratch, or the next part of its opening's spill. */
static bool holds(void)
{
    bool is_right = l.openings <= 2 && l.first[0] == 0 && l.units <= l.pairs;
    uint32_t opening = 0, scratches = 0, spilled = 0;

    is_right &= l.pairs <= LANDING_UNITS && l.pieces <= 2 * l.pairs + l.openings;
    for (uint32_t i = 0; i < LANDING_IOV; i++) {
        const struct iovec *piece = &l.iov[i];
        if (i >= l.pieces)
            continue;
        if (__CPROVER_same_object(piece->iov_base, &l)) {
            is_right &= scratches < LANDING_UNITS && piece->iov_base == l.trailer[scratches] &&
                        piece->iov_len == TRAILER_BYTES;
            scratches++;
        } else if (__CPROVER_same_object(piece->iov_base, own)) {
            is_right &=
                __CPROVER_POINTER_OFFSET(piece->iov_base) == opening * LANDING_SPILL + spilled;
            is_right &= piece->iov_len <= LANDING_SPILL - spilled;
            spilled += (uint32_t)piece->iov_len;
        } else {
            is_right &= __CPROVER_same_object(piece->iov_base, user);
        }
        if (opening < l.openings && i + 1 == l.first[opening + 1]) {
            is_right &= spilled == LANDING_SPILL && __CPROVER_same_object(piece->iov_base, own);
            opening++;
            spilled = 0;
        }
    }
    return is_right && opening == l.openings && scratches == l.units && spilled == l.spilled;
}

static void *any_base(void)
{
    switch (nondet_u8()) {
    case 0:
        return l.trailer[any_bits(1)];
    case 1:
        return own + any_bits(18);
    default:
        return user + any_bits(18);
    }
}

static void any_plan(void)
{
    landing_init(&l, own, 2);
    l.openings = any_bits(2);
    l.pieces = any_bits(3);
    l.pairs = any_bits(2);
    l.units = any_bits(2);
    l.spilled = any_bits(17);
    ASSUME(l.openings <= 2 && l.pieces <= LANDING_IOV && l.pairs <= LANDING_UNITS);
    ASSUME(l.units <= LANDING_UNITS && l.spilled <= LANDING_SPILL);
    l.first[1] = (uint16_t)any_bits(3);
    l.first[2] = (uint16_t)any_bits(3);
    for (uint32_t i = 0; i < LANDING_IOV; i++) {
        l.iov[i].iov_base = any_base();
        l.iov[i].iov_len = any_bits(17);
    }
    ASSUME(holds());
}

static bool is_piece(uint32_t i, const void *base, size_t length)
{
    return l.iov[i].iov_base == base && l.iov[i].iov_len == length;
}

static void show_offer(void)
{
    const uint32_t length = nondet_u32(), data = length > 0;
    const bool has_slot = nondet_bool(), is_full = landing_room(&l) == 0;
    uint8_t *slot = has_slot ? user + any_bits(18) : NULL;
    uint8_t *spill = own + l.openings * LANDING_SPILL + l.spilled;

    if (!landing_offer(&l, slot, length)) {
        SHOW(is_full || (!has_slot && length > LANDING_SPILL - l.spilled));
        SHOW(l.pieces == before.pieces && l.pairs == before.pairs && l.units == before.units);
        return;
    }
    SHOW(!is_full && l.pieces == before.pieces + data + 1);
    SHOW(!data || is_piece(before.pieces, has_slot ? slot : spill, length));
    SHOW(is_piece(l.pieces - 1, l.trailer[before.units], TRAILER_BYTES));
}

static void show_offer_pieces(void)
{
    const uint32_t count = 1 + any_below(LANDING_SLOT_PIECES), i = any_below(count);
    struct iovec piece[LANDING_SLOT_PIECES];

    for (uint32_t j = 0; j < LANDING_SLOT_PIECES; j++)
        piece[j] = (struct iovec){user + any_bits(18), nondet_u32()};
    if (!landing_offer_pieces(&l, piece, count)) {
        SHOW(landing_room(&l) < count / 2 + 1 && l.pieces == before.pieces);
        return;
    }
    SHOW(l.pieces == before.pieces + count + 1);
    SHOW(is_piece(before.pieces + i, piece[i].iov_base, piece[i].iov_len));
    SHOW(is_piece(l.pieces - 1, l.trailer[before.units], TRAILER_BYTES));
}

static void show_offer_row(void)
{
    const uint32_t length = 1 + any_bits(16), count = nondet_u32();
    const uint32_t room = landing_room(&l), i = any_below(LANDING_UNITS);
    uint8_t *slot = user + any_bits(18);
    ASSUME(__CPROVER_POINTER_OFFSET(slot) + (uint64_t)LANDING_UNITS * length <= sizeof user);
    const uint32_t pairs = landing_offer_row(&l, slot, length, count);

    SHOW(pairs == (count < room ? count : room) && l.pieces == before.pieces + 2 * pairs);
    if (i < pairs)
        SHOW(is_piece(before.pieces + 2 * i, slot + (size_t)i * length, length));
}

static void show_seal(void)
{
    const bool is_sealed = landing_seal(&l);

    SHOW(is_sealed == (before.openings < 2) && l.openings == before.openings + is_sealed);
}

int main(void)
{
    any_plan();
    before = l;
    switch (nondet_u8()) {
    case 0:
        show_offer();
        break;
    case 1:
        show_offer_pieces();
        break;
    case 2:
        show_offer_row();
        break;
    default:
        show_seal();
    }
    SHOW(holds());
    const uint32_t i = any_below(LANDING_IOV);
    if (i < before.pieces)
        SHOW(is_piece(i, before.iov[i].iov_base, before.iov[i].iov_len));
    REACHED();
}
