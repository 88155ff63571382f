/* The results for people: a table of medians. */
#ifndef BENCH_TABLE_H
#define BENCH_TABLE_H

#include <stdio.h>

#include "results.h"

/* Writes one line for each size and transport, under a heading. Errors stay in the stream. */
void table_write(FILE *out, const struct results *results);

#endif
