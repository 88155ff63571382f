/* The table of options: one row each, grouped by theme in a file each. */
#ifndef BENCH_OPTIONS_ROWS_H
#define BENCH_OPTIONS_ROWS_H

#include "zcrp-bench/command/options.h"

struct options_row {
    const char *name;
    int has_argument;  /* as in struct option of getopt_long */
    bool is_of_sender; /* says what the sending end decides: means nothing to --listen */
    int (*set)(struct options *options, const char *value); /* 0, or -1 with a complaint */
};

struct options_group {
    const struct options_row *rows;
    size_t count;
};

extern const struct options_group options_work;    /* what is measured, and how often */
extern const struct options_group options_channel; /* what messages go through */
extern const struct options_group options_ends;    /* the two ends and what surrounds them */
extern const struct options_group options_report;  /* what is told, and where */

enum { OPTIONS_ROWS_MOST = 128 };

/* Points at every row, in the order of the groups; how many. */
size_t options_rows(const struct options_row *rows[OPTIONS_ROWS_MOST]);

#endif
