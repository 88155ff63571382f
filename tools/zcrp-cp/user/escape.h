/* Names and texts of strangers, for a terminal: each byte of a control, of a character that shows
 * nothing or turns the direction of a line, of a backslash, and of what is no UTF-8 becomes \ooo,
 * its octal value. So a name can neither move the cursor, nor feign a line of ours or another name.
 */
#ifndef ZCRP_CP_ESCAPE_H
#define ZCRP_CP_ESCAPE_H

#include <stddef.h>

#include "zcrp-cp/wire/record.h"

enum { ESCAPED_ROOM = 4 * PATH_MOST + 1 };

/* Writes at most `room` bytes, a 0 among them; what does not fit is left out. Returns `out`. */
const char *escape(char *out, size_t room, struct text text);

#endif
