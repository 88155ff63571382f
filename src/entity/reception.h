/* The callers of a listener whose handshakes are under way. All of it goes over the listening
 * socket: a caller gets a socket of its own only once it has shown that it has a key which is good
 * here. Strangers without a cookie cost no handshake; those with one share RECEPTION_MOST places,
 * of which one host has RECEPTION_OF_HOST. Who is refused, or has kept a place for
 * GREETING_PATIENCE, gives way to others once there is none left; the connect limit ends a
 * handshake in any case. So whoever begins a handshake and does not go on with it holds others up
 * for that long at most.
 *
 * Any thread: a mutex of its own guards it, which is held while TLS computes. */
#ifndef ZCRP_ENTITY_RECEPTION_H
#define ZCRP_ENTITY_RECEPTION_H

#include "channel/listen.h"
#include "greeting.h"
#include "platform/thread.h"

enum { RECEPTION_MOST = 64, RECEPTION_OF_HOST = 16 };

struct visitor {
    struct greeting *greeting; /* NULL: the place is free */
    struct caller caller;      /* as heard last */
};

struct reception {
    struct zcrp_keys *keys; /* (c) held; NULL: callers need none */
    duration limit;         /* (c) of a handshake */
    struct mutex mutex;
    struct visitor *visitors; /* (m) RECEPTION_MOST places */
    uint64_t refused;         /* (m) callers without a key that is good here */
    uint64_t dropped;         /* (m) that found no room */
};

/* False: no memory. */
__attribute__((warn_unused_result)) bool reception_init(struct reception *r, struct zcrp_keys *keys,
                                                        duration limit);
void reception_fini(struct reception *r);

/* In a child: the mutex may be held by a thread that this process does not have. */
void reception_abandon(struct reception *r);

/* Hears a caller, and answers over the socket. With what its handshake has ended, if it is to be
 * let in; else NULL. */
struct admission *reception_hear(struct reception *r, const struct listen_socket *socket,
                                 const struct caller *caller);

/* Does what is due by the time. Returns when there is something again. */
instant reception_expire(struct reception *r, const struct listen_socket *socket);

/* How many callers had no key that is good here, and how many found no room. */
void reception_count(struct reception *r, uint64_t *refused, uint64_t *dropped);

#endif
