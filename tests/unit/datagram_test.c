#include "core/datagram.h"

#include "../support/suite.h"

#include <string.h>

START_TEST(datagram_last_byte__each_type)
{
    ck_assert_uint_eq(datagram_last_byte(DATAGRAM_UNIT), 0x11);
    ck_assert_uint_eq(datagram_last_byte(DATAGRAM_ACK_POSITIVE), 0x12);
    ck_assert_uint_eq(datagram_last_byte(DATAGRAM_ACK_NEGATIVE), 0x13);
    ck_assert_uint_eq(datagram_last_byte(DATAGRAM_REQUEST), 0x14);
    ck_assert_uint_eq(datagram_last_byte(DATAGRAM_HELLO), 0x15);
}
END_TEST

/* Every last byte there is: a type in version 1, else 0. */
START_TEST(datagram_type__every_byte)
{
    for (int byte = 0; byte <= UINT8_MAX; byte++) {
        int type = (int)datagram_type((uint8_t)byte);
        ck_assert_int_eq(type, 0x10 <= byte && byte <= 0x1f ? byte - 0x10 : 0);
    }
}
END_TEST

static const struct {
    uint8_t last_byte;
    enum datagram_type lowest, highest;
    enum verdict verdict;
} types[] = {
    /* 0 */ {0x11, DATAGRAM_UNIT, DATAGRAM_UNIT, VERDICT_OK},
    /* 1 */ {0x12, DATAGRAM_ACK_POSITIVE, DATAGRAM_ACK_NEGATIVE, VERDICT_OK},
    /* 2 */ {0x13, DATAGRAM_ACK_POSITIVE, DATAGRAM_ACK_NEGATIVE, VERDICT_OK},
    /* 3 */ {0x11, DATAGRAM_ACK_POSITIVE, DATAGRAM_ACK_NEGATIVE, VERDICT_TYPE},
    /* 4 */ {0x14, DATAGRAM_ACK_POSITIVE, DATAGRAM_ACK_NEGATIVE, VERDICT_TYPE},
    /* 5 */ {0x10, DATAGRAM_UNIT, DATAGRAM_UNIT, VERDICT_TYPE},
    /* 6 */ {0x1f, DATAGRAM_HELLO, DATAGRAM_HELLO, VERDICT_TYPE},
    /* 7 */ {0x01, DATAGRAM_UNIT, DATAGRAM_UNIT, VERDICT_VERSION},
    /* 8 */ {0x21, DATAGRAM_UNIT, DATAGRAM_UNIT, VERDICT_VERSION},
    /* 9 */ {0xf5, DATAGRAM_UNIT, DATAGRAM_UNIT, VERDICT_VERSION},
};

START_TEST(datagram_judge_type__table)
{
    enum verdict verdict =
        datagram_judge_type(types[_i].last_byte, types[_i].lowest, types[_i].highest);
    ck_assert_msg(verdict == types[_i].verdict, "row %d: %d", _i, (int)verdict);
}
END_TEST

START_TEST(datagram_judge_size__around_the_claim)
{
    ck_assert_int_eq((int)datagram_judge_size(31, 32), (int)VERDICT_SHORT);
    ck_assert_int_eq((int)datagram_judge_size(32, 32), (int)VERDICT_OK);
    ck_assert_int_eq((int)datagram_judge_size(33, 32), (int)VERDICT_MALFORMED);
}
END_TEST

static const struct unit_trailer distinct = {
    .message = 0x01020304,
    .unit = 0x05060708,
    .seq = 0x090a0b0c,
    .next_message = 0x0d0e0f10,
    .next_unit = 0x11121314,
    .length = 0x1520,
    .next_length = 0x1718,
    .pairing = {.session = 0x191a1b1c, .tag = 0x1d1e},
    .flags = FLAG_HAS_NEXT,
};

static const uint8_t distinct_bytes[TRAILER_BYTES] = {
    0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, 0x09, 0x0a, 0x0b, 0x0c, 0x0d, 0x0e, 0x0f, 0x10,
    0x11, 0x12, 0x13, 0x14, 0x15, 0x20, 0x17, 0x18, 0x19, 0x1a, 0x1b, 0x1c, 0x1d, 0x1e, 0x01, 0x11,
};

