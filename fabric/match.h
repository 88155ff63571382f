/* Which message lands in which receive: by the tag, but for the bits that the receive ignores, and
 * the sender, where the receive names one; the oldest of each. Messages of one peer arrive in the
 * order in which it sent them.
 *
 * A message that no receive is there for is unexpected, and kept: an eager one with its payload.
 * That memory is bounded. Beyond the bound a message stays in its ring, behind which its peer
 * waits, unless the peer has gone; also while the queue for its completion is full (cq.h). */
#ifndef FABRIC_MATCH_H
#define FABRIC_MATCH_H

#include "op.h"
#include "way.h"

struct matching {
    struct list posted[2];     /* receives; [1]: tagged */
    struct list unexpected[2]; /* messages */
    struct list claimed;       /* messages, by FI_CLAIM */
    uint64_t held_bytes;
};

void matching_init(struct matching *m);

/* Drops everything; no way is left. Within the mutex. */
void matching_fini(struct matching *m, struct domain *d);

/* A message from a peer. False: there is no room for it now. */
bool match_arrived(struct way *w, const struct envelope *e, const uint8_t *payload);

/* What waits in rings for room goes on. */
void match_retry(struct ep *ep);

/* Takes over a receive. One from a peer that is lost ends, unless the peer has a way again. One of
 * many messages ends when there is no memory for its next one, now or later. */
void match_post(struct op *op, bool is_tagged);

/* FI_PEEK, with FI_CLAIM or FI_DISCARD: is there a message that the receive would get? Takes over
 * the operation, which ends with FI_ENOMSG if not. From a peer that is lost none comes any more: an
 * error of libfabric, negative, and there is no completion. */
int match_peek(struct op *op, bool is_tagged, uint64_t flags);

/* FI_CLAIM, with FI_DISCARD: the message that was claimed with this context. False: none was; the
 * operation is the caller's. */
bool match_claim(struct op *op, uint64_t flags);

/* Ends a receive that has no message yet. False: there is none with this context. */
bool match_cancel(struct ep *ep, const void *context);

/* Does a receive wait for this peer alone? */
bool match_awaits(const struct ep *ep, const struct peer *p);

/* A way has ended: what it has announced is lost. If the peer is lost, too, the receives that wait
 * for this peer alone end, and so do those that are posted later. */
void match_lose(struct way *w);

#endif
