#include "core/wire/datagram.h"

#include "../../support/suite.h"

#include <string.h>

static struct unit_trailer first(void)
{
    return (struct unit_trailer){.message = 7,
                                 .unit = 100,
                                 .seq = UINT32_MAX - 1, /* and on through 0 */
                                 .next_unit = 145,
                                 .length = 45 * GRAIN,
                                 .next_length = 45 * GRAIN,
                                 .pairing = {.session = 0xdeadbeef, .tag = 0x600df00d},
                                 .flags = FLAG_HAS_NEXT};
}

static struct unit_trailer follower(struct unit_trailer t)
{
    t.unit += 45;
    t.next_unit += 45;
    t.seq++;
    return t;
}

TEST(trailer_row_take__what_encoding_makes)
{
    struct unit_trailer t = first();
    struct trailer_row row;
    uint8_t bytes[TRAILER_BYTES];

    ck_assert(trailer_row_behind(&row, &t));
    for (int i = 0; i < 100; i++) {
        t = follower(t);
        unit_trailer_encode(bytes, &t);
        ck_assert(trailer_row_take(&row, bytes));
        ck_assert(!trailer_row_take(&row, bytes)); /* once */
    }
}

TEST(trailer_row_take__no_bit_may_differ)
{
    struct unit_trailer t = first();
    struct trailer_row row;
    uint8_t bytes[TRAILER_BYTES];

    ck_assert(trailer_row_behind(&row, &t));
    t = follower(t);
    for (int bit = 0; bit < 8 * TRAILER_BYTES; bit++) {
        unit_trailer_encode(bytes, &t);
        bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
        ck_assert(!trailer_row_take(&row, bytes));
    }
    unit_trailer_encode(bytes, &t);
    ck_assert(trailer_row_take(&row, bytes));
}

TEST(trailer_row_put__what_encoding_makes)
{
    struct unit_trailer t = first();
    struct trailer_row row;
    uint8_t bytes[TRAILER_BYTES], right[TRAILER_BYTES];

    trailer_row_begin(&row, &t);
    for (int i = 0; i < 100; i++, t = follower(t)) {
        unit_trailer_encode(right, &t);
        trailer_row_put(&row, bytes);
        ck_assert_mem_eq(bytes, right, TRAILER_BYTES);
    }
}

/* Where a number of a word ends, the one before it must not notice. */
TEST(trailer_row_take__unit_numbers_wrap)
{
    struct unit_trailer t = first();
    struct trailer_row row;
    uint8_t bytes[TRAILER_BYTES];

    t.unit = UINT32_MAX - 100;
    t.next_unit = t.unit + 45;
    ck_assert(trailer_row_behind(&row, &t));
    for (int i = 0; i < 4; i++) {
        t = follower(t);
        unit_trailer_encode(bytes, &t);
        ck_assert(trailer_row_take(&row, bytes));
    }
}

TEST(trailer_row_behind__asks_for_an_answer)
{
    struct unit_trailer t = first();
    struct trailer_row row;
    uint8_t bytes[TRAILER_BYTES];

    t.flags |= FLAG_ANSWER;
    ck_assert(trailer_row_behind(&row, &t));
    t = follower(t);
    unit_trailer_encode(bytes, &t);
    ck_assert(!trailer_row_take(&row, bytes));
    t.flags = FLAG_HAS_NEXT;
    unit_trailer_encode(bytes, &t);
    ck_assert(trailer_row_take(&row, bytes));
}

/* ---- whole messages ---- */

static struct unit_trailer first_message(void)
{
    return (struct unit_trailer){.message = UINT32_MAX - 1, /* and on through 0, */
                                 .seq = UINT32_MAX - 2,     /* as this */
                                 .length = 65,
                                 .next_length = 65,
                                 .next_step = 1,
                                 .pairing = {.session = 0xdeadbeef, .tag = 0x600df00d},
                                 .flags = FLAG_HAS_NEXT | FLAG_IS_LAST};
}

TEST(trailer_row_behind_message__what_encoding_makes)
{
    struct unit_trailer t = first_message();
    struct trailer_row row, written;
    uint8_t right[TRAILER_BYTES], bytes[TRAILER_BYTES];

    ck_assert(trailer_row_behind_message(&row, &t));
    trailer_row_begin_messages(&written, &t);
    for (int i = 0; i < 100; i++, t.message++, t.seq++) {
        unit_trailer_encode(right, &t);
        trailer_row_put(&written, bytes);
        ck_assert_mem_eq(bytes, right, TRAILER_BYTES);
        ck_assert(trailer_row_take(&row, right) == (i > 0));
    }
}

/* What a trailer would say if something else followed. */
static struct unit_trailer otherwise(struct unit_trailer t, int row)
{
    switch (row) {
    case 0:
        t.next_step++;
        break;
    case 1:
        t.next_step--;
        break;
    case 2:
        t.next_unit++;
        break;
    case 3:
        t.next_length--;
        break;
    case 4:
        t.flags ^= FLAG_IS_LAST;
        break;
    case 5:
        t.flags = 0;
        break;
    case 6:
        t.unit++;
        break;
    default:
        t.length = t.next_length = 0;
    }
    return t;
}

TEST(trailer_row_behind__something_else_follows, .rows = 7)
{
    struct unit_trailer t = otherwise(first(), _i);
    struct trailer_row row;

    ck_assert(!trailer_row_behind(&row, &t));
}

TEST(trailer_row_behind_message__something_else_follows, .rows = 8)
{
    struct unit_trailer t = otherwise(first_message(), _i);
    struct trailer_row row;

    ck_assert(!trailer_row_behind_message(&row, &t));
}
