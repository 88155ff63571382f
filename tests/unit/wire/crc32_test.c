#include "core/wire/crc32.h"

#include "../../support/suite.h"
#include "core/adt/random.h"
#include "transport/crc.h"

/* The definition, bit by bit. */
static uint32_t slow(const uint8_t *bytes, size_t size)
{
    uint32_t crc = 0xFFFFFFFF;

    for (size_t i = 0; i < size; i++) {
        crc ^= (uint32_t)bytes[i] << 24;
        for (int bit = 0; bit < 8; bit++)
            crc = crc << 1 ^ (crc & 0x80000000 ? 0x04C11DB7 : 0);
    }
    return ~crc;
}

static uint8_t bytes[2000];

static void fill(void)
{
    uint64_t random = 1998;

    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (uint8_t)random_next(&random);
}

/* 0: the tables, 1: what the platform has. */
static crc32_function way(int i)
{
    return i == 0 ? crc32_add : crc_best();
}

FIXTURE(fill, NULL)

TEST(crc32_add__check_value, .rows = 2)
{
    ck_assert_uint_eq(way(_i)(0, (const uint8_t *)"123456789", 9), 0xFC891918);
    ck_assert_uint_eq(way(_i)(0, NULL, 0), 0);
}

TEST(crc32_add__as_defined, .rows = 2)
{
    for (size_t from = 0; from < 9; from++)
        for (size_t size = 0; size < 300; size++)
            ck_assert_uint_eq(way(_i)(0, bytes + from, size), slow(bytes + from, size));
}

TEST(crc32_add__goes_on, .rows = 2)
{
    for (size_t cut = 0; cut <= sizeof(bytes); cut += 7)
        ck_assert_uint_eq(way(_i)(way(_i)(0, bytes, cut), bytes + cut, sizeof(bytes) - cut),
                          slow(bytes, sizeof(bytes)));
}

TEST(crc32_gather__pieces, .rows = 2)
{
    struct iovec pieces[] = {{bytes, 700}, {bytes + 700, 0}, {bytes + 700, 1300}};

    ck_assert_uint_eq(crc32_gather(way(_i), 0, pieces, 3), slow(bytes, sizeof(bytes)));
    ck_assert_uint_eq(crc32_gather(way(_i), 5, pieces, 0), 5);
}

/* A byte after the other, so that each entry of each table is used. */
TEST(crc32_add__every_entry, .rows = 2)
{
    for (unsigned n = 0; n < 256; n++)
        for (unsigned at = 0; at < 8; at++) {
            uint8_t word[8] = {0};
            word[at] = (uint8_t)n;
            ck_assert_uint_eq(way(_i)(0, word, 8), slow(word, 8));
        }
}

TEST(crc32_add__whole, .rows = 2)
{
    uint32_t crc = way(_i)(0, bytes, 100);
    uint8_t own[4] = {(uint8_t)(crc >> 24), (uint8_t)(crc >> 16), (uint8_t)(crc >> 8),
                      (uint8_t)crc};

    ck_assert_uint_eq(way(_i)(crc, own, 4), CRC32_WHOLE);
}
