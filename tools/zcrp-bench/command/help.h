/* What --help says. */
#ifndef BENCH_HELP_H
#define BENCH_HELP_H

extern const char help_text[];

#endif
