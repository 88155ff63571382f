#include "core/wire/datagram.h"

#include "../../support/suite.h"

#include <string.h>

static const struct {
    enum datagram_type type;
    uint8_t last_byte;
} last_bytes[] = {
    {DATAGRAM_UNIT, 0x21},        {DATAGRAM_ACK_POSITIVE, 0x22},   {DATAGRAM_ACK_NEGATIVE, 0x23},
    {DATAGRAM_REQUEST, 0x24},     {DATAGRAM_HELLO, 0x25},          {DATAGRAM_PATH_PROBE, 0x26},
    {DATAGRAM_PATH_ANSWER, 0x27}, {DATAGRAM_COOKIE, 0x28},         {DATAGRAM_HANDSHAKE, 0x29},
    {DATAGRAM_OFFER, 0x2a},       {DATAGRAM_VERSION_ANSWER, 0x2f},
};

TEST(datagram_last_byte__each_type, .rows = ROWS(last_bytes))
{
    ck_assert_uint_eq(datagram_last_byte(last_bytes[_i].type), last_bytes[_i].last_byte);
}

/* Every last byte there is: a type in version 2, else 0. */
TEST(datagram_type__every_byte)
{
    for (int byte = 0; byte <= UINT8_MAX; byte++) {
        int type = (int)datagram_type((uint8_t)byte);
        ck_assert_int_eq(type, 0x20 <= byte && byte <= 0x2f ? byte - 0x20 : 0);
    }
}

TEST(datagram_is_foreign_hello__every_byte)
{
    for (int byte = 0; byte <= UINT8_MAX; byte++) {
        bool is_foreign = byte % 16 == 5 && byte != 0x25;
        ck_assert_msg(datagram_is_foreign_hello((uint8_t)byte) == is_foreign, "byte %d", byte);
    }
}

static const struct {
    uint8_t last_byte;
    enum datagram_type lowest, highest;
    enum verdict verdict;
} types[] = {
    /*  0 */ {0x21, DATAGRAM_UNIT, DATAGRAM_UNIT, VERDICT_OK},
    /*  1 */ {0x22, DATAGRAM_ACK_POSITIVE, DATAGRAM_ACK_NEGATIVE, VERDICT_OK},
    /*  2 */ {0x23, DATAGRAM_ACK_POSITIVE, DATAGRAM_ACK_NEGATIVE, VERDICT_OK},
    /*  3 */ {0x21, DATAGRAM_ACK_POSITIVE, DATAGRAM_ACK_NEGATIVE, VERDICT_TYPE},
    /*  4 */ {0x24, DATAGRAM_ACK_POSITIVE, DATAGRAM_ACK_NEGATIVE, VERDICT_TYPE},
    /*  5 */ {0x20, DATAGRAM_UNIT, DATAGRAM_UNIT, VERDICT_TYPE},
    /*  6 */ {0x2f, DATAGRAM_HELLO, DATAGRAM_HELLO, VERDICT_TYPE},
    /*  7 */ {0x01, DATAGRAM_UNIT, DATAGRAM_UNIT, VERDICT_VERSION},
    /*  8 */ {0x11, DATAGRAM_UNIT, DATAGRAM_UNIT, VERDICT_VERSION},
    /*  9 */ {0x31, DATAGRAM_UNIT, DATAGRAM_UNIT, VERDICT_VERSION},
    /* 10 */ {0xf5, DATAGRAM_UNIT, DATAGRAM_UNIT, VERDICT_VERSION},
};

TEST(datagram_judge_type__table, .rows = ROWS(types))
{
    enum verdict verdict =
        datagram_type_verdict(types[_i].last_byte, types[_i].lowest, types[_i].highest);
    ck_assert_msg(verdict == types[_i].verdict, "row %d: %d", _i, (int)verdict);
}

/* The same by a trailer, but too short is too short before anything else. */
TEST(datagram_judge__table, .rows = ROWS(types))
{
    uint8_t trailer[TRAILER_BYTES] = {[TRAILER_BYTES - 1] = types[_i].last_byte};
    enum verdict verdict =
        datagram_verdict(trailer, TRAILER_BYTES, types[_i].lowest, types[_i].highest);
    ck_assert_msg(verdict == types[_i].verdict, "row %d: %d", _i, (int)verdict);
    verdict = datagram_verdict(NULL, TRAILER_BYTES - 1, types[_i].lowest, types[_i].highest);
    ck_assert_msg(verdict == VERDICT_SHORT, "row %d: %d", _i, (int)verdict);
}

