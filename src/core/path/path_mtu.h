/* Path MTU discovery (RFC 8899): how large a datagram may be, and when to find out again.
 *
 *                        large ones are lost, round after round
 *     COMPLETE, SEARCH <-----------------------------------------> BASE ---> ERROR
 *      ^         |  ^       and pass after all                       |  still  |
 *      |         |  \------------ a small probe passes: the size falls ---------/
 *      \---------/
 *       nothing is left to try, or refused; after ten minutes SEARCH again
 *
 * It begins COMPLETE at what the system says that the path carries, or the user chose, and never
 * goes above what the interface carries. So a path that is what it says costs nothing. The size
 * does not fall until a small probe passes where large datagrams did not: a path that carries
 * nothing is no narrow one. Then it is climbed again, probe by probe. They are datagrams of
 * padding, of which the peer says that they came. A probe is no data, and its loss no sign of
 * congestion; and it counts as lost only while other datagrams do pass. While none do, none follows
 * it.
 *
 * What a router says (ICMP), or somebody who pretends to be one, is a hint. It brings BASE about at
 * once, and a small probe. But the size falls only if large datagrams are lost as well; and one
 * that arrives ends the doubt. In SEARCH a hint is not followed: it is most often about the
 * search's own probe.
 *
 * Bytes count datagrams, as UDP carries them.
 *
 * I1  0 < bytes <= most.
 * I2  in SEARCH bytes < failed, and there is a size between them that is worth a probe.
 * I3  no probe is out in COMPLETE. */
#ifndef ZCRP_CORE_PATH_MTU_H
#define ZCRP_CORE_PATH_MTU_H

#include "core/instant.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    PATH_MTU_BASE_BYTES = 1216, /* every path of IPv6 carries 1,232 (RFC 8899, 5.1.2), */
    PATH_MTU_LEAST = 544,       /* and every IPv4 path 548: in whole grains */
    PATH_MTU_PROBES = 3,        /* of one size lost, and it is too large */
};

#define PATH_MTU_RAISE (600 * SECOND) /* until a larger size is tried again */
#define PATH_MTU_HINTS SECOND         /* at least, between hints that are followed */

/* RFC 8899, 5.2. */
enum path_mtu_state {
    PATH_MTU_COMPLETE,
    PATH_MTU_SEARCH,
    PATH_MTU_BASE,
    PATH_MTU_ERROR,
};

struct path_mtu {
    enum path_mtu_state state;
    uint32_t most;     /* worth trying */
    uint32_t bytes;    /* largest datagram to send now */
    uint32_t failed;   /* smallest that this search found too large; above most: none */
    uint32_t aim;      /* tried first in a search, and once: what passed before the fall; or 0 */
    uint32_t suspect;  /* the smallest of what was lost in these */
    uint32_t rounds;   /* in a row in which only large datagrams were lost */
    instant round_at;  /* when the last was noticed */
    instant raise;     /* in COMPLETE below most: then it searches again */
    uint32_t number;   /* of the next probe */
    uint32_t first;    /* of the first in this state */
    bool is_asked;     /* in BASE and ERROR: this round has had no probe yet */
    uint32_t small;    /* in BASE by a hint: size of the small probe that has passed; or 0 */
    instant hinted;    /* when a hint was last followed */
    uint32_t tries;    /* of this size, that were lost */
    uint32_t probed;   /* bytes of the probe that is out; 0: none is */
    instant probe_due; /* when its answer should be here */
    uint64_t mark;     /* the newest datagram that had passed when it left */
    bool is_vain;      /* it was not answered, and nothing else has passed since: no other now */
};

/* A path that is taken to carry `bytes`, and may carry `most`: if that is more it is tried first of
 * all. */
void path_mtu_init(struct path_mtu *p, uint32_t bytes, uint32_t most, instant now);

/* A datagram of data has arrived. */
void path_mtu_on_arrived(struct path_mtu *p, uint32_t bytes);

/* A datagram that left at `sent` was given up, because others arrived; or nothing came back in
 * time, and the larger of the oldest two has `bytes`. */
void path_mtu_on_lost(struct path_mtu *p, instant now, instant sent, uint32_t bytes);
void path_mtu_on_timeout(struct path_mtu *p, instant now, uint32_t bytes);

/* This machine's interface takes none of `bytes`, above `least` (CHECKed). The size is a smaller
 * one afterwards; `least` at the least. */
void path_mtu_on_refused(struct path_mtu *p, instant now, uint32_t bytes, uint32_t least);

/* A router says that large datagrams do not pass; or somebody else does. */
void path_mtu_on_hint(struct path_mtu *p, instant now);

/* Is it in question whether large datagrams pass? */
static inline bool path_mtu_is_in_doubt(const struct path_mtu *p)
{
    return p->state == PATH_MTU_BASE || p->state == PATH_MTU_ERROR;
}

/* Does a probe timeout ask whether large datagrams pass? Not behind a hint alone. */
static inline bool path_mtu_asks_at_timeouts(const struct path_mtu *p)
{
    return path_mtu_is_in_doubt(p) && p->rounds > 0;
}

/* Is a larger size worth a probe now? Who has no more to send than fits what passes asks not. */
static inline bool path_mtu_wants_more(const struct path_mtu *p, instant now)
{
    if (p->bytes == p->most || p->probed != 0 || p->is_vain)
        return false;
    return p->state == PATH_MTU_SEARCH || (p->state == PATH_MTU_COMPLETE && p->raise <= now);
}

/* Is there to be seen if a small one passes? If so, behind the datagrams that are repeated now. */
static inline bool path_mtu_wants_less(const struct path_mtu *p)
{
    return p->is_asked && p->probed == 0;
}

/* A probe leaves, as one is wanted: its bytes and number are returned. It should be answered by
 * `due`; `mark` names the newest datagram known to have passed. */
uint32_t path_mtu_probe(struct path_mtu *p, instant due, uint64_t mark, uint32_t *number);

/* The probe did not leave after all, or nobody will answer it. */
void path_mtu_forget_probe(struct path_mtu *p);

/* The peer has the probe with this number, and this size in bytes. A number or size that is none of
 * this search's is passed over. */
void path_mtu_on_answer(struct path_mtu *p, instant now, uint32_t number, uint32_t bytes);

/* When the answer to the probe is due; NEVER if none is. */
static inline instant path_mtu_deadline(const struct path_mtu *p)
{
    return p->probed == 0 ? NEVER : p->probe_due;
}

/* It did not come. `mark` as above: if that has not changed, nothing passed, and it says nothing;
 * then no larger size is wanted until something has arrived. */
void path_mtu_expire(struct path_mtu *p, instant now, uint64_t mark);

/* CHECKs I1 to I3. */
void path_mtu_check(const struct path_mtu *p);

#endif