START_TEST(unit_trailer_encode__each_field_in_its_place)
{
    uint8_t out[TRAILER_BYTES];
    unit_trailer_encode(out, &distinct);
    ck_assert_mem_eq(out, distinct_bytes, sizeof out);
}
END_TEST

START_TEST(unit_trailer_decode__each_field_from_its_place)
{
    struct unit_trailer t;
    enum verdict verdict = unit_trailer_decode(distinct_bytes, 0x1520 + TRAILER_BYTES, &t);
    ck_assert_int_eq((int)verdict, (int)VERDICT_OK);
    ck_assert_uint_eq(t.message, distinct.message);
    ck_assert_uint_eq(t.unit, distinct.unit);
    ck_assert_uint_eq(t.seq, distinct.seq);
    ck_assert_uint_eq(t.next_message, distinct.next_message);
    ck_assert_uint_eq(t.next_unit, distinct.next_unit);
    ck_assert_uint_eq(t.length, distinct.length);
    ck_assert_uint_eq(t.next_length, distinct.next_length);
    ck_assert_uint_eq(t.pairing.session, distinct.pairing.session);
    ck_assert_uint_eq(t.pairing.tag, distinct.pairing.tag);
    ck_assert_uint_eq(t.flags, distinct.flags);
}
END_TEST

START_TEST(unit_trailer_decode__too_short_is_not_touched)
{
    struct unit_trailer t;
    for (size_t bytes = 0; bytes < TRAILER_BYTES; bytes++)
        ck_assert_int_eq((int)unit_trailer_decode(NULL, bytes, &t), (int)VERDICT_SHORT);
}
END_TEST

enum { NEXT = FLAG_HAS_NEXT, LAST = FLAG_IS_LAST, NONE = FLAG_VOID, ANSWER = FLAG_ANSWER };
enum { OK = VERDICT_OK, SHORT = VERDICT_SHORT, MALFORMED = VERDICT_MALFORMED };

