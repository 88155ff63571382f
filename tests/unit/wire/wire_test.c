#include "core/wire/wire.h"

#include "../../support/suite.h"

#include <string.h>

/* From an odd address, so that nothing is aligned. */
static const uint8_t bytes[] = {0, 1, 2, 3, 4, 5, 6, 7, 8};

TEST(wire_get__big_endian)
{
    ck_assert_uint_eq(wire_get_u16(bytes + 1), 0x0102);
    ck_assert_uint_eq(wire_get_u32(bytes + 1), 0x01020304);
    ck_assert_uint_eq(wire_get_u64(bytes + 1), UINT64_C(0x0102030405060708));
}

TEST(wire_get__highest_values)
{
    uint8_t in[8];
    memset(in, 0xff, sizeof in);
    ck_assert_uint_eq(wire_get_u16(in), UINT16_MAX);
    ck_assert_uint_eq(wire_get_u32(in), UINT32_MAX);
    ck_assert_uint_eq(wire_get_u64(in), UINT64_MAX);
}

TEST(wire_put__big_endian)
{
    uint8_t out[sizeof bytes] = {0};
    wire_put_u16(out + 1, 0x0102);
    ck_assert_mem_eq(out, bytes, 3);
    wire_put_u32(out + 1, 0x01020304);
    ck_assert_mem_eq(out, bytes, 5);
    wire_put_u64(out + 1, UINT64_C(0x0102030405060708));
    ck_assert_mem_eq(out, bytes, 9);
}

TEST(wire_put__touches_nothing_else)
{
    const uint8_t untouched[sizeof bytes] = {0};
    uint8_t out[sizeof bytes] = {0};
    wire_put_u16(out, UINT16_MAX);
    ck_assert_mem_eq(out + 2, untouched, sizeof out - 2);
    wire_put_u32(out, UINT32_MAX);
    ck_assert_mem_eq(out + 4, untouched, sizeof out - 4);
    wire_put_u64(out, UINT64_MAX);
    ck_assert_mem_eq(out + 8, untouched, sizeof out - 8);
}
