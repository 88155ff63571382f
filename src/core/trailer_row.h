/* Trailers of units in a row, told by comparing. Where units of one size follow on each other in a
 * message, their trailers differ by the same step each time: so the next one is known beforehand,
 * byte for byte, and need not be decoded and judged.
 *
 * The 32 bytes are four words, high byte first. Words 0 and 1 change from unit to unit, by what is
 * written below them; words 2 and 3 stay.
 *
 *     word 0             word 1               word 2                    word 3
 *     message, unit      seq, next unit       both lengths, step,       session's low half,
 *              + grains    + 1  + grains      session's high half       tag, flags, type
 */
#ifndef ZCRP_CORE_TRAILER_ROW_H
#define ZCRP_CORE_TRAILER_ROW_H

#include "datagram.h"
#include "wire.h"

enum { TRAILER_WORDS = TRAILER_BYTES / 8 };

struct trailer_row {
    uint64_t word[TRAILER_WORDS]; /* of the trailer that continues the row */
    uint64_t grains;              /* of each unit */
};

/* The row goes on with this trailer, which is legal, and whose next unit continues it. */
void trailer_row_begin(struct trailer_row *row, const struct unit_trailer *t);

/* The row goes on behind the unit with this legal trailer, with units of the same size that have
 * HAS_NEXT and no other flag. False if it foresees something else. */
bool trailer_row_behind(struct trailer_row *row, const struct unit_trailer *t);

/* Adds to the two numbers of 32 bits in a word. Neither carries into the other. */
static inline uint64_t trailer_row_sum(uint64_t word, uint64_t high, uint64_t low)
{
    return ((word >> 32) + high) << 32 | (uint32_t)(word + low);
}

static inline void trailer_row_step(struct trailer_row *row)
{
    row->word[0] = trailer_row_sum(row->word[0], 0, row->grains);
    row->word[1] = trailer_row_sum(row->word[1], 1, row->grains);
}

/* Takes the trailer, if it is just the one that continues the row. */
static inline bool trailer_row_take(struct trailer_row *row, const uint8_t in[TRAILER_BYTES])
{
    uint64_t differs = 0;
    for (int i = 0; i < TRAILER_WORDS; i++)
        differs |= wire_get_u64(in + 8 * i) ^ row->word[i];
    if (differs != 0)
        return false;
    trailer_row_step(row);
    return true;
}

/* Writes the trailer that continues the row, which goes on behind it. */
static inline void trailer_row_put(struct trailer_row *row, uint8_t out[TRAILER_BYTES])
{
    for (int i = 0; i < TRAILER_WORDS; i++)
        wire_put_u64(out + 8 * i, row->word[i]);
    trailer_row_step(row);
}

#endif
