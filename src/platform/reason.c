#include "reason.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* ---- the line ---- */

static _Thread_local struct {
    int code; /* 0: nothing was said yet */
    char line[REASON_ROOM];
} last;

int reason_say(int code, const char *format, ...)
{
    char line[REASON_ROOM];
    int error = errno;
    va_list arguments;

    va_start(arguments, format);
    int length = vsnprintf(line, sizeof(line), format, arguments);
    va_end(arguments);
    if (length < 0)
        line[0] = '\0';
    last.code = code;
    memcpy(last.line, line, sizeof(line));
    errno = error;
    return code;
}

const char *reason_of(int code)
{
    return code != 0 && code == last.code && last.line[0] != '\0' ? last.line : NULL;
}

/* ---- texts from outside ---- */

/* Spaces that cannot be seen, and what turns the direction of text around. */
static bool is_invisible(uint32_t c)
{
    return (c >= 0x200B && c <= 0x200F) || (c >= 0x2028 && c <= 0x202E) ||
           (c >= 0x2060 && c <= 0x206F) || c == 0xFEFF;
}

static bool is_shown(uint32_t c, uint32_t least)
{
    bool is_control = c < 0x20 || (c >= 0x7F && c < 0xA0);
    bool is_surrogate = c >= 0xD800 && c <= 0xDFFF;

    return c >= least && c <= 0x10FFFF && !is_control && !is_surrogate && !is_invisible(c);
}

/* Bytes of the character of UTF-8 that the text begins with; 0 if it is none, or not to be shown.
 */
static size_t shown_bytes(const unsigned char *text)
{
    static const uint32_t least[] = {0, 0x80, 0x800,
                                     0x10000}; /* no character is longer than need be */
    unsigned char first = text[0];
    size_t more = first < 0x80 ? 0 : first < 0xE0 ? 1 : first < 0xF0 ? 2 : 3;
    uint32_t c = more == 0 ? first : first & (0x3FU >> more);

    if ((first >= 0x80 && first < 0xC0) || first >= 0xF8)
        return 0;
    for (size_t i = 1; i <= more; i++) {
        if ((text[i] & 0xC0) != 0x80)
            return 0;
        c = c << 6 | (text[i] & 0x3F);
    }
    return is_shown(c, least[more]) ? more + 1 : 0;
}

const char *quote(struct quote *q, const char *text)
{
    static const char digits[] = "0123456789abcdef", cut[] = "...";
    const unsigned char *from = (const unsigned char *)text;
    char *to = q->text, *end = q->text + QUOTE_ROOM - sizeof(cut);

    while (*from != '\0') {
        size_t shown = shown_bytes(from), bytes = shown > 0 ? shown : 4;
        if ((size_t)(end - to) < bytes)
            break;
        if (shown > 0)
            memcpy(to, from, shown);
        else
            memcpy(to, (char[]){'\\', 'x', digits[*from >> 4], digits[*from & 15]}, bytes);
        to += bytes;
        from += shown > 0 ? shown : 1;
    }
    strcpy(to, *from != '\0' ? cut : "");
    return q->text;
}
