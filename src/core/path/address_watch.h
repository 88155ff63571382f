/* The side that connected: has its own address changed? Its socket may be bound to an address that
 * is gone, or that no route leads from any more; or a translator of addresses (NAT) has forgotten
 * it, so that nothing arrives. A system call may fail then, or nothing is said at all.
 *
 *     something is awaited, and nothing was heard for ADDRESS_WATCH_FIRST and a round trip
 *                                                        ---> look, and say hello
 *     a call says that the socket's address leads nowhere ---> look
 *
 * To look is to ask the system which address it would choose now. The hello shows the peer, and the
 * translators on the way, where this side is. */
#ifndef ZCRP_CORE_ADDRESS_WATCH_H
#define ZCRP_CORE_ADDRESS_WATCH_H

#include "core/instant.h"

#include <stdbool.h>
#include <stdint.h>

#define ADDRESS_WATCH_FIRST (200 * MILLISECOND)
#define ADDRESS_WATCH_MOST SECOND
#define ADDRESS_WATCH_HOMELESS (50 * MILLISECOND)

/* All zero at first. */
struct address_watch {
    instant looked;   /* last */
    uint32_t tries;   /* looks since the peer was heard of */
    bool is_homeless; /* a call has said so since */
};

struct address_watch_facts {
    bool is_awaited; /* something of the peer is: units are in transit, or a message has begun */
    instant heard;   /* of the peer, or when that began to be awaited, whichever is later */
    duration round_trip; /* smoothed, or what is assumed of it */
};

/* When it is time to look; NEVER: nothing hints at it. */
static inline instant address_watch_deadline(const struct address_watch *w,
                                             const struct address_watch_facts *f)
{
    duration first = ADDRESS_WATCH_FIRST + f->round_trip;
    bool is_fresh = w->tries == 0 || f->heard > w->looked;
    duration wait = is_fresh ? first : first << (w->tries < 4 ? w->tries : 4);
    duration most = first > ADDRESS_WATCH_MOST ? first : ADDRESS_WATCH_MOST;
    instant at = instant_later(f->heard, w->looked) + (wait < most ? wait : most);
    instant homeless = w->is_homeless ? w->looked + ADDRESS_WATCH_HOMELESS : NEVER;

    return instant_earlier(f->is_awaited ? at : NEVER, homeless);
}

/* A call has failed, as it does where the socket's address is gone, or no route leads to the peer.
 */
static inline void address_watch_on_homeless(struct address_watch *w)
{
    w->is_homeless = true;
}

/* It is looked at now. */
static inline void address_watch_on_look(struct address_watch *w, instant now, instant heard)
{
    w->tries = heard > w->looked ? 1 : w->tries + 1;
    w->looked = now;
    w->is_homeless = false;
}

#endif
