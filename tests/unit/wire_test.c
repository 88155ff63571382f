#include "core/wire.h"

#include "../support/suite.h"

START_TEST(wire_read__big_endian)
{
    const uint8_t in[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    struct wire_reader r;
    wire_reader_init(&r, in, sizeof in);
    ck_assert_uint_eq(wire_read_u8(&r), 0x01);
    ck_assert_uint_eq(wire_read_u16(&r), 0x0203);
    ck_assert_uint_eq(wire_read_u32(&r), 0x04050607);
    ck_assert_uint_eq(wire_read_u64(&r), UINT64_C(0x08090a0b0c0d0e0f));
    ck_assert(!r.bad);
    ck_assert_ptr_eq(r.p, in + sizeof in);
}
END_TEST

START_TEST(wire_read__highest_values)
{
    uint8_t in[15];
    memset(in, 0xff, sizeof in);
    struct wire_reader r;
    wire_reader_init(&r, in, sizeof in);
    ck_assert_uint_eq(wire_read_u8(&r), UINT8_MAX);
    ck_assert_uint_eq(wire_read_u16(&r), UINT16_MAX);
    ck_assert_uint_eq(wire_read_u32(&r), UINT32_MAX);
    ck_assert_uint_eq(wire_read_u64(&r), UINT64_MAX);
    ck_assert(!r.bad);
}
END_TEST

/* Reads a number of `bytes` bytes. */
static uint64_t read_number(struct wire_reader *r, int bytes)
{
    switch (bytes) {
    case 1:
        return wire_read_u8(r);
    case 2:
        return wire_read_u16(r);
    case 4:
        return wire_read_u32(r);
    default:
        return wire_read_u64(r);
    }
}

static const struct {
    size_t room;
    int bytes;
    bool bad;
} ends[] = {
    /* 0 */ {0, 1, true},
    /* 1 */ {1, 1, false},
    /* 2 */ {1, 2, true},
    /* 3 */ {2, 2, false},
    /* 4 */ {3, 4, true},
    /* 5 */ {4, 4, false},
    /* 6 */ {7, 8, true},
    /* 7 */ {8, 8, false},
};

START_TEST(wire_read__at_the_end)
{
    const uint8_t in[8] = {255, 255, 255, 255, 255, 255, 255, 255};
    struct wire_reader r;
    wire_reader_init(&r, in, ends[_i].room);
    uint64_t value = read_number(&r, ends[_i].bytes);
    ck_assert_msg(r.bad == ends[_i].bad, "row %d", _i);
    ck_assert_msg((value == 0) == ends[_i].bad, "row %d", _i);
    ck_assert_msg((r.p == in) == ends[_i].bad, "row %d: a failed read moves nothing", _i);
}
END_TEST

START_TEST(wire_read__bad_stays_bad)
{
    const uint8_t in[] = {1, 2, 3};
    struct wire_reader r;
    wire_reader_init(&r, in, sizeof in);
    ck_assert_uint_eq(wire_read_u32(&r), 0);
    ck_assert_uint_eq(wire_read_u8(&r), 0);
    ck_assert_ptr_null(wire_read_bytes(&r, 0));
    ck_assert(r.bad);
    ck_assert_ptr_eq(r.p, in);
}
END_TEST

START_TEST(wire_read_bytes__borrows)
{
    const uint8_t in[] = {1, 2, 3, 4};
    struct wire_reader r;
    wire_reader_init(&r, in, sizeof in);
    ck_assert_ptr_eq(wire_read_bytes(&r, 3), in);
    ck_assert_ptr_eq(wire_read_bytes(&r, 0), in + 3);
    ck_assert_ptr_null(wire_read_bytes(&r, SIZE_MAX));
    ck_assert(r.bad);
}
END_TEST

START_TEST(wire_write__big_endian)
{
    const uint8_t expected[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17};
    uint8_t out[sizeof expected];
    struct wire_writer w;
    wire_writer_init(&w, out, sizeof out);
    wire_write_u8(&w, 0x01);
    wire_write_u16(&w, 0x0203);
    wire_write_u32(&w, 0x04050607);
    wire_write_u64(&w, UINT64_C(0x08090a0b0c0d0e0f));
    wire_write_bytes(&w, expected + 15, 2);
    ck_assert(!w.bad);
    ck_assert_ptr_eq(w.p, out + sizeof out);
    ck_assert_mem_eq(out, expected, sizeof out);
}
END_TEST

/* Writes a number of `bytes` bytes. */
static void write_number(struct wire_writer *w, int bytes)
{
    switch (bytes) {
    case 1:
        wire_write_u8(w, UINT8_MAX);
        break;
    case 2:
        wire_write_u16(w, UINT16_MAX);
        break;
    case 4:
        wire_write_u32(w, UINT32_MAX);
        break;
    default:
        wire_write_u64(w, UINT64_MAX);
        break;
    }
}

START_TEST(wire_write__at_the_end)
{
    const uint8_t untouched[9] = {0};
    uint8_t out[9] = {0};
    struct wire_writer w;
    wire_writer_init(&w, out, ends[_i].room);
    write_number(&w, ends[_i].bytes);
    size_t written = ends[_i].bad ? 0 : (size_t)ends[_i].bytes;
    ck_assert_msg(w.bad == ends[_i].bad, "row %d", _i);
    ck_assert_msg(w.p == out + written, "row %d", _i);
    ck_assert_mem_eq(out + written, untouched, sizeof out - written);
}
END_TEST

START_TEST(wire_write__bad_stays_bad)
{
    uint8_t out[3] = {7, 7, 7};
    const uint8_t untouched[3] = {7, 7, 7};
    struct wire_writer w;
    wire_writer_init(&w, out, sizeof out);
    wire_write_u32(&w, 1);
    wire_write_u8(&w, 1);
    wire_write_bytes(&w, untouched, 2);
    ck_assert_ptr_null(wire_write_room(&w, 0));
    ck_assert(w.bad);
    ck_assert_mem_eq(out, untouched, sizeof out);
}
END_TEST

START_TEST(wire_write_bytes__of_its_own_memory)
{
    uint8_t out[6] = {1, 2, 3, 4, 5, 6};
    const uint8_t moved[6] = {2, 3, 4, 5, 5, 6};
    struct wire_writer w;
    wire_writer_init(&w, out, sizeof out);
    wire_write_bytes(&w, out + 1, 4);
    ck_assert(!w.bad);
    ck_assert_mem_eq(out, moved, sizeof out);
}
END_TEST

START_TEST(wire_write_bytes__nothing_from_nowhere)
{
    uint8_t out[1];
    struct wire_writer w;
    wire_writer_init(&w, out, 0);
    wire_write_bytes(&w, NULL, 0);
    ck_assert(!w.bad);
}
END_TEST

static TCase *wire_case(void)
{
    TCase *tc = tcase_create("wire");
    int rows = (int)(sizeof ends / sizeof ends[0]);
    tcase_add_test(tc, wire_read__big_endian);
    tcase_add_test(tc, wire_read__highest_values);
    tcase_add_loop_test(tc, wire_read__at_the_end, 0, rows);
    tcase_add_test(tc, wire_read__bad_stays_bad);
    tcase_add_test(tc, wire_read_bytes__borrows);
    tcase_add_test(tc, wire_write__big_endian);
    tcase_add_loop_test(tc, wire_write__at_the_end, 0, rows);
    tcase_add_test(tc, wire_write__bad_stays_bad);
    tcase_add_test(tc, wire_write_bytes__of_its_own_memory);
    tcase_add_test(tc, wire_write_bytes__nothing_from_nowhere);
    return tc;
}

int main(void)
{
    return suite_run("wire", wire_case());
}
