#include "control_rig.h"

#include <signal.h>
#include <string.h>

/* Cookie */

static const uint8_t cookie_bytes[] = {
    0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, /* nonce */
    0x09, 0x0a, 0x0b, 0x0c, 0x0d, 0x0e, 0x0f, 0x10, /* cookie */
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x11, 0x12, /* reserved, session */
    0x13, 0x14, 0x15, 0x16, 0x17, 0x18, 0x00, 0x28, /* session, tag, flags, type */
};

static const struct cookie_answer cookie = {
    .pairing = {.session = 0x11121314, .tag = 0x15161718},
    .nonce = UINT64_C(0x0102030405060708),
    .cookie = UINT64_C(0x090a0b0c0d0e0f10),
};

TEST(cookie_answer_encode__each_field_in_its_place)
{
    uint8_t out[TRAILER_BYTES];
    memset(out, 0xee, sizeof out);
    ck_assert_uint_eq(cookie_answer_encode(out, sizeof out, &cookie), sizeof out);
    ck_assert_mem_eq(out, cookie_bytes, sizeof out);
}

TEST(cookie_answer_encode__no_room, .signal = SIGABRT)
{
    uint8_t out[TRAILER_BYTES - 1];
    (void)cookie_answer_encode(out, sizeof out, &cookie);
}

TEST(cookie_answer_decode__each_field_from_its_place)
{
    struct cookie_answer answer;
    ck_assert_int_eq((int)cookie_answer_decode(cookie_bytes, sizeof cookie_bytes, &answer), OK);
    ck_assert_uint_eq(answer.pairing.session, pairing.session);
    ck_assert_uint_eq(answer.pairing.tag, pairing.tag);
    ck_assert_uint_eq(answer.nonce, cookie.nonce);
    ck_assert_uint_eq(answer.cookie, cookie.cookie);
}

static const struct change cookie_changes[] = {
    /*  0 as it is            */ {31, 0x28, OK},
    /*  1 first reserved byte */ {16, 0x80, MALFORMED},
    /*  2 last                */ {21, 0x01, MALFORMED},
    /*  3 closing             */ {30, FLAG_CLOSING, MALFORMED},
    /*  4 another flag        */ {30, 0x80, MALFORMED},
    /*  5 a hello             */ {31, 0x25, TYPE},
    /*  6 a path answer       */ {31, 0x27, TYPE},
    /*  7 reserved for keys   */ {31, 0x29, TYPE},
    /*  8 an offer            */ {31, 0x2a, TYPE},
    /*  9 another version     */ {31, 0x18, VERSION},
};

TEST(cookie_answer_decode__rules, .rows = ROWS(cookie_changes))
{
    uint8_t in[sizeof cookie_bytes];
    struct cookie_answer answer;
    control_rig_change(in, cookie_bytes, sizeof in, &cookie_changes[_i]);
    int verdict = (int)cookie_answer_decode(in, sizeof in, &answer);
    ck_assert_msg(verdict == cookie_changes[_i].verdict, "row %d: %d", _i, verdict);
}

static const struct {
    uint64_t nonce, cookie;
    uint32_t session, tag;
    int verdict;
} cookies[] = {
    /* 0 the lowest    */ {1, 1, 1, 1, OK},
    /* 1 of no session */ {1, 1, 0, 1, OK},
    /* 2 of no tag     */ {1, 1, 1, 0, MALFORMED},
    /* 3 no nonce      */ {0, 1, 1, 1, MALFORMED},
    /* 4 no cookie     */ {1, 0, 1, 1, MALFORMED},
};

TEST(cookie_answer_decode__numbers, .rows = ROWS(cookies))
{
    uint8_t in[TRAILER_BYTES];
    struct cookie_answer answer = {
        .pairing = {.session = cookies[_i].session, .tag = cookies[_i].tag},
        .nonce = cookies[_i].nonce,
        .cookie = cookies[_i].cookie,
    };
    size_t size = cookie_answer_encode(in, sizeof in, &answer);
    int verdict = (int)cookie_answer_decode(in, size, &answer);
    ck_assert_msg(verdict == cookies[_i].verdict, "row %d: %d", _i, verdict);
}

