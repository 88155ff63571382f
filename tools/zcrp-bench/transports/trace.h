/* The file of --trace: the life of ZCRP's transfers as JSON lines, as the sending end sees it. A
 * line with "measurement" begins each; the others are what has changed, when it did (see
 * docs/zcrp-bench.1). One a process. Nothing of this is done where no file is open. */
#ifndef BENCH_TRACE_H
#define BENCH_TRACE_H

#include <stdint.h>

#include "zcrp.h"

/* Opens the file, unless `path` is NULL. 0, or -1 with a complaint. */
int trace_open(const char *path);

/* 0, or -1 with a complaint if the file is not complete. All channels are closed by then. */
int trace_close(void);

/* A sender is about to be opened with these options: it is the next flow, counted from 0. 0, or -1
 * with a complaint. */
int trace_channel(struct zcrp_options *options);

/* A measurement of messages of `size` begins; what happens before and between is not written. */
void trace_begin(uint64_t size, uint64_t flows);
void trace_end(void);

#endif