TEST(datagram_judge_bare__around_the_size)
{
    const uint8_t in[TRAILER_BYTES + 1] = {[TRAILER_BYTES - 1] = 0x28, [TRAILER_BYTES] = 0x28};
    ck_assert_int_eq((int)datagram_bare_verdict(in, 31, DATAGRAM_COOKIE), (int)VERDICT_SHORT);
    ck_assert_int_eq((int)datagram_bare_verdict(in, 32, DATAGRAM_COOKIE), (int)VERDICT_OK);
    ck_assert_int_eq((int)datagram_bare_verdict(in, 33, DATAGRAM_COOKIE), (int)VERDICT_MALFORMED);
    ck_assert_int_eq((int)datagram_bare_verdict(in, 33, DATAGRAM_HELLO), (int)VERDICT_TYPE);
}

TEST(datagram_judge_size__around_the_claim)
{
    ck_assert_int_eq((int)datagram_size_verdict(31, 32), (int)VERDICT_SHORT);
    ck_assert_int_eq((int)datagram_size_verdict(32, 32), (int)VERDICT_OK);
    ck_assert_int_eq((int)datagram_size_verdict(33, 32), (int)VERDICT_MALFORMED);
}

TEST(datagram_trailer__around_its_size)
{
    const uint8_t in[TRAILER_BYTES + 1] = {0};
    ck_assert_ptr_null(datagram_trailer(in, 0));
    ck_assert_ptr_null(datagram_trailer(in, TRAILER_BYTES - 1));
    ck_assert_ptr_eq(datagram_trailer(in, TRAILER_BYTES), in);
    ck_assert_ptr_eq(datagram_trailer(in, TRAILER_BYTES + 1), in + 1);
}

TEST(datagram_tail__each_field_in_its_place)
{
    static const uint8_t right[TAIL_BYTES] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 0x2a};
    uint8_t out[TAIL_BYTES];
    struct pairing pairing = {.session = 0x01020304, .tag = 0x05060708};
    datagram_tail_encode(out, pairing, 9, DATAGRAM_OFFER);
    ck_assert_mem_eq(out, right, sizeof right);
    struct datagram_tail tail = datagram_tail_decode(right);
    ck_assert_uint_eq(tail.pairing.session, pairing.session);
    ck_assert_uint_eq(tail.pairing.tag, pairing.tag);
    ck_assert_uint_eq(tail.flags, 9);
    ck_assert_uint_eq(tail.last_byte, 0x2a);
}

TEST(datagram_is_clear__only_the_range)
{
    uint8_t trailer[TRAILER_BYTES];
    for (size_t at = 0; at < TRAILER_BYTES; at++) {
        memset(trailer, 0, sizeof trailer);
        trailer[at] = 0x80;
        ck_assert(datagram_is_clear(trailer, 0, TRAILER_BYTES) == false);
        ck_assert(datagram_is_clear(trailer, 4, TAIL_AT) == (at < 4 || at >= TAIL_AT));
    }
}

TEST(pairing_is_complete__table)
{
    ck_assert(pairing_is_complete((struct pairing){.session = 1, .tag = 1}));
    ck_assert(!pairing_is_complete((struct pairing){.session = 0, .tag = 1}));
    ck_assert(!pairing_is_complete((struct pairing){.session = 1, .tag = 0}));
}

static const struct unit_trailer distinct = {
    .message = 0x01020304,
    .unit = 0x05060708,
    .seq = 0x090a0b0c,
    .next_unit = 0x0d0e0f10,
    .length = 0x1120,
    .next_length = 0x1314,
    .next_step = 0x1516,
    .pairing = {.session = 0x1718191a, .tag = 0x1b1c1d1e},
    .flags = FLAG_HAS_NEXT,
};

static const uint8_t distinct_bytes[TRAILER_BYTES] = {
    0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, 0x09, 0x0a, 0x0b, 0x0c, 0x0d, 0x0e, 0x0f, 0x10,
    0x11, 0x20, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18, 0x19, 0x1a, 0x1b, 0x1c, 0x1d, 0x1e, 0x01, 0x21,
};

TEST(unit_trailer_encode__each_field_in_its_place)
{
    uint8_t out[TRAILER_BYTES];
    unit_trailer_encode(out, &distinct);
    ck_assert_mem_eq(out, distinct_bytes, sizeof out);
}

