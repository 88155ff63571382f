/* One line on a terminal that says how far things are; nothing where standard error is no terminal.
 */
#ifndef BENCH_PROGRESS_H
#define BENCH_PROGRESS_H

#include <stdbool.h>
#include <stdio.h>

/* Whether there is anybody to see it. */
void progress_init(bool is_quiet);

/* Replaces the line. */
void progress_show(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Takes the line away. */
void progress_clear(void);

#endif
