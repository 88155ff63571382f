/* The callers whose handshakes are under way, and the thread that does them. A caller that has
 * shown that it has a key which is good here is `welcome`; until then nothing but a place here is
 * its own.
 *
 *     receiving thread --hear--> [ visitors, each with its letters ] --> zcrp-keys: TLS, `tell`,
 *            \--> tell: cookies                                          welcome(session_keys)
 *
 * What a handshake computes, and what the user's lookup does, holds up other callers of this
 * reception, and nothing else. Strangers without a cookie cost no handshake; those with one share
 * its places, of which one host has so many. Who is refused, or has kept a place for
 * HANDSHAKE_PATIENCE, gives way to others once there is none left; the limit ends a handshake in
 * any case. So whoever begins a handshake and does not go on with it holds others up for that long
 * at most. Hosts whose handshakes fail may begin few (sources.h), and come last.
 *
 * Any thread, unless something else is said. The mutex is held for a few instructions, and never
 * while a function of the rules' runs. */
#ifndef ZCRP_HANDSHAKE_RECEPTION_H
#define ZCRP_HANDSHAKE_RECEPTION_H

#include "letters.h"
#include "tls_handshake.h"
#include "transport/address.h"

/* Who began a handshake, and does not go on with it, gives way to others after this. */
#define HANDSHAKE_PATIENCE SECOND

/* Who calls, and how it is answered. */
struct caller {
    union address from;
    socklen_t from_size;
    union address here; /* where it called; family 0 if the system did not say */
};

/* Constant while there is a reception. */
struct reception_rules {
    struct zcrp_keys *keys; /* held */
    uint32_t places;
    uint32_t of_host; /* of these */
    uint32_t at_once; /* handshakes of one host that fail; then one each HANDSHAKE_PAUSE */
    duration limit;   /* of a handshake */
    void *context;
    /* Sends a datagram to a caller. What cannot be sent is as good as lost. */
    void (*tell)(void *context, const struct caller *caller, const uint8_t *datagram, size_t size);
    /* Takes somebody whose handshake has ended well, by the thread. The keys are the
     * function's. */
    void (*welcome)(void *context, const struct caller *caller, struct session_keys *session_keys);
};

/* Callers, or datagrams, so far. */
struct reception_counts {
    uint64_t refused;  /* callers without a key that is good here, */
    uint64_t dropped;  /* and callers that found no room; */
    uint64_t unproven; /* datagrams of handshakes without a good cookie, */
    uint64_t strange;  /* and datagrams that were neither of a handshake nor to be answered */
};

struct reception;

/* With a thread of its own. 0, or the system's negative error number. */
__attribute__((warn_unused_result)) int reception_open(struct reception **reception,
                                                       const struct reception_rules *rules);

/* Waits for the handshake that is being computed, ends the thread, and frees it. In a child there
 * is no thread, and one that is not there may hold the mutex. NULL is fine. */
void reception_close(struct reception *r, bool is_in_child);

/* Hears what anybody says, which is `size` bytes, at least 1. */
void reception_hear(struct reception *r, const struct caller *caller, const uint8_t *datagram,
                    size_t size);

/* For `welcome`: the request that this caller has sent early, if any. */
void reception_take_early(struct reception *r, struct letter *early);

/* For `welcome`: it was the last one. The thread ends, and nobody is heard any more. */
void reception_end(struct reception *r);

struct reception_counts reception_count(struct reception *r);

#endif
