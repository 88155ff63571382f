/* What an experiment of several turns measures: times, of which the median counts. */
#ifndef ZCRP_LAB_TURNS_H
#define ZCRP_LAB_TURNS_H

#include <stdlib.h>

#include "common/clock.h"

/* Seconds of a clock that does not jump. */
static inline double now_s(void)
{
    return (double)clock_now_ns() / 1e9;
}

static inline int turns_compare(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;

    return (a > b) - (a < b);
}

/* Of an odd number of values, which it sorts. */
static inline double median(double *of, size_t count)
{
    qsort(of, count, sizeof *of, turns_compare);
    return of[count / 2];
}

#endif
