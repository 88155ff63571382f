#include "trailer_row.h"

void trailer_row_begin(struct trailer_row *row, const struct unit_trailer *t)
{
    uint8_t bytes[TRAILER_BYTES];
    unit_trailer_encode(bytes, t);
    for (int i = 0; i < TRAILER_WORDS; i++)
        row->word[i] = wire_get_u64(bytes + 8 * i);
    row->grains = t->length / GRAIN;
}

bool trailer_row_behind(struct trailer_row *row, const struct unit_trailer *t)
{
    bool goes_on = (t->flags & ~FLAG_ANSWER) == FLAG_HAS_NEXT && t->next_step == 0 &&
                   t->next_unit == t->unit + t->length / GRAIN && t->next_length == t->length;
    if (!goes_on)
        return false;
    struct unit_trailer first = *t;
    first.flags = FLAG_HAS_NEXT;
    trailer_row_begin(row, &first);
    trailer_row_step(row);
    return true;
}
