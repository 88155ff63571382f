/* One direction between this endpoint and a peer: the connections that the direction's sender has
 * opened (wire.h), and the operations that use them. A way that fails has ended as a whole. Once it
 * is closed, the next send opens another one. Everything within the domain's mutex. */
#ifndef FABRIC_WAY_H
#define FABRIC_WAY_H

#include "link.h"
#include "list.h"
#include "op.h"
#include "wire.h"
#include "zcrp.h"

struct ep;
struct peer;

struct way {
    struct list in; /* of ep->ways, later domain->closing */
    struct ep *ep;
    struct peer *peer; /* NULL: a caller that has not greeted yet */
    bool is_ours;      /* this end sends */
    bool is_ended;
    int code;         /* why */
    int doom;         /* why it ends once control is not stalled; ZCRP_OK: it does not */
    bool has_greeted; /* of a caller, */
    struct greeting greeting;
    struct link *control, *bulk; /* NULL: not there yet */
    bool is_up;                  /* of ours: the peer has answered */
    struct list early;           /* sends that were copied, and end when it is up */
    struct list flying;          /* operations whose memory ZCRP has */
    struct list matched;         /* receives that have a rendezvous, and no grant yet (bulk.c), */
    int matched_count;           /* so many */
    bool gathers;                /* what has landed on control is being handled: more may match */
    struct zcrp_msg *answer;     /* a CTS that was not copied; NULL: there never was one */
    struct op **announced;       /* sends that wait for a grant, by id; NULL: free */
    size_t announced_room, announced_next;
};

/* To the peer, which has none. NULL, and *error, of libfabric, positive. */
struct way *way_open(struct ep *ep, struct peer *p, int *error);

/* From a caller of the listener. */
void way_accept(struct ep *ep, struct zcrp_connection *connection);

/* The link for large messages, which is opened if it is not there. A zcrp code. */
int way_open_bulk(struct way *way);

/* Sends a message on control, or an envelope and its payload as one, as a copy. A zcrp code; with
 * BUSY nothing was sent. Another one has ended the way. */
int way_send_bytes(struct way *way, const uint8_t *bytes, size_t size);
int way_send(struct way *way, const struct envelope *e, const struct iovec *iov, int count);

/* Hands the operation's message to ZCRP. Its end ends the operation. A zcrp code. */
int way_submit(struct way *way, struct zcrp_entity *half, struct op *op, uint64_t size);

/* Is its first connection there, or about to be, and is it not doomed? Else no more comes on it
 * than has landed, and no new link joins it. */
bool way_is_alive(const struct way *way);

/* What the queue says of a link. */
void way_on_completion(struct link *l, const struct zcrp_completion *c);

/* A message has landed in a link's ring. */
enum link_verdict way_on_message(struct way *way, struct link *l, const uint8_t *bytes,
                                 uint64_t size);

/* Once its connections are closed (closer.c), everything on it that has not ended well by then ends
 * with an error. */
void way_end(struct way *way, int code);

/* Once its connections are closed: ends the operations, and frees it. */
void way_destroy(struct way *way);

#endif
