/* The peers: other message protocols to compare with, each in a library of its own. Those whose
 * development package was there when this program was built are transports like any other. */
#ifndef BENCH_PEERS_H
#define BENCH_PEERS_H

#include <stddef.h>

#include "transport.h"

enum { PEERS = 2 };

struct peer {
    const char *name;
    const char *packages;              /* Debian's, which are to be installed for it */
    const char *what;                  /* the protocol in a few words, and whether it encrypts */
    const struct transport_kind *kind; /* NULL: not built in */
};

/* All of them, built in or not. */
extern const struct peer peers[PEERS];

/* The peer called `name`, or NULL. */
const struct peer *peers_find(const char *name);

/* Says that a peer is not built in, and what to do about it. -1. */
int peers_complain(const struct peer *peer);

#endif
