/* What the vectors (vectors_test.c) cannot say about the parts of a datagram. */
#include "core/wire/datagram.h"

#include "../../support/suite.h"

#include <string.h>

/* Every last byte there is: a type in version 2, else 0. */
TEST(datagram_type__every_byte)
{
    for (int byte = 0; byte <= UINT8_MAX; byte++) {
        int type = (int)datagram_type((uint8_t)byte);
        ck_assert_int_eq(type, 0x20 <= byte && byte <= 0x2f ? byte - 0x20 : 0);
    }
}

TEST(datagram_is_foreign_hello__every_byte)
{
    for (int byte = 0; byte <= UINT8_MAX; byte++) {
        bool is_foreign = byte % 16 == 5 && byte != 0x25;
        ck_assert_msg(datagram_is_foreign_hello((uint8_t)byte) == is_foreign, "byte %d", byte);
    }
}

TEST(datagram_trailer__around_its_size)
{
    const uint8_t in[TRAILER_BYTES + 1] = {0};
    ck_assert_ptr_null(datagram_trailer(in, 0));
    ck_assert_ptr_null(datagram_trailer(in, TRAILER_BYTES - 1));
    ck_assert_ptr_eq(datagram_trailer(in, TRAILER_BYTES), in);
    ck_assert_ptr_eq(datagram_trailer(in, TRAILER_BYTES + 1), in + 1);
}

TEST(datagram_is_clear__only_the_range)
{
    uint8_t trailer[TRAILER_BYTES];
    for (size_t at = 0; at < TRAILER_BYTES; at++) {
        memset(trailer, 0, sizeof trailer);
        trailer[at] = 0x80;
        ck_assert(datagram_is_clear(trailer, 0, TRAILER_BYTES) == false);
        ck_assert(datagram_is_clear(trailer, 4, TAIL_AT) == (at < 4 || at >= TAIL_AT));
    }
}

TEST(unit_trailer_decode__too_short_is_not_touched)
{
    struct unit_trailer t;
    for (size_t bytes = 0; bytes < TRAILER_BYTES; bytes++)
        ck_assert_int_eq((int)unit_trailer_decode(NULL, bytes, &t), (int)VERDICT_SHORT);
}

static const uint64_t sizes[] = {1, UINT32_MAX, UINT64_C(1) << 32, MESSAGE_BYTES_MAX - 1,
                                 MESSAGE_BYTES_MAX};

/* The size of a message that is too large lies where others name what is next. */
TEST(unit_trailer_size__there_and_back, .rows = ROWS(sizes))
{
    struct unit_trailer t = {.unit = VOID_TOO_LARGE,
                             .pairing = {.session = 1, .tag = 1},
                             .flags = FLAG_VOID | FLAG_IS_LAST};
    uint8_t bytes[TRAILER_BYTES];
    unit_trailer_set_size(&t, sizes[_i]);
    unit_trailer_encode(bytes, &t);
    ck_assert_int_eq((int)unit_trailer_decode(bytes, sizeof bytes, &t), VERDICT_OK);
    ck_assert_uint_eq(unit_trailer_size(&t), sizes[_i]);
}
