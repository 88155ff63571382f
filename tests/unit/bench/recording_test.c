#include "zcrp-bench/recording/recording.h"

#include "../../support/suite.h"

#include <string.h>

static uint32_t word_at(const uint8_t *bytes)
{
    uint32_t word;

    memcpy(&word, bytes, sizeof word);
    return word;
}

TEST(capture_file_head__says_nanoseconds_and_link)
{
    uint8_t out[CAPTURE_FILE_HEAD];

    capture_file_head(out, CAPTURE_PDU);
    ck_assert_uint_eq(word_at(out), 0xa1b23c4d);
    ck_assert_uint_eq(word_at(out + 20), 197);
    capture_file_head(out, CAPTURE_IP);
    ck_assert_uint_eq(word_at(out + 20), 101);
}

TEST(capture_packet_head__time_and_bytes)
{
    uint8_t out[CAPTURE_PACKET_HEAD];

    capture_packet_head(out, INT64_C(1700000000123456789), 1500);
    ck_assert_uint_eq(word_at(out), 1700000000);
    ck_assert_uint_eq(word_at(out + 4), 123456789);
    ck_assert_uint_eq(word_at(out + 8), 1500);
    ck_assert_uint_eq(word_at(out + 12), 1500);
}

TEST(capture_pdu_head__bytes)
{
    static const struct capture_pdu pdu = {
        .time_ns = 0x01020304 * INT64_C(1000000000) + 500000000,
        .is_outward = true,
        .vpi = 0xab,
        .vci = 0x1234,
        .bytes = 48,
    };
    static const uint8_t expected[CAPTURE_PDU_HEAD] = {
        0, 0, 0, 0x80, 4, 3, 2, 1, 4, 4, 0, 68, 0, 0, 0, 52, 0x0a, 0xb1, 0x23, 0x42};
    uint8_t out[CAPTURE_PDU_HEAD];

    capture_pdu_head(out, &pdu);
    ck_assert_mem_eq(out, expected, sizeof(out));
}

TEST(capture_pdu_head__inward_and_largest)
{
    struct capture_pdu pdu = {.time_ns = 999999999, .vci = 65535, .bytes = CAPTURE_PDU_MOST};
    uint8_t out[CAPTURE_PDU_HEAD];

    capture_pdu_head(out, &pdu);
    ck_assert_uint_eq(out[4], 0);
    ck_assert_uint_eq(out[3], 0xff);
    ck_assert_uint_eq(out[9], 5);
    ck_assert_uint_eq(out[10] << 8 | out[11], 65535);
    ck_assert_uint_eq(out[17], 0x0f);
    ck_assert_uint_eq(out[19], 0xf2);
}
