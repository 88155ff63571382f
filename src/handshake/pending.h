/* Pending handshakes: of callers that have not proved yet that they have an accepted key; and the
 * thread that does them. A caller has a place here, and nothing else, until its
 * handshake has ended well.
 *
 *     receiving thread --hear--> [ places, each with a queue ] -->   zcrp-keys: TLS, `send`,
 *            \--> `send`: cookies                                      `on_success`
 *
 * A handshake that is computed, and the user's key lookup within it, delay the other handshakes of
 * this table only. A stranger without a cookie costs no handshake. Strangers with a cookie share
 * the places, and one host has `of_host` of them at most. If there is no place left, a new caller
 * gets the place of one which was refused, or which has had it for HANDSHAKE_PATIENCE, or which
 * waits for room and has said nothing for ROOM_PATIENCE. `limit` ends each handshake, and the wait
 * for room of a caller who says nothing for so long. So a caller that begins a handshake and does
 * not go on with it keeps others waiting for HANDSHAKE_PATIENCE at most. A caller with keys that
 * goes on with a handshake that has no place is told so (with a cookie), and may begin anew; once
 * its key is accepted again its old place is free. Hosts whose handshakes fail may begin few
 * (sources.h), and come last.
 *
 * Any thread may call these functions unless a comment says otherwise. The mutex is held for a few
 * instructions, and never while `send`, `has_room` or `on_success` runs. */
#ifndef ZCRP_HANDSHAKE_PENDING_H
#define ZCRP_HANDSHAKE_PENDING_H

#include "datagram_queue.h"
#include "tls_handshake.h"
#include "transport/address.h"

/* How long a handshake may take. A sender whose handshake has not ended by then begins anew. A
 * cookie is good for longer. */
#define HANDSHAKE_LIMIT (5 * SECOND)

/* A caller that does not go on with its handshake keeps its place for this long, if others want it.
 */
#define HANDSHAKE_PATIENCE SECOND

/* The same for a caller that waits for room and says nothing. Others repeat their last bytes twice
 * a second: so it is gone, or can begin anew. */
#define ROOM_PATIENCE (3 * SECOND)

/* A caller with an accepted key for which there is no room is tried again after this time. */
#define PENDING_PAUSE (100 * MILLISECOND)

/* A peer that connects, and how it is answered. */
struct caller {
    union address from;
    socklen_t from_size;
    union address here; /* what it connected to; family 0 if the system did not say */
};

/* Constant from open to close. */
struct pending_rules {
    struct zcrp_keys *keys; /* held */
    uint32_t places;
    uint32_t of_host;         /* of these */
    uint32_t at_once;         /* handshakes of one host that fail; then one each HANDSHAKE_PAUSE */
    duration limit;           /* of a handshake */
    struct tls_credit credit; /* that each caller is given, before it is known */
    void *context;
    /* Sends a datagram to a caller. What cannot be sent is as good as lost. */
    void (*send)(void *context, const struct caller *caller, const uint8_t *datagram, size_t size);
    /* Is there room for a caller whose handshake has ended well? By the thread, before it makes the
     * keys. False is as if on_success said so. NULL: on_success alone decides. */
    bool (*has_room)(void *context, const struct caller *caller);
    /* The handshake of a caller has ended well. By the thread; the keys are the function's. False:
     * there is no room for the caller now. It keeps its place while it goes on asking (`limit`),
     * and the function is called again, with new copies of the keys, each PENDING_PAUSE, until it
     * has said nothing for HANDSHAKE_PATIENCE; then when it speaks. */
    bool (*on_success)(void *context, const struct caller *caller,
                       struct session_keys *session_keys);
};

/* Callers, or datagrams, so far. */
struct pending_counts {
    uint64_t refused;  /* callers without an accepted key, */
    uint64_t dropped;  /* and callers that found no room; */
    uint64_t unproven; /* datagrams of handshakes without a good cookie, */
    uint64_t strange;  /* and datagrams that were neither of a handshake nor to be answered */
};

struct pending;

/* With a thread of its own. 0, or the system's negative error number. */
__attribute__((warn_unused_result)) int pending_open(struct pending **pending,
                                                     const struct pending_rules *rules);

/* Waits for the handshake that is being computed, ends the thread, and frees it. In a child there
 * is no thread, and one that is not there may hold the mutex. NULL is fine. */
void pending_close(struct pending *p, bool is_in_child);

/* A datagram has come, of `size` bytes, at least 1. It may be anybody's. */
void pending_hear(struct pending *p, const struct caller *caller, const uint8_t *datagram,
                  size_t size);

/* For `on_success`: what this caller has sent already for its connection: requests, of which the
 * last is kept, and units for which it had credit. Nothing of it was opened yet. */
void pending_take_early(struct pending *p, struct datagram_queue *early);

/* For `on_success`: no other caller is wanted. The thread ends, and no handshake begins any more.
 */
void pending_end(struct pending *p);

struct pending_counts pending_count(struct pending *p);

#endif
