/* What the experiments in C have in common. */
#ifndef ZCRP_TOOLS_LAB_H
#define ZCRP_TOOLS_LAB_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "zcrp.h"

/* Seconds of a clock that does not jump. */
static inline double now_s(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Ends the program, with a message, unless the code is ZCRP_OK. */
static inline void must(int code)
{
    if (code == ZCRP_OK)
        return;
    fprintf(stderr, "%s: %s\n", program_invocation_short_name, zcrp_explain(code));
    exit(EXIT_FAILURE);
}

static inline int compare_figures(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;

    return (a > b) - (a < b);
}

/* Sorts figures, so that their median is in the middle. */
static inline void sort(double *figures, size_t count)
{
    qsort(figures, count, sizeof *figures, compare_figures);
}

#endif
