/* The lines of --interval: how a measurement goes, as the sending end sees it, one line at each
 * interval on standard output. A thread writes them, for one measurement at a time.
 *
 *      begin    line 1     line 2     line 3  end
 *      |----------|----------|----------|------| */
#ifndef BENCH_INTERVAL_H
#define BENCH_INTERVAL_H

#include "zcrp-bench/ends/measurement.h"

/* Before a measurement in all these flows: from now on a line at each interval, below headings.
 * Nothing of this where the options do not ask for it, or standard output is for something else.
 * 0, or -1 with a complaint. */
int interval_begin(struct sending_end *ends);

/* When it is over, however it ended; only after a begin that worked. */
void interval_end(void);

#endif
