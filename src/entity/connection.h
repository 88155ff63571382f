/* A connection: a sender and a receiver over one socket. The receiver reads for both.
 *
 *     zcrp_connect   -->  socket, connected  -->  receiver  <- units, hellos, probes
 *     zcrp_accept    -->  a listener's child           \-----> sender <- everything else
 *
 * Each half is an entity like any other: its mutex, its machine, its messages. What one of them
 * receives for the other changes hands without a lock held. */
#ifndef ZCRP_ENTITY_CONNECTION_H
#define ZCRP_ENTITY_CONNECTION_H

#include "channel/listen.h"
#include "entity.h"
#include "peers.h"

struct zcrp_connection {
    uint32_t generation;          /* (c) of the process that made it */
    int fd;                       /* (c) its own */
    struct zcrp_entity *sender;   /* (c) */
    struct zcrp_entity *receiver; /* (c) */
    struct commons *commons;      /* (c) memory that the peer may map; NULL: none */
    union address peer;           /* (c) */
    struct peers *peers;          /* (c) of the listener that admitted it; NULL */
};

/* Makes a connection over a connected socket, which is its own from now on, also on failure.
 * `hello` is what the peer has said already (NULL: nothing). ZCRP_OK or a code. */
__attribute__((warn_unused_result)) int connection_make(struct zcrp_connection **connection, int fd,
                                                        const struct zcrp_options *complete,
                                                        const struct caller *hello);

#endif
