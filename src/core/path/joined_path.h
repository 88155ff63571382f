/* Do datagrams come in right that the kernel has joined (UDP_GRO)? If it says a wrong length of
 * them, they cannot be told apart.
 *
 *     JOINS --- JOINED_PATH_WRONG wrong ones in a row ---> ONE BY ONE, for JOINED_PATH_RETRY
 *
 * Wrong is a run of joined datagrams that ends with the two secret numbers of the session, and of
 * which none is of that session by its length. An attacker that cannot read the path cannot send
 * such a datagram. A sender whose kernel cuts at a wrong place does: so joining is left for a short
 * time only. With keys nothing is counted, because these numbers are not sealed. */
#ifndef ZCRP_CORE_JOINED_PATH_H
#define ZCRP_CORE_JOINED_PATH_H

#include "core/instant.h"

#include <stdbool.h>
#include <stdint.h>

enum { JOINED_PATH_WRONG = 3 };

#define JOINED_PATH_RETRY (60 * SECOND)

/* All zero at first. */
struct joined_path {
    uint32_t wrong; /* runs, since a datagram was right */
    bool is_left;   /* the kernel is to join none, */
    instant retry;  /* until then */
};

/* A datagram was right; or a joined run was wrong: true if the kernel is to join no more. */
static inline void joined_path_on_right(struct joined_path *p)
{
    p->wrong = 0;
}
static inline bool joined_path_on_wrong(struct joined_path *p, instant now)
{
    if (p->is_left || ++p->wrong < JOINED_PATH_WRONG)
        return false;
    *p = (struct joined_path){.is_left = true, .retry = now + JOINED_PATH_RETRY};
    return true;
}

/* Time has passed. */
static inline void joined_path_expire(struct joined_path *p, instant now)
{
    p->is_left = p->is_left && now < p->retry;
}

#endif
