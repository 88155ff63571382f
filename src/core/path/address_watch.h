/* The side that connected: has its own address changed? Its socket may be bound to an address that
 * is gone, or that no route leads from any more; or a translator of addresses (NAT) has forgotten
 * it, so that nothing arrives. A system call may fail then, or no call says anything.
 *
 *     something is awaited, and nothing was heard for ADDRESS_WATCH_FIRST and a round trip
 *                                                        ---> look, and say hello
 *     a message waits for a buffer of the peer's          ---> the same, ever more rarely
 *     a call says that the socket's address leads nowhere ---> look
 *
 * The peer may take its time before it has a buffer, so an answer to the hello changes nothing
 * then. But the request that announces the buffer may have gone to an address that is lost.
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
    uint32_t tries;   /* looks since the peer's last datagram, or since the message began to wait */
    uint64_t blocked; /* the message that waited then, as in the facts */
    bool is_homeless; /* a call has said so since */
};

struct address_watch_facts {
    bool is_awaited; /* something of the peer is: units are in transit, or a message has begun */
    instant heard;   /* of the peer, or when that began to be awaited, whichever is later */
    duration round_trip; /* smoothed, or what is assumed of it */
    uint64_t blocked;    /* the first message without a buffer, as a number above 0; 0: none */
    duration rarest;     /* between two looks for that one, at most */
};

/* Has the peer sent anything since the last look, or does another message wait? */
static inline bool address_watch_is_fresh(const struct address_watch *w,
                                          const struct address_watch_facts *f)
{
    if (w->tries == 0)
        return true;
    return f->is_awaited ? f->heard > w->looked : f->blocked != w->blocked;
}

/* When it is time to look; NEVER: nothing hints at it. */
static inline instant address_watch_deadline(const struct address_watch *w,
                                             const struct address_watch_facts *f)
{
    duration first = ADDRESS_WATCH_FIRST + f->round_trip;
    duration most = f->is_awaited ? ADDRESS_WATCH_MOST : f->rarest;
    uint32_t doublings = address_watch_is_fresh(w, f) ? 0 : w->tries < 16 ? w->tries : 16;
    duration wait = instant_earlier(first << doublings, first > most ? first : most);
    instant at = instant_later(f->heard, w->looked) + wait;
    instant homeless = w->is_homeless ? w->looked + ADDRESS_WATCH_HOMELESS : NEVER;

    return instant_earlier(f->is_awaited || f->blocked != 0 ? at : NEVER, homeless);
}

/* A call has failed, as it does where the socket's address is gone, or no route leads to the peer.
 */
static inline void address_watch_on_homeless(struct address_watch *w)
{
    w->is_homeless = true;
}

/* The owner looks now. */
static inline void address_watch_on_look(struct address_watch *w, instant now,
                                         const struct address_watch_facts *f)
{
    w->tries = address_watch_is_fresh(w, f) ? 1 : w->tries + 1;
    w->looked = now;
    w->blocked = f->blocked;
    w->is_homeless = false;
}

#endif
