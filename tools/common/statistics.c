#include "statistics.h"

#include <stdlib.h>

static int compare(const void *left, const void *right)
{
    const double *a = left;
    const double *b = right;

    return (*a > *b) - (*a < *b);
}

double statistics_median(double *values, size_t count)
{
    qsort(values, count, sizeof *values, compare);
    if (count % 2 == 1)
        return values[count / 2];
    return (values[count / 2 - 1] + values[count / 2]) / 2;
}
