/* What a half puts off: it has something to send, and something better may come that it leaves
 * with.
 *
 * FLUSH_MORE: small messages gather while their user collects others, because who collects and
 * submits each again is likely to submit more at once. All is sent when nothing is left to collect,
 * or as much waits as is worth a call, or an acknowledgement is due. So they do while a queue's
 * taker is away with several of this sender's messages, or with one of several: when it is back,
 * and not about to be told more of them, it sends all. So a message that takes longer to send than
 * to submit does not wait for it.
 *
 * FLUSH_ANSWER: an acknowledgement waits for the answer of a user who usually answers: the peer
 * waits for that, and has it a datagram earlier (waiting/wait_policy.h, answering). It is sent
 * behind the answer, or when the user waits on.
 *
 * Whatever is sent takes all with it. After FLUSH_MOST the timeout thread sends it. Large messages
 * are worth a call each, so they never wait.
 *
 * Pure. The owner's mutex guards it; `why` is also read without, so it changes by itself. */
#ifndef ZCRP_LINK_FLUSH_H
#define ZCRP_LINK_FLUSH_H

#include "core/instant.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define FLUSH_MOST MILLISECOND /* nothing is put off for longer */

enum {
    FLUSH_MESSAGES = 256, /* that are worth a call: two bursts, which ask for one answer */
    FLUSH_BYTES = 1 << 16,
    FLUSH_SMALL = 1 << 10, /* bytes of a message whose submission takes as long as its way out */
};

enum flush_reason { FLUSH_NOTHING, FLUSH_MORE, FLUSH_ANSWER };

/* All zero: nothing. */
struct flush {
    _Atomic int why;   /* enum flush_reason */
    instant at;        /* while there is a reason: at the latest */
    uint32_t messages; /* that gather */
    uint64_t bytes;    /* of these */
};

/* Any thread. */
static inline bool flush_is_for(const struct flush *f, enum flush_reason why)
{
    return atomic_load_explicit(&f->why, memory_order_relaxed) == (int)why;
}

/* When it is sent at the latest; NEVER: nothing is put off. */
static inline instant flush_at(const struct flush *f)
{
    return flush_is_for(f, FLUSH_NOTHING) ? NEVER : f->at;
}

/* The one place that moves the reason. */
static inline void flush_move(struct flush *f, enum flush_reason why)
{
    atomic_store_explicit(&f->why, (int)why, memory_order_relaxed);
}

/* All is put off, for this reason from now on: for no longer than for the one before. */
static inline void flush_begin(struct flush *f, instant now, enum flush_reason why)
{
    f->at = instant_earlier(flush_at(f), now + FLUSH_MOST);
    f->messages = 0;
    f->bytes = 0;
    flush_move(f, why);
}

/* A message of `size` was submitted, and its user is likely to submit more. True if it waits. */
static inline bool flush_add(struct flush *f, instant now, uint64_t size)
{
    if (!flush_is_for(f, FLUSH_MORE))
        flush_begin(f, now, FLUSH_MORE);
    f->messages++;
    f->bytes += size;
    return f->messages < FLUSH_MESSAGES && f->bytes < FLUSH_BYTES;
}

/* All is sent. */
static inline void flush_end(struct flush *f)
{
    flush_move(f, FLUSH_NOTHING);
}

#endif
