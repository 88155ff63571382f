/* What becomes of an invariant that does not hold (core/check.h): the core cannot print. */
#include "core/check.h"

#include <stdio.h>
#include <stdlib.h>

_Noreturn void check_failed(const char *expression, const char *file, int line)
{
    fprintf(stderr, "libzcrp: invariant violated: %s (%s:%d)\n", expression, file, line);
    abort();
}