TEST(unit_trailer_decode__each_field_from_its_place)
{
    struct unit_trailer t;
    enum verdict verdict = unit_trailer_decode(distinct_bytes, 0x1120 + TRAILER_BYTES, &t);
    ck_assert_int_eq((int)verdict, (int)VERDICT_OK);
    ck_assert_uint_eq(t.message, distinct.message);
    ck_assert_uint_eq(t.unit, distinct.unit);
    ck_assert_uint_eq(t.seq, distinct.seq);
    ck_assert_uint_eq(t.next_unit, distinct.next_unit);
    ck_assert_uint_eq(t.length, distinct.length);
    ck_assert_uint_eq(t.next_length, distinct.next_length);
    ck_assert_int_eq(t.next_step, distinct.next_step);
    ck_assert_uint_eq(t.pairing.session, distinct.pairing.session);
    ck_assert_uint_eq(t.pairing.tag, distinct.pairing.tag);
    ck_assert_uint_eq(t.flags, distinct.flags);
}

TEST(unit_trailer_decode__too_short_is_not_touched)
{
    struct unit_trailer t;
    for (size_t bytes = 0; bytes < TRAILER_BYTES; bytes++)
        ck_assert_int_eq((int)unit_trailer_decode(NULL, bytes, &t), (int)VERDICT_SHORT);
}

static const int16_t steps[] = {0, 1, -1, 255, 256, -256, -257, 32767, -32767, -32768};

TEST(unit_trailer_decode__step_to_the_next, .rows = ROWS(steps))
{
    struct unit_trailer t = distinct;
    uint8_t bytes[TRAILER_BYTES];
    t.next_step = steps[_i];
    unit_trailer_encode(bytes, &t);
    ck_assert_int_eq((int)unit_trailer_decode(bytes, 0x1120 + TRAILER_BYTES, &t), (int)VERDICT_OK);
    ck_assert_int_eq(t.next_step, steps[_i]);
}

enum { NEXT = FLAG_HAS_NEXT, LAST = FLAG_IS_LAST, NONE = FLAG_VOID, ANSWER = FLAG_ANSWER };
enum { OK = VERDICT_OK, SHORT = VERDICT_SHORT, MALFORMED = VERDICT_MALFORMED };

