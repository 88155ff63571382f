/* What the files of `zcrp-bench doctor` share: how findings are written. */
#ifndef BENCH_DOCTOR_H
#define BENCH_DOCTOR_H

#include <stdbool.h>

enum { DOCTOR_WORD = 64 };

/* One finding: "ok" or "could be better", and what is meant. */
void doctor_say(bool is_ok, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A line of advice below a finding: a command that a shell takes as it is, remark included, or
 * words. */
void doctor_advise(const char *command);

/* The first word of a file, in brackets if any is; "" if there is none. */
void doctor_read_word(const char *path, char word[DOCTOR_WORD]);

/* Moves messages between two processes, over UDP and from memory to memory, and says how that went.
 * False if UDP does not work. A second at most where everything is forbidden. */
bool doctor_try(void);

#endif
