/* What the system says of the peer: nobody listens at its address. A message of ICMP makes the
 * system say so, and anybody who knows both addresses and ports can forge one. But a forger cannot
 * keep a peer that lives from answering. So a refusal is a hint: it makes this side ask, and it
 * counts only where a question met nothing else.
 *
 *     a question leaves ---> the system refuses ---> the owner receives: nothing has come
 *                                 (in either order)
 *
 * Any datagram of the peer ends the doubt. */
#ifndef ZCRP_CORE_REFUSALS_H
#define ZCRP_CORE_REFUSALS_H

#include "core/instant.h"

#include <stdbool.h>
#include <stdint.h>

struct refusals {
    instant asked;      /* when the newest of the questions left; 0: none has */
    uint32_t questions; /* that left one after the other, and that nobody has answered */
    uint32_t count;     /* questions that were refused, and met nothing else; */
    instant first;      /* when the first of these refusals came, */
    instant last;       /* and the last */
    instant refused;    /* when the system last refused, if it has since a question left */
    bool is_doubted;    /* the system has refused something: is the peer there? */
    bool has_asked;     /* a question has left since the last that counted; */
    bool is_refused;    /* the system has refused since then; */
    bool has_listened;  /* and it was looked whether anything has come, behind the question */
};

/* A peer in doubt is asked at this time, if its last datagram came at `heard`, and a round trip
 * takes `round_trip`; NEVER: it is not in doubt. At most five times a second, and four times a
 * round trip. */
instant refusals_ask_at(const struct refusals *r, instant heard, duration round_trip);

/* Did no datagram of the peer ever arrive, and was it refused for this time? After at least three
 * questions. */
bool refusals_mean_nobody(const struct refusals *r, duration refused);

/* Was the peer there, with its last datagram at `heard`, and is it gone? Not before `silent` has
 * passed. In that time at least 20 questions, spaced as above, had no answer, and four of them were
 * refused: hosts say so no more than once a second (net.ipv4.icmp_ratelimit). */
bool refusals_mean_gone(const struct refusals *r, instant heard, duration silent);

/* A question left, which whoever is there answers. */
void refusals_on_asked(struct refusals *r, instant now, duration round_trip);

/* The system refuses. */
void refusals_on_refused(struct refusals *r, instant now);

/* It was looked whether anything has come, and what has was told before (refusals_on_heard). True
 * if the question that was refused counts now. */
bool refusals_on_listened(struct refusals *r);

/* Something came of the peer. */
void refusals_on_heard(struct refusals *r);

#endif
