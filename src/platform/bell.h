/* The bell: one for the whole process, for those who wait for any of several messages. A latch has
 * room for sleepers of its own only; who waits for many listens to the bell instead, which rings
 * behind the opening of every latch.
 *
 *     waiter                                    whoever ends a message
 *     heard = bell_listen()
 *     while (no latch of mine is open           latch_open(&message->latch)
 *            && bell_wait(&heard, deadline))    bell_ring()
 *     bell_leave()
 *
 * No ring is missed: either the waiter's look finds the latch open, or the ringer finds the waiter
 * (both are sequentially consistent: each writes its own word before it reads the other's).
 *
 * Every ring wakes every listener, who looks through its messages again: right for the few threads
 * that wait for many messages, wrong for thousands of them. */
#ifndef ZCRP_PLATFORM_BELL_H
#define ZCRP_PLATFORM_BELL_H

#include "core/instant.h"

#include <stdbool.h>
#include <stdint.h>

/* Begins to listen; to be ended with bell_leave. The result counts the rings so far. */
uint32_t bell_listen(void);

/* Sleeps until the bell has rung since `*heard`, which is brought up to date, or until the deadline
 * (NEVER: no limit). False once the deadline has passed. Signals do not end the wait. */
bool bell_wait(uint32_t *heard, instant deadline);

void bell_leave(void);

/* Wakes all who listen. One atomic load when nobody does. Cannot fail; may be called in a signal
 * handler. */
void bell_ring(void);

/* In a child: nobody listens. */
void bell_after_fork(void);

#endif
