#include "core/wire/control.h"

#include "control_rig.h"

/* A probe of three bytes of padding. */
static const uint8_t probe_bytes[] = {
    0xa5, 0xff, 0x00,                               /* padding */
    0x01, 0x02, 0x03, 0x04, 0x00, 0x00, 0x00, 0x00, /* number, reserved */
    0x00, 0x00, 0x00, 0x00, 0x00, 0x03, 0x00, 0x00, /* reserved, length, reserved */
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x11, 0x12, /* reserved, session */
    0x13, 0x14, 0x15, 0x16, 0x17, 0x18, 0x00, 0x26, /* session, tag, flags, type */
};

static const uint8_t answer_bytes[] = {
    0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, /* number, size */
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, /* reserved */
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x11, 0x12, /* reserved, session */
    0x13, 0x14, 0x15, 0x16, 0x17, 0x18, 0x00, 0x27, /* session, tag, flags, type */
};

enum { PADDING = sizeof probe_bytes - TRAILER_BYTES };

/* Probe */

TEST(path_probe_encode__each_field_in_its_place)
{
    const struct path_probe probe = {
        .pairing = pairing, .number = 0x01020304, .bytes = sizeof probe_bytes};
    uint8_t out[TRAILER_BYTES];
    memset(out, 0xee, sizeof out);
    path_probe_encode(out, &probe);
    ck_assert_mem_eq(out, probe_bytes + PADDING, sizeof out);
}

TEST(path_probe_decode__each_field_from_its_place)
{
    struct path_probe probe;
    int verdict = (int)path_probe_decode(probe_bytes + PADDING, sizeof probe_bytes, &probe);
    ck_assert_int_eq(verdict, OK);
    ck_assert_uint_eq(probe.pairing.session, pairing.session);
    ck_assert_uint_eq(probe.pairing.tag, pairing.tag);
    ck_assert_uint_eq(probe.number, 0x01020304);
    ck_assert_uint_eq(probe.bytes, sizeof probe_bytes);
}

/* Offsets are of the trailer. */
static const struct change probe_changes[] = {
    /*  0 as it is        */ {31, 0x26, OK},
    /*  1 less padding    */ {13, 0x02, MALFORMED},
    /*  2 more padding    */ {13, 0x04, SHORT},
    /*  3 much more       */ {12, 0x80, SHORT},
    /*  4 first reserved  */ {4, 0x80, MALFORMED},
    /*  5 first reserved  */ {7, 0x01, MALFORMED},
    /*  6 second reserved */ {8, 0x80, MALFORMED},
    /*  7 second reserved */ {11, 0x01, MALFORMED},
    /*  8 third reserved  */ {14, 0x80, MALFORMED},
    /*  9 third reserved  */ {21, 0x01, MALFORMED},
    /* 10 a flag          */ {30, FLAG_CLOSING, MALFORMED},
    /* 11 an answer       */ {31, 0x27, TYPE},
    /* 12 a hello         */ {31, 0x25, TYPE},
    /* 13 another version */ {31, 0x16, VERSION},
};

TEST(path_probe_decode__rules, .rows = ROWS(probe_changes))
{
    uint8_t in[TRAILER_BYTES];
    struct path_probe probe;
    control_rig_change(in, probe_bytes + PADDING, sizeof in, &probe_changes[_i]);
    int verdict = (int)path_probe_decode(in, sizeof probe_bytes, &probe);
    ck_assert_msg(verdict == probe_changes[_i].verdict, "row %d: %d", _i, verdict);
}

TEST(path_probe_decode__too_short_is_not_touched)
{
    struct path_probe probe;
    for (size_t bytes = 0; bytes < TRAILER_BYTES; bytes++)
        ck_assert_int_eq((int)path_probe_decode(NULL, bytes, &probe), SHORT);
}

static const uint32_t sizes[] = {32, 33, 288, 1216, 65535, 65567};

