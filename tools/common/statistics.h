/* What remains of repeated measurements. */
#ifndef COMMON_STATISTICS_H
#define COMMON_STATISTICS_H

#include <stddef.h>

/* The median of `count` > 0 values; of an even number the mean of the middle two. Sorts them. */
double statistics_median(double *values, size_t count);

#endif
