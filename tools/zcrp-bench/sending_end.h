/* The end that sends: goes through the measurements that the options ask for, tells the receiving
 * end what to do, and reports. */
#ifndef BENCH_SENDING_END_H
#define BENCH_SENDING_END_H

#include "options.h"

/* Runs everything against the receiving end at `address`. 0, or -1 with a complaint if anything
 * failed or arrived wrong; in the latter case the report is written all the same. */
int sending_end_run(const struct options *options, const struct address *address);

#endif