TEST(path_probe__of_any_size, .rows = ROWS(sizes))
{
    struct path_probe probe = {.pairing = pairing, .bytes = sizes[_i]};
    uint8_t trailer[TRAILER_BYTES];
    path_probe_encode(trailer, &probe);
    ck_assert_int_eq((int)path_probe_decode(trailer, sizes[_i], &probe), OK);
    ck_assert_uint_eq(probe.bytes, sizes[_i]);
    ck_assert_int_eq((int)path_probe_decode(trailer, sizes[_i] - 1, &probe), SHORT);
    ck_assert_int_eq((int)path_probe_decode(trailer, sizes[_i] + 1, &probe), MALFORMED);
}

/* Answer */

TEST(path_answer_encode__each_field_in_its_place)
{
    const struct path_probe probe = {.pairing = pairing, .number = 0x01020304, .bytes = 0x05060708};
    uint8_t out[TRAILER_BYTES];
    memset(out, 0xee, sizeof out);
    path_answer_encode(out, &probe);
    ck_assert_mem_eq(out, answer_bytes, sizeof out);
}

TEST(path_answer_decode__each_field_from_its_place)
{
    struct path_probe probe;
    ck_assert_int_eq((int)path_answer_decode(answer_bytes, sizeof answer_bytes, &probe), OK);
    ck_assert_uint_eq(probe.pairing.session, pairing.session);
    ck_assert_uint_eq(probe.pairing.tag, pairing.tag);
    ck_assert_uint_eq(probe.number, 0x01020304);
    ck_assert_uint_eq(probe.bytes, 0x05060708);
}

static const struct change answer_changes[] = {
    /* 0 as it is        */ {31, 0x27, OK},
    /* 1 reserved        */ {8, 0x80, MALFORMED},
    /* 2 reserved        */ {12, 0x80, MALFORMED},
    /* 3 reserved        */ {14, 0x01, MALFORMED},
    /* 4 reserved        */ {21, 0x01, MALFORMED},
    /* 5 a flag          */ {30, FLAG_ECN, MALFORMED},
    /* 6 a probe         */ {31, 0x26, TYPE},
    /* 7 a cookie        */ {31, 0x28, TYPE},
    /* 8 another version */ {31, 0x37, VERSION},
};

TEST(path_answer_decode__rules, .rows = ROWS(answer_changes))
{
    uint8_t in[TRAILER_BYTES];
    struct path_probe probe;
    control_rig_change(in, answer_bytes, sizeof in, &answer_changes[_i]);
    int verdict = (int)path_answer_decode(in, sizeof in, &probe);
    ck_assert_msg(verdict == answer_changes[_i].verdict, "row %d: %d", _i, verdict);
}

TEST(path_answer_decode__exact_size)
{
    uint8_t in[TRAILER_BYTES + 8] = {0};
    memcpy(in + 8, answer_bytes, sizeof answer_bytes);
    for (size_t size = 0; size <= sizeof in; size++) {
        struct path_probe probe;
        int verdict = (int)path_answer_decode(in + sizeof in - size, size, &probe);
        int expected = size < TRAILER_BYTES ? SHORT : size > TRAILER_BYTES ? MALFORMED : OK;
        ck_assert_msg(verdict == expected, "size %zu: %d", size, verdict);
    }
}

/* Both */

TEST(path_probe__neither_session_nor_tag_is_0, .rows = 2)
{
    struct path_probe probe = {.pairing = {.session = (uint32_t)_i, .tag = 1 - (uint32_t)_i},
                               .bytes = TRAILER_BYTES};
    uint8_t bytes[TRAILER_BYTES];
    path_probe_encode(bytes, &probe);
    ck_assert_int_eq((int)path_probe_decode(bytes, sizeof bytes, &probe), MALFORMED);
    path_answer_encode(bytes, &probe);
    ck_assert_int_eq((int)path_answer_decode(bytes, sizeof bytes, &probe), MALFORMED);
}
