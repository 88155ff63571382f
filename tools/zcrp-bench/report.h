/* Where results go: the table to standard output, JSON where the options say. */
#ifndef BENCH_REPORT_H
#define BENCH_REPORT_H

#include <stdio.h>

#include "options.h"
#include "results.h"

struct report {
    const struct options *options;
    FILE *json; /* NULL: not wanted */
};

/* Whether standard output is for people: neither quiet, nor taken by JSON. */
bool report_has_output(const struct options *options);

/* Opens the files, so that one that cannot be written is known before anything is measured. 0, or
 * -1 with a complaint; then nothing is open. */
int report_open(struct report *report, const struct options *options);

/* Writes all there is and closes. 0, or -1 with a complaint if a file is not complete. */
int report_write(struct report *report, const struct results *results);

/* Closes without writing. Fine after report_write. */
void report_close(struct report *report);

#endif
