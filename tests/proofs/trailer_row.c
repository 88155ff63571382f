/* Trailers that are not decoded because they were foreseen (datagram.h): what a row foresees is
 * what the decoder takes, and says that it is the next unit, or the next message, with nothing else
 * changed. A row that has gone on is the one that begins there, so this holds for rows of any
 * length.
 *
 * bound: any trailers, rows of any length
 * sources: core/wire/datagram.c
 * unwind: 34
 * stage: quick
 */
#include "proof.h"

#include "core/wire/datagram.h"

#include <string.h>

/* The trailer that stands behind `t` in a row: of its message, or of the next. */
static struct unit_trailer behind(struct unit_trailer t, bool is_message)
{
    uint32_t grains = is_message ? 0 : t.length / GRAIN;

    t.message += is_message;
    t.unit += grains;
    t.next_unit += grains;
    t.seq += 1;
    t.flags &= (uint8_t)~FLAG_ANSWER;
    return t;
}

static bool is_same(const struct unit_trailer *a, const struct unit_trailer *b)
{
    return a->message == b->message && a->unit == b->unit && a->seq == b->seq &&
           a->next_unit == b->next_unit && a->length == b->length &&
           a->next_length == b->next_length && a->next_step == b->next_step &&
           a->pairing.session == b->pairing.session && a->pairing.tag == b->pairing.tag &&
           a->flags == b->flags;
}

int main(void)
{
    uint8_t first[TRAILER_BYTES], in[TRAILER_BYTES], put[TRAILER_BYTES];
    bool is_message = nondet_bool();
    struct unit_trailer t, next, got;
    struct trailer_row row, again;

    if (unit_trailer_decode(first, nondet_size(), &t) != VERDICT_OK)
        return 0;
    if (!(is_message ? trailer_row_behind_message(&row, &t) : trailer_row_behind(&row, &t)))
        return 0;
    next = behind(t, is_message);

    /* It foresees what the unit before it announces. */
    SHOW(next.message == t.message + (uint32_t)t.next_step);
    SHOW(next.unit == t.next_unit && next.length == t.next_length);

    /* The row is the one that begins with the next trailer, and has a row behind that, too. */
    if (is_message)
        trailer_row_begin_messages(&again, &next);
    else
        trailer_row_begin(&again, &next);
    SHOW(row.grains == again.grains && row.messages == again.messages);
    uint32_t w = any_below(TRAILER_WORDS);
    SHOW(row.word[w] == again.word[w]);
    struct trailer_row further;
    SHOW(is_message ? trailer_row_behind_message(&further, &next)
                    : trailer_row_behind(&further, &next));
    again = row;
    trailer_row_step(&again);
    SHOW(again.word[w] == further.word[w]);

    /* What it writes is the next trailer's bytes. */
    again = row;
    trailer_row_put(&again, put);
    unit_trailer_encode(in, &next);
    uint32_t at = any_below(TRAILER_BYTES);
    SHOW(put[at] == in[at]);

    /* What it foresees is what would have been decoded. */
    uint8_t came[TRAILER_BYTES];
    if (trailer_row_foresees(&row, came)) {
        SHOW(unit_trailer_decode(came, (size_t)t.length + TRAILER_BYTES, &got) == VERDICT_OK);
        SHOW(is_same(&got, &next));
        REACHED();
    }
    return 0;
}
