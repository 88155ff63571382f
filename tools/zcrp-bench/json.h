/* The results for programs: every measurement, and the medians; fields are described in the manual.
 */
#ifndef BENCH_JSON_H
#define BENCH_JSON_H

#include <stdio.h>

#include "results.h"

/* Writes one JSON object. Errors stay in the stream. */
void json_write(FILE *out, const struct results *results);

#endif
