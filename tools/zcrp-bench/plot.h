/* A picture of the results, drawn by gnuplot: throughput, or round trips, over message size. */
#ifndef BENCH_PLOT_H
#define BENCH_PLOT_H

#include "results.h"

#include <stdbool.h>

/* Is there a gnuplot in PATH to draw with? */
bool plot_has_gnuplot(void);

/* Whether there is one, and the file at `path` can be written, which gnuplot
 * would not say: 0, or -1 with a complaint. */
int plot_check(const char *path);

/* Draws an SVG into the file at `path`: a line for each transport through the medians, and bars
 * from the least measurement to the most. 0, or -1 with a complaint. */
int plot_write(const char *path, const struct results *results);

#endif