TEST(cookie_answer_decode__exact_size)
{
    uint8_t in[TRAILER_BYTES + 8] = {0};
    memcpy(in + 8, cookie_bytes, sizeof cookie_bytes);
    for (size_t size = 0; size <= sizeof in; size++) {
        struct cookie_answer answer;
        int verdict = (int)cookie_answer_decode(in + sizeof in - size, size, &answer);
        int expected = size < TRAILER_BYTES ? SHORT : size > TRAILER_BYTES ? MALFORMED : OK;
        ck_assert_msg(verdict == expected, "size %zu: %d", size, verdict);
    }
}

/* Offer */

static const uint8_t offer_bytes[] = {
    0x00, 0x00, 0x00, 0x03, 0x04, 0x05, 0x06, 0x07, /* size */
    0x09, 0x0a, 0x0b, 0x0c, 0x00, 0x00, 0x00, 0x00, /* message, reserved */
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x11, 0x12, /* reserved, session */
    0x13, 0x14, 0x15, 0x16, 0x17, 0x18, 0x00, 0x2a, /* session, tag, flags, type */
};

static const struct offer offer = {
    .pairing = {.session = 0x11121314, .tag = 0x15161718},
    .message = 0x090a0b0c,
    .size = UINT64_C(0x0304050607),
};

TEST(offer_encode__each_field_in_its_place)
{
    uint8_t out[TRAILER_BYTES];
    memset(out, 0xee, sizeof out);
    ck_assert_uint_eq(offer_encode(out, sizeof out, &offer), sizeof out);
    ck_assert_mem_eq(out, offer_bytes, sizeof out);
}

TEST(offer_encode__no_room, .signal = SIGABRT)
{
    uint8_t out[TRAILER_BYTES - 1];
    (void)offer_encode(out, sizeof out, &offer);
}

TEST(offer_decode__each_field_from_its_place)
{
    struct offer decoded;
    ck_assert_int_eq((int)offer_decode(offer_bytes, sizeof offer_bytes, &decoded), OK);
    ck_assert_uint_eq(decoded.pairing.session, pairing.session);
    ck_assert_uint_eq(decoded.pairing.tag, pairing.tag);
    ck_assert_uint_eq(decoded.message, offer.message);
    ck_assert_uint_eq(decoded.size, offer.size);
}

static const struct change offer_changes[] = {
    /*  0 as it is            */ {31, 0x2a, OK},
    /*  1 below 2^37          */ {3, 0x1f, OK},
    /*  2 above               */ {3, 0x20, MALFORMED},
    /*  3 far above           */ {0, 0x80, MALFORMED},
    /*  4 first reserved byte */ {12, 0x80, MALFORMED},
    /*  5 last                */ {21, 0x01, MALFORMED},
    /*  6 asks for an answer  */ {30, FLAG_ANSWER, MALFORMED},
    /*  7 closing             */ {30, FLAG_CLOSING, MALFORMED},
    /*  8 another flag        */ {30, 0x80, MALFORMED},
    /*  9 a hello             */ {31, 0x25, TYPE},
    /* 10 a cookie            */ {31, 0x28, TYPE},
    /* 11 reserved for keys   */ {31, 0x29, TYPE},
    /* 12 another version     */ {31, 0x1a, VERSION},
};

TEST(offer_decode__rules, .rows = ROWS(offer_changes))
{
    uint8_t in[sizeof offer_bytes];
    struct offer decoded;
    control_rig_change(in, offer_bytes, sizeof in, &offer_changes[_i]);
    int verdict = (int)offer_decode(in, sizeof in, &decoded);
    ck_assert_msg(verdict == offer_changes[_i].verdict, "row %d: %d", _i, verdict);
}

static const struct {
    uint64_t size;
    uint32_t message, session, tag;
    int verdict;
} offers[] = {
    /* 0 an empty message     */ {0, 0, 1, 1, OK},
    /* 1 the largest          */ {MESSAGE_BYTES_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX, OK},
    /* 2 larger by a byte     */ {MESSAGE_BYTES_MAX + 1, 0, 1, 1, MALFORMED},
    /* 3 the largest of bytes */ {UINT64_MAX, 0, 1, 1, MALFORMED},
    /* 4 of no session        */ {1, 0, 0, 1, MALFORMED},
    /* 5 of no tag            */ {1, 0, 1, 0, MALFORMED},
};

