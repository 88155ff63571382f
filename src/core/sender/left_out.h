/* Sequence numbers that are left out (RFC 9000, 21.4). Nothing is ever sent under them, so a peer
 * that acknowledges one acknowledges what it never saw.
 *
 *     sent   ... 61 62 63 .. 65 66 67 ...      64 is left out: an acknowledgement [60, 67) is a lie
 *
 * How many units lie between two of them is drawn at random, so a peer cannot know which of the
 * numbers that it has not seen yet it must not name.
 *
 * I1  numbers ascend. */
#ifndef ZCRP_CORE_LEFT_OUT_H
#define ZCRP_CORE_LEFT_OUT_H

#include "core/adt/intervals.h"
#include "core/wire/secret.h"

enum {
    LEFT_OUT_KEPT = 512, /* that are remembered: what is usual */
    LEFT_OUT_LEAST = 64, /* units between two, at least */
    LEFT_OUT_MOST = 1024,
};

struct left_out {
    uint64_t *number; /* a ring in its table; when it is at its largest the oldest is forgotten */
    uint64_t count;   /* in all */
    uint64_t units;   /* to be sent before the next one is due */
    struct table table;
};

/* None, in a table for a ring (CHECKed) of uint64_t, and one due after units drawn from the secret.
 */
void left_out_init(struct left_out *l, struct table memory, struct secret *secret);

/* `units` were sent. */
static inline void left_out_on_sent(struct left_out *l, uint32_t units)
{
    l->units -= units < l->units ? units : l->units;
}

static inline bool left_out_is_due(const struct left_out *l)
{
    return l->units == 0;
}

/* `number` is left out; it is above all before (CHECKed). The next is due after at most `most`
 * units, or after LEFT_OUT_LEAST where that is more. */
void left_out_add(struct left_out *l, uint64_t number, struct secret *secret, uint64_t most);

/* Is one of the numbers remembered in [first, last)? O(log kept). */
bool left_out_has(const struct left_out *l, uint64_t first, uint64_t last);

/* CHECKs I1. */
void left_out_check(const struct left_out *l);

#endif
