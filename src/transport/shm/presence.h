/* A sender offers its neighbour only memory whose pages are there (platform/pages.h): the neighbour
 * would else sleep for them, in whatever thread reads. A burst whose pages are not there waits, and
 * a thread of this process brings them, from there to the message's end. So memory that never comes
 * holds up its own sender, and nobody else. Meanwhile the sender says what it has to say: the burst
 * is tried again and again.
 *
 * This is for memory that the user brought. Units up to PRESENCE_COPIED bytes are copied by the
 * sender, and not looked at. */
#ifndef ZCRP_LINK_PRESENCE_H
#define ZCRP_LINK_PRESENCE_H

#include "core/wire/burst.h"
#include "platform/pages.h"

#include <stdbool.h>
#include <sys/uio.h>

struct zcrp_entity;

enum { PRESENCE_COPIED = 4096 };

/* All of the thread that sends. */
struct presence {
    struct pages_seen seen;
    struct fetch *fetch;  /* the last one; NULL: none yet, or it could not begin */
    uint64_t fetched;     /* of which message */
    uint64_t message;     /* that waits for */
    struct iovec missing; /* this piece, and what follows it in the message */
};

/* May a neighbour read the burst's memory? If not, see presence_fetch. Not locked. */
bool presence_allows(struct zcrp_entity *e, const struct burst *burst);

/* The burst was not allowed, and is given back. Locked; leaves the lock meanwhile. */
void presence_fetch(struct zcrp_entity *e);

/* Is the piece that was missing still to come? Locked. */
bool presence_is_awaited(const struct zcrp_entity *e);

/* The entity has left its engine, or is about to be freed. */
void presence_end(struct zcrp_entity *e);

/* The same in a child. */
void presence_abandon(struct zcrp_entity *e);

#endif
