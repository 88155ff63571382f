/* Steps of the receiver in which several parts move together. They only call down.
 * receiver_fail (receiver.h) is one of them. */
#ifndef ZCRP_CORE_RECEIVER_STEPS_H
#define ZCRP_CORE_RECEIVER_STEPS_H

#include "receiver_state.h"

/* Something of the present pairing arrived. */
void receiver_hear(struct receiver *r, instant now);

/* Leaves the session: no sender is bound, and what arrived is forgotten. */
void receiver_leave(struct receiver *r, instant now);

/* Asks that the messages from `number` on are announced with the next take. */
void receiver_announce(struct receiver *r, uint64_t number);

/* The same of those that were not announced before. If one request has room for all that the sender
 * may not know it restates that, too: a request may have been lost. */
void receiver_announce_new(struct receiver *r);

/* The first message that the sender may not know of, or the oldest if it knows all. */
uint64_t receiver_unknown(const struct receiver *r);

/* The close under way is over: the peer confirmed it, or nobody is there to be told. */
void receiver_end_close(struct receiver *r);

/* A hello arrived: it may begin a session or end one, and is answered. */
void receiver_on_hello(struct receiver *r, instant now, const struct hello *hello);

/* A hello of another version arrived, of which only the numbers at its end are known. */
void receiver_on_foreign_hello(struct receiver *r, struct pairing echoed);

#endif
