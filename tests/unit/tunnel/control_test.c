#include "zcrp-tunnel/control.h"

#include "../../support/random.h"
#include "../../support/suite.h"

#include <string.h>

enum { RUNS = 20000 };

static const struct {
    const char *bytes;
    size_t size;
    enum control_fault fault;
} heads[] = {
    {"ZT\1\1\0\0\0\120\1a", 10, CONTROL_GOOD},
    {"ZT\1\1\0\0\0\120\1a", 9, CONTROL_BAD},     /* the text is missing */
    {"ZT\1\1\0\0\0\120\1ab", 11, CONTROL_BAD},   /* bytes behind it */
    {"ZT\1\1\0\0\0\120\1 ", 10, CONTROL_BAD},    /* no name has a blank, */
    {"ZT\1\1\0\0\0\120\1\0", 10, CONTROL_BAD},   /* a zero, */
    {"ZT\1\1\0\0\0\120\1\377", 10, CONTROL_BAD}, /* or other letters than ASCII */
    {"ZT\1\5\0\0\0\0\0", 9, CONTROL_GOOD},
    {"ZT\1\0\0\0\0\0\0", 9, CONTROL_BAD},  /* no kind */
    {"ZT\1\12\0\0\0\0\0", 9, CONTROL_BAD}, /* nor this */
    {"ZT\1\5\0\0\0\0", 8, CONTROL_BAD},
    {"", 0, CONTROL_BAD},
    {"XT\1\5\0\0\0\0\0", 9, CONTROL_BAD},
    {"ZT\2\5\0\0\0\0\0", 9, CONTROL_OTHER_VERSION},
    {"ZT\2\77\0\0\0\0\0more", 13, CONTROL_OTHER_VERSION},
    {"ZT\2\4\0\1\0\0\2no", 11, CONTROL_GOOD}, /* REFUSED is the same in all versions */
    {"ZT\1\4\0\1\0\0\2\33x", 11, CONTROL_GOOD},
    {"ZT\1\7\0\0\0\0\17123456789012345", 24, CONTROL_BAD}, /* a token has 16 bytes, */
    {"ZT\1\7\0\0\0\0\20\0\1\2\3\4\5\6\7\10\11\12\13\14\15\16\17", 25,
     CONTROL_GOOD}, /* of all kinds */
};

TEST(control_read__table, .rows = ROWS(heads))
{
    struct control control;

    ck_assert_int_eq(control_read(&control, (const uint8_t *)heads[_i].bytes, heads[_i].size),
                     heads[_i].fault);
}

TEST(control_make__cuts_a_text)
{
    char text[1000];

    memset(text, 'a', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    struct control control = control_make(CONTROL_REFUSED, 1, 2, text);
    ck_assert_uint_eq(control.length, CONTROL_TEXT);
    ck_assert_uint_eq(strlen(control.text), CONTROL_TEXT);
}

/* What is read writes the same bytes again. */
TEST(control_read__any_bytes, .is_random = true)
{
    uint64_t chance = suite_seed(_i);
    uint8_t bytes[CONTROL_MOST + 8], again[CONTROL_MOST];
    int good = 0;

    for (int run = 0; run < RUNS; run++) {
        size_t size = (size_t)random_below(&chance, sizeof(bytes) + 1);
        struct control control;

        for (size_t i = 0; i < size; i++)
            bytes[i] = (uint8_t)(random_below(&chance, 8) == 0 ? random_below(&chance, 256)
                                                               : 'a' + random_below(&chance, 26));
        if (size >= CONTROL_HEAD && random_below(&chance, 4) != 0) {
            memcpy(bytes, "ZT\1", 3);
            bytes[3] = (uint8_t)random_below(&chance, 12);
            bytes[8] = (uint8_t)(size - CONTROL_HEAD);
        }
        if (control_read(&control, bytes, size) != CONTROL_GOOD)
            continue;
        good++;
        ck_assert_uint_eq(control_write(&control, again), size);
        ck_assert_int_eq(memcmp(again, bytes, 2), 0);
        ck_assert_mem_eq(again + 3, bytes + 3, size - 3);
        ck_assert_int_eq(control.text[control.length], '\0');
    }
    ck_assert_int_gt(good, RUNS / 100);
}
