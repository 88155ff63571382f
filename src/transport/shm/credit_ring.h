/* The credit ring: a receiver shows in memory that both share which buffers it has posted, so that
 * its sender needs no request to send. An entry is of one buffer, and has its message's number: so
 * the sender sees whether the one that it needs is there, and neither side keeps a place.
 *
 * A sender that finds no credit for what it has to send says that it wants some, and looks again:
 * its thread that reads answers may sleep already. Before that thread sleeps it says so
 * (control_ring.h), and looks once more. A receiver
 * that has shown a buffer looks for both afterwards, and sends a request then, which wakes the
 * sender. So one of them sees the other.
 *
 * As in ring.h, neither side believes what the other may write. A receiver that lies about a buffer
 * may say the same in a request. */
#ifndef ZCRP_TRANSPORT_SHM_CREDIT_RING_H
#define ZCRP_TRANSPORT_SHM_CREDIT_RING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum {
    CREDIT_ENTRIES = 256,
    CREDIT_NEAR = 16, /* of these, that lie together with what else is used at first (page.h) */
};

/* The receiver writes an entry again only once its message is over, so the sender does not read it
 * then. */
struct credit_entry {
    _Atomic uint64_t message; /* its number in the session, and 1; 0: none. Released by show with
                                 the size, acquired by find. seq_cst: the receiver looks for a
                                 sleeper behind it, the sender looks at it behind saying that it
                                 sleeps */
    _Atomic uint64_t size;    /* of the buffer; relaxed */
};

/* In the shared memory. */
struct credit_near {
    _Alignas(64) _Atomic uint32_t is_wanted; /* the sender: it has something to send. Said before
                                                it says that it sleeps. It may see an old 1: then
                                                the request that took the want will wake it */
    _Alignas(64) struct credit_entry entry[CREDIT_NEAR];
};

struct credit_far {
    _Alignas(64) struct credit_entry entry[CREDIT_ENTRIES - CREDIT_NEAR];
};

/* Where it is. */
struct credit_ring {
    struct credit_near *near;
    struct credit_far *far;
};

/* The receiver shows a buffer for this message. The message of the entry that makes room is over.
 */
void credit_ring_show(const struct credit_ring *c, uint64_t message, uint64_t size);

/* Does the sender want credit? It has to want it anew afterwards. Behind credit_ring_show. */
bool credit_ring_take_want(const struct credit_ring *c);

/* The sender looks for the buffer of this message; false: none is shown. */
bool credit_ring_find(const struct credit_ring *c, uint64_t message, uint64_t *size);

/* The sender wants it. */
void credit_ring_want(const struct credit_ring *c);

#endif
