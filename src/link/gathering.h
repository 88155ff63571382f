/* Gathering: a user who collects messages and submits each again is likely to submit more at once.
 * So what is submitted meanwhile waits for more of it, and leaves together.
 *
 *     submitted while more is to be collected     ON: it waits
 *     submitted, and nothing more is collected    OFF: all is sent, by this thread
 *     as much waits as is worth a call            OFF, the same
 *     GATHERING_MOST is over                      OFF: the timeout thread sends it
 *     an acknowledgement is due                   OFF: it leaves behind that
 *
 * Large messages are worth a call each, so they never wait.
 *
 * Pure. The owner's mutex guards it; `is_on` is also read without, so it changes by itself. */
#ifndef ZCRP_LINK_GATHERING_H
#define ZCRP_LINK_GATHERING_H

#include "core/instant.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define GATHERING_MOST MILLISECOND /* nothing waits for longer */

enum {
    GATHERING_MESSAGES = 256, /* that are worth a call: two bursts, which ask for one answer */
    GATHERING_BYTES = 1 << 16,
};

/* All zero: off. */
struct gathering {
    _Atomic bool is_on;
    uint32_t messages; /* that wait */
    uint64_t bytes;    /* of these */
    instant until;     /* while on */
};

static inline bool gathering_is_on(const struct gathering *g)
{
    return atomic_load_explicit(&g->is_on, memory_order_relaxed);
}

/* When what waits is sent at the latest; NEVER: nothing waits. */
static inline instant gathering_until(const struct gathering *g)
{
    return gathering_is_on(g) ? g->until : NEVER;
}

/* A message of `size` was submitted, and its user has more to collect. True if it waits. */
static inline bool gathering_adds(struct gathering *g, instant now, uint64_t size)
{
    if (!gathering_is_on(g)) {
        g->messages = 0;
        g->bytes = 0;
        g->until = now + GATHERING_MOST;
        atomic_store_explicit(&g->is_on, true, memory_order_relaxed);
    }
    g->messages++;
    g->bytes += size;
    return g->messages < GATHERING_MESSAGES && g->bytes < GATHERING_BYTES;
}

/* What waited is sent. */
static inline void gathering_end(struct gathering *g)
{
    atomic_store_explicit(&g->is_on, false, memory_order_relaxed);
}

#endif
