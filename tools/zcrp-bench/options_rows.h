/* The table of options: one row each, in the order of the help. */
#ifndef BENCH_OPTIONS_ROWS_H
#define BENCH_OPTIONS_ROWS_H

#include "options.h"

struct options_row {
    const char *name;
    int has_argument;  /* as in struct option of getopt_long */
    bool is_of_sender; /* says what the sending end decides: means nothing to --listen */
    int (*set)(struct options *options, const char *value); /* 0, or -1 with a complaint */
};

enum { OPTIONS_ROWS = 45 };

extern const struct options_row options_rows[OPTIONS_ROWS];

#endif
