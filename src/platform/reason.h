/* The reason why a call failed: one line of text, kept for the calling thread (zcrp_explain).
 *
 *     return reason_say(ZCRP_ERROR_SYSTEM, "%s: %s", quote(&q, path), strerror(errno));
 *
 * The function that finds the cause writes the line and returns the code. A line belongs to its
 * code, and stays until the thread writes another one. Five codes have lines: ZCRP_ERROR_ARGUMENT,
 * _ADDRESS, _SYSTEM, _EXPOSED and _REFUSED. Each place that returns one of them has to write a
 * line, or zcrp_explain would repeat the line of an earlier failure (`tests/checks/words` looks for
 * such places of the first four). Messages never fail with one of the first four. If a message
 * fails with _REFUSED, the line says no more than zcrp_strerror.
 *
 * Each thread has a buffer for its line: nothing is allocated, and no other thread sees the line. A
 * child process starts with the line of the thread that forked. Not for signal handlers. */
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

/* The thread's last line, if it is of this code; else NULL. Good until it says the next. */
const char *reason_of(int code);

/* Writes a text that anybody may have chosen (a host, a file) so that it can be shown: what does
 * not print in UTF-8, or is there only to change how other characters are shown, becomes \xNN, and
 * "..." stands for what is too long. Returns q->text. */
const char *quote(struct quote *q, const char *text);

#endif
