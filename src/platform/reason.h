/* Why a call failed, beyond its code: one line, the calling thread's own (zcrp_explain).
 *
 *     return reason_say(ZCRP_ERROR_SYSTEM, "%s: %s", quote(&q, path), strerror(errno));
 *
 * Whoever finds the cause says it and returns the code. A line belongs to its code and stays until
 * the thread says another: so each place that returns a code which is ever explained has to say
 * something, or the line of an earlier failure would be told (`tools/words` looks for such places).
 * These are ZCRP_ERROR_ARGUMENT, _ADDRESS, _SYSTEM and _EXPOSED. Other codes are never explained;
 * messages fail with those alone.
 *
 * The line has room of its own in each thread: nothing is allocated, no other thread sees it, and a
 * child of a fork has that of the thread that forked. Not for signal handlers. */
#ifndef ZCRP_PLATFORM_REASON_H
#define ZCRP_PLATFORM_REASON_H

enum {
    REASON_ROOM = 640, /* bytes of a line, and the 0 behind it; longer ones are cut */
    QUOTE_ROOM = 208,  /* of a text in it */
};

/* A text from outside, as it is quoted. */
struct quote {
    char text[QUOTE_ROOM];
};

/* Keeps the line for the code. Arguments may be the line before. Returns the code; errno stays. */
__attribute__((format(printf, 2, 3), cold)) int reason_say(int code, const char *format, ...);

/* The thread's last line, if it was said for this code; else NULL. Good until it says the next. */
const char *reason_of(int code);

/* Writes a text that anybody may have chosen (a host, a file) so that it can be shown: what does
 * not print in UTF-8, or is there only to change how other characters are shown, becomes \xNN, and
 * "..." stands for what is too long. Returns q->text. */
const char *quote(struct quote *q, const char *text);

#endif
