#include "common/pcapng.h"

#include "../support/suite.h"

TEST(pcapng_section__bytes)
{
    static const uint8_t expected[PCAPNG_SECTION] = {
        0x0a, 0x0d, 0x0d, 0x0a, 28,   0,    0,    0,    0x4d, 0x3c, 0x2b, 0x1a, 1, 0,
        0,    0,    0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 28,   0,    0, 0};
    uint8_t out[PCAPNG_SECTION];

    pcapng_section(out);
    ck_assert_mem_eq(out, expected, sizeof(out));
}

TEST(pcapng_interface__bytes)
{
    static const uint8_t expected[PCAPNG_INTERFACE] = {1, 0, 0, 0, 32, 0, 0,  0, 101, 0, 0,
                                                       0, 0, 0, 0, 0,  9, 0,  1, 0,   9, 0,
                                                       0, 0, 0, 0, 0,  0, 32, 0, 0,   0};
    uint8_t out[PCAPNG_INTERFACE];

    pcapng_interface(out, PCAPNG_RAW_IP);
    ck_assert_mem_eq(out, expected, sizeof(out));
}

TEST(pcapng_head__bytes)
{
    static const struct pcapng_packet packet = {
        .interface = 3, .time_ns = 0x0102030405060708, .bytes = 5};
    static const uint8_t expected[PCAPNG_HEAD] = {6, 0, 0, 0, 52, 0, 0, 0, 3, 0, 0, 0, 4, 3,
                                                  2, 1, 8, 7, 6,  5, 5, 0, 0, 0, 5, 0, 0, 0};
    uint8_t out[PCAPNG_HEAD];

    pcapng_head(out, &packet);
    ck_assert_mem_eq(out, expected, sizeof(out));
}

/* A block's length is a multiple of four, the same in its head and at its end. */
TEST(pcapng_tail__each_padding, .rows = 300)
{
    struct pcapng_packet packet = {.bytes = (uint32_t)_i, .is_outward = _i % 2};
    uint8_t head[PCAPNG_HEAD], out[PCAPNG_TAIL_MOST];
    size_t bytes = pcapng_tail(out, &packet);
    size_t all = sizeof(head) + packet.bytes + bytes;
    uint8_t *end = out + bytes - 16;

    pcapng_head(head, &packet);
    ck_assert_uint_eq(all % 4, 0);
    ck_assert_uint_eq(head[4] + 256u * head[5], all);
    ck_assert_mem_eq(end + 12, head + 4, 4);
    ck_assert_uint_eq(end[0], 2); /* epb_flags */
    ck_assert_uint_eq(end[2], 4);
    ck_assert_uint_eq(end[4], packet.is_outward ? 2 : 1);
    for (uint8_t *p = out; p < end; p++)
        ck_assert_uint_eq(*p, 0);
}
