/* What --stats tells after each measurement. */
#ifndef BENCH_DETAILS_H
#define BENCH_DETAILS_H

#include "options.h"
#include "results.h"

/* Writes to standard output what the options ask for of measurement `repeat`, counted from 0.
 * Writes nothing where standard output is quiet or carries JSON. */
void details_write(const struct options *options, const struct run *run, size_t repeat);

#endif
