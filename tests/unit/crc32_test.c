#include "core/wire/crc32.h"

#include "../support/suite.h"
#include "channel/crc.h"
#include "core/adt/random.h"

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

START_TEST(crc32_add__check_value)
{
    ck_assert_uint_eq(way(_i)(0, (const uint8_t *)"123456789", 9), 0xFC891918);
    ck_assert_uint_eq(way(_i)(0, NULL, 0), 0);
}
END_TEST

START_TEST(crc32_add__as_defined)
{
    for (size_t from = 0; from < 9; from++)
        for (size_t size = 0; size < 300; size++)
            ck_assert_uint_eq(way(_i)(0, bytes + from, size), slow(bytes + from, size));
}
END_TEST

START_TEST(crc32_add__goes_on)
{
    for (size_t cut = 0; cut <= sizeof(bytes); cut += 7)
        ck_assert_uint_eq(way(_i)(way(_i)(0, bytes, cut), bytes + cut, sizeof(bytes) - cut),
                          slow(bytes, sizeof(bytes)));
}
END_TEST

START_TEST(crc32_gather__pieces)
{
    struct iovec pieces[] = {{bytes, 700}, {bytes + 700, 0}, {bytes + 700, 1300}};

    ck_assert_uint_eq(crc32_gather(way(_i), 0, pieces, 3), slow(bytes, sizeof(bytes)));
    ck_assert_uint_eq(crc32_gather(way(_i), 5, pieces, 0), 5);
}
END_TEST

/* A byte after the other, so that each entry of each table is used. */
START_TEST(crc32_add__every_entry)
{
    for (unsigned n = 0; n < 256; n++)
        for (unsigned at = 0; at < 8; at++) {
            uint8_t word[8] = {0};
            word[at] = (uint8_t)n;
            ck_assert_uint_eq(way(_i)(0, word, 8), slow(word, 8));
        }
}
END_TEST

START_TEST(crc32_add__whole)
{
    uint32_t crc = way(_i)(0, bytes, 100);
    uint8_t own[4] = {(uint8_t)(crc >> 24), (uint8_t)(crc >> 16), (uint8_t)(crc >> 8),
                      (uint8_t)crc};

    ck_assert_uint_eq(way(_i)(crc, own, 4), CRC32_WHOLE);
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("crc32");

    tcase_add_unchecked_fixture(tcase, fill, NULL);
    tcase_add_loop_test(tcase, crc32_add__check_value, 0, 2);
    tcase_add_loop_test(tcase, crc32_add__as_defined, 0, 2);
    tcase_add_loop_test(tcase, crc32_add__goes_on, 0, 2);
    tcase_add_loop_test(tcase, crc32_gather__pieces, 0, 2);
    tcase_add_loop_test(tcase, crc32_add__every_entry, 0, 2);
    tcase_add_loop_test(tcase, crc32_add__whole, 0, 2);
    return suite_run("crc32", tcase);
}
