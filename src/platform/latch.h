/* The latch: one message's end, waited for. It opens once and stays open.
 *
 *     CLOSED --a waiter goes to sleep--> SLEEPERS
 *        |                                  |
 *        +-------------- open --------------+--> OPEN
 *
 * Opening costs a system call only if somebody sleeps, and waiting only if it has to sleep.
 *
 * The latch lives in memory that its waiter owns, and the waiter may give that memory back the
 * moment it sees OPEN: latch_open touches nothing of it behind the one atomic exchange. Waking then
 * uses the address alone; if something else lives there by now, a sleeper more is woken in vain,
 * and every sleeper looks again. */
#ifndef ZCRP_PLATFORM_LATCH_H
#define ZCRP_PLATFORM_LATCH_H

#include "core/instant.h"

#include <stdbool.h>
#include <stdint.h>

struct latch {
    _Atomic uint32_t state; /* (a) enum latch_state; any number of threads may wait */
};

enum latch_state { LATCH_CLOSED, LATCH_SLEEPERS, LATCH_OPEN };

/* Closes the latch, as it has to be before first use. Nobody may wait on it or open it. */
void latch_reset(struct latch *latch);

/* Opens the latch and wakes all sleepers. What was written before is seen by those who find it
 * open. The latch's memory may be gone when this returns. Cannot fail. */
void latch_open(struct latch *latch);

/* Ordered with bell_listen and bell_ring: see bell.h. */
bool latch_is_open(const struct latch *latch);

/* Waits for the latch to open: looks at it for `spin` first (0: not at all), then sleeps until the
 * deadline (NEVER: no limit), or until *other is not `begun` any more (NULL: there is none). True
 * if it is open. Signals do not end the wait. A deadline in the past only asks. */
bool latch_wait(struct latch *latch, instant deadline, duration spin, const _Atomic uint32_t *other,
                uint32_t begun);

#endif
