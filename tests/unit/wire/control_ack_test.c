#include "control_rig.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

static const uint8_t ack_bytes[] = {
    0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, /* bounds */
    0x05, 0x06, 0x07, 0x07, 0x09, 0x0a, 0x0b, 0x0c, /* newest, delay */
    0x0d, 0x0e, 0x0f, 0x10, 0x00, 0x01, 0x19, 0x1a, /* capacity, length, marks */
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x11, 0x12, /* reserved, session */
    0x13, 0x14, 0x15, 0x16, 0x17, 0x18, 0x30, 0x22, /* session, tag, flags, type */
};

static struct block_ack ack_of_bytes(const uint8_t *bounds)
{
    return (struct block_ack){
        .pairing = pairing,
        .newest = 0x05060707,
        .delay_us = 0x090a0b0c,
        .capacity = 0x0d0e0f10,
        .length = 1,
        .marks = 0x191a,
        .first_is_positive = true,
        .is_closing = true,
        .has_ecn = true,
        .bounds = bounds,
    };
}

TEST(block_ack_encode__each_field_in_its_place)
{
    uint8_t out[sizeof ack_bytes];
    struct block_ack ack = ack_of_bytes(ack_bytes);
    ck_assert_uint_eq(block_ack_encode(out, sizeof out, &ack), sizeof ack_bytes);
    ck_assert_mem_eq(out, ack_bytes, sizeof out);
}

TEST(block_ack_encode__bounds_in_place)
{
    uint8_t out[sizeof ack_bytes];
    ack_bound_encode(out, 0x01020304);
    ack_bound_encode(out + ACK_BOUND_BYTES, 0x05060708);
    struct block_ack ack = ack_of_bytes(out);
    ck_assert_uint_eq(block_ack_encode(out, sizeof out, &ack), sizeof ack_bytes);
    ck_assert_mem_eq(out, ack_bytes, sizeof out);
}

TEST(block_ack_encode__empty_says_no_newest)
{
    uint8_t out[TRAILER_BYTES];
    const uint8_t zero[4] = {0};
    struct block_ack ack = {.pairing = pairing, .newest = 77};
    ck_assert_uint_eq(block_ack_encode(out, sizeof out, &ack), sizeof out);
    ck_assert_mem_eq(out, zero, sizeof zero);
    ck_assert_int_eq((int)block_ack_decode(out, sizeof out, &ack), OK);
    ck_assert(ack.first_is_positive);
}

TEST(block_ack_encode__no_room, .signal = SIGABRT)
{
    uint8_t out[sizeof ack_bytes - 1];
    struct block_ack ack = ack_of_bytes(ack_bytes);
    (void)block_ack_encode(out, sizeof out, &ack);
}

TEST(block_ack_decode__each_field_from_its_place)
{
    struct block_ack ack;
    ck_assert_int_eq((int)block_ack_decode(ack_bytes, sizeof ack_bytes, &ack), OK);
    ck_assert_uint_eq(ack.pairing.session, pairing.session);
    ck_assert_uint_eq(ack.pairing.tag, pairing.tag);
    ck_assert_uint_eq(ack.newest, 0x05060707);
    ck_assert_uint_eq(ack.delay_us, 0x090a0b0c);
    ck_assert_uint_eq(ack.capacity, 0x0d0e0f10);
    ck_assert_uint_eq(ack.length, 1);
    ck_assert_uint_eq(ack.marks, 0x191a);
    ck_assert(ack.first_is_positive);
    ck_assert(ack.is_closing);
    ck_assert(ack.has_ecn);
    ck_assert_uint_eq(ack_bound(&ack, 0), 0x01020304);
    ck_assert_uint_eq(ack_bound(&ack, 1), 0x05060708);
}

