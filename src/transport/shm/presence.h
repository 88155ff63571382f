/* A sender offers shared memory only what is there (platform/pages.h): the peer would else sleep
 * for missing pages, in whatever thread reads. A burst whose pages are not there waits, and a
 * thread of this process brings them, from there to the message's end. So memory that never comes
 * holds up its own sender, and nobody else. Meanwhile the sender says what it has to say: the burst
 * is tried again and again.
 *
 * This is for memory that the user brought. Units up to PRESENCE_COPIED bytes are copied by the
 * sender, and not looked at. */
#ifndef ZCRP_TRANSPORT_SHM_PRESENCE_H
#define ZCRP_TRANSPORT_SHM_PRESENCE_H

#include "core/wire/burst.h"
#include "platform/pages.h"

#include <stdbool.h>
#include <sys/uio.h>

enum { PRESENCE_COPIED = 4096 };

/* All of the thread that sends; all zero: nothing is missing. */
struct presence {
    struct pages_seen seen;
    struct fetch *fetch;  /* the last one; NULL: none yet, or it could not begin */
    uint64_t fetched;     /* of which message */
    uint64_t message;     /* that waits for */
    struct iovec missing; /* this piece, and what follows it in the message */
};

/* May the peer read the burst's memory? If not, `message` and `missing` say what it waits for. */
bool presence_allows(struct presence *p, const struct burst *burst);

/* Is that still to come? */
bool presence_is_awaited(const struct presence *p);

/* Starts to bring `rest`, which begins with what is missing, unless that is under way. `told` is as
 * of fetch_begin. */
void presence_fetch(struct presence *p, struct iovec rest, void (*told)(void *context),
                    void *context);

/* Nothing is told any more. */
void presence_end(struct presence *p);

/* The same in a child. */
void presence_abandon(struct presence *p);

#endif
