#include "control_rig.h"

#include <signal.h>
#include <string.h>

/* Request to send */

static const uint8_t request_bytes[] = {
    0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, /* first, count */
    0x09, 0x0a, 0x0b, 0x0c, 0x0d, 0x0e, 0x0f, 0x10, /* size */
    0x21, 0x22, 0x23, 0x24, 0x25, 0x26, 0x27, 0x28, /* nonce */
    0x1d, 0x1e, 0x1f, 0x20, 0x00, 0x01, 0x00, 0x00, /* capacity, length, reserved */
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x11, 0x12, /* reserved, session */
    0x13, 0x14, 0x15, 0x16, 0x17, 0x18, 0x00, 0x24, /* session, tag, flags, type */
};

static const struct request_run run = {
    .first = 0x01020304,
    .count = 0x05060708,
    .size = UINT64_C(0x090a0b0c0d0e0f10),
};

TEST(request_encode__each_field_in_its_place)
{
    uint8_t out[sizeof request_bytes];
    request_run_encode(out, &run);
    struct request request = {.pairing = pairing,
                              .nonce = UINT64_C(0x2122232425262728),
                              .capacity = 0x1d1e1f20,
                              .length = 1,
                              .runs = out};
    ck_assert_uint_eq(request_encode(out, sizeof out, &request), sizeof request_bytes);
    ck_assert_mem_eq(out, request_bytes, sizeof out);
}

TEST(request_encode__no_room, .signal = SIGABRT)
{
    uint8_t out[TRAILER_BYTES - 1];
    struct request request = {.pairing = pairing};
    (void)request_encode(out, sizeof out, &request);
}

TEST(request_decode__each_field_from_its_place)
{
    struct request request;
    ck_assert_int_eq((int)request_decode(request_bytes, sizeof request_bytes, &request), OK);
    ck_assert_uint_eq(request.pairing.session, pairing.session);
    ck_assert_uint_eq(request.pairing.tag, pairing.tag);
    ck_assert_uint_eq(request.nonce, UINT64_C(0x2122232425262728));
    ck_assert_uint_eq(request.capacity, 0x1d1e1f20);
    ck_assert_uint_eq(request.length, 1);
    struct request_run decoded = request_run(&request, 0);
    ck_assert_uint_eq(decoded.first, run.first);
    ck_assert_uint_eq(decoded.count, run.count);
    ck_assert_uint_eq(decoded.size, run.size);
}

TEST(request_run__of_several)
{
    uint8_t out[3 * REQUEST_RUN_BYTES + TRAILER_BYTES];
    for (uint32_t i = 0; i < 3; i++) {
        const struct request_run r = {.first = i, .count = 1, .size = REQUEST_WITHDRAWN - i};
        request_run_encode(out + i * REQUEST_RUN_BYTES, &r);
    }
    struct request request = {.pairing = pairing, .length = 3, .runs = out};
    size_t size = request_encode(out, sizeof out, &request);
    ck_assert_int_eq((int)request_decode(out, size, &request), OK);
    for (uint32_t i = 0; i < 3; i++) {
        ck_assert_uint_eq(request_run(&request, i).first, i);
        ck_assert_uint_eq(request_run(&request, i).size, REQUEST_WITHDRAWN - i);
    }
}

static const struct change request_changes[] = {
    /*  0 as it is            */ {47, 0x24, OK},
    /*  1 a smaller count     */ {4, 0x00, OK},
    /*  2 another nonce       */ {16, 0x00, OK},
    /*  3 another nonce       */ {23, 0xff, OK},
    /*  4 no run, but body    */ {29, 0x00, MALFORMED},
    /*  5 one run more        */ {29, 0x02, SHORT},
    /*  6 256 runs more       */ {28, 0x01, SHORT},
    /*  7 first reserved byte */ {30, 0x80, MALFORMED},
    /*  8 second              */ {31, 0x01, MALFORMED},
    /*  9 third               */ {32, 0x01, MALFORMED},
    /* 10 last                */ {37, 0x01, MALFORMED},
    /* 11 closing             */ {46, FLAG_CLOSING, MALFORMED},
    /* 12 another flag        */ {46, FLAG_HAS_NEXT, MALFORMED},
    /* 13 wants an offer      */ {46, FLAG_ANSWER, OK},
    /* 14 that, and closing   */ {46, FLAG_ANSWER | FLAG_CLOSING, MALFORMED},
    /* 15 an ack              */ {47, 0x22, TYPE},
    /* 16 a hello             */ {47, 0x25, TYPE},
    /* 17 an offer            */ {47, 0x2a, TYPE},
    /* 18 another version     */ {47, 0x14, VERSION},
};

TEST(request_decode__rules, .rows = ROWS(request_changes))
{
    uint8_t in[sizeof request_bytes];
    struct request request;
    control_rig_change(in, request_bytes, sizeof in, &request_changes[_i]);
    int verdict = (int)request_decode(in, sizeof in, &request);
    ck_assert_msg(verdict == request_changes[_i].verdict, "row %d: %d", _i, verdict);
}

