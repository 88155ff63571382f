/* Where results go: the table to standard output, JSON where the options say. */
#ifndef BENCH_REPORT_H
#define BENCH_REPORT_H

#include <stdbool.h>
#include <stdio.h>

#include "zcrp-bench/command/options.h"
#include "zcrp-bench/results/results.h"

/* Measures by `measure`, which fills in all results, and reports. A file that cannot be written is
 * known before anything is measured. 0, or -1 with a complaint; what arrived wrong is reported all
 * the same. */
int report_on(const struct options *options, int (*measure)(const struct results *results));

/* Writes what --stats tells after a measurement, number `repeat` from 0. Writes nothing where
 * standard output is quiet or carries JSON. */
void details_write(const struct options *options, const struct run *run, size_t repeat);

/* One line that says how far the run is, on standard error, if that is a terminal. */

/* Replaces the line. */
void progress_show(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Takes the line away. */
void progress_clear(void);

#endif
