/* What goes wrong is said once, on standard error, in a line that starts with the program's name.
 * A thread's last line is kept, so that an end can tell the other one why it stops. */
#ifndef COMMON_COMPLAIN_H
#define COMMON_COMPLAIN_H

enum { COMPLAIN_ROOM = 400 };

/* Says one line, without a full stop or newline. Longer ones are cut. Names and the other end's
 * words may have anything in them: each byte that a terminal may not get (character.h) becomes '?'.
 * Returns -1, always, so that a failing function can `return complain(...)`. */
int complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* From now on complaints are kept but not printed: the other end prints them. */
void complain_silently(void);

/* The calling thread's last complaint; "" if there was none. */
const char *complain_last(void);

#endif
