/* Datagrams that wait for the thread that does their handshake. */
#include "handshake/letters.h"

#include "../../support/suite.h"

static const uint8_t datagram[2 * HANDSHAKE_BYTES] = {1, 2, 3};

TEST(letters_add__is_bounded)
{
    static struct letters letters, taken;

    for (int i = 0; i < 3 * LETTERS_MOST; i++)
        letters_add(&letters, datagram, HANDSHAKE_BYTES);
    ck_assert_uint_eq(letters.count, LETTERS_MOST);
    letters_take(&letters, &taken);
    ck_assert_uint_eq(letters.count, 0);
    ck_assert_uint_eq(taken.count, LETTERS_MOST);
    ck_assert_mem_eq(taken.letter[LETTERS_MOST - 1].bytes, datagram, HANDSHAKE_BYTES);
}

TEST(letters_add__drops_what_is_too_large)
{
    static struct letters letters;

    letters_add(&letters, datagram, HANDSHAKE_BYTES + 1);
    ck_assert_uint_eq(letters.count, 0);
}

TEST(letter_set__is_empty_if_that_is_too_large)
{
    struct letter letter;

    letter_set(&letter, datagram, 3);
    ck_assert_uint_eq(letter.size, 3);
    letter_set(&letter, datagram, HANDSHAKE_BYTES + 1);
    ck_assert_uint_eq(letter.size, 0);
}
