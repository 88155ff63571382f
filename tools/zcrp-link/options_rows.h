/* The table of options: one row each, in the order of the help. */
#ifndef LINK_OPTIONS_ROWS_H
#define LINK_OPTIONS_ROWS_H

#include "options.h"

struct options_row {
    const char *name;
    int has_argument;                                       /* as in struct option of getopt_long */
    int (*set)(struct options *options, const char *value); /* 0, or -1 with a complaint */
};

enum { OPTIONS_ROWS = 21 };

extern const struct options_row options_rows[OPTIONS_ROWS];

#endif