/* A run of bytes at `at` is zeroed. */
static const struct {
    size_t at, count;
    int verdict;
} request_zeros[] = {
    /* 0 first   */ {0, 4, OK},
    /* 1 count   */ {4, 4, MALFORMED},
    /* 2 size    */ {8, 8, OK},
    /* 3 nonce   */ {16, 8, OK},
    /* 4 session */ {38, 4, MALFORMED},
    /* 5 tag     */ {42, 4, MALFORMED},
};

/* The flag is the only one there is. */
TEST(request_decode__wants_an_offer, .rows = 2)
{
    uint8_t in[TRAILER_BYTES];
    struct request request = {.pairing = pairing, .wants_offer = _i == 1};
    ck_assert_uint_eq(request_encode(in, sizeof in, &request), sizeof in);
    ck_assert_uint_eq(in[TRAILER_BYTES - 2], _i == 1 ? FLAG_ANSWER : 0);
    request.wants_offer = _i == 0;
    ck_assert_int_eq((int)request_decode(in, sizeof in, &request), OK);
    ck_assert(request.wants_offer == (_i == 1));
}

TEST(request_decode__zeros, .rows = ROWS(request_zeros))
{
    uint8_t in[sizeof request_bytes];
    memcpy(in, request_bytes, sizeof in);
    memset(in + request_zeros[_i].at, 0, request_zeros[_i].count);
    struct request request;
    int verdict = (int)request_decode(in, sizeof in, &request);
    ck_assert_msg(verdict == request_zeros[_i].verdict, "row %d: %d", _i, verdict);
}

TEST(request_decode__empty)
{
    uint8_t in[TRAILER_BYTES];
    struct request request = {.pairing = {.session = 1, .tag = 1}};
    ck_assert_uint_eq(request_encode(in, sizeof in, &request), sizeof in);
    ck_assert_int_eq((int)request_decode(in, sizeof in, &request), OK);
    ck_assert_uint_eq(request.length, 0);
    for (size_t size = 0; size < sizeof in; size++)
        ck_assert_int_eq((int)request_decode(in + sizeof in - size, size, &request), SHORT);
}

/* Hello */

static const uint8_t asking_bytes[] = {
    0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, /* nonce */
    0x09, 0x0a, 0x0b, 0x0c, 0x0d, 0x0e, 0x0f, 0x10, /* cookie */
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x11, 0x12, /* requested, reserved, session */
    0x13, 0x14, 0x15, 0x16, 0x17, 0x18, 0x00, 0x25, /* session, tag, flags, type */
};

static const uint8_t paired_bytes[] = {
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, /* nonce */
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, /* cookie */
    0x01, 0x02, 0x03, 0x04, 0x00, 0x00, 0x11, 0x12, /* requested, reserved, session */
    0x13, 0x14, 0x15, 0x16, 0x17, 0x18, 0x00, 0x25, /* session, tag, flags, type */
};

static const struct hello asking = {
    .pairing = {.session = 0x11121314, .tag = 0x15161718},
    .nonce = UINT64_C(0x0102030405060708),
    .cookie = UINT64_C(0x090a0b0c0d0e0f10),
};

TEST(hello_encode__each_field_in_its_place)
{
    uint8_t out[TRAILER_BYTES];
    struct hello paired = {.pairing = pairing, .requested = 0x01020304};
    memset(out, 0xee, sizeof out);
    ck_assert_uint_eq(hello_encode(out, sizeof out, &asking), sizeof out);
    ck_assert_mem_eq(out, asking_bytes, sizeof out);
    memset(out, 0xee, sizeof out);
    ck_assert_uint_eq(hello_encode(out, sizeof out, &paired), sizeof out);
    ck_assert_mem_eq(out, paired_bytes, sizeof out);
}

TEST(hello_decode__each_field_from_its_place)
{
    struct hello hello;
    ck_assert_int_eq((int)hello_decode(asking_bytes, sizeof asking_bytes, &hello), OK);
    ck_assert_uint_eq(hello.pairing.session, pairing.session);
    ck_assert_uint_eq(hello.pairing.tag, pairing.tag);
    ck_assert_uint_eq(hello.nonce, asking.nonce);
    ck_assert_uint_eq(hello.cookie, asking.cookie);
    ck_assert_int_eq((int)hello_decode(paired_bytes, sizeof paired_bytes, &hello), OK);
    ck_assert_uint_eq(hello.nonce, 0);
    ck_assert_uint_eq(hello.requested, 0x01020304);
    ck_assert(!hello.is_closing);
}

