#include "control_rig.h"

#include <signal.h>
#include <string.h>

/* Request to send */

static const uint8_t request_bytes[] = {
    0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, /* first, count */
    0x09, 0x0a, 0x0b, 0x0c, 0x0d, 0x0e, 0x0f, 0x10, /* size */
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, /* first, second */
    0x1d, 0x1e, 0x1f, 0x20, 0x00, 0x01, 0x00, 0x00, /* capacity, length, reserved */
    0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x00, 0x14, /* session, tag, flags, type */
};

static const struct request_run run = {
    .first = 0x01020304,
    .count = 0x05060708,
    .size = UINT64_C(0x090a0b0c0d0e0f10),
};

START_TEST(request_encode__each_field_in_its_place)
{
    uint8_t out[sizeof request_bytes];
    request_run_encode(out, &run);
    struct request request = {.pairing = pairing, .capacity = 0x1d1e1f20, .length = 1, .runs = out};
    ck_assert_uint_eq(request_encode(out, sizeof out, &request), sizeof request_bytes);
    ck_assert_mem_eq(out, request_bytes, sizeof out);
}
END_TEST

START_TEST(request_encode__no_room)
{
    uint8_t out[CONTROL_TRAILER_BYTES - 1];
    struct request request = {.pairing = pairing};
    (void)request_encode(out, sizeof out, &request);
}
END_TEST

START_TEST(request_decode__each_field_from_its_place)
{
    struct request request;
    ck_assert_int_eq((int)request_decode(request_bytes, sizeof request_bytes, &request), OK);
    ck_assert_uint_eq(request.pairing.session, pairing.session);
    ck_assert_uint_eq(request.pairing.tag, pairing.tag);
    ck_assert_uint_eq(request.capacity, 0x1d1e1f20);
    ck_assert_uint_eq(request.length, 1);
    struct request_run decoded = request_run(&request, 0);
    ck_assert_uint_eq(decoded.first, run.first);
    ck_assert_uint_eq(decoded.count, run.count);
    ck_assert_uint_eq(decoded.size, run.size);
}
END_TEST

