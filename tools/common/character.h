/* Characters of texts that somebody else chose, as a terminal may get them. */
#ifndef COMMON_CHARACTER_H
#define COMMON_CHARACTER_H

#include <stddef.h>

/* The bytes of the UTF-8 character (RFC 3629) at the beginning of these `left` bytes, 1 to 4. 0:
 * there is none, or a terminal may not get it: a control character, one that shows nothing, that
 * turns the direction of a line, or that ends it. The caller replaces that byte. */
size_t character_shown(const char *text, size_t left);

#endif
