/* A connection: a sender and a receiver over one socket. The receiver reads for both.
 *
 *     zcrp_connect              -->  socket, connected  -->  receiver  <- units, hellos, probes
 *     a listener, for a caller  -->  its child               \-----> sender <- everything else
 *
 * The halves are of one link, and so under one mutex. A listener makes the connection as soon as it
 * admits the caller, which then knows its peer. zcrp_accept hands it out. */
#ifndef ZCRP_ACCEPT_CONNECTION_H
#define ZCRP_ACCEPT_CONNECTION_H

#include "first_messages.h"
#include "handshake/tls_handshake.h"
#include "link/entity.h"
#include "listen.h"
#include "peers.h"
#include "sessions.h"

struct zcrp_connection {
    uint32_t generation;          /* (c) of the process that made it */
    int fd;                       /* (c) its own */
    struct zcrp_entity *sender;   /* (c) */
    struct zcrp_entity *receiver; /* (c) */
    struct shared_arena *arena;   /* (c) memory that the peer may map; NULL: none */
    union address peer;           /* under the link's mutex; a peer with keys may move */
    struct peers *peers;          /* (c) of the listener that admitted it; NULL */
    struct first_messages first;  /* (c) of a listener's; else none */
    struct session_name name[2];  /* of both directions, where the peer may move */
};

/* The peer of a connection that is to be made. */
struct accept_info {
    int fd; /* a socket that is connected to it */
    union address peer;
    struct peers *peers; /* held, of the listener that knows it; NULL: none does */
    struct session_keys
        *session_keys;            /* of its handshake; NULL: that is to come, or there is none */
    struct datagram_copy hello;   /* that it has sent; none with keys */
    struct datagram_queue *early; /* with keys, what has come for the connection; NULL: nothing */
};

/* Makes a connection. What the info has is the connection's from now on, also on failure.
 * ZCRP_OK or a code, with errno. Any thread, also in a turn of the engine's. */
__attribute__((warn_unused_result)) int connection_make(struct zcrp_connection **connection,
                                                        const struct zcrp_options *complete,
                                                        const struct accept_info *info);

/* Ends one that no user has, and frees it. The peer is told once, and not waited for: what does not
 * arrive it finds out by asking, or by silence. Any thread, also in a turn of another member of the
 * engine's. */
void connection_turn_away(struct zcrp_connection *c);

/* How it stands: ZCRP_OK, _BUSY while it looks for its peer, or why it has ended. zcrp_explain's
 * line stays. */
int connection_look(struct zcrp_connection *c);

/* In a child: frees this process's copy. */
void connection_abandon(struct zcrp_connection *c);

#endif
