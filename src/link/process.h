/* What concerns the whole process: calls that are refused there, and the repair of global state in
 * a forked child. */
#ifndef ZCRP_LINK_PROCESS_H
#define ZCRP_LINK_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

/* Why a call may not go on with what a process of this generation has made (forked_generation,
 * where there is nothing): ZCRP_ERROR_FORKED, or _TRACE from within a user's trace, which would
 * wait for what its own thread holds. ZCRP_OK if it may. Any thread, any time. */
int process_refusal(uint32_t generation);

/* This thread runs a user's trace, or no longer. Does any? */
void process_set_tracing(bool is_tracing);
bool process_runs_traces(void);

/* From now on every child puts the library's global state in order, so that it can close what its
 * parent had open, and open entities of its own. Any thread, any number of times. */
void process_watch_forks(void);

#endif
