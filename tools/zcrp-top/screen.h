/* The terminal, while a live table is on it; or none, for output that goes elsewhere. What ends the
 * program, or changes the terminal, is waited for here: no signal handler runs. */
#ifndef TOP_SCREEN_H
#define TOP_SCREEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <termios.h>

struct screen {
    bool is_live;          /* a table is on the terminal */
    bool has_keys;         /* standard input is a terminal */
    int signals;           /* a signalfd */
    struct termios before; /* of the keyboard */
};

enum screen_event {
    SCREEN_TIME,   /* it is time */
    SCREEN_REDRAW, /* the terminal has changed */
    SCREEN_TOGGLE, /* e: by entity, or not */
    SCREEN_QUIT,   /* q, or a signal */
};

/* Takes the terminal, if it is to be live. 0, or -1 with a complaint. */
__attribute__((warn_unused_result)) int screen_open(struct screen *screen, bool is_live);

/* Gives it back as it was. */
void screen_close(struct screen *screen);

/* The terminal's size; of one that does not tell 80 by 24. */
void screen_size(size_t *columns, size_t *rows);

/* Waits for something to happen, until that time of CLOCK_MONOTONIC. */
enum screen_event screen_wait(struct screen *screen, int64_t until_ns);

/* What a live table is written with: before it, at the end of each line, and behind it. */
#define SCREEN_BEGIN "\033[H"
#define SCREEN_LINE_END "\033[K\n"
#define SCREEN_END "\033[J"

#endif