/* What contradicts what; the rest of the trailer is in order. */
static const struct {
    int flags;
    uint32_t unit;
    uint16_t length;
    uint32_t next_message, next_unit;
    uint16_t next_length;
    uint32_t session;
    uint16_t tag;
    int surplus; /* bytes in the datagram beyond length + 32 */
    int verdict;
} rules[] = {
    /*  0 a unit in the middle       */ {0, 0, 32, 0, 0, 0, 1, 1, 0, OK},
    /*  1 one byte is missing        */ {0, 0, 64, 0, 0, 0, 1, 1, -1, SHORT},
    /*  2 one byte too many          */ {0, 0, 32, 0, 0, 0, 1, 1, 1, MALFORMED},
    /*  3 the largest                */ {0, 0, 65504, 0, 0, 0, 1, 1, 0, OK},
    /*  4 larger, and last           */ {LAST, 0, 65505, 0, 0, 0, 1, 1, 0, MALFORMED},
    /*  5 the length's largest value */ {LAST, 0, 65535, 0, 0, 0, 1, 1, 0, MALFORMED},
    /*  6 not last, empty            */ {0, 0, 0, 0, 0, 0, 1, 1, 0, MALFORMED},
    /*  7 last, empty                */ {LAST, 0, 0, 0, 0, 0, 1, 1, 0, OK},
    /*  8 not last, off the grain    */ {0, 0, 33, 0, 0, 0, 1, 1, 0, MALFORMED},
    /*  9 last, off the grain        */ {LAST, 0, 33, 0, 0, 0, 1, 1, 0, OK},
    /* 10 a next, all zero           */ {NEXT, 0, 32, 0, 0, 0, 1, 1, 0, OK},
    /* 11 a next, all at the top     */ {NEXT, 0, 32, ~0u, ~0u, 65504, 1, 1, 0, OK},
    /* 12 a next beyond a unit       */ {NEXT, 0, 32, 0, 0, 65505, 1, 1, 0, MALFORMED},
    /* 13 no next, but its message   */ {0, 0, 32, 1, 0, 0, 1, 1, 0, MALFORMED},
    /* 14 no next, but its unit      */ {0, 0, 32, 0, 1, 0, 1, 1, 0, MALFORMED},
    /* 15 no next, but its length    */ {0, 0, 32, 0, 0, 1, 1, 1, 0, MALFORMED},
    /* 16 void, too large            */ {NONE | LAST, 1, 0, 0, 0, 0, 1, 1, 0, OK},
    /* 17 void, cancelled            */ {NONE | LAST, 2, 0, 0, 0, 0, 1, 1, 0, OK},
    /* 18 void, no reason            */ {NONE | LAST, 0, 0, 0, 0, 0, 1, 1, 0, MALFORMED},
    /* 19 void, unknown reason       */ {NONE | LAST, 3, 0, 0, 0, 0, 1, 1, 0, MALFORMED},
    /* 20 void, not last             */ {NONE, 1, 0, 0, 0, 0, 1, 1, 0, MALFORMED},
    /* 21 void, with data            */ {NONE | LAST, 1, 32, 0, 0, 0, 1, 1, 0, MALFORMED},
    /* 22 void, with a next          */ {NONE | LAST | NEXT, 1, 0, 8, 9, 10, 1, 1, 0, OK},
    /* 23 asks for an answer         */ {ANSWER, 0, 32, 0, 0, 0, 1, 1, 0, OK},
    /* 24 closing                    */ {FLAG_CLOSING, 0, 32, 0, 0, 0, 1, 1, 0, MALFORMED},
    /* 25 unknown flag               */ {32, 0, 32, 0, 0, 0, 1, 1, 0, MALFORMED},
    /* 26 unknown flag               */ {64, 0, 32, 0, 0, 0, 1, 1, 0, MALFORMED},
    /* 27 unknown flag               */ {128, 0, 32, 0, 0, 0, 1, 1, 0, MALFORMED},
    /* 28 no session                 */ {0, 0, 32, 0, 0, 0, 0, 1, 0, MALFORMED},
    /* 29 no tag                     */ {0, 0, 32, 0, 0, 0, 1, 0, 0, MALFORMED},
};

static struct unit_trailer trailer_of_rule(int i)
{
    return (struct unit_trailer){
        .unit = rules[i].unit,
        .length = rules[i].length,
        .next_message = rules[i].next_message,
        .next_unit = rules[i].next_unit,
        .next_length = rules[i].next_length,
        .pairing = {.session = rules[i].session, .tag = rules[i].tag},
        .flags = (uint8_t)rules[i].flags,
    };
}

START_TEST(unit_trailer_decode__rules)
{
    struct unit_trailer t = trailer_of_rule(_i);
    uint8_t bytes[TRAILER_BYTES];
    unit_trailer_encode(bytes, &t);
    size_t size = (size_t)((int)t.length + TRAILER_BYTES + rules[_i].surplus);
    int verdict = (int)unit_trailer_decode(bytes, size, &t);
    ck_assert_msg(verdict == rules[_i].verdict, "row %d: %d", _i, verdict);
}
END_TEST

static TCase *datagram_case(void)
{
    TCase *tc = tcase_create("datagram");
    tcase_add_test(tc, datagram_last_byte__each_type);
    tcase_add_test(tc, datagram_type__every_byte);
    tcase_add_loop_test(tc, datagram_judge_type__table, 0, ROWS(types));
    tcase_add_test(tc, datagram_judge_size__around_the_claim);
    tcase_add_test(tc, unit_trailer_encode__each_field_in_its_place);
    tcase_add_test(tc, unit_trailer_decode__each_field_from_its_place);
    tcase_add_test(tc, unit_trailer_decode__too_short_is_not_touched);
    tcase_add_loop_test(tc, unit_trailer_decode__rules, 0, ROWS(rules));
    return tc;
}

int main(void)
{
    return suite_run("datagram", datagram_case());
}
