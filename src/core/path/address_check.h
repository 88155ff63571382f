/* Is the peer at another address than before? With keys a datagram shows who sealed it, but not who
 * sent it from where: anybody who reads the path may send a copy from an address of his choice. So
 * an address is believed only if whoever is there answers a challenge.
 *
 *     NONE --a newer datagram from elsewhere--> CHALLENGED --its answer, from there--> ANSWERED
 *      ^                                            |                                     |
 *      |<------ the old address brings news --------+------------- the same --------------|
 *      |<------------------------------- SETTLE later: the link moves --------------------/
 *
 * Who copies datagrams, and even carries challenges to the peer and its answers back, cannot keep
 * the peer from being heard where it is: that voids the check. One who can drop what the peer sends
 * is in the path already, and gains nothing.
 *
 * The owner verifies each datagram before it is told here, and sends what this allows. Nothing is
 * sent by time: only what arrives brings a challenge.
 *
 * I1  out <= in: no more bytes leave for an address that is not believed than came from there.
 * I2  each number of a stream begins, or feeds, one check at most. */
#ifndef ZCRP_CORE_ADDRESS_CHECK_H
#define ZCRP_CORE_ADDRESS_CHECK_H

#include "core/instant.h"

#include <stdbool.h>
#include <stdint.h>

enum address_check_state { ADDRESS_CHECK_NONE, ADDRESS_CHECK_CHALLENGED, ADDRESS_CHECK_ANSWERED };

enum {
    ADDRESS_CHECK_STREAMS = 3, /* of sealed datagrams that come from a peer */
    ADDRESS_CHECK_BYTES = 56,  /* of a challenge, sealed */
};

#define ADDRESS_CHECK_REPEAT (100 * MILLISECOND) /* between two challenges, at least */
#define ADDRESS_CHECK_SETTLE                                                                       \
    (100 * MILLISECOND)                  /* for the old address to be heard from, at least, */
#define ADDRESS_CHECK_SETTLE_MOST SECOND /* and at most */
#define ADDRESS_CHECK_UNREAD SECOND      /* for this side to read it, on a busy machine */

/* All zero at first. */
struct address_check {
    enum address_check_state state;
    uint64_t address;   /* the new one, as a number; of no meaning with NONE, as the following */
    uint64_t challenge; /* not 0 */
    uint64_t in, out;   /* bytes; see I1 */
    uint64_t known;     /* what the old address had brought when the check began */
    instant asked;      /* when a challenge last left */
    instant due;        /* ANSWERED: when the link moves, */
    instant latest;     /* and until when it waits for what is unread */
    uint64_t newest[ADDRESS_CHECK_STREAMS]; /* above all numbers that came from elsewhere */
    uint32_t moves;                         /* so far */
    uint64_t begun, voided;                 /* checks; voided: by the old address */
};

/* A datagram that was sealed by the peer, and came from elsewhere. */
struct address_check_arrival {
    uint64_t address; /* from where */
    uint32_t bytes;
    uint32_t stream;
    uint64_t number; /* in the stream */
    uint64_t end;    /* above the newest number that the old address has brought in this stream */
    uint64_t known;  /* the sum of these of all streams */
};

/* A datagram came. Returns the challenge that is to be sent to its address now, or 0. `fresh` is a
 * number that nobody can guess, not 0, for a check that may begin. */
uint64_t address_check_on_arrival(struct address_check *c, instant now,
                                  const struct address_check_arrival *arrival, uint64_t fresh);

/* The answer to a challenge came from this address. It changes nothing unless it is the right one
 * from the right place. A copy of it may have overtaken what the peer itself has sent, by no more
 * than a round trip of the old path. */
void address_check_on_answer(struct address_check *c, instant now, uint64_t address,
                             uint64_t challenge, duration round_trip);

/* Is the link to be moved to `address` now? `known` as above, as it is by now. */
bool address_check_is_due(struct address_check *c, instant now, uint64_t known);

/* Is what the old address has brought, and nobody has read yet, worth waiting for? For
 * ADDRESS_CHECK_UNREAD at most: otherwise a forger of the old address could keep the link there. */
bool address_check_awaits_reader(const struct address_check *c, instant now);

/* It cannot be moved just now: it is due again at this time. */
void address_check_put_off(struct address_check *c, instant until);

/* It was moved, or cannot be moved there. */
void address_check_on_moved(struct address_check *c);
void address_check_give_up(struct address_check *c);

/* When it is due; NEVER: nothing waits for time. */
static inline instant address_check_deadline(const struct address_check *c)
{
    return c->state == ADDRESS_CHECK_ANSWERED ? c->due : NEVER;
}

/* CHECKs I1, and that what has no check has no deadline. */
void address_check_check(const struct address_check *c);

#endif
