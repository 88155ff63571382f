/* One connection of ZCRP, and a ring of buffers that are posted on it: the n-th message that the
 * peer sends lands in buffer n, modulo the ring's size. Messages may end out of order; they are
 * handled in order. A buffer is posted again once its message was handled, or its sender has taken
 * that back; while the endpoint has no room for what is in one, it stays, and the peer can send no
 * more than fills the ring. */
#ifndef FABRIC_LINK_H
#define FABRIC_LINK_H

#include "list.h"
#include "zcrp.h"

#include <stdbool.h>
#include <stdint.h>

struct way;

struct link {
    struct way *way;
    struct list in; /* of ep->stalled, while it is */
    struct zcrp_connection *connection;
    struct zcrp_msg **ring;
    bool is_first; /* the ring is the connection's first message, which goes with it */
    uint32_t count, head;
    uint64_t bytes; /* that a buffer has */
};

enum link_verdict {
    LINK_TAKEN, /* the buffer is free again */
    LINK_STALL, /* there is no room: try again later */
    LINK_BAD,   /* the way has ended */
};

/* Takes over the connection, and adds it to the domain's queue; on failure it is closed, and NULL.
 */
struct link *link_create(struct way *way, struct zcrp_connection *connection);

/* Posts a ring of buffers. A zcrp code. */
int link_post(struct link *l, uint32_t count, uint64_t bytes);

/* Uses the connection's first message as the ring. */
int link_post_first(struct link *l, uint64_t bytes);

/* Frees the ring, whose messages have all ended, to post another one. */
void link_drop_ring(struct link *l);

/* Handles what has landed, in order (way_on_message). Ends a way that is doomed, if nothing waits
 * on its control any more. Within the mutex. */
void link_process(struct link *l);

/* Does something that has landed wait for room? */
bool link_is_stalled(const struct link *l);

/* Closes the connection, which may take seconds. Without the mutex; no completion of the link comes
 * any more. */
void link_close(struct link *l);

/* Once it is closed. NULL is fine. */
void link_destroy(struct link *l);

#endif
