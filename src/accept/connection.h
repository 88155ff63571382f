/* A connection: a sender and a receiver over one socket. The receiver reads for both.
 *
 *     zcrp_connect   -->  socket, connected  -->  receiver  <- units, hellos, probes
 *     zcrp_accept    -->  a listener's child           \-----> sender <- everything else
 *
 * The halves are of one link, and so under one mutex. */
#ifndef ZCRP_ACCEPT_CONNECTION_H
#define ZCRP_ACCEPT_CONNECTION_H

#include "handshake/tls_handshake.h"
#include "link/entity.h"
#include "listen.h"
#include "peers.h"

struct zcrp_connection {
    uint32_t generation;          /* (c) of the process that made it */
    int fd;                       /* (c) its own */
    struct zcrp_entity *sender;   /* (c) */
    struct zcrp_entity *receiver; /* (c) */
    struct shared_arena *arena;   /* (c) memory that the peer may map; NULL: none */
    union address peer;           /* (c) */
    struct peers *peers;          /* (c) of the listener that admitted it; NULL */
};

/* The peer of a connection that is to be made. */
struct accept_info {
    int fd; /* a socket that is connected to it */
    union address peer;
    struct peers *peers; /* held, of the listener that knows it; NULL: none does */
    struct session_keys
        *session_keys;          /* of its handshake; NULL: that is to come, or there is none */
    struct datagram_copy first; /* that it has sent: a hello; with keys, a request; or none */
};

/* Lets go of what it has. */
void accept_info_drop(const struct accept_info *info);

/* Makes a connection. What the info has is the connection's from now on, also on failure.
 * ZCRP_OK or a code. */
__attribute__((warn_unused_result)) int connection_make(struct zcrp_connection **connection,
                                                        const struct zcrp_options *complete,
                                                        const struct accept_info *info);

#endif
