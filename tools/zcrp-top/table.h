/* The table, as text that fits a width, and the same as JSON. */
#ifndef TOP_TABLE_H
#define TOP_TABLE_H

#include "lines.h"

#include <stdio.h>

enum { TABLE_WIDTH_LEAST = 20, TABLE_WIDTH_MOST = 1000 };

/* How it is to look. */
struct table_shape {
    size_t width;    /* columns of each line, at most */
    size_t rows;     /* lines of text, at most */
    const char *end; /* behind each line: "\n", or what a terminal wants */
};

/* Writes a head, and a row for each line. What does not fit is left out: whole columns first, the
 * least important ones, then rows at the bottom. */
void table_write(FILE *out, const struct table_shape *shape, const struct sample *sample,
                 const struct lines *lines);

/* Writes what to do if nothing offers statistics. */
void table_explain(FILE *out, const struct table_shape *shape, const struct folders *folders);

/* Writes a sample as one object and a newline. */
void table_write_json(FILE *out, const struct sample *before, const struct sample *sample);

#endif
