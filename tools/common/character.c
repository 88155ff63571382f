#include "character.h"

#include <stdbool.h>
#include <stdint.h>

enum { CONTROLS_END = 0xa0 };

/* Characters that turn the direction of a line (Bidi_Control of Unicode 14), that show nothing
 * (Default_Ignorable_Code_Point), or that end a line. */
static bool is_unseen(uint32_t code)
{
    static const struct {
        uint32_t first, last;
    } ranges[] = {
        {0x00ad, 0x00ad},   {0x034f, 0x034f}, {0x061c, 0x061c},   {0x115f, 0x1160},
        {0x17b4, 0x17b5},   {0x180b, 0x180f}, {0x200b, 0x200f},   {0x2028, 0x202e},
        {0x2060, 0x206f},   {0x3164, 0x3164}, {0xfe00, 0xfe0f},   {0xfeff, 0xfeff},
        {0xffa0, 0xffa0},   {0xfff0, 0xfff8}, {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a},
        {0xe0000, 0xe0fff},
    };

    for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++)
        if (code >= ranges[i].first && code <= ranges[i].last)
            return true;
    return false;
}

size_t character_shown(const char *text, size_t left)
{
    static const struct {
        uint8_t mask, lead;
        uint32_t least;
    } forms[] = {
        {0x80, 0x00, 0x20}, {0xe0, 0xc0, CONTROLS_END}, {0xf0, 0xe0, 0x800}, {0xf8, 0xf0, 0x10000}};
    const uint8_t *at = (const uint8_t *)text;

    for (size_t bytes = 1; bytes <= 4 && bytes <= left; bytes++) {
        if ((at[0] & forms[bytes - 1].mask) != forms[bytes - 1].lead)
            continue;
        uint32_t code = at[0] & (uint8_t)~forms[bytes - 1].mask;
        for (size_t i = 1; i < bytes; i++) {
            if ((at[i] & 0xc0) != 0x80)
                return 0;
            code = code << 6 | (at[i] & 0x3f);
        }
        bool is_good = code >= forms[bytes - 1].least && code <= 0x10ffff && code != 0x7f &&
                       (code < 0xd800 || code > 0xdfff) && !is_unseen(code);
        return is_good ? bytes : 0;
    }
    return 0;
}
