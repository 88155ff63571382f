/* What --stats and --allocations tell after each measurement. */
#ifndef BENCH_DETAILS_H
#define BENCH_DETAILS_H

#include "options.h"
#include "results.h"

/* Writes to standard output what the options ask for of measurement `repeat`, counted from 0. Not a
 * word where standard output is quiet, or has JSON or CSV on it. */
void details_write(const struct options *options, const struct run *run, size_t repeat);

#endif