static const struct {
    uint16_t length;
    uint32_t bound[5];
    int newest_off; /* newest + 1 - last bound */
    int type;       /* last byte; 0 is as encoded */
    int flags;
    uint32_t session, tag;
    int verdict;
} acks[] = {
    /*  0 nothing arrived       */ {0, {0}, 0, 0, 0, 1, 1, OK},
    /*  1 the same, negative    */ {0, {0}, 0, 0x23, 0, 1, 1, MALFORMED},
    /*  2 one number            */ {1, {0, 1}, 0, 0, 0, 1, 1, OK},
    /*  3 one, negative         */ {1, {0, 1}, 0, 0x23, 0, 1, 1, MALFORMED},
    /*  4 two                   */ {2, {0, 1, 2}, 0, 0, 0, 1, 1, OK},
    /*  5 two, first positive   */ {2, {0, 1, 2}, 0, 0x22, 0, 1, 1, MALFORMED},
    /*  6 four                  */ {4, {9, 10, 20, 21, 99}, 0, 0, 0, 1, 1, OK},
    /*  7 newest one lower      */ {1, {5, 9}, -1, 0, 0, 1, 1, MALFORMED},
    /*  8 newest one higher     */ {1, {5, 9}, 1, 0, 0, 1, 1, MALFORMED},
    /*  9 an empty interval     */ {1, {5, 5}, 0, 0, 0, 1, 1, MALFORMED},
    /* 10 empty at the start    */ {3, {5, 5, 6, 7}, 0, 0, 0, 1, 1, MALFORMED},
    /* 11 empty in the middle   */ {3, {5, 6, 6, 7}, 0, 0, 0, 1, 1, MALFORMED},
    /* 12 empty at the end      */ {3, {5, 6, 7, 7}, 0, 0, 0, 1, 1, MALFORMED},
    /* 13 descending            */ {1, {6, 5}, 0, 0, 0, 1, 1, MALFORMED},
    /* 14 across zero           */ {2, {~5u, ~0u, 4}, 0, 0, 0, 1, 1, OK},
    /* 15 newest is the highest */ {1, {~5u, 0}, 0, 0, 0, 1, 1, OK},
    /* 16 the widest            */ {1, {7, 0x80000006}, 0, 0, 0, 1, 1, OK},
    /* 17 wider by one          */ {1, {7, 0x80000007}, 0, 0, 0, 1, 1, MALFORMED},
    /* 18 wider, in two steps   */ {2, {7, 8, 0x80000007}, 0, 0, 0, 1, 1, MALFORMED},
    /* 19 once around           */ {3, {0, 1u << 30, 1u << 31, 1}, 0, 0, 0, 1, 1, MALFORMED},
    /* 20 closing               */ {1, {5, 9}, 0, 0, FLAG_CLOSING, 1, 1, OK},
    /* 21 another flag          */ {1, {5, 9}, 0, 0, FLAG_ANSWER, 1, 1, MALFORMED},
    /* 22 closing and another   */ {1, {5, 9}, 0, 0, FLAG_CLOSING | 1, 1, 1, MALFORMED},
    /* 23 no session            */ {1, {5, 9}, 0, 0, 0, 0, 1, MALFORMED},
    /* 24 no tag                */ {1, {5, 9}, 0, 0, 0, 1, 0, MALFORMED},
    /* 25 a unit                */ {1, {5, 9}, 0, 0x21, 0, 1, 1, TYPE},
    /* 26 a request             */ {1, {5, 9}, 0, 0x24, 0, 1, 1, TYPE},
    /* 27 another version       */ {1, {5, 9}, 0, 0x12, 0, 1, 1, VERSION},
    /* 28 ECN                   */ {1, {5, 9}, 0, 0, FLAG_ECN, 1, 1, OK},
    /* 29 ECN, closing          */ {1, {5, 9}, 0, 0, FLAG_ECN | FLAG_CLOSING, 1, 1, OK},
    /* 30 reserved for keys     */ {1, {5, 9}, 0, 0, 64, 1, 1, MALFORMED},
};

/* Row i as a datagram; returns its size. */
static size_t ack_of_row(uint8_t out[64], int i)
{
    uint32_t last = acks[i].bound[acks[i].length];
    struct block_ack ack = {
        .pairing = {.session = acks[i].session, .tag = acks[i].tag},
        .newest = last - 1 + (uint32_t)acks[i].newest_off,
        .length = acks[i].length,
        .bounds = out,
    };
    for (size_t b = 0; acks[i].length > 0 && b <= acks[i].length; b++)
        ack_bound_encode(out + b * ACK_BOUND_BYTES, acks[i].bound[b]);
    size_t size = block_ack_encode(out, 64, &ack);
    out[size - 2] = (uint8_t)acks[i].flags;
    if (acks[i].type != 0)
        out[size - 1] = (uint8_t)acks[i].type;
    return size;
}

TEST(block_ack_decode__rules, .rows = ROWS(acks))
{
    uint8_t in[64];
    size_t size = ack_of_row(in, _i);
    struct block_ack ack;
    int verdict = (int)block_ack_decode(in, size, &ack);
    ck_assert_msg(verdict == acks[_i].verdict, "row %d: %d", _i, verdict);
}

TEST(block_ack_decode__each_reserved_byte, .rows = 6)
{
    uint8_t in[sizeof ack_bytes];
    struct block_ack ack;
    memcpy(in, ack_bytes, sizeof in);
    in[24 + _i] = 1;
    ck_assert_int_eq((int)block_ack_decode(in, sizeof in, &ack), MALFORMED);
}

TEST(block_ack_decode__empty_with_a_newest)
{
    uint8_t in[TRAILER_BYTES];
    struct block_ack ack = {.pairing = pairing};
    size_t size = block_ack_encode(in, sizeof in, &ack);
    in[3] = 1;
    ck_assert_int_eq((int)block_ack_decode(in, size, &ack), MALFORMED);
}

/* Every size but the right one, below and above. */
TEST(block_ack_decode__exact_size)
{
    uint8_t in[2 * sizeof ack_bytes] = {0};
    memcpy(in + sizeof ack_bytes, ack_bytes, sizeof ack_bytes);
    for (size_t size = 0; size <= sizeof in; size++) {
        struct block_ack ack;
        int verdict = (int)block_ack_decode(in + sizeof in - size, size, &ack);
        int expected = size < sizeof ack_bytes ? SHORT : size > sizeof ack_bytes ? MALFORMED : OK;
        ck_assert_msg(verdict == expected, "size %zu: %d", size, verdict);
    }
}

/* 65,535 intervals need 262,144 bytes of bounds: more than any UDP datagram, but no special case.
 */
TEST(block_ack_decode__most_intervals)
{
    size_t size = 65536u * ACK_BOUND_BYTES + TRAILER_BYTES;
    uint8_t *in = malloc(size);
    ck_assert_ptr_nonnull(in);
    for (uint32_t b = 0; b < 65536; b++)
        ack_bound_encode(in + b * ACK_BOUND_BYTES, b + 3);
    struct block_ack ack = {.pairing = pairing, .newest = 65537, .length = 65535, .bounds = in};
    ck_assert_uint_eq(block_ack_encode(in, size, &ack), size);
    ck_assert_int_eq((int)block_ack_decode(in, size, &ack), OK);
    ck_assert_uint_eq(ack_bound(&ack, 65535), 65538);
    free(in);
}
