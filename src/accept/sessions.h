/* The sessions of a listener's connections with keys, by name: for datagrams that come from an
 * address which is no caller's, because a peer may be there by now (link/peer_move.h).
 *
 * The names follow from secrets, so nobody chooses them; but whoever reads the path reads them.
 * What is found by one is not believed for that.
 *
 * Any thread may call these. The mutex keeps a link from going away while something is posted to
 * it. */
#ifndef ZCRP_ACCEPT_SESSIONS_H
#define ZCRP_ACCEPT_SESSIONS_H

#include "core/wire/datagram.h"
#include "transport/address.h"

struct link;
struct sessions;

/* A name of a link, in the owner's memory. All zero: it is in no table. */
struct session_name {
    struct pairing pairing;
    struct link *link;
    struct session_name *next;
};

/* For about this number of connections. NULL: no memory. */
struct sessions *sessions_create(uint32_t connections);
void sessions_destroy(struct sessions *s, bool is_in_child); /* nobody has a name in it */

/* The link has this name until it is removed, after which nothing is posted by it any more. */
void sessions_add(struct sessions *s, struct session_name *name, struct pairing pairing,
                  struct link *link);
void sessions_remove(struct sessions *s, struct session_name *name);

/* Posts a datagram, of `size` bytes, at least 1, to the link whose session it names. False: there
 * is none. */
bool sessions_post(struct sessions *s, const union address *from, const uint8_t *datagram,
                   size_t size);

#endif
