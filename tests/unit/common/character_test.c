#include "common/character.h"

#include "../../support/suite.h"

static const struct {
    const char *text;
    size_t left, shown;
} characters[] = {
    {"a", 1, 1},
    {"ab", 2, 1},
    {"", 0, 0},
    {"\0", 1, 0},
    {"\n", 1, 0},
    {"\x7f", 1, 0},
    {"\xc3\xa4", 2, 2},
    {"\xe2\x82\xac", 3, 3},
    {"\xf0\x9f\x98\x80", 4, 4},
    {"\xc3\xa4", 1, 0},             /* cut */
    {"\xc2\x9b", 2, 0},             /* a control of C1 */
    {"\x9b", 1, 0},                 /* in Latin-1 */
    {"\xc0\xaf", 2, 0},             /* too long for what it is */
    {"\xed\xa0\x80", 3, 0},         /* half of a pair */
    {"\xf4\x90\x80\x80", 4, 0},     /* beyond the last one */
    {"\xf8\x88\x80\x80\x80", 5, 0}, /* has never been one */
};

TEST(character_shown__table, .rows = ROWS(characters))
{
    ck_assert_uint_eq(character_shown(characters[_i].text, characters[_i].left),
                      characters[_i].shown);
}

/* Characters that turn the direction of a line (Bidi_Control of Unicode 14), that show nothing
 * (Default_Ignorable_Code_Point), or that end a line. */
static const struct {
    uint32_t first, last;
} unseen[] = {
    {0x00ad, 0x00ad},   {0x034f, 0x034f},   {0x061c, 0x061c}, {0x115f, 0x1160}, {0x17b4, 0x17b5},
    {0x180b, 0x180f},   {0x200b, 0x200f},   {0x2028, 0x202e}, {0x2060, 0x206f}, {0x3164, 0x3164},
    {0xfe00, 0xfe0f},   {0xfeff, 0xfeff},   {0xffa0, 0xffa0}, {0xfff0, 0xfff8}, {0x1bca0, 0x1bca3},
    {0x1d173, 0x1d17a}, {0xe0000, 0xe0fff},
};

static size_t encode(char text[4], uint32_t code)
{
    size_t bytes = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;

    for (size_t i = bytes; i-- > 1; code >>= 6)
        text[i] = (char)(0x80 | (code & 0x3f));
    text[0] = (char)(bytes == 1 ? code : (0xf00 >> bytes & 0xff) | code);
    return bytes;
}

static bool is_shown(uint32_t code)
{
    char text[4];
    size_t bytes = encode(text, code), shown = character_shown(text, bytes);

    ck_assert(shown == 0 || shown == bytes);
    return shown > 0;
}

/* Each of them, and neither neighbour. */
TEST(character_shown__unseen, .rows = ROWS(unseen))
{
    for (uint32_t code = unseen[_i].first; code <= unseen[_i].last; code++)
        ck_assert_msg(!is_shown(code), "U+%04X is shown", code);
    ck_assert(is_shown(unseen[_i].first - 1));
    ck_assert(is_shown(unseen[_i].last + 1));
}
