/* Signals that end a program, or make it do something first. */
#ifndef COMMON_SIGNALS_H
#define COMMON_SIGNALS_H

#include <signal.h>

/* Takes SIGINT, SIGTERM and SIGHUP with this handler. What the program's parent had it ignore stays
 * ignored: nohup(1) ignores SIGHUP, and a shell SIGINT, for what it starts in the background. */
void signals_catch_ends(void (*handler)(int number), int flags);

#endif
