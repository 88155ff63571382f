/* A transmitter with a rate and a queue before it, in virtual time: who enters is told at once when
 * he will have left. So a caller that comes late loses nothing: what it brings in a row leaves at
 * the rate, and what is due is due.
 *
 *      enter -> [ waits, at most so long | is being sent ] -> leaves
 */
#ifndef LINK_BOTTLENECK_H
#define LINK_BOTTLENECK_H

#include <stdbool.h>
#include <stdint.h>

#include "core/instant.h"

struct bottleneck {
    uint64_t rate;   /* bits a second; 0: everything leaves at once */
    duration limit;  /* from entering to having left, at most */
    instant free_at; /* all that has entered has left */
    uint64_t carry;  /* what free_at leaves out, in 1 / rate ns */
};

void bottleneck_init(struct bottleneck *b, uint64_t rate, duration limit);

/* A packet of `bytes` < 2^17 comes. False if the queue has no room for it; a packet that finds the
 * transmitter idle always has. Else *leaves is when its last bit is out; never before that of
 * the packet before it. `now` does not go back. */
bool bottleneck_enter(struct bottleneck *b, instant now, uint32_t bytes, instant *leaves);

#endif