START_TEST(request_run__of_several)
{
    uint8_t out[3 * REQUEST_RUN_BYTES + CONTROL_TRAILER_BYTES];
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
END_TEST

/* One byte of a good datagram is set; offsets count from its beginning. */
struct change {
    size_t at;
    uint8_t value;
    int verdict;
};

static const struct change request_changes[] = {
    /*  0 as it is          */ {39, 0x14, OK},
    /*  1 a smaller count   */ {4, 0x00, OK},
    /*  2 first             */ {16, 0x80, MALFORMED},
    /*  3 first             */ {19, 0x01, MALFORMED},
    /*  4 second            */ {20, 0x80, MALFORMED},
    /*  5 second            */ {23, 0x01, MALFORMED},
    /*  6 no run, but body  */ {29, 0x00, MALFORMED},
    /*  7 one run more      */ {29, 0x02, SHORT},
    /*  8 256 runs more     */ {28, 0x01, SHORT},
    /*  9 reserved          */ {30, 0x01, MALFORMED},
    /* 10 reserved          */ {31, 0x01, MALFORMED},
    /* 11 closing           */ {38, FLAG_CLOSING, MALFORMED},
    /* 12 another flag      */ {38, FLAG_HAS_NEXT, MALFORMED},
    /* 13 an ack            */ {39, 0x12, TYPE},
    /* 14 a hello           */ {39, 0x15, TYPE},
    /* 15 another version   */ {39, 0x24, VERSION},
};

START_TEST(request_decode__rules)
{
    uint8_t in[sizeof request_bytes];
    memcpy(in, request_bytes, sizeof in);
    in[request_changes[_i].at] = request_changes[_i].value;
    struct request request;
    int verdict = (int)request_decode(in, sizeof in, &request);
    ck_assert_msg(verdict == request_changes[_i].verdict, "row %d: %d", _i, verdict);
}
END_TEST

/* A run of bytes at `at` is zeroed: count, session, tag. */
static const struct {
    size_t at, count;
    int verdict;
} request_zeros[] = {
    /* 0 first   */ {0, 4, OK},
    /* 1 count   */ {4, 4, MALFORMED},
    /* 2 size    */ {8, 8, OK},
    /* 3 session */ {32, 4, MALFORMED},
    /* 4 tag     */ {36, 2, OK},
};

START_TEST(request_decode__zeros)
{
    uint8_t in[sizeof request_bytes];
    memcpy(in, request_bytes, sizeof in);
    memset(in + request_zeros[_i].at, 0, request_zeros[_i].count);
    struct request request;
    int verdict = (int)request_decode(in, sizeof in, &request);
    ck_assert_msg(verdict == request_zeros[_i].verdict, "row %d: %d", _i, verdict);
}
END_TEST

START_TEST(request_decode__empty)
{
    uint8_t in[CONTROL_TRAILER_BYTES];
    struct request request = {.pairing = {.session = 1}};
    ck_assert_uint_eq(request_encode(in, sizeof in, &request), sizeof in);
    ck_assert_int_eq((int)request_decode(in, sizeof in, &request), OK);
    ck_assert_uint_eq(request.length, 0);
    for (size_t size = 0; size < sizeof in; size++)
        ck_assert_int_eq((int)request_decode(in + sizeof in - size, size, &request), SHORT);
}
END_TEST

/* Hello */

static const uint8_t hello_bytes[] = {
    0x01, 0x02, 0x03, 0x04, 0x00, 0x00, 0x00, 0x00, /* requested, second */
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, /* capacity, length, reserved */
    0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x00, 0x15, /* session, tag, flags, type */
};

START_TEST(hello_encode__each_field_in_its_place)
{
    uint8_t out[CONTROL_TRAILER_BYTES];
    struct hello hello = {.pairing = pairing, .requested = 0x01020304};
    ck_assert_uint_eq(hello_encode(out, sizeof out, &hello), sizeof hello_bytes);
    ck_assert_mem_eq(out, hello_bytes, sizeof hello_bytes);
}
END_TEST

START_TEST(hello_decode__each_field_from_its_place)
{
    struct hello hello;
    ck_assert_int_eq((int)hello_decode(hello_bytes, sizeof hello_bytes, &hello), OK);
    ck_assert_uint_eq(hello.pairing.session, pairing.session);
    ck_assert_uint_eq(hello.pairing.tag, pairing.tag);
    ck_assert_uint_eq(hello.requested, 0x01020304);
    ck_assert(!hello.is_closing);
}
END_TEST

static const struct change hello_changes[] = {
    /*  0 as it is        */ {23, 0x15, OK},
    /*  1 closing         */ {22, FLAG_CLOSING, OK},
    /*  2 another flag    */ {22, FLAG_IS_LAST, MALFORMED},
    /*  3 two flags       */ {22, FLAG_CLOSING | FLAG_IS_LAST, MALFORMED},
    /*  4 second          */ {4, 0x80, MALFORMED},
    /*  5 second          */ {7, 0x01, MALFORMED},
    /*  6 capacity        */ {8, 0x80, MALFORMED},
    /*  7 capacity        */ {11, 0x01, MALFORMED},
    /*  8 length          */ {12, 0x80, MALFORMED},
    /*  9 length          */ {13, 0x01, MALFORMED},
    /* 10 reserved        */ {14, 0x80, MALFORMED},
    /* 11 reserved        */ {15, 0x01, MALFORMED},
    /* 12 a request       */ {23, 0x14, TYPE},
    /* 13 unknown type    */ {23, 0x16, TYPE},
    /* 14 another version */ {23, 0x05, VERSION},
};

START_TEST(hello_decode__rules)
{
    uint8_t in[sizeof hello_bytes];
    memcpy(in, hello_bytes, sizeof in);
    in[hello_changes[_i].at] = hello_changes[_i].value;
    struct hello hello;
    int verdict = (int)hello_decode(in, sizeof in, &hello);
    ck_assert_msg(verdict == hello_changes[_i].verdict, "row %d: %d", _i, verdict);
}
END_TEST

START_TEST(hello_decode__session_may_be_unknown_tag_may_not)
{
    uint8_t in[CONTROL_TRAILER_BYTES];
    struct hello hello = {.pairing = {.session = 0, .tag = 1}, .is_closing = true};
    size_t size = hello_encode(in, sizeof in, &hello);
    ck_assert_int_eq((int)hello_decode(in, size, &hello), OK);
    ck_assert(hello.is_closing);
    hello.pairing = (struct pairing){.session = 1, .tag = 0};
    size = hello_encode(in, sizeof in, &hello);
    ck_assert_int_eq((int)hello_decode(in, size, &hello), MALFORMED);
}
END_TEST

START_TEST(hello_decode__exact_size)
{
    uint8_t in[CONTROL_TRAILER_BYTES + 8] = {0};
    memcpy(in + 8, hello_bytes, sizeof hello_bytes);
    for (size_t size = 0; size <= sizeof in; size++) {
        struct hello hello;
        int verdict = (int)hello_decode(in + sizeof in - size, size, &hello);
        int expected = size < sizeof hello_bytes   ? SHORT
                       : size > sizeof hello_bytes ? MALFORMED
                                                   : OK;
        ck_assert_msg(verdict == expected, "size %zu: %d", size, verdict);
    }
}
END_TEST

static TCase *request_case(void)
{
    TCase *tc = tcase_create("request to send");
    tcase_add_test(tc, request_encode__each_field_in_its_place);
    tcase_add_test_raise_signal(tc, request_encode__no_room, SIGABRT);
    tcase_add_test(tc, request_decode__each_field_from_its_place);
    tcase_add_test(tc, request_run__of_several);
    tcase_add_loop_test(tc, request_decode__rules, 0, ROWS(request_changes));
    tcase_add_loop_test(tc, request_decode__zeros, 0, ROWS(request_zeros));
    tcase_add_test(tc, request_decode__empty);
    return tc;
}

static TCase *hello_case(void)
{
    TCase *tc = tcase_create("hello");
    tcase_add_test(tc, hello_encode__each_field_in_its_place);
    tcase_add_test(tc, hello_decode__each_field_from_its_place);
    tcase_add_loop_test(tc, hello_decode__rules, 0, ROWS(hello_changes));
    tcase_add_test(tc, hello_decode__session_may_be_unknown_tag_may_not);
    tcase_add_test(tc, hello_decode__exact_size);
    return tc;
}

int main(void)
{
    Suite *s = suite_create("control");
    suite_add_tcase(s, request_case());
    suite_add_tcase(s, hello_case());
    return suite_run_all(s);
}
