#include "escape.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { OCTAL_ROOM = 5, CONTROLS_END = 0xa0 };

/* The bytes of the character of UTF-8 at `at` (RFC 3629), or 0: it is none, or a control. */
static size_t character_bytes(const uint8_t *at, size_t left)
{
    static const struct {
        uint8_t mask, lead;
        uint32_t least;
    } forms[] = {
        {0x80, 0x00, 0x20}, {0xe0, 0xc0, CONTROLS_END}, {0xf0, 0xe0, 0x800}, {0xf8, 0xf0, 0x10000}};

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
                       code != '\\' && (code < 0xd800 || code > 0xdfff) &&
                       (code < 0x200e || code > 0x200f) && (code < 0x2028 || code > 0x202e) &&
                       (code < 0x2066 || code > 0x2069); /* they turn the direction of a line */
        return is_good ? bytes : 0;
    }
    return 0;
}

const char *escape(char *out, size_t room, struct text text)
{
    const uint8_t *bytes = (const uint8_t *)text.bytes;
    size_t length = 0;

    for (size_t i = 0; i < text.length;) {
        size_t count = character_bytes(bytes + i, text.length - i);
        size_t needed = count > 0 ? count : OCTAL_ROOM - 1;

        if (length + needed >= room)
            break;
        if (count > 0)
            memcpy(out + length, bytes + i, count);
        else
            (void)snprintf(out + length, OCTAL_ROOM, "\\%03o", bytes[i]);
        length += needed;
        i += count > 0 ? count : 1;
    }
    out[length] = '\0';
    return out;
}
