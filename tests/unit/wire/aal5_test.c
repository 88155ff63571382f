#include "core/wire/aal5.h"

#include "../../support/suite.h"
#include <string.h>

/* Payload byte i is 7 i + 3; docs/aal5.md has the same vectors. */
static const struct {
    uint32_t bytes, cells;
    uint8_t trailer[AAL5_TRAILER];
} vectors[] = {
    {0, 1, {0x00, 0x00, 0x00, 0x00, 0x38, 0x66, 0x24, 0xc1}},
    {1, 1, {0x00, 0x00, 0x00, 0x01, 0xf6, 0x45, 0xb0, 0x54}},
    {39, 1, {0x00, 0x00, 0x00, 0x27, 0x94, 0x8c, 0xfa, 0x88}},
    {40, 1, {0x00, 0x00, 0x00, 0x28, 0x0f, 0xe5, 0xca, 0xba}},
    {41, 2, {0x00, 0x00, 0x00, 0x29, 0x05, 0xf4, 0x1c, 0xcb}},
    {47, 2, {0x00, 0x00, 0x00, 0x2f, 0xd0, 0x90, 0xd5, 0x43}},
    {48, 2, {0x00, 0x00, 0x00, 0x30, 0x74, 0x03, 0xa3, 0xe5}},
    {87, 2, {0x00, 0x00, 0x00, 0x57, 0x55, 0xb2, 0x7f, 0x24}},
    {88, 2, {0x00, 0x00, 0x00, 0x58, 0x48, 0xa6, 0x43, 0xeb}},
    {89, 3, {0x00, 0x00, 0x00, 0x59, 0x51, 0xaf, 0xfb, 0x37}},
    {1440, 31, {0x00, 0x00, 0x05, 0xa0, 0x42, 0x45, 0x55, 0x06}},
    {8192, 171, {0x00, 0x00, 0x20, 0x00, 0xbb, 0xde, 0xb0, 0x6c}},
    {9180, 192, {0x00, 0x00, 0x23, 0xdc, 0xef, 0xc6, 0x54, 0x97}},
    {65535, 1366, {0x00, 0x00, 0xff, 0xff, 0x7e, 0xf4, 0xf8, 0xaa}},
};
enum { VECTORS = sizeof(vectors) / sizeof(vectors[0]) };

static uint8_t pdu[AAL5_PDU_MOST];

/* Makes a PDU of what lies in it already; its bytes. */
static uint32_t make(uint32_t payload, struct aal5_user user)
{
    uint32_t crc = crc32_add(0, pdu, payload);

    return payload + aal5_tail_encode(pdu + payload, payload, crc, user, crc32_add);
}

static void fill(uint32_t payload)
{
    for (uint32_t i = 0; i < payload; i++)
        pdu[i] = (uint8_t)(7 * i + 3);
}

static enum aal5_verdict judge(uint32_t bytes, uint32_t *payload)
{
    return aal5_judge(pdu + bytes - AAL5_TRAILER, bytes, crc32_add(0, pdu, bytes), payload);
}

TEST(aal5_tail_encode__vectors, .rows = VECTORS)
{
    uint32_t payload = vectors[_i].bytes;

    fill(payload);
    uint32_t bytes = make(payload, (struct aal5_user){0});
    ck_assert_uint_eq(bytes, vectors[_i].cells * AAL5_CELL);
    ck_assert_uint_eq(aal5_cells(payload), vectors[_i].cells);
    ck_assert_mem_eq(pdu + bytes - AAL5_TRAILER, vectors[_i].trailer, AAL5_TRAILER);
}

/* Three that other implementations publish, and one with fields that are not 0. */
TEST(aal5_tail_encode__known, .rows = 4)
{
    static const struct {
        int fill; /* -1: counts from 1 */
        struct aal5_user user;
        uint8_t crc[4];
    } known[] = {{0, {0, 0}, {0x86, 0x4d, 0x7f, 0x99}},
                 {0xFF, {0, 0}, {0xc5, 0x5e, 0x45, 0x7a}},
                 {-1, {0, 0}, {0xbf, 0x67, 0x1e, 0xd0}},
                 {-1, {0x11, 0x22}, {0xac, 0xba, 0x60, 0x2a}}};

    for (unsigned i = 0; i < 40; i++)
        pdu[i] = (uint8_t)(known[_i].fill < 0 ? (int)i + 1 : known[_i].fill);
    ck_assert_uint_eq(make(40, known[_i].user), 48);
    ck_assert_mem_eq(pdu + 44, known[_i].crc, 4);
}

/* Every length there is. The CRC of each is made of the one before. */
TEST(aal5_judge__all_lengths)
{
    uint32_t crc = 0;
    uint32_t payload;

    for (uint32_t n = 1; n <= AAL5_PAYLOAD_MOST; n++) {
        uint8_t tail[AAL5_TAIL_MOST];
        uint8_t byte = (uint8_t)(n * 31);
        crc = crc32_add(crc, &byte, 1);
        uint32_t size = aal5_tail_encode(tail, n, crc, (struct aal5_user){0}, crc32_add);
        ck_assert_uint_eq((n + size) % AAL5_CELL, 0);
        ck_assert_uint_eq(n + size, aal5_pdu_bytes(n));
        ck_assert_uint_le(n + size, AAL5_PDU_MOST);
        ck_assert_uint_ge(size, AAL5_TRAILER);
        ck_assert_uint_le(size, AAL5_TAIL_MOST);
        ck_assert_int_eq(
            aal5_judge(tail + size - AAL5_TRAILER, n + size, crc32_add(crc, tail, size), &payload),
            AAL5_OK);
        ck_assert_uint_eq(payload, n);
    }
}

TEST(aal5_judge__aborted)
{
    uint32_t payload;

    ck_assert_int_eq(judge(make(0, (struct aal5_user){0}), &payload), AAL5_ABORTED);
    pdu[47] ^= 1;
    ck_assert_int_eq(judge(48, &payload), AAL5_ABORTED);
}

TEST(aal5_judge__damaged)
{
    uint32_t payload;

    fill(100);
    uint32_t bytes = make(100, (struct aal5_user){0});
    for (uint32_t bit = 0; bit < 8 * bytes; bit++) {
        pdu[bit / 8] ^= (uint8_t)(1 << bit % 8);
        ck_assert_int_eq(judge(bytes, &payload), AAL5_DAMAGED);
        pdu[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    ck_assert_int_eq(judge(bytes, &payload), AAL5_OK);
}

/* Right in itself, but of another number of cells. */
TEST(aal5_judge__length, .rows = 4)
{
    static const uint32_t lengths[] = {1, 40, 89, 65535};
    uint32_t payload;

    memset(pdu, 0, 96);
    pdu[90] = (uint8_t)(lengths[_i] >> 8);
    pdu[91] = (uint8_t)lengths[_i];
    uint32_t crc = crc32_add(0, pdu, 92);
    for (int i = 0; i < 4; i++)
        pdu[92 + i] = (uint8_t)(crc >> (24 - 8 * i));
    ck_assert_int_eq(judge(96, &payload), AAL5_LENGTH);
}
