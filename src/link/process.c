#include "process.h"

#include "channels.h"
#include "entity.h"
#include "platform/nofault.h"
#include "platform/pages.h"
#include "platform/system.h"
#include "platform/waking.h"
#include "statsfile/board.h"
#include "waiting/completions.h"
#include "zcrp.h"

#include <stdatomic.h>

/* ---- calls that are refused ---- */

/* Threads that run one. A call looks at its own thread's variable only while there are any: in a
 * shared library that is a call of the linker's. */
static _Atomic int traces;
static _Thread_local bool runs_trace;

bool process_runs_traces(void)
{
    return atomic_load_explicit(&traces, memory_order_relaxed) != 0;
}

int process_refusal(uint32_t generation)
{
    if (generation != forked_generation())
        return ZCRP_ERROR_FORKED;
    return process_runs_traces() && runs_trace ? ZCRP_ERROR_TRACE : ZCRP_OK;
}

void process_set_tracing(bool is_tracing)
{
    runs_trace = is_tracing;
    atomic_fetch_add_explicit(&traces, is_tracing ? 1 : -1, memory_order_relaxed);
}

/* ---- forks ---- */

/* The other threads that ran traces are not here. */
static void traces_after_fork(void)
{
    atomic_store(&traces, runs_trace ? 1 : 0);
}

static void after_fork(void)
{
    traces_after_fork();
    bell_after_fork();
    board_after_fork();
    completions_after_fork();
    channels_after_fork();
    engine_after_fork();
    entity_after_fork();
    workspace_after_fork();
    pages_after_fork();
    nofault_after_fork();
}

void process_watch_forks(void)
{
    forked_watch(after_fork);
}