/* What contradicts what; the rest of the trailer is in order. */
static const struct {
    int flags;
    uint32_t unit;
    uint16_t length;
    uint32_t next_unit;
    uint16_t next_length;
    int16_t next_step;
    uint32_t session, tag;
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
    /* 11 a next, all at the top     */ {NEXT, 0, 32, ~0u, 65504, 32767, 1, 1, 0, OK},
    /* 12 a next, far back           */ {NEXT, 0, 32, 0, 0, -32768, 1, 1, 0, OK},
    /* 13 a next beyond a unit       */ {NEXT, 0, 32, 0, 65505, 0, 1, 1, 0, MALFORMED},
    /* 14 no next, but its step      */ {0, 0, 32, 0, 0, 1, 1, 1, 0, MALFORMED},
    /* 15 no next, but its step back */ {0, 0, 32, 0, 0, -1, 1, 1, 0, MALFORMED},
    /* 16 no next, but its unit      */ {0, 0, 32, 1, 0, 0, 1, 1, 0, MALFORMED},
    /* 17 no next, but its length    */ {0, 0, 32, 0, 1, 0, 1, 1, 0, MALFORMED},
    /* 18 void, cancelled            */ {NONE | LAST, 2, 0, 0, 0, 0, 1, 1, 0, OK},
    /* 19 void, unreadable           */ {NONE | LAST, 3, 0, 0, 0, 0, 1, 1, 0, OK},
    /* 20 void, no reason            */ {NONE | LAST, 0, 0, 0, 0, 0, 1, 1, 0, MALFORMED},
    /* 21 void, unknown reason       */ {NONE | LAST, 4, 0, 0, 0, 0, 1, 1, 0, MALFORMED},
    /* 22 void, unknown reason       */ {NONE | LAST, ~0u, 0, 0, 0, 0, 1, 1, 0, MALFORMED},
    /* 23 void, not last             */ {NONE, 2, 0, 0, 0, 0, 1, 1, 0, MALFORMED},
    /* 24 void, with data            */ {NONE | LAST, 2, 32, 0, 0, 0, 1, 1, 0, MALFORMED},
    /* 25 void, with a next          */ {NONE | LAST | NEXT, 2, 0, 8, 9, 10, 1, 1, 0, OK},
    /* 26 cancelled, with a size     */ {NONE | LAST, 2, 0, 1, 0, 0, 1, 1, 0, MALFORMED},
    /* 27 unreadable, with a size    */ {NONE | LAST, 3, 0, 0, 1, 0, 1, 1, 0, MALFORMED},
    /* 28 too large, by one byte     */ {NONE | LAST, 1, 0, 1, 0, 0, 1, 1, 0, OK},
    /* 29 too large, by 4 GiB        */ {NONE | LAST, 1, 0, 0, 1, 0, 1, 1, 0, OK},
    /* 30 too large, asks            */ {NONE | LAST | ANSWER, 1, 0, 1, 0, 0, 1, 1, 0, OK},
    /* 31 too large, the largest     */ {NONE | LAST, 1, 0, 0, 32, 0, 1, 1, 0, OK},
    /* 32 too large, one byte more   */ {NONE | LAST, 1, 0, 1, 32, 0, 1, 1, 0, MALFORMED},
    /* 33 too large, 4 GiB more      */ {NONE | LAST, 1, 0, 0, 33, 0, 1, 1, 0, MALFORMED},
    /* 34 too large, without a size  */ {NONE | LAST, 1, 0, 0, 0, 0, 1, 1, 0, MALFORMED},
    /* 35 too large, with a step     */ {NONE | LAST, 1, 0, 1, 0, 1, 1, 1, 0, MALFORMED},
    /* 36 too large, with a next     */ {NONE | LAST | NEXT, 1, 0, 8, 9, 0, 1, 1, 0, MALFORMED},
    /* 37 too large, not last        */ {NONE, 1, 0, 1, 0, 0, 1, 1, 0, MALFORMED},
    /* 38 too large, with data       */ {NONE | LAST, 1, 32, 1, 0, 0, 1, 1, 0, MALFORMED},
    /* 39 a size, but not void       */ {LAST, 1, 32, 1, 0, 0, 1, 1, 0, MALFORMED},
    /* 40 asks for an answer         */ {ANSWER, 0, 32, 0, 0, 0, 1, 1, 0, OK},
    /* 41 closing                    */ {FLAG_CLOSING, 0, 32, 0, 0, 0, 1, 1, 0, MALFORMED},
    /* 42 of acknowledgements        */ {FLAG_ECN, 0, 32, 0, 0, 0, 1, 1, 0, MALFORMED},
    /* 43 reserved for keys          */ {64, 0, 32, 0, 0, 0, 1, 1, 0, MALFORMED},
    /* 44 reserved for keys          */ {128, 0, 32, 0, 0, 0, 1, 1, 0, MALFORMED},
    /* 45 no session                 */ {0, 0, 32, 0, 0, 0, 0, 1, 0, MALFORMED},
    /* 46 no tag                     */ {0, 0, 32, 0, 0, 0, 1, 0, 0, MALFORMED},
    /* 47 a tag of one high bit      */ {0, 0, 32, 0, 0, 0, 1, 1u << 31, 0, OK},
};

static struct unit_trailer trailer_of_rule(int i)
{
    return (struct unit_trailer){
        .unit = rules[i].unit,
        .length = rules[i].length,
        .next_unit = rules[i].next_unit,
        .next_length = rules[i].next_length,
        .next_step = rules[i].next_step,
        .pairing = {.session = rules[i].session, .tag = rules[i].tag},
        .flags = (uint8_t)rules[i].flags,
    };
}

TEST(unit_trailer_decode__rules, .rows = ROWS(rules))
{
    struct unit_trailer t = trailer_of_rule(_i);
    uint8_t bytes[TRAILER_BYTES];
    unit_trailer_encode(bytes, &t);
    size_t size = (size_t)((int)t.length + TRAILER_BYTES + rules[_i].surplus);
    int verdict = (int)unit_trailer_decode(bytes, size, &t);
    ck_assert_msg(verdict == rules[_i].verdict, "row %d: %d", _i, verdict);
}

static const uint64_t sizes[] = {1, UINT32_MAX, UINT64_C(1) << 32, MESSAGE_BYTES_MAX - 1,
                                 MESSAGE_BYTES_MAX};

/* The size of a message that is too large lies where others name what is next. */
TEST(unit_trailer_size__there_and_back, .rows = ROWS(sizes))
{
    struct unit_trailer t = {
        .unit = VOID_TOO_LARGE, .pairing = {.session = 1, .tag = 1}, .flags = NONE | LAST};
    uint8_t bytes[TRAILER_BYTES];
    unit_trailer_set_size(&t, sizes[_i]);
    unit_trailer_encode(bytes, &t);
    ck_assert_int_eq((int)unit_trailer_decode(bytes, sizeof bytes, &t), OK);
    ck_assert_uint_eq(unit_trailer_size(&t), sizes[_i]);
}
