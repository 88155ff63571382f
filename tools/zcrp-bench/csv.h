/* The results for spreadsheets: a heading, and a line for each measurement. */
#ifndef BENCH_CSV_H
#define BENCH_CSV_H

#include <stdio.h>

#include "results.h"

/* What is not known is an empty field. Errors stay in the stream. */
void csv_write(FILE *out, const struct results *results);

#endif
