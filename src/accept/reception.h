/* The callers of a listener whose handshakes are under way, and the thread that does them. All of
 * it goes over the listening socket: a caller gets a socket of its own only once it has shown that
 * it has a key which is good here.
 *
 *     receiving thread --hear--> [ visitors, each with its letters ] --> zcrp-keys: TLS, answers,
 *                                                                        welcome(admission)
 *
 * What a handshake computes, and what the user's lookup does, holds up other callers of this
 * listener, and nothing else. Strangers without a cookie cost no handshake; those with one share
 * RECEPTION_MOST places, of which one host has RECEPTION_OF_HOST. Who is refused, or has kept a
 * place for GREETING_PATIENCE, gives way to others once there is none left; the connect limit ends
 * a handshake in any case. So whoever begins a handshake and does not go on with it holds others up
 * for that long at most. Hosts whose handshakes fail may begin few (sources.h), and come last.
 *
 * Any thread, unless something else is said. The mutex is held for a few instructions. Lock
 * letters: (c) constant from start to stop, (m) the mutex, (k) the reception's thread alone. */
#ifndef ZCRP_ACCEPT_RECEPTION_H
#define ZCRP_ACCEPT_RECEPTION_H

#include "link/greeting.h"
#include "link/letters.h"
#include "listen.h"
#include "platform/thread.h"
#include "sources.h"

enum {
    RECEPTION_MOST = 64,
    RECEPTION_OF_HOST = 16,
};

struct visitor {
    bool is_here;              /* (m) else the place is free */
    bool is_served;            /* (m) by the thread, which leaves the mutex meanwhile */
    bool has_begun;            /* (m) its handshake: it was charged to the host */
    bool has_failed;           /* (m) */
    bool has_early;            /* (m) a request came before it has a socket of its own */
    uint64_t host;             /* (m) */
    uint64_t nonce;            /* (m) of its handshake, */
    uint32_t tag;              /* (m) and its tag */
    instant came, served;      /* (m) when it took the place; when the thread last was with it */
    instant due;               /* (m) the time of its handshake; NEVER: it waits for the caller */
    struct caller caller;      /* (m) as heard last */
    struct caller early;       /* (m) */
    struct letters letters;    /* (m) */
    struct greeting *greeting; /* (k) while it is served, else (m); NULL: it has not begun */
};

/* Takes somebody whose handshake has ended well, in the reception's thread, without its mutex. The
 * admission is the function's. */
typedef void (*reception_welcome)(void *context, const struct caller *caller,
                                  struct admission *admission);

struct reception {
    struct zcrp_keys *keys; /* (c) held; NULL: callers need none, and there is no thread */
    duration limit;         /* (c) of a handshake */
    const struct listen_socket *socket; /* (c) */
    reception_welcome welcome;          /* (c) */
    void *context;                      /* (c) */
    struct thread thread;
    bool is_running; /* (c) */

    struct mutex mutex;
    struct condition has_work;
    bool is_stopping;         /* (m) */
    struct visitor *visitors; /* (m) RECEPTION_MOST places */
    struct sources sources;   /* (m) */
    struct letters reading;   /* (k) */
    uint64_t refused;         /* (m) callers without a key that is good here */
    uint64_t dropped;         /* (m) that found no room */
};

/* False: no memory. */
__attribute__((warn_unused_result)) bool reception_init(struct reception *r, struct zcrp_keys *keys,
                                                        duration limit);

/* Starts the thread, if there are keys. 0, or the system's negative error number. */
__attribute__((warn_unused_result)) int reception_start(struct reception *r,
                                                        const struct listen_socket *socket,
                                                        reception_welcome welcome, void *context);

/* Waits for the handshake that is being computed, and ends the thread. Nobody is heard any more.
 * Fine if there is none. */
void reception_stop(struct reception *r);

/* Stopped. */
void reception_fini(struct reception *r);

/* In a child: the mutex may be held by a thread that this process does not have. */
void reception_abandon(struct reception *r);

/* Hears a caller with a handshake, or an early request. */
void reception_hear(struct reception *r, const struct caller *caller);

/* For `welcome`: the early request of that caller, if one has come. */
bool reception_take_early(struct reception *r, const struct caller *of, struct caller *early);

/* How many callers had no key that is good here, and how many found no room. */
void reception_count(struct reception *r, uint64_t *refused, uint64_t *dropped);

#endif