static const struct change asking_changes[] = {
    /*  0 as it is           */ {31, 0x25, OK},
    /*  1 requested          */ {16, 0x80, MALFORMED},
    /*  2 requested          */ {19, 0x01, MALFORMED},
    /*  3 reserved           */ {20, 0x80, MALFORMED},
    /*  4 reserved           */ {21, 0x01, MALFORMED},
    /*  5 closing            */ {30, FLAG_CLOSING, MALFORMED},
    /*  6 both directions    */ {30, FLAG_HAS_NEXT, MALFORMED},
    /*  7 a request          */ {31, 0x24, TYPE},
    /*  8 a version answer   */ {31, 0x2f, TYPE},
    /*  9 another version    */ {31, 0x35, VERSION},
};

TEST(hello_decode__rules_of_asking, .rows = ROWS(asking_changes))
{
    uint8_t in[sizeof asking_bytes];
    struct hello hello;
    control_rig_change(in, asking_bytes, sizeof in, &asking_changes[_i]);
    int verdict = (int)hello_decode(in, sizeof in, &hello);
    ck_assert_msg(verdict == asking_changes[_i].verdict, "row %d: %d", _i, verdict);
}

static const struct change paired_changes[] = {
    /*  0 as it is        */ {31, 0x25, OK},
    /*  1 closing         */ {30, FLAG_CLOSING, OK},
    /*  2 another flag    */ {30, FLAG_IS_LAST, MALFORMED},
    /*  3 two flags       */ {30, FLAG_CLOSING | FLAG_IS_LAST, MALFORMED},
    /*  4 a nonce         */ {0, 0x80, MALFORMED},
    /*  5 a nonce         */ {7, 0x01, MALFORMED},
    /*  6 a cookie        */ {8, 0x80, MALFORMED},
    /*  7 a cookie        */ {15, 0x01, MALFORMED},
    /*  8 reserved        */ {20, 0x80, MALFORMED},
    /*  9 reserved        */ {21, 0x01, MALFORMED},
    /* 10 a request       */ {31, 0x24, TYPE},
    /* 11 another type    */ {31, 0x26, TYPE},
    /* 12 another version */ {31, 0x15, VERSION},
};

TEST(hello_decode__rules_of_pairing, .rows = ROWS(paired_changes))
{
    uint8_t in[sizeof paired_bytes];
    struct hello hello;
    control_rig_change(in, paired_bytes, sizeof in, &paired_changes[_i]);
    int verdict = (int)hello_decode(in, sizeof in, &hello);
    ck_assert_msg(verdict == paired_changes[_i].verdict, "row %d: %d", _i, verdict);
}

static const struct {
    uint64_t nonce, cookie;
    uint32_t session, tag;
    bool is_closing;
    int verdict;
} hellos[] = {
    /*  0 the first question      */ {1, 0, 0, 1, false, OK},
    /*  1 with a cookie           */ {1, 1, 0, 1, false, OK},
    /*  2 and a session           */ {1, 1, 1, 1, false, OK},
    /*  3 nonce of one high bit   */ {UINT64_C(1) << 63, 0, 0, 1, false, OK},
    /*  4 asks without a tag      */ {1, 1, 1, 0, false, MALFORMED},
    /*  5 asks and closes         */ {1, 1, 1, 1, true, MALFORMED},
    /*  6 within a pairing        */ {0, 0, 1, 1, false, OK},
    /*  7 closing                 */ {0, 0, 1, 1, true, OK},
    /*  8 of no session           */ {0, 0, 0, 1, false, MALFORMED},
    /*  9 of no session, closing  */ {0, 0, 0, 1, true, MALFORMED},
    /* 10 of no tag               */ {0, 0, 1, 0, false, MALFORMED},
    /* 11 a cookie, but no nonce  */ {0, 1, 1, 1, false, MALFORMED},
    /* 12 the same, of no session */ {0, 1, 0, 1, false, MALFORMED},
};

TEST(hello_decode__numbers, .rows = ROWS(hellos))
{
    uint8_t in[TRAILER_BYTES];
    struct hello hello = {
        .pairing = {.session = hellos[_i].session, .tag = hellos[_i].tag},
        .nonce = hellos[_i].nonce,
        .cookie = hellos[_i].cookie,
        .is_closing = hellos[_i].is_closing,
    };
    size_t size = hello_encode(in, sizeof in, &hello);
    int verdict = (int)hello_decode(in, size, &hello);
    ck_assert_msg(verdict == hellos[_i].verdict, "row %d: %d", _i, verdict);
    ck_assert(hello.is_closing == hellos[_i].is_closing);
}

TEST(hello_decode__exact_size)
{
    uint8_t in[TRAILER_BYTES + 8] = {0};
    memcpy(in + 8, asking_bytes, sizeof asking_bytes);
    for (size_t size = 0; size <= sizeof in; size++) {
        struct hello hello;
        int verdict = (int)hello_decode(in + sizeof in - size, size, &hello);
        int expected = size < TRAILER_BYTES ? SHORT : size > TRAILER_BYTES ? MALFORMED : OK;
        ck_assert_msg(verdict == expected, "size %zu: %d", size, verdict);
    }
}
