/* The end that receives: obeys what the sending end says over the control connection, and tells
 * what it measured. */
#ifndef BENCH_RECEIVING_END_H
#define BENCH_RECEIVING_END_H

#include "options.h"

/* Serves one sending end that connects to `listener`, to its goodbye; waits for it for limit_ns at
 * most (negative: for ever). 0, or -1 with a complaint, which the sending end is told too. */
int receiving_end_serve(const struct options *options, int listener, int64_t limit_ns);

#endif