TEST(offer_decode__numbers, .rows = ROWS(offers))
{
    uint8_t in[TRAILER_BYTES];
    struct offer decoded = {
        .pairing = {.session = offers[_i].session, .tag = offers[_i].tag},
        .message = offers[_i].message,
        .size = offers[_i].size,
    };
    size_t size = offer_encode(in, sizeof in, &decoded);
    int verdict = (int)offer_decode(in, size, &decoded);
    ck_assert_msg(verdict == offers[_i].verdict, "row %d: %d", _i, verdict);
}

TEST(offer_decode__exact_size)
{
    uint8_t in[TRAILER_BYTES + 8] = {0};
    memcpy(in + 8, offer_bytes, sizeof offer_bytes);
    for (size_t size = 0; size <= sizeof in; size++) {
        struct offer decoded;
        int verdict = (int)offer_decode(in + sizeof in - size, size, &decoded);
        int expected = size < TRAILER_BYTES ? SHORT : size > TRAILER_BYTES ? MALFORMED : OK;
        ck_assert_msg(verdict == expected, "size %zu: %d", size, verdict);
    }
}

/* Version answer */

static const uint8_t version_bytes[VERSION_ANSWER_BYTES] = {
    0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18, 0x00, 0x2f, /* session, tag, flags, type */
};

TEST(version_answer_encode__each_field_in_its_place)
{
    uint8_t out[VERSION_ANSWER_BYTES];
    version_answer_encode(out, pairing);
    ck_assert_mem_eq(out, version_bytes, sizeof out);
}

TEST(version_answer_decode__of_each_version, .rows = 16)
{
    uint8_t in[VERSION_ANSWER_BYTES];
    struct pairing echoed;
    uint8_t version;
    memcpy(in, version_bytes, sizeof in);
    in[9] = (uint8_t)(_i << 4 | 15);
    ck_assert(version_answer_decode(in, sizeof in, &echoed, &version));
    ck_assert_uint_eq(echoed.session, pairing.session);
    ck_assert_uint_eq(echoed.tag, pairing.tag);
    ck_assert_int_eq(version, _i);
}

static const struct {
    size_t at;
    uint8_t value;
    bool is_answer;
} version_changes[] = {
    /* 0 as it is       */ {9, 0x2f, true},
    /* 1 type 14        */ {9, 0x3e, false},
    /* 2 type 5         */ {9, 0x15, false},
    /* 3 type 0         */ {9, 0x30, false},
    /* 4 flag 1         */ {8, 0x01, false},
    /* 5 flag 128       */ {8, 0x80, false},
    /* 6 flag of a close */ {8, FLAG_CLOSING, false},
};

TEST(version_answer_decode__rules, .rows = ROWS(version_changes))
{
    uint8_t in[VERSION_ANSWER_BYTES];
    struct pairing echoed;
    uint8_t version;
    memcpy(in, version_bytes, sizeof in);
    in[version_changes[_i].at] = version_changes[_i].value;
    ck_assert(version_answer_decode(in, sizeof in, &echoed, &version) ==
              version_changes[_i].is_answer);
}

TEST(version_answer_decode__session_may_be_unknown_tag_may_not)
{
    uint8_t in[VERSION_ANSWER_BYTES];
    struct pairing echoed;
    uint8_t version;
    version_answer_encode(in, (struct pairing){.session = 0, .tag = 1});
    ck_assert(version_answer_decode(in, sizeof in, &echoed, &version));
    version_answer_encode(in, (struct pairing){.session = 1, .tag = 0});
    ck_assert(!version_answer_decode(in, sizeof in, &echoed, &version));
}

TEST(version_answer_decode__exact_size)
{
    struct pairing echoed;
    uint8_t version;
    for (size_t size = 0; size <= 2 * TRAILER_BYTES; size++) {
        const uint8_t *in = size == VERSION_ANSWER_BYTES ? version_bytes : NULL;
        ck_assert(version_answer_decode(in, size, &echoed, &version) ==
                  (size == VERSION_ANSWER_BYTES));
    }
}
